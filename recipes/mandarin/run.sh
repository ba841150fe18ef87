#!/usr/bin/env bash
# From manifests to models/zh and models/zh-tone and their result tables, in stages. A stage that is done leaves a mark in $WORK and
# is not done again, unless it is named.
#
#   SENONE_DATA=/path/to/corpora recipes/mandarin/run.sh [FIRST_STAGE [LAST_STAGE]]
#
# SENONE_DATA holds audio-cmn, aishell1-mini, aishell3-mini and shtooka-weigao (see README.md beside this file).
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)

: "${SENONE_DATA:?set SENONE_DATA to the folder with the corpora, see $recipe/README.md}"
WORK=${WORK:-$root/target/mandarin}
MODELS=${MODELS:-$root/models}
THREADS=${THREADS:-2}
HIDDEN=${HIDDEN:-built-in}
first=${1:-1}
last=${2:-8}
named=$#
mkdir -p "$WORK"

. "$root/recipes/stages.sh"
senone() { "$root/target/release/senone" --threads "$THREADS" "$@"; }

# Trains the settings $1 into the folder $2; the network begins with the hidden layers of the model $3, or with nothing if that is empty.
train() {
  senone train "$recipe/$1.toml" --data "$SENONE_DATA" ${3:+--hidden-from "$3"} --resume \
    --work "$WORK/$2/train" --output "$WORK/$2/untuned" 2>&1 | tee -a "$WORK/$2.train.log"
}

# Tunes a copy of the model in the folder $1 with the lexicon $2.
tune() {
  rm -rf "$WORK/$1/model"
  cp -r "$WORK/$1/untuned" "$WORK/$1/model"
  senone tune "$WORK/$1/model" "$WORK/$1/train/development.tsv" --lexicon "$2" 2>&1 | tee "$WORK/$1.tune.log"
}

# Decodes the tests with the model in the folder $1 and scores them with the lexicon $2, noted as $3.
test_all() {
  local test
  for test in aishell3-mini shtooka-weigao; do
    senone decode --model "$WORK/$1/model" --format ctm "$SENONE_DATA/$test/test.tsv" > "$WORK/$1/$test.ctm"
    senone score "$SENONE_DATA/$test/test.tsv" "$WORK/$1/$test.ctm" --lexicon "$2" > "$WORK/$1/$test.$2.txt"
    cat "$WORK/$1/$test.$2.txt"
    "$recipe/syllables.py" "$SENONE_DATA/$test/test.tsv" "$WORK/$1/$test.ctm" | tee "$WORK/$1/$test.syllables.txt"
  done
  # One speaker has no interval by speaker, which a note in the model needs.
  senone score "$SENONE_DATA/aishell3-mini/test.tsv" "$WORK/$1/aishell3-mini.ctm" --lexicon "$2" \
    --record "$WORK/$1/model" --test "aishell3-mini test, $3" > /dev/null
}

if stage 1 "build"; then
  cargo build --release --manifest-path "$root/Cargo.toml"
  finish
fi

if stage 2 "look at the manifests"; then
  for corpus in audio-cmn aishell1-mini; do
    [ -r "$SENONE_DATA/$corpus/train.tsv" ] || { echo "$SENONE_DATA/$corpus/train.tsv: no such manifest" >&2; exit 1; }
  done
  senone validate "$SENONE_DATA"/{audio-cmn,aishell1-mini}/train.tsv | tee "$WORK/validation.txt" || true
  finish
fi

if stage 3 "train without tones"; then
  mkdir -p "$WORK/zh"
  train train zh "$HIDDEN"
  finish
fi

if stage 4 "tune without tones"; then
  tune zh pinyin
  finish
fi

if stage 5 "train with tones"; then
  mkdir -p "$WORK/zh-tone"
  train train-tone zh-tone "$WORK/zh/untuned"
  finish
fi

if stage 6 "tune with tones"; then
  tune zh-tone pinyin-toned
  finish
fi

if stage 7 "decode and score the test sets"; then
  test_all zh pinyin "no tones"
  test_all zh-tone pinyin "tones dropped"
  test_all zh-tone pinyin-toned "tones"
  finish
fi

if stage 8 "ship"; then
  for model in zh zh-tone; do
    mkdir -p "$MODELS/$model"
    cp "$WORK/$model"/model/{bundle.toml,graph.toml,phones.arpa,weights.safetensors} "$MODELS/$model/"
    echo "$MODELS/$model: written"
  done
  finish
fi
