#!/usr/bin/env bash
# What each part is worth: small models trained on an4, tuned on eight of its speakers and scored on its test, each of them a row
# that is appended to results.tsv with seed and commit. A row takes some minutes on two cores.
#
#   SENONE_DATA=/path/to/corpora recipes/english/ablation.sh [ROW ...]
#
# Without rows all are made, but for those that this commit has in results.tsv already.
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)

: "${SENONE_DATA:?set SENONE_DATA to the folder with the corpora, see $recipe/README.md}"
commit=$(git -C "$root" describe --always --dirty --exclude '*')
case $commit in *-dirty) echo "commit what was changed first: a row is noted with the commit that made it" >&2; exit 1 ;; esac
WORK=${WORK:-$root/target/ablation}/$commit
THREADS=${THREADS:-2}
[ -n "${SENONE:-}" ] || cargo build --release --manifest-path "$root/Cargo.toml"
SENONE=${SENONE:-$root/target/release/senone}
RESULTS=${RESULTS:-$recipe/results.tsv}
lexicon=$SENONE_DATA/lexicon-en/cmudict.dict
test=$SENONE_DATA/an4/test.tsv
mkdir -p "$WORK"
run() { "$SENONE" --threads "$THREADS" "$@"; }

all=(gmm gmm-left-biphone gmm-triphone linear-crf linear-svm mlp lstm bilstm tdnn tdnn-crf tdnn-longer tdnn-mmi tdnn-left-biphone
  tdnn-triphone tdnn-frames tdnn-no-priors tdnn-ngram-0 tdnn-ngram-1 tdnn-ngram-3 tdnn-ngram-4 tdnn-ngram-5)

linear='kind = "mlp"\nleft_frames = 6\nright_frames = 6\nwidths = []'
mlp='kind = "mlp"\nleft_frames = 6\nright_frames = 6\nwidths = [384, 384, 384]'
lstm='kind = "lstm"\nlayers = 2\nwidth = 192'
bilstm='kind = "bilstm"\nlayers = 2\nwidth = 128'
tdnn='kind = "tdnn"\ninput_width = 128\nwidth = 256\nbottleneck = 96\ndilations = [1, 1, 2, 2, 3]'
# Masks and changed recordings are no help to a model without hidden layers.
plain='speeds = [1.0], vocal_tract = 0.0, frequency_masks = 0, time_masks = 0'
mmi='[sequence]\ncriterion = "mmi"\nacoustic_scale = 1.0\nprior_scale = 0.3\ncross_entropy_share = 0.1\nngram = { order = 2 }'
mmi+='\n[sequence.training]\nepochs = 4\nbatch_frames = 3000\nlearning_rate = 5e-4\naverage_last = 2'
context() { printf '[context]\\nkind = "%s"\\nleaves = 300' "$1"; }

# Trains the model $1 with the learner $2 and the network $3 (dropout $4, changes $5) in $6 epochs; $7 are further tables.
train() {
  local folder=$WORK/$1 report=false
  [ -e "$folder/model/bundle.toml" ] && return
  case $1 in tdnn | tdnn-left-biphone | tdnn-triphone) report=true ;; esac
  mkdir -p "$folder"
  sed -e "s|%NAME%|$1|; s|%RECIPE%|$recipe|; s|%LEARNER%|$2|; s|%NETWORK%|$3|; s|%DROPOUT%|$4|" \
    -e "s|%AUGMENT%|$5|; s|%EPOCHS%|$6|; s|%MORE%|${7:-}|; s|%REPORT%|$report|" "$recipe/ablation.toml" > "$folder/train.toml"
  run train "$folder/train.toml" --data "$SENONE_DATA" --resume --work "$folder/stages" --output "$folder/model"
}

# The model that row $1 needs.
model_of() {
  case $1 in
    linear-crf) train "$1" crf "$linear" 0.0 "$plain" 16 ;;
    linear-svm) train "$1" svm "$linear" 0.0 "$plain" 16 ;;
    mlp) train "$1" hybrid "$mlp" 0.1 "" 16 ;;
    lstm) train "$1" hybrid "$lstm" 0.1 "" 16 ;;
    bilstm) train "$1" hybrid "$bilstm" 0.1 "" 16 ;;
    tdnn) train "$1" hybrid "$tdnn" 0.1 "" 16 ;;
    tdnn-crf) train "$1" crf "$tdnn" 0.1 "" 16 ;;
    tdnn-longer) train "$1" hybrid "$tdnn" 0.1 "" 20 ;;
    tdnn-mmi) train "$1" hybrid "$tdnn" 0.1 "" 16 "$mmi" ;;
    tdnn-left-biphone) train "$1" hybrid "$tdnn" 0.1 "" 16 "$(context left-biphone)" ;;
    tdnn-triphone) train "$1" hybrid "$tdnn" 0.1 "" 16 "$(context word-internal-triphone)" ;;
  esac
}

