#!/usr/bin/env bash
# First-order HMM against CRF, perceptron and SVM on random sources of mixed order. Results that are there are not made again.
#
#   recipes/mixed-order/run.sh [MODELS_PER_ALPHA]
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)

models=${1:-30}
WORK=${WORK:-$root/target/mixed-order}
THREADS=${THREADS:-2}
mkdir -p "$WORK"
results=$WORK/results.tsv
touch "$results"
senone=${SENONE:-$root/target/release/senone}
[ -n "${SENONE:-}" ] || cargo build --release --manifest-path "$root/Cargo.toml"

# Trains and scores every learner on the source of alpha $1 and seed $2, one line each, all of them or none.
one() {
  local folder lines learner accuracy
  folder=$(mktemp -d "$WORK/model.XXXXXX")
  "$recipe/generate.py" "$1" "$2" "$folder/train.tsv" "$folder/test.tsv"
  lines=
  for learner in hmm crf perceptron svm; do
    "$senone" --threads 1 tag train --quiet --learner "$learner" --output "$folder/$learner" "$folder/train.tsv"
    "$senone" --threads 1 tag predict "$folder/$learner" "$folder/test.tsv" > "$folder/$learner.tsv"
    accuracy=$("$senone" tag score "$folder/test.tsv" "$folder/$learner.tsv" | awk '/^accuracy/ { print $2 }')
    lines+="$1"$'\t'"$2"$'\t'"$learner"$'\t'"$accuracy"$'\n'
  done
  printf %s "$lines" >> "$results"
  rm -r "$folder"
}
export -f one
export recipe WORK results senone

for seed in $(seq "$models"); do
  for alpha in 0.0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0; do
    grep -q "^$alpha"$'\t'"$seed"$'\t' "$results" || printf '%s %s\n' "$alpha" "$seed"
  done
done | xargs -r -P "$THREADS" -L 1 bash -euo pipefail -c 'one "$0" "$1"'

"$recipe/report.py" "$results" "$WORK/scatter.svg" | tee "$WORK/report.md"
