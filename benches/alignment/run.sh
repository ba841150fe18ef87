#!/usr/bin/env bash
# Where senone and PocketSphinx put boundaries: in synthesised speech with stated times, between real words joined without a gap, and
# how far the two are apart in real speech. Needs flite and ffmpeg.
#
#   SENONE_DATA=/path/to/corpora PYTHON=peers/bin/python benches/alignment/run.sh FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${SENONE_DATA:?set SENONE_DATA to the folder with speechocean762, fsdd, an4 and lexicon-en}"
PYTHON=${PYTHON:-python3}
SENONE=${SENONE:-$here/../../target/release/senone}
folder=${1:?name a folder for audio and alignments}
lexicon=$SENONE_DATA/lexicon-en/cmudict.dict
[ -x "$SENONE" ] || { echo "$SENONE: no such program, build senone first or name it with SENONE" >&2; exit 1; }
mkdir -p "$folder"

# align NAME MANIFEST DICTIONARY TIER: by both; utterances that senone does not align are counted by compare.py.
align() {
  "$SENONE" --threads 1 align "$2" --lexicon "$3" --format ctm --tier "$4" > "$folder/$1/senone.ctm" 2> "$folder/$1/senone.log" ||
    tail -n 1 "$folder/$1/senone.log" >&2
  "$PYTHON" "$here/pocketsphinx_align.py" "$2" "$3" "$folder/$1/pocketsphinx.ctm" --tier "$4"
}

# compare FOLDER OPTIONS: both with the truth.
compare() {
  "$PYTHON" "$here/compare.py" "$1/truth.ctm" senone="$1/senone.ctm" pocketsphinx="$1/pocketsphinx.ctm" "${@:2}"
}

echo "== flite, phones; intervals by sentence"
"$PYTHON" "$here/synthesise.py" "$SENONE_DATA/speechocean762/test.tsv" "$folder/flite"
align flite "$folder/flite/test.tsv" "$folder/flite/words.dict" phones
compare "$folder/flite" --by 1 --rows 0

echo "== fsdd test, four digits of a speaker joined; intervals by speaker"
"$PYTHON" "$here/join.py" "$SENONE_DATA/fsdd/test.tsv" "$folder/fsdd"
align fsdd "$folder/fsdd/test.tsv" "$lexicon" words
compare "$folder/fsdd" --by 0 --rows 0

echo "== an4 test, phones, how far the two are apart; intervals by speaker"
mkdir -p "$folder/an4"
align an4 "$SENONE_DATA/an4/test.tsv" "$lexicon" phones
"$PYTHON" "$here/compare.py" "$folder/an4/pocketsphinx.ctm" senone="$folder/an4/senone.ctm" --by 1
