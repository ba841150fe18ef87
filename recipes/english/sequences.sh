#!/usr/bin/env bash
# What sequence training gains: the model of run.sh trained on by four epochs of cross-entropy (train-more.toml) and by four of
# maximum mutual information (train-sequences.toml), each tuned on the held-out speakers, both scored on the tests, with the
# paired interval of the difference.
#
#   SENONE_DATA=/path/to/corpora recipes/english/sequences.sh
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)

: "${SENONE_DATA:?set SENONE_DATA to the folder with the corpora, see $recipe/README.md}"
WORK=${WORK:-$root/target/english}
START=${START:-$root/models/en}
THREADS=${THREADS:-2}
SENONE=${SENONE:-$root/target/release/senone}
lexicon=$SENONE_DATA/lexicon-en/cmudict.dict
run() { "$SENONE" --threads "$THREADS" "$@"; }

for name in more sequences; do
  folder=$WORK/$name
  [ -e "$folder/tuned" ] && continue
  mkdir -p "$folder"
  run train "$recipe/train-$name.toml" --data "$SENONE_DATA" --start "$START" --work "$folder/work" --output "$folder/model" 2>&1 |
    tee -a "$folder/train.log"
  run tune "$folder/model" "$folder/work/development.tsv" --lexicon "$lexicon" 2>&1 | tee "$folder/tune.log"
  touch "$folder/tuned"
done

for test in speechocean762 an4; do
  for name in more sequences; do
    run decode --model "$WORK/$name/model" --format ctm "$SENONE_DATA/$test/test.tsv" > "$WORK/$name/$test.ctm"
  done
  run score "$SENONE_DATA/$test/test.tsv" "$WORK/sequences/$test.ctm" --against "$WORK/more/$test.ctm" --lexicon "$lexicon" |
    tee "$WORK/sequences/$test.score.txt"
done
