#!/usr/bin/env python3
"""A random source between first and second order, and sequences from it (after Lafferty, McCallum and Pereira 2001, section 6.2).

    generate.py ALPHA SEED TRAIN.tsv TEST.tsv

5 labels a to e and 26 observations A to Z. For each pair of labels two labels may follow, and for each label after each
observation three observations may stand, with random probabilities:

    P(y_t | y_t-1, y_t-2) = alpha P1(y_t | y_t-1) + (1 - alpha) P2(y_t | y_t-1, y_t-2)
    P(x_t | y_t, x_t-1)   = alpha P1(x_t | y_t)   + (1 - alpha) P2(x_t | y_t, x_t-1)

so that alpha = 1 is a first-order hidden Markov model. 1,000 sequences of length 25 each to train and to test.
"""

import random
import sys

LABELS, OBSERVATIONS = "abcde", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SEQUENCES, LENGTH = 1000, 25


def sparse(source, values, entries):
    """A random distribution over `entries` of `values`: uniform on the simplex, by spacings of exponential draws."""
    chosen = source.sample(values, entries)
    return chosen, [source.expovariate(1.0) for _ in chosen]


def draw(source, first, second, alpha):
    """One value, of the distribution `first` with probability alpha, else of `second`."""
    values, weights = first if source.random() < alpha else second
    return source.choices(values, weights)[0]


class Source:
    """A random model of the family."""

    def __init__(self, source):
        label = lambda: sparse(source, LABELS, 2)
        observation = lambda: sparse(source, OBSERVATIONS, 3)
        self.label1 = {y: label() for y in LABELS}
        self.label2 = {(y, z): label() for y in LABELS for z in LABELS}
        self.observation1 = {y: observation() for y in LABELS}
        self.observation2 = {(y, x): observation() for y in LABELS for x in OBSERVATIONS}

    def sequence(self, source, alpha):
        """Pairs of observation and label; the two labels and the observation before the first are drawn at random."""
        y2, y1, x1 = source.choice(LABELS), source.choice(LABELS), source.choice(OBSERVATIONS)
        pairs = []
        for _ in range(LENGTH):
            y = draw(source, self.label1[y1], self.label2[y1, y2], alpha)
            x = draw(source, self.observation1[y], self.observation2[y, x1], alpha)
            pairs.append((x, y))
            y2, y1, x1 = y1, y, x
        return pairs


def main():
    if len(sys.argv) != 5:
        sys.exit("usage: generate.py ALPHA SEED TRAIN.tsv TEST.tsv")
    alpha, seed = float(sys.argv[1]), sys.argv[2]
    source = random.Random(f"mixed-order {alpha} {seed}")
    model = Source(source)
    for path in sys.argv[3:]:
        with open(path, "w", encoding="utf-8") as file:
            for _ in range(SEQUENCES):
                file.writelines(f"{x}\t{y}\n" for x, y in model.sequence(source, alpha))
                file.write("\n")


if __name__ == "__main__":
    main()
