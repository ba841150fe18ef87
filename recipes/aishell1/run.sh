#!/usr/bin/env bash
# AISHELL-1: Mandarin initials and toned finals, words through the corpus's lexicon; see README.md beside this file.
#
#   AISHELL=/place/of/AISHELL-1 recipes/aishell1/run.sh
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)

: "${AISHELL:?set AISHELL to the folder with data_aishell and resource_aishell, see $recipe/README.md}"
WORK=${WORK:-$root/target/aishell1}
THREADS=${THREADS:-2}
lexicon=$AISHELL/resource_aishell/lexicon.txt
wav=$AISHELL/data_aishell/wav
senone() { "$root/target/release/senone" --threads "$THREADS" "$@"; }

cargo build --release --manifest-path "$root/Cargo.toml"
mkdir -p "$WORK"
senone train "$recipe/train.toml" --data "$AISHELL" --resume --work "$WORK/stages" --output "$WORK/untuned"
rm -rf "$WORK/model"
cp -r "$WORK/untuned" "$WORK/model"
senone tune "$WORK/model" "$wav/dev" --lexicon "$lexicon"
senone decode --model "$WORK/model" --format ctm "$wav/test" > "$WORK/test.ctm"
senone score "$wav/test" "$WORK/test.ctm" --lexicon "$lexicon" | tee "$WORK/test.score.txt"
