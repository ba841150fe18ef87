#!/usr/bin/env bash
# Corpora of one's own, with settings that follow from the data; see README.md beside this file.
#
#   TRAIN=my/recordings TEST=my/tests [LEXICON=my/words.dict] recipes/folder/run.sh [WORK]
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)

: "${TRAIN:?set TRAIN to the corpus to learn from, see $recipe/README.md}"
: "${TEST:?set TEST to the corpus to test on, see $recipe/README.md}"
WORK=${1:-${WORK:-$root/target/folder}}
THREADS=${THREADS:-2}
words=(${LEXICON:+--lexicon "$LEXICON"})
senone() { "$root/target/release/senone" --threads "$THREADS" "$@"; }

cargo build --release --manifest-path "$root/Cargo.toml"
mkdir -p "$WORK"
senone validate "$TRAIN" "$TEST" ${words[@]+"${words[@]}"} | tee "$WORK/validation.txt" || true  # findings are for people
senone train "$TRAIN" ${words[@]+"${words[@]}"} --resume --work "$WORK/stages" --output "$WORK/model"
senone decode --model "$WORK/model" --format ctm "$TEST" > "$WORK/test.ctm"
[ "${#words[@]}" -gt 0 ] || words=(--words-are-phones)
senone score "$TEST" "$WORK/test.ctm" "${words[@]}" | tee "$WORK/test.score.txt"
