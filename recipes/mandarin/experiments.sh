#!/usr/bin/env bash
# One speaker of four left out in turn: what helps a network with voices that it has not heard, and what the constraint of initials
# and finals is worth. Small models; every third recording of audio-cmn. A model takes some minutes on two cores.
#
#   SENONE_DATA=/path/to/corpora recipes/mandarin/experiments.sh [ROW ...]
#
# Rows: plain perturbed hidden both tone. What is there in $WORK is not made again.
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)

: "${SENONE_DATA:?set SENONE_DATA to the folder with the corpora, see $recipe/README.md}"
WORK=${WORK:-$root/target/mandarin-experiments}
THREADS=${THREADS:-2}
EPOCHS=${EPOCHS:-6}
EACH=${EACH:-3}
[ -n "${SENONE:-}" ] || cargo build --release --manifest-path "$root/Cargo.toml"
SENONE=${SENONE:-$root/target/release/senone}
run() { "$SENONE" --threads "$THREADS" "$@"; }
mkdir -p "$WORK"

speakers=(chenwang yuetan S0150 S0252)
all=(plain perturbed hidden both tone)
unchanged='speeds = [1.0], vocal_tract = 0.0'
changed='speeds = [0.85, 0.9, 1.0, 1.1, 1.15], vocal_tract = 0.2'

# The manifest of all speakers, with every $EACH-th utterance of audio-cmn, and those of each fold.
prepare() {
  local speaker
  [ -e "$WORK/all.tsv" ] ||
    run manifest "$SENONE_DATA"/{audio-cmn,aishell1-mini}/train.tsv |
      awk -F '\t' -v each="$EACH" 'NR == 1 || $2 ~ /^S/ || NR % each == 0' > "$WORK/all.tsv"
  for speaker in "${speakers[@]}"; do
    mkdir -p "$WORK/$speaker"
    awk -F '\t' -v one="$speaker" 'NR == 1 || $2 != one' "$WORK/all.tsv" > "$WORK/$speaker/train.tsv"
    awk -F '\t' -v one="$speaker" 'NR == 1 || $2 == one' "$WORK/all.tsv" > "$WORK/$speaker/test.tsv"
  done
}

# Trains the row $1 without the speaker $2. The toneless ones learn without the constraint, which decoding then adds: neither the
# network nor the n-gram is another with it.
train() {
  local folder=$WORK/$2/$1 augment=$unchanged hidden=() lexicon=pinyin graph=graph-free align=graph-align
  [ -e "$folder/model/bundle.toml" ] && return
  case $1 in perturbed | both | tone) augment=$changed ;; esac
  case $1 in hidden | both | tone) hidden=(--hidden-from built-in) ;; esac
  case $1 in tone) lexicon=pinyin-toned graph=graph-tone align=graph-tone-align ;; esac
  mkdir -p "$folder"
  sed -e "s|%NAME%|$1|; s|%RECIPE%|$recipe|; s|%FOLD%|$WORK/$2|; s|%LEXICON%|$lexicon|; s|%GRAPH%|$graph|; s|%ALIGN%|$align|" \
    -e "s|%EPOCHS%|$EPOCHS|; s|%AUGMENT%|$augment|" "$recipe/experiment.toml" > "$folder/train.toml"
  run train "$folder/train.toml" "${hidden[@]}" --resume --work "$folder/stages" --output "$folder/untuned"
  rm -rf "$folder/tuned"
  cp -r "$folder/untuned" "$folder/tuned"
  run tune "$folder/tuned" "$folder/stages/development.tsv" --lexicon "$lexicon"
  mv "$folder/tuned" "$folder/model"
}

# The setting $2 of the search that the model $1 was tuned to.
setting() { sed -nE "s/^$2 = (.*)/\1/p" "$1/bundle.toml"; }

# The graph file $2 of this recipe with the n-gram of the model $1 and its scale.
with_ngram() {
  local graph=$1/${2%.toml}-lm.toml
  { cat "$recipe/$2"; printf '[lm]\nfile = "phones.arpa"\nscale = %s\n' "$(setting "$1" lm_scale)"; } > "$graph"
  printf %s "$graph"
}

# Decodes the speaker left out with the model of row $1, and graph $2 as $3; all folds into one file.
decode() {
  local speaker model options
  : > "$WORK/$1.$3.ctm"
  for speaker in "${speakers[@]}"; do
    model=$WORK/$speaker/$1/model
    options=()
    [ -z "$2" ] ||
      options=(--graph "$(with_ngram "$model" "$2")" --insertion-penalty "$(setting "$model" insertion_penalty)")
    run decode --model "$model" "${options[@]}" --format ctm "$WORK/$speaker/test.tsv" >> "$WORK/$1.$3.ctm"
  done
}

# Scores the decodings $1; the tones that they may have are dropped. $2, where it is given, are others to compare with.
score() {
  run score "$WORK/all.tsv" "$WORK/$1.ctm" --lexicon pinyin --speakers ${2:+--against "$WORK/$2.ctm"} > "$WORK/$1.score.txt"
  "$recipe/syllables.py" "$WORK/all.tsv" "$WORK/$1.ctm" > "$WORK/$1.syllables.txt"
  printf '\n== %s\n' "$1"
  head -n 1 "$WORK/$1.score.txt"
  grep paired "$WORK/$1.score.txt" || true
  cat "$WORK/$1.syllables.txt"
}

row() {
  local speaker
  for speaker in "${speakers[@]}"; do train "$1" "$speaker"; done
  if [ "$1" = tone ]; then
    decode tone "" graph
    score tone.graph
    return
  fi
  decode "$1" graph-free.toml free
  score "$1.free"
  decode "$1" graph.toml graph
  score "$1.graph" "$1.free"
  if [ "$1" != plain ] && [ -e "$WORK/plain.graph.ctm" ]; then
    run score "$WORK/all.tsv" "$WORK/$1.graph.ctm" --lexicon pinyin --against "$WORK/plain.graph.ctm" | grep paired
  fi
}

for name in "${@:-"${all[@]}"}"; do
  printf '%s\n' "${all[@]}" | grep -qxF -e "$name" || { echo "$name: no such row, expected some of: ${all[*]}" >&2; exit 2; }
done
prepare
for name in "${@:-"${all[@]}"}"; do row "$name"; done
