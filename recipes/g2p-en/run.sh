#!/usr/bin/env bash
# From a dictionary to a model of how English words are said, with its errors on words held out.
#
#   SENONE_DATA=/path/to/corpora recipes/g2p-en/run.sh
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)

: "${SENONE_DATA:?set SENONE_DATA to the folder with lexicon-en, see $recipe/README.md}"
WORK=${WORK:-$root/target/g2p-en}
mkdir -p "$WORK"
[ -n "${SENONE:-}" ] || cargo build --release --manifest-path "$root/Cargo.toml"
SENONE=${SENONE:-$root/target/release/senone}

"$SENONE" g2p train "$SENONE_DATA/lexicon-en/cmudict.dict" --output "$WORK/en.g2p" | tee "$WORK/errors.txt"
