#!/usr/bin/env bash
# From manifests to models/en and its result table, in stages. A stage that is done leaves a mark in $WORK and is not done
# again, unless it is named.
#
#   SENONE_DATA=/path/to/corpora recipes/english/run.sh [FIRST_STAGE [LAST_STAGE]]
#
# SENONE_DATA holds speechocean762, an4, librispeech-mini, kathleen and lexicon-en (see README.md beside this file).
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)

: "${SENONE_DATA:?set SENONE_DATA to the folder with the corpora, see $recipe/README.md}"
WORK=${WORK:-$root/target/english}
MODEL=${MODEL:-$root/models/en}
THREADS=${THREADS:-2}
first=${1:-1}
last=${2:-6}
lexicon=$SENONE_DATA/lexicon-en/cmudict.dict
named=$#
mkdir -p "$WORK"

. "$root/recipes/stages.sh"
senone() { "$root/target/release/senone" --threads "$THREADS" "$@"; }

if stage 1 "build"; then
  cargo build --release --manifest-path "$root/Cargo.toml"
  finish
fi

if stage 2 "look at the manifests"; then
  # The exit status says that there are findings. Unknown words are among them, which the filler phone takes: the report is
  # for people, and training names every utterance that it cannot use.
  for corpus in speechocean762 an4 librispeech-mini kathleen; do
    [ -r "$SENONE_DATA/$corpus/train.tsv" ] || { echo "$SENONE_DATA/$corpus/train.tsv: no such manifest" >&2; exit 1; }
  done
  senone validate --lexicon "$lexicon" "$SENONE_DATA"/{speechocean762,an4,librispeech-mini,kathleen}/train.tsv |
    tee "$WORK/validation.txt" || true
  finish
fi

if stage 3 "train"; then
  senone train "$recipe/train.toml" --data "$SENONE_DATA" --resume --work "$WORK/train" --output "$WORK/untuned" 2>&1 |
    tee -a "$WORK/train.log"
  finish
fi

if stage 4 "tune on the development speakers"; then
  rm -rf "$WORK/model"
  cp -r "$WORK/untuned" "$WORK/model"
  senone tune "$WORK/model" "$WORK/train/development.tsv" --lexicon "$lexicon" 2>&1 | tee "$WORK/tune.log"
  finish
fi

if stage 5 "decode and score the test sets"; then
  for test in speechocean762 an4; do
    senone decode --model "$WORK/model" --format ctm "$SENONE_DATA/$test/test.tsv" > "$WORK/$test.ctm"
    senone score "$SENONE_DATA/$test/test.tsv" "$WORK/$test.ctm" --lexicon "$lexicon" \
      --record "$WORK/model" --test "$test test" | tee "$WORK/$test.score.txt"
  done
  for snr in 20 10; do
    noisy=$WORK/noise-$snr
    rm -rf "$noisy"
    senone augment "$SENONE_DATA/speechocean762/test.tsv" --snr-db "$snr" --output "$noisy"
    senone decode --model "$WORK/model" --format ctm "$noisy/manifest.tsv" > "$noisy.ctm"
    senone score "$noisy/manifest.tsv" "$noisy.ctm" --lexicon "$lexicon" \
      --record "$WORK/model" --test "speechocean762 test, noise at $snr dB" | tee "$noisy.score.txt"
    rm -rf "$noisy"
  done
  finish
fi

if stage 6 "ship"; then
  mkdir -p "$MODEL"
  cp "$WORK"/model/{bundle.toml,graph.toml,phones.arpa,tree.txt,weights.safetensors} "$MODEL/"
  echo "$MODEL: written; build again to have it in the program"
  finish
fi
