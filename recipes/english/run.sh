#!/usr/bin/env bash
# From manifests to models/en and its result table. Stages leave their results in $WORK and are not done again.
#
#   SENONE_DATA=/path/to/corpora recipes/english/run.sh [FIRST_STAGE [LAST_STAGE]]
#
# SENONE_DATA holds speechocean762, an4, librispeech-mini, kathleen and lexicon-en (see README.md beside this file).
set -euo pipefail
cd "$(dirname "$0")"
recipe=$PWD
root=$(cd ../.. && pwd)

: "${SENONE_DATA:?set SENONE_DATA to the folder with the corpora, see $recipe/README.md}"
WORK=${WORK:-$root/target/english}
MODEL=${MODEL:-$root/models/en}
THREADS=${THREADS:-2}
first=${1:-1}
last=${2:-6}
lexicon=$SENONE_DATA/lexicon-en/cmudict.dict
mkdir -p "$WORK"

stage() { [ "$1" -ge "$first" ] && [ "$1" -le "$last" ] && printf '\n== stage %s: %s\n' "$1" "$2"; }
senone() { "$root/target/release/senone" --threads "$THREADS" "$@"; }

if stage 1 "build"; then
  cargo build --release --manifest-path "$root/Cargo.toml"
fi

if stage 2 "look at the manifests"; then
  # Unknown words are expected (the filler phone takes them): what is said is kept, nothing is stopped.
  senone validate --lexicon "$lexicon" \
    "$SENONE_DATA"/{speechocean762,an4,librispeech-mini,kathleen}/train.tsv > "$WORK/validation.txt" || true
  cat "$WORK/validation.txt"
fi

if stage 3 "train"; then
  senone train "$recipe/train.toml" --data "$SENONE_DATA" --work "$WORK/train" --output "$WORK/model" 2>&1 |
    tee -a "$WORK/train.log"
fi

if stage 4 "tune on the development speakers"; then
  senone tune "$WORK/model" "$WORK/train/development.tsv" --lexicon "$lexicon" 2>&1 | tee "$WORK/tune.log"
fi

if stage 5 "decode and score the test sets"; then
  for test in speechocean762 an4; do
    senone decode --model "$WORK/model" --format ctm "$SENONE_DATA/$test/test.tsv" > "$WORK/$test.ctm"
    senone score "$SENONE_DATA/$test/test.tsv" "$WORK/$test.ctm" --lexicon "$lexicon" \
      --record "$WORK/model" --test "$test test" | tee "$WORK/$test.score.txt"
  done
fi

if stage 6 "ship"; then
  mkdir -p "$MODEL"
  cp "$WORK"/model/{bundle.toml,graph.toml,phones.arpa,weights.safetensors} "$MODEL/"
  echo "$MODEL: written; build again to have it in the program"
fi
