#!/usr/bin/env bash
# TIMIT: 48 phones trained, 39 scored, on the core test set; see README.md beside this file.
#
#   TIMIT=/place/of/TIMIT recipes/timit/run.sh
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)

: "${TIMIT:?set TIMIT to the folder with TRAIN and TEST, see $recipe/README.md}"
WORK=${WORK:-$root/target/timit}
THREADS=${THREADS:-2}
senone() { "$root/target/release/senone" --threads "$THREADS" "$@"; }
# A part of the corpus, in capitals or not.
part() { if [ -d "$TIMIT/$1" ]; then echo "$TIMIT/$1"; else echo "$TIMIT/${1,,}"; fi; }

cargo build --release --manifest-path "$root/Cargo.toml"
mkdir -p "$WORK"
senone manifest "$(part TRAIN)" > "$WORK/train.tsv"
for set in development core; do
  senone manifest "$(part TEST)" --speakers "$recipe/$set.speakers" > "$WORK/$set.tsv"
done
senone train "$WORK/train.tsv" --development "$WORK/development.tsv" --resume --work "$WORK/stages" --output "$WORK/model"
senone decode --model "$WORK/model" --format ctm "$WORK/core.tsv" > "$WORK/core.ctm"
senone score "$WORK/core.tsv" "$WORK/core.ctm" --phones timit39 --silence "" | tee "$WORK/core.score.txt"
