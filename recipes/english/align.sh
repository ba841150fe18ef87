#!/usr/bin/env bash
# What `senone align` makes of right and of wrong transcripts, as a table of verdicts; and, of a manifest given by name, where the
# thresholds could be.
#
#   SENONE_DATA=/path/to/corpora recipes/english/align.sh                    the test sets
#   SENONE_DATA=/path/to/corpora recipes/english/align.sh MANIFEST ...      others, as train/development.tsv of run.sh
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)
: "${SENONE_DATA:?set SENONE_DATA to the folder with the corpora, see $recipe/README.md}"
WORK=${WORK:-$root/target/english}/align
lexicon=$SENONE_DATA/lexicon-en/cmudict.dict
sets=("$@")
[ "$#" -gt 0 ] || sets=("$SENONE_DATA/an4/test.tsv" "$SENONE_DATA/speechocean762/test.tsv")

for manifest in "${sets[@]}"; do
  folder=$WORK/$(basename "$(dirname "$manifest")")-$(basename "$manifest" .tsv)
  python3 "$recipe/wrong.py" "$manifest" "$lexicon" "$folder"
  for kind in right wrong cut more; do
    rm -f "$folder/$kind.summary.tsv" "$folder/$kind.gop"   # a run that fails leaves none
    # The exit status says that some are too short, which is what is counted here.
    "$root/target/release/senone" --threads 1 align "$folder/$kind.tsv" --lexicon "$lexicon" --format ctm \
      --summary "$folder/$kind.summary.tsv" --gop "$folder/$kind.gop" > "$folder/$kind.ctm" 2> "$folder/$kind.log" || true
    awk -F'\t' -v set="$manifest" -v kind="$kind" 'NR > 1 { count[$2]++; all++ } END {
      told = count["doubtful"] + count["too-short"] + count["failed"]
      printf "%s  %s: %d utterances, aligned %d, widened %d, doubtful %d, too short %d, failed %d: %.1f %% in doubt\n", set, kind, all,
        count["aligned"], count["widened"], count["doubtful"], count["too-short"], count["failed"], 100 * told / all }' \
      "$folder/$kind.summary.tsv"
  done
  if [ "$#" -gt 0 ]; then
    python3 "$recipe/thresholds.py" "$folder"/{right,wrong,cut,more}.gop
  fi
done
