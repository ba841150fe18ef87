#!/usr/bin/env bash
# What sequence training gains. run.sh trains the cross-entropy network on by four epochs of maximum mutual information
# (train-sequences.toml); here it is trained on by four epochs of cross-entropy instead (train-more.toml), tuned in the same way on
# the held-out speakers, and the two are scored with the paired interval of their difference. Comes after run.sh.
#
#   SENONE_DATA=/path/to/corpora recipes/english/sequences.sh
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)

: "${SENONE_DATA:?set SENONE_DATA to the folder with the corpora, see $recipe/README.md}"
WORK=${WORK:-$root/target/english}
THREADS=${THREADS:-2}
lexicon=$SENONE_DATA/lexicon-en/cmudict.dict
more=$WORK/more
senone() { "$root/target/release/senone" --threads "$THREADS" "$@"; }
for made in untuned speechocean762.ctm an4.ctm; do
  [ -e "$WORK/$made" ] || { echo "$WORK/$made: not there, run recipes/english/run.sh first" >&2; exit 1; }
done

if [ ! -e "$more/tuned" ]; then
  mkdir -p "$more"
  senone train "$recipe/train-more.toml" --data "$SENONE_DATA" --from "$WORK/untuned" --resume --work "$more/stages" \
    --output "$more/model" 2>&1 | tee -a "$more/train.log"
  senone tune "$more/model" "$more/stages/development.tsv" --lexicon "$lexicon" 2>&1 | tee "$more/tune.log"
  touch "$more/tuned"
fi

for test in speechocean762 an4; do
  senone decode --model "$more/model" --format ctm "$SENONE_DATA/$test/test.tsv" > "$more/$test.ctm"
  senone score "$SENONE_DATA/$test/test.tsv" "$WORK/$test.ctm" --against "$more/$test.ctm" --lexicon "$lexicon" |
    tee "$more/$test.score.txt"
done
