#!/usr/bin/env bash
# Words with the built-in English model: an4 with a bigram of its training transcripts, 20,000 words with a bigram of text, and spoken
# digits with a grammar; PocketSphinx on the same where $PEERS names a Python that has it. See README.md beside this file. A stage that is done is not done again, unless it is named.
#
#   SENONE_DATA=/path/to/corpora recipes/words/run.sh [FIRST_STAGE [LAST_STAGE]]
set -euo pipefail
recipe=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$recipe/../.." && pwd)

: "${SENONE_DATA:?set SENONE_DATA to the folder with the corpora, see $recipe/README.md}"
SENONE_DATA=$(cd "$SENONE_DATA" && pwd)
WORK=${WORK:-$root/target/words}
SENONE=${SENONE:-$root/target/release/senone}
THREADS=${THREADS:-2}
first=${1:-1}
last=${2:-6}
named=$#
lexicon=$SENONE_DATA/lexicon-en/cmudict.dict
an4=$SENONE_DATA/an4
speech=("$SENONE_DATA"/{speechocean762,an4,librispeech-mini,kathleen}/train.tsv)
# The speakers of an4's training set that recipes/english holds out: the model has not learnt from them.
development="fash ftmj mblw mdmc mjes mmaf mmtm mtxj"
mkdir -p "$WORK"

. "$root/recipes/stages.sh"
senone() { "$SENONE" --threads "$THREADS" "$@"; }
text() { awk -F'\t' -f "$recipe/text.awk" "$@"; }

# The graph file $1: the model's own, with the dictionary and the n-gram $2, which counts $3 times.
graph() {
  cp "$root/models/en/graph.toml" "$1"
  printf '\n[lexicon]\nfile = "%s"\n[lm]\nfile = "%s"\nscale = %s\n' "$lexicon" "$2" "$3" >> "$1"
}

# Decodes manifest $1 with graph file $2 into $3.ctm, times it, and scores it into $3.score.txt; the rest goes to decode.
measure() {
  local manifest=$1 graph=$2 name=$3
  shift 3
  /usr/bin/time -v -o "$name.time.txt" "$SENONE" --threads 1 decode --graph "$graph" --format ctm "$@" "$manifest" > "$name.ctm"
  "$SENONE" score "$manifest" "$name.ctm" --words > "$name.score.txt"
  printf '%s: %s\n' "$(basename "$name")" "$(head -n 1 "$name.score.txt")"
  grep -E 'Elapsed|User time|Maximum resident' "$name.time.txt"
}

# What PocketSphinx hears in manifest $1 into $2.ctm, scored into $2.score.txt; dictionary and n-gram or grammar go to it.
peer() {
  local manifest=$1 name=$2
  shift 2
  [ -n "${PEERS:-}" ] || return 0
  "$PEERS" "$root/benches/pocketsphinx_words.py" "$manifest" "$1" "$name.ctm" "${@:2}"
  "$SENONE" score "$manifest" "$name.ctm" --words > "$name.score.txt"
  printf '%s: %s\n' "$(basename "$name")" "$(head -n 1 "$name.score.txt")"
}

if stage 1 "build"; then
  cargo build --release --manifest-path "$root/Cargo.toml"
  finish
fi

