#!/usr/bin/env bash
# Every learner on entities in noisy text: same features, same BIO graph, and error against training size.
#
#   SENONE_DATA=/path/to/data recipes/ner-en/run.sh
task=ner-en
root=$(cd "$(dirname "$0")/../.." && pwd)
graph=$root/recipes/$task/graph.toml
. "$root/recipes/tagging.sh"

for learner in hmm crf perceptron svm; do try rich "$learner"; done
for learner in crf perceptron svm; do try free "$learner"; done
for learner in bilstm bilstm-hmm bilstm-crf bilstm-svm; do try network "$learner"; done
for learner in crf svm; do try free "$learner" all+dev; done
for size in 100 300 1000 3000; do
  for learner in hmm crf perceptron svm; do try rich "$learner" "$size"; done
done
"$root/recipes/tagging_report.py" "$results" "$WORK/curve.svg" f1 | tee "$WORK/report.md"
