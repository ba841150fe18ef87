#!/usr/bin/env bash
# How well phone n-grams predict the development utterances: of the phones that the training utterances were aligned to, and mixed
# with those of a text of words (pos-en, in SENONE_DATA). Comes after stage 3 of run.sh.
#
#   SENONE_DATA=/path/to/corpora recipes/english/ngrams.sh
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)

: "${SENONE_DATA:?set SENONE_DATA to the folder with the corpora, see $recipe/README.md}"
WORK=${WORK:-$root/target/english}
SENONE=${SENONE:-$root/target/release/senone}
folder=$WORK/ngrams
mkdir -p "$folder"
cd "$folder"

# The phones of the alignment, an utterance on each line: with $1 = 1 those of the development utterances, with 0 the others.
phones() {
  awk -v wanted="$1" 'NR == FNR { held[$1]; next } ($1 in held) != wanted { next }
    $1 != last { if (last != "") print line; line = ""; last = $1 } { line = line $5 " " } END { print line }' \
    "$WORK/train/development.tsv" "$WORK/train/pass-2.ctm"
}

phones 0 > training.txt
phones 1 > development.txt
cut -f 1 "$SENONE_DATA/pos-en/train.tsv" | awk 'NF { line = line $1 " "; next } { print line; line = "" } END { print line }' > words.txt

estimate() { "$SENONE" ngram estimate --smoothing kneser-ney "$@"; }
prune() { "$SENONE" ngram prune "$1.arpa" --histories "$2" --output "$1-$2.arpa"; }
for order in 5 6; do
  estimate training.txt --order "$order" --output "order-$order.arpa"
done
estimate words.txt --lexicon "$SENONE_DATA/lexicon-en/cmudict.dict" --pause SIL --order 6 --output words.arpa
"$SENONE" ngram mix order-6.arpa words.arpa --shares 0.7,0.3 --output mixed.arpa
for histories in 20000 30000 40000; do prune order-5 "$histories"; done
prune order-6 40000
prune mixed 40000
"$SENONE" ngram score order-5{,-40000,-30000,-20000}.arpa order-6{,-40000}.arpa mixed{,-40000}.arpa --text development.txt
