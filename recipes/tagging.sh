# What the tagging recipes share; sourced by their run.sh, which sets `task` (a folder of $SENONE_DATA), `graph` (a file, or
# nothing) and calls the functions below. Every result is one line of $WORK/results.tsv, and is not made again.
#
# SENONE_DATA holds <task>/{train,dev,test}.tsv. SENONE names a program that is built already.
set -euo pipefail
: "${SENONE_DATA:?set SENONE_DATA to the folder that holds the $task folder}"
recipe=$root/recipes/$task
data=$SENONE_DATA/$task
WORK=${WORK:-$root/target/$task}
THREADS=${THREADS:-2}
mkdir -p "$WORK"
results=$WORK/results.tsv
touch "$results"
for part in train dev test; do
  [ -r "$data/$part.tsv" ] || { echo "$data/$part.tsv: no such file" >&2; exit 1; }
done
program=${SENONE:-$root/target/release/senone}
[ -n "${SENONE:-}" ] || cargo build --release --manifest-path "$root/Cargo.toml"
senone() { "$program" --threads "$THREADS" "$@"; }

# One figure of a score: $1 is `accuracy` or `entity F1`.
figure() { awk -v name="$1 " 'index($0, name) == 1 { print $(split(name, words, " ") + 1) }'; }

# try TEMPLATE LEARNER [SEQUENCES]: trains on the first SEQUENCES (default: all) with TEMPLATE.toml and the settings of
# TEMPLATE.settings.toml, chooses the epoch on the development set, and scores development and test set. A line of results:
# template, learner, sequences, then accuracy and entity F1 (- where there are no entities) of both sets. With SEQUENCES all+dev the
# development set is learnt from too, its last epoch is taken, and its scores are none.
try() {
  local template=$1 learner=$2 size=${3:-all} name line part
  name=$template.$learner.$size
  grep -q "^$template	$learner	$size	" "$results" && return
  echo "== $template $learner $size" >&2
  local arguments=(--learner "$learner" --template "$recipe/$template.toml" --settings "$recipe/$template.settings.toml"
    --output "$WORK/$name.model") training=$data/train.tsv
  [ -z "${graph:-}" ] || arguments+=(--graph "$graph")
  case $size in
    all) arguments+=(--development "$data/dev.tsv") ;;
    all+dev)
      training=$WORK/all+dev.tsv
      { cat "$data/train.tsv"; echo; cat "$data/dev.tsv"; } > "$training"
      ;;
    *) arguments+=(--development "$data/dev.tsv" --first "$size") ;;
  esac
  senone tag train "${arguments[@]}" "$training" 2> "$WORK/$name.log"
  line="$template	$learner	$size"
  for part in dev test; do
    senone tag predict "$WORK/$name.model" "$data/$part.tsv" > "$WORK/$name.$part.tsv"
    senone tag score "$data/$part.tsv" "$WORK/$name.$part.tsv" > "$WORK/$name.$part.txt"
    if [ "$size,$part" = all+dev,dev ]; then
      line+="	-	-"
      continue
    fi
    line+="	$(figure accuracy < "$WORK/$name.$part.txt")	$(figure "entity F1" < "$WORK/$name.$part.txt" | grep . || echo -)"
  done
  echo "$line" >> "$results"
}
