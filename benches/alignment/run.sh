#!/usr/bin/env bash
# Where senone and PocketSphinx put boundaries: in synthesised speech with stated times, between real words joined without a gap, and
# how far they are apart in real speech. Needs flite and ffmpeg. Where PYTHON's folder has viter, it is trained on an4 train and asked, too.
#
#   SENONE_DATA=/path/to/corpora PYTHON=peers/bin/python benches/alignment/run.sh FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${SENONE_DATA:?set SENONE_DATA to the folder with speechocean762, fsdd, an4, audio-cmn and lexicon-en}"
PYTHON=${PYTHON:-python3}
SENONE=${SENONE:-$here/../../target/release/senone}
folder=${1:?name a folder for audio and alignments}
lexicon=$SENONE_DATA/lexicon-en/cmudict.dict
[ -x "$SENONE" ] || { echo "$SENONE: no such program, build senone first or name it with SENONE" >&2; exit 1; }
mkdir -p "$folder"
viter='' train=(--train "$SENONE_DATA/an4/train.tsv" "$lexicon")
[ ! -x "$(dirname "$(command -v "$PYTHON")")/viter" ] || viter=$folder/an4.viter

# align NAME MANIFEST DICTIONARY TIER: by all; utterances that senone does not align are counted by compare.py.
align() {
  "$SENONE" --threads 1 align "$2" --lexicon "$3" --format ctm --tier "$4" > "$folder/$1/senone.ctm" 2> "$folder/$1/senone.log" ||
    tail -n 1 "$folder/$1/senone.log" >&2
  "$PYTHON" "$here/pocketsphinx_align.py" "$2" "$3" "$folder/$1/pocketsphinx.ctm" --tier "$4"
  [ -z "$viter" ] || "$PYTHON" "$here/viter_align.py" "$2" "$3" "$folder/$1/viter.ctm" --model "$viter" --tier "$4" "${train[@]}"
  train=()
}

# compare FOLDER OPTIONS: all with the truth.
compare() {
  "$PYTHON" "$here/compare.py" "$1/truth.ctm" senone="$1/senone.ctm" pocketsphinx="$1/pocketsphinx.ctm" ${viter:+"viter=$1/viter.ctm"} "${@:2}"
}

echo "== flite, phones; intervals by sentence"
"$PYTHON" "$here/synthesise.py" "$SENONE_DATA/speechocean762/test.tsv" "$folder/flite"
align flite "$folder/flite/test.tsv" "$folder/flite/words.dict" phones
compare "$folder/flite" --by 1 --rows 0

echo "== fsdd test, four digits of a speaker joined; intervals by speaker"
"$PYTHON" "$here/join.py" "$SENONE_DATA/fsdd/test.tsv" "$folder/fsdd"
align fsdd "$folder/fsdd/test.tsv" "$lexicon" words
compare "$folder/fsdd" --by 0 --rows 0

echo "== audio-cmn, four syllables of a speaker joined, models/zh, which was trained on them"
"$PYTHON" "$here/join.py" "$SENONE_DATA/audio-cmn/train.tsv" "$folder/cmn" --phones --sequences 100
"$SENONE" --threads 1 align "$folder/cmn/test.tsv" --model "$here/../../models/zh" --lexicon "$folder/cmn/words.dict" --format ctm \
  --tier words > "$folder/cmn/senone.ctm" 2> "$folder/cmn/senone.log" || tail -n 1 "$folder/cmn/senone.log" >&2
"$PYTHON" "$here/compare.py" "$folder/cmn/truth.ctm" senone="$folder/cmn/senone.ctm"

echo "== an4 test, phones, how far the two are apart; intervals by speaker"
mkdir -p "$folder/an4"
align an4 "$SENONE_DATA/an4/test.tsv" "$lexicon" phones
"$PYTHON" "$here/compare.py" "$folder/an4/pocketsphinx.ctm" senone="$folder/an4/senone.ctm" --by 1
[ -z "$viter" ] || "$PYTHON" "$here/compare.py" "$folder/an4/viter.ctm" senone="$folder/an4/senone.ctm" pocketsphinx="$folder/an4/pocketsphinx.ctm" --by 1
