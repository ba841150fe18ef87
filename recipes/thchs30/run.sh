#!/usr/bin/env bash
# THCHS-30: Mandarin initials and toned finals; settings follow from the data; see README.md beside this file.
#
#   THCHS30=/place/of/data_thchs30 recipes/thchs30/run.sh
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)

: "${THCHS30:?set THCHS30 to the folder with train, dev, test and data, see $recipe/README.md}"
WORK=${WORK:-$root/target/thchs30}
THREADS=${THREADS:-2}
senone() { "$root/target/release/senone" --threads "$THREADS" "$@"; }

cargo build --release --manifest-path "$root/Cargo.toml"
mkdir -p "$WORK"
senone train "$THCHS30/train" --development "$THCHS30/dev" --lexicon pinyin-toned --resume \
  --work "$WORK/stages" --output "$WORK/model"
senone decode --model "$WORK/model" --format ctm "$THCHS30/test" > "$WORK/test.ctm"
for lexicon in pinyin-toned pinyin; do
  senone score "$THCHS30/test" "$WORK/test.ctm" --lexicon "$lexicon" | tee "$WORK/test.$lexicon.txt"
done