# Appends a row: its name, the phone error on the development speakers, and that on the test with its interval.
append() {
  [ -n "$2" ] || { echo "$1: no phone error of the development speakers was told" >&2; exit 1; }
  [ -e "$RESULTS" ] || printf 'date\tcommit\tseed\trow\tdevelopment %%\tan4 test %%\t95 %% from\tto\n' > "$RESULTS"
  printf '%s\t%s\t1\t%s\t%s\t%s\t%s\t%s\n' "$(date +%F)" "$commit" "$@" | tee -a "$RESULTS"
}

# The rate and its interval on the first line of a report of `senone score`, with tabs between.
rates() { sed -nE '1s/^PER ([0-9.]+) %, 95 % interval ([0-9.]+) to ([0-9.]+) .*/\1\t\2\t\3/p' "$1"; }

# Decodes with the model $2 and the options $3... what row $1 reports, its development error being $development.
scored() {
  local row=$1 model=$2
  shift 2
  run decode --model "$model" --format ctm "$@" "$test" > "$WORK/$row.ctm"
  run score "$test" "$WORK/$row.ctm" --lexicon "$lexicon" > "$WORK/$row.score.txt"
  IFS=$'\t' read -r rate low high < <(rates "$WORK/$row.score.txt") || { echo "$WORK/$row.score.txt: no rate in it" >&2; exit 1; }
  append "$row" "$development" "$rate" "$low" "$high"
}

# Tunes a copy of the model $2 with the options $3... and reports it as row $1.
tuned() {
  local row=$1 model=$WORK/tuned/$1 from=$2
  shift 2
  rm -rf "$model"
  mkdir -p "$WORK/tuned"
  cp -r "$from" "$model"
  run tune "$model" "$from/../stages/development.tsv" --lexicon "$lexicon" "$@" 2>&1 | tee "$WORK/$row.tune.log"
  development=$(sed -nE 's/^phone error ([0-9.]+) % on [0-9]+ utterances$/\1/p' "$WORK/$row.tune.log")
  scored "$row" "$model"
}

# The development error that training told of the Gaussian model $3 in the folder $2; it decodes with its own bigram and settings.
gaussian() {
  append "$1" "$(sed -nE "s/.*Gaussian model, $3: phone error ([0-9.]+) %.*/\1/p" "$WORK/$2/stages/log.txt" | tail -n 1)" "" "" ""
}

# An n-gram of order $1 of the phones that the training utterances of the model tdnn were aligned to.
ngram() {
  local phones=$WORK/phones.txt
  awk 'NR == FNR { held[$1]; next } ($1 in held) { next } $1 != last { if (last != "") print line; line = ""; last = $1 }
       { line = line $5 " " } END { print line }' "$WORK/tdnn/stages/development.tsv" "$WORK/tdnn/stages/gmm.ctm" > "$phones"
  run ngram estimate "$phones" --order "$1" --output "$WORK/order-$1.arpa"
}

row() {
  local trained=$WORK/tdnn/model
  case $1 in
    gmm) model_of tdnn && gaussian "$1" tdnn monophones ;;
    gmm-left-biphone) model_of tdnn-left-biphone && gaussian "$1" tdnn-left-biphone left-biphone ;;
    gmm-triphone) model_of tdnn-triphone && gaussian "$1" tdnn-triphone word-internal-triphone ;;
    tdnn-frames)
      model_of tdnn
      run decode --model "$trained" --no-graph --format ctm "$WORK/tdnn/stages/development.tsv" > "$WORK/$1.development.ctm"
      run score "$WORK/tdnn/stages/development.tsv" "$WORK/$1.development.ctm" --lexicon "$lexicon" > "$WORK/$1.development.txt"
      IFS=$'\t' read -r development _ < <(rates "$WORK/$1.development.txt") || true
      scored "$1" "$trained" --no-graph
      ;;
    tdnn-no-priors) model_of tdnn && tuned "$1" "$trained" --prior-scale 0 ;;
    tdnn-ngram-0) model_of tdnn && tuned "$1" "$trained" --lm-scale 0 ;;
    tdnn-ngram-*)
      model_of tdnn
      ngram "${1##*-}"
      tuned "$1" "$trained" --ngram "$WORK/order-${1##*-}.arpa"
      ;;
    *) model_of "$1" && tuned "$1" "$WORK/$1/model" ;;
  esac
}

for name in "${@:-"${all[@]}"}"; do
  printf '%s\n' "${all[@]}" | grep -qxF -e "$name" || { echo "$name: no such row, expected some of: ${all[*]}" >&2; exit 2; }
done
for name in "${@:-"${all[@]}"}"; do
  if [ $# -eq 0 ] && cut -f 2,4 "$RESULTS" 2> /dev/null | grep -qxF "$commit"$'\t'"$name"; then continue; fi
  row "$name"
done
