#!/usr/bin/env bash
# What a learner and what depth buys: linear CRF, perceptron and SVM on spliced frames, and networks, all trained on an4, tuned on
# eight of its speakers and scored on its test. A table goes to $WORK/learners.tsv.
#
#   SENONE_DATA=/path/to/corpora recipes/english/learners.sh [ROW ...]
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)

: "${SENONE_DATA:?set SENONE_DATA to the folder with the corpora, see $recipe/README.md}"
WORK=${WORK:-$root/target/learners}
THREADS=${THREADS:-2}
SENONE=${SENONE:-$root/target/release/senone}
lexicon=$SENONE_DATA/lexicon-en/cmudict.dict
mkdir -p "$WORK"

linear='kind = "mlp"\nleft_frames = 6\nright_frames = 6\nwidths = []'
mlp='kind = "mlp"\nleft_frames = 6\nright_frames = 6\nwidths = [384, 384, 384]'
tdnn='kind = "tdnn"\ninput_width = 128\nwidth = 256\nbottleneck = 96\ndilations = [1, 1, 2, 2, 3]'
plain='augment = { speeds = [1.0], frequency_masks = 0, time_masks = 0 }'

# Row, learner, network, dropout, augmentation: masks are no help to a model without hidden layers.
rows=(
  "linear-perceptron|perceptron|$linear|0.0|$plain"
  "linear-svm|svm|$linear|0.0|$plain"
  "linear-crf|crf|$linear|0.0|$plain"
  "linear-hybrid|hybrid|$linear|0.0|$plain"
  "mlp-crf|crf|$mlp|0.1|"
  "mlp-hybrid|hybrid|$mlp|0.1|"
  "tdnn-crf|crf|$tdnn|0.1|"
  "tdnn-hybrid|hybrid|$tdnn|0.1|"
)

for row in "${rows[@]}"; do
  IFS='|' read -r name learner network dropout augment <<< "$row"
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  folder=$WORK/$name
  mkdir -p "$folder"
  sed -e "s|%NAME%|$name|; s|%RECIPE%|$recipe|; s|%LEARNER%|$learner|; s|%NETWORK%|$network|; s|%DROPOUT%|$dropout|" \
    -e "s|%AUGMENT%|$augment|" "$recipe/learners.toml" > "$folder/train.toml"
  run() { "$SENONE" --threads "$THREADS" "$@"; }
  run train "$folder/train.toml" --data "$SENONE_DATA" --resume --work "$folder/stages" --output "$folder/model" 2>&1 |
    tee "$folder/train.log"
  run tune "$folder/model" "$folder/stages/development.tsv" --lexicon "$lexicon" 2>&1 | tee "$folder/tune.log"
  run decode --model "$folder/model" --format ctm "$SENONE_DATA/an4/test.tsv" > "$folder/an4.ctm"
  run score "$SENONE_DATA/an4/test.tsv" "$folder/an4.ctm" --lexicon "$lexicon" | tee "$folder/an4.score.txt"
done

for row in "${rows[@]}"; do
  name=${row%%|*}
  [ -e "$WORK/$name/an4.score.txt" ] && printf '%s\t%s\n' "$name" "$(head -n 1 "$WORK/$name/an4.score.txt")"
done | tee "$WORK/learners.tsv"
