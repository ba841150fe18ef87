#!/usr/bin/env bash
# Every learner on part-of-speech tags: same features, three templates, and error against training size.
#
#   SENONE_DATA=/path/to/data recipes/pos-en/run.sh
task=pos-en
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/recipes/tagging.sh"

for learner in hmm crf perceptron svm; do
  try words "$learner"
  try rich "$learner"
done
for learner in crf perceptron svm; do try free "$learner"; done
for learner in lstm bilstm tdnn bilstm-hmm bilstm-crf bilstm-svm; do try network "$learner"; done
for size in 100 300 1000 3000 10000; do
  for learner in hmm crf perceptron svm; do try words "$learner" "$size"; done
done
"$root/recipes/tagging_report.py" "$results" "$WORK/curve.svg" accuracy | tee "$WORK/report.md"
