#!/usr/bin/env bash
# LibriSpeech: settings follow from the data; see README.md beside this file.
#
#   LIBRISPEECH=/place/of/LibriSpeech LEXICON=/place/of/cmudict.dict recipes/librispeech/run.sh
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)

: "${LIBRISPEECH:?set LIBRISPEECH to the folder of the sets, see $recipe/README.md}"
: "${LEXICON:?set LEXICON to a pronouncing dictionary, see $recipe/README.md}"
WORK=${WORK:-$root/target/librispeech}
THREADS=${THREADS:-2}
read -ra sets <<< "${TRAIN:-train-clean-100}"
senone() { "$root/target/release/senone" --threads "$THREADS" "$@"; }

cargo build --release --manifest-path "$root/Cargo.toml"
mkdir -p "$WORK"
senone train "${sets[@]/#/$LIBRISPEECH/}" --development "$LIBRISPEECH/dev-clean" --lexicon "$LEXICON" \
  --resume --work "$WORK/stages" --output "$WORK/model"
for test in test-clean test-other; do
  [ -d "$LIBRISPEECH/$test" ] || continue
  senone decode --model "$WORK/model" --format ctm "$LIBRISPEECH/$test" > "$WORK/$test.ctm"
  senone score "$LIBRISPEECH/$test" "$WORK/$test.ctm" --lexicon "$LEXICON" | tee "$WORK/$test.score.txt"
done
