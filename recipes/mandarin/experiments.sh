#!/usr/bin/env bash
# One speaker of four left out in turn: what helps a network with voices that it has not heard, what the constraint of initials and
# finals is worth, and what pitch is worth to tones. Small models; every third recording of audio-cmn. A model takes some minutes.
#
#   SENONE_DATA=/path/to/corpora recipes/mandarin/experiments.sh [ROW ...]
#
# Rows: plain perturbed hidden both tone pitch. What is there in $WORK is not made again.
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
all=(plain perturbed hidden both tone pitch)
unchanged='speeds = [1.0], vocal_tract = 0.0'
changed='speeds = [0.85, 0.9, 1.0, 1.1, 1.15], vocal_tract = 0.2'

# The manifest of all speakers, with every $EACH-th utterance of audio-cmn, and those of each fold. The recordings of the neutral tone
# by chenwang are not in the tests: most of them go on with other speech, up to five seconds of it.
prepare() {
  local speaker
  [ -e "$WORK/all.tsv" ] ||
    run manifest "$SENONE_DATA"/{audio-cmn,aishell1-mini}/train.tsv |
      awk -F '\t' -v each="$EACH" 'NR == 1 || $2 ~ /^S/ || NR % each == 0' > "$WORK/all.tsv"
  awk -F '\t' '$1 !~ /^chenwang-.*5$/' "$WORK/all.tsv" > "$WORK/tests.tsv"
  for speaker in "${speakers[@]}"; do
    mkdir -p "$WORK/$speaker"
    awk -F '\t' -v one="$speaker" 'NR == 1 || $2 != one' "$WORK/all.tsv" > "$WORK/$speaker/train.tsv"
    awk -F '\t' -v one="$speaker" 'NR == 1 || $2 == one' "$WORK/tests.tsv" > "$WORK/$speaker/test.tsv"
  done
}

# Trains the row $1 without the speaker $2. The toneless ones learn without the constraint, which decoding then adds: neither the
# network nor the n-gram is another with it.
train() {
  local folder=$WORK/$2/$1 augment=$unchanged hidden=() lexicon=pinyin graph=graph-free align=graph-align
  local front='front_end            = { channels = [16, 24] }' pitch=
  [ -e "$folder/model/bundle.toml" ] && return
  case $1 in perturbed | both | tone | pitch) augment=$changed ;; esac
  case $1 in hidden | both | tone | pitch) hidden=(--hidden-from built-in) ;; esac
  # Convolutions would take the columns of pitch for bands: neither of the two has them.
  case $1 in tone | pitch) lexicon=pinyin-toned graph=graph-tone align=graph-tone-align front= ;; esac
  case $1 in pitch) pitch='pitch         = {}' ;; esac
  mkdir -p "$folder"
  sed -e "s|%NAME%|$1|; s|%RECIPE%|$recipe|; s|%FOLD%|$WORK/$2|; s|%LEXICON%|$lexicon|; s|%GRAPH%|$graph|; s|%ALIGN%|$align|" \
    -e "s|%EPOCHS%|$EPOCHS|; s|%AUGMENT%|$augment|; s|%FRONT%|$front|; s|%PITCH%|$pitch|" "$recipe/experiment.toml" > "$folder/train.toml"
  run train "$folder/train.toml" "${hidden[@]}" --resume --work "$folder/stages" --output "$folder/untuned"
  rm -rf "$folder/tuned"
  cp -r "$folder/untuned" "$folder/tuned"
  run tune "$folder/tuned" "$folder/stages/development.tsv" --lexicon "$lexicon"
  mv "$folder/tuned" "$folder/model"
}

# The setting $2 of the search that the model $1 was tuned to.
setting() { sed -nE "s/^$2 = (.*)/\1/p" "$1/bundle.toml"; }

# Decodes the manifest $3 by the model in the folder $1, the graph file $2 and the insertion penalty $4.
decode_one() { run decode --model "$1/model" --graph "$2" --insertion-penalty="$4" --format ctm "$3" 2> "$1/decode.log"; }

# The insertion penalty with which the model in the folder $1 and the graph file $2 have the fewest errors in the utterances of the
# other speakers that were held out.
penalty() {
  local penalty held_out=$1/stages/development.tsv
  for penalty in 0 -1 -2 -4 -6 -9 -13; do
    decode_one "$1" "$2" "$held_out" "$penalty" > "$1/held-out.ctm"
    printf '%s %s\n' "$(run score "$held_out" "$1/held-out.ctm" --lexicon pinyin | sed -nE '1s/^PER ([0-9.]+) .*/\1/p')" "$penalty"
  done | sort -n -s -k 1,1 | sed -n '1s/.* //p'
}

# Decodes the speakers left out with the models of row $1 and the graph file $2, with their n-gram where $3 is ngram; all folds into
# one file.
decode() {
  local speaker folder graph
  : > "$WORK/$1.$2.$3.ctm"
  for speaker in "${speakers[@]}"; do
    folder=$WORK/$speaker/$1
    graph=$folder/$2.$3.toml
    cp "$recipe/$2.toml" "$graph"
    [ "$3" != ngram ] ||
      printf '[lm]\nfile = "model/phones.arpa"\nscale = %s\n' "$(setting "$folder/model" lm_scale)" >> "$graph"
    decode_one "$folder" "$graph" "$WORK/$speaker/test.tsv" "$(penalty "$folder" "$graph")" >> "$WORK/$1.$2.$3.ctm"
  done
}

# Scores the decodings $1, tones dropped. $2, where it is given, are others to compare with.
score() {
  run score "$WORK/tests.tsv" "$WORK/$1.ctm" --lexicon pinyin --speakers ${2:+--against "$WORK/$2.ctm"} > "$WORK/$1.score.txt"
  "$recipe/syllables.py" "$WORK/tests.tsv" "$WORK/$1.ctm" > "$WORK/$1.syllables.txt"
  printf '\n== %s\n' "$1"
  head -n 1 "$WORK/$1.score.txt"
  grep paired "$WORK/$1.score.txt" || true
  cat "$WORK/$1.syllables.txt"
}

row() {
  local speaker weights
  for speaker in "${speakers[@]}"; do train "$1" "$speaker"; done
  if [ "$1" = tone ] || [ "$1" = pitch ]; then
    decode "$1" graph-tone ngram
    score "$1.graph-tone.ngram"
  else
    for weights in alone ngram; do
      decode "$1" graph-free "$weights"
      score "$1.graph-free.$weights"
      decode "$1" graph "$weights"
      score "$1.graph.$weights" "$1.graph-free.$weights"
    done
  fi
  compare "$1"
}

# What the row $1 gains on those that lack one of its means, as far as they have been run.
compare() {
  local other others=() search=graph.ngram
  case $1 in
    perturbed | hidden) others=(plain) ;;
    both) others=(plain perturbed hidden) ;;
    pitch) others=(tone) search=graph-tone.ngram ;;
  esac
  for other in "${others[@]}"; do
    [ -e "$WORK/$other.$search.ctm" ] || continue
    printf '%s against %s: ' "$1" "$other"
    run score "$WORK/tests.tsv" "$WORK/$1.$search.ctm" --lexicon pinyin --against "$WORK/$other.$search.ctm" | grep paired
  done
}

for name in "${@:-"${all[@]}"}"; do
  printf '%s\n' "${all[@]}" | grep -qxF -e "$name" || { echo "$name: no such row, expected some of: ${all[*]}" >&2; exit 2; }
done
prepare
for name in "${@:-"${all[@]}"}"; do row "$name"; done
