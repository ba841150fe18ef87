# Stages of a recipe; sourced by its run.sh, which sets WORK (a folder), first and last (the numbers of the stages to do) and named (how
# many of these the command line gave). A stage that is done leaves a mark in $WORK and is not done again, unless it is named.

# Whether stage $1, which does $2, is to be done. Its mark has the name of what it does: another stage may get its number.
stage() {
  [ "$1" -ge "$first" ] && [ "$1" -le "$last" ] || return 1
  mark=$WORK/${2// /-}.done
  if [ "$named" -eq 0 ] && [ -e "$mark" ]; then
    printf '== stage %s: %s: done before\n' "$1" "$2"
    return 1
  fi
  printf '== stage %s: %s\n' "$1" "$2"
}

# Marks the stage that was begun last as done.
finish() { touch "$mark"; }