if stage 2 "n-grams"; then
  awk -F'\t' -v OFS='\t' -v names="$development" -v data="$an4" '
    BEGIN { count = split(names, all, " "); for (i = 1; i <= count; i++) held[all[i]] }
    FNR == 1 { for (i = 1; i <= NF; i++) place[$i] = i; print > dev; print > rest; next }
    { if ($place["speaker"] in held) { $place["audio"] = data "/" $place["audio"]; print > dev } else print > rest }
  ' dev="$WORK/development.tsv" rest="$WORK/learnt.tsv" "$an4/train.tsv"
  text "$WORK/learnt.tsv" > "$WORK/learnt.txt"
  text "$an4/train.tsv" > "$WORK/an4.txt"
  for set in learnt an4; do
    senone ngram estimate "$WORK/$set.txt" --order 2 --output "$WORK/$set.arpa"
  done

  # 20,000 words: those of the text that the dictionary has, the most frequent first, and others of the dictionary at even distances.
  text "$SENONE_DATA/pos-en/train.tsv" "${speech[@]}" > "$WORK/text.txt"
  awk '{ sub(/\(.*/, "", $1); if ($1 ~ /^[a-z]/ && !seen[$1]++) print $1 }' "$lexicon" > "$WORK/dictionary.txt"
  awk 'NR == FNR { known[$1]; next } { for (i = 1; i <= NF; i++) if ($i in known) count[$i]++ }
    END { for (word in count) print count[word] "\t" word }' "$WORK/dictionary.txt" "$WORK/text.txt" |
    sort -k1,1nr -k2,2 | head -n 20000 | cut -f 2 > "$WORK/frequent.txt"
  awk -v want=20000 'NR == FNR { have[$1]; count++; next } !($1 in have) { rest[++all] = $1 }
    END { for (i = 0; i < want - count; i++) print rest[1 + int(i * all / (want - count))] }' \
    "$WORK/frequent.txt" "$WORK/dictionary.txt" > "$WORK/further.txt"
  awk 'NR == FNR { known[$1]; next } { for (i = 1; i <= NF; i++) if (!($i in known)) $i = "<unk>"; print }' \
    "$WORK/frequent.txt" "$WORK/text.txt" > "$WORK/frequent-text.txt"
  senone ngram estimate "$WORK/frequent-text.txt" --order 2 --smoothing kneser-ney --output "$WORK/frequent.arpa"
  senone ngram estimate "$WORK/further.txt" --order 1 --output "$WORK/further.arpa"
  senone ngram mix "$WORK/frequent.arpa" "$WORK/further.arpa" --shares 0.99,0.01 --output "$WORK/large.arpa"
  finish
fi

if stage 3 "choose the scale of the n-gram on the held-out speakers"; then
  rm -f "$WORK/scales.tsv"
  for scale in 0.25 0.5 0.75 1 1.5 2; do
    graph "$WORK/learnt.toml" "$WORK/learnt.arpa" "$scale"
    senone decode --graph "$WORK/learnt.toml" --format ctm "$WORK/development.tsv" > "$WORK/development.ctm"
    senone score "$WORK/development.tsv" "$WORK/development.ctm" --words > "$WORK/development.score.txt"
    printf '%s\t%s\n' "$scale" "$(head -n 1 "$WORK/development.score.txt")" | tee -a "$WORK/scales.tsv"
  done
  sort -t "$(printf '\t')" -k2.5,2n "$WORK/scales.tsv" | head -n 1 | cut -f 1 > "$WORK/scale"
  finish
fi

if stage 4 "an4"; then
  graph "$WORK/an4.toml" "$WORK/an4.arpa" "$(cat "$WORK/scale")"
  senone graph check "$WORK/an4.toml"
  measure "$an4/test.tsv" "$WORK/an4.toml" "$WORK/an4-exact" --exact
  measure "$an4/test.tsv" "$WORK/an4.toml" "$WORK/an4-beam"
  measure "$an4/test.tsv" "$WORK/an4.toml" "$WORK/an4-beam-25" --beam 25
  peer "$an4/test.tsv" "$WORK/an4-pocketsphinx" "$lexicon" --lm "$WORK/an4.arpa"
  finish
fi

if stage 5 "20,000 words"; then
  graph "$WORK/large.toml" "$WORK/large.arpa" "$(cat "$WORK/scale")"
  /usr/bin/time -v -o "$WORK/large-check.time.txt" "$SENONE" --threads 1 graph check "$WORK/large.toml"
  grep -E 'Elapsed|User time|Maximum resident' "$WORK/large-check.time.txt"
  measure "$an4/test.tsv" "$WORK/large.toml" "$WORK/large-beam"
  measure "$an4/test.tsv" "$WORK/large.toml" "$WORK/large-beam-25" --beam 25
  measure "$an4/test.tsv" "$WORK/large.toml" "$WORK/large-exact" --exact
  finish
fi

if stage 6 "digits"; then
  digits=$SENONE_DATA/fsdd/test.tsv
  measure "$digits" "$recipe/digit.toml" "$WORK/digit"
  measure "$digits" "$recipe/digit.toml" "$WORK/digit-exact" --exact
  measure "$digits" "$root/docs/graphs/digits.toml" "$WORK/digits"
  printf '#JSGF V1.0;\ngrammar digit;\npublic <digit> = zero | one | two | three | four | five | six | seven | eight | nine;\n' \
    > "$WORK/digit.jsgf"
  peer "$digits" "$WORK/digit-pocketsphinx" "$lexicon" --grammar "$WORK/digit.jsgf"
  finish
fi
