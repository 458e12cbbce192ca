#!/usr/bin/env bash
# Runs every command line of the case files on the files of files.sh and prints one row each: the line, its exit
# code and its messages. A line runs in a folder of its own; its row lists files that a rejected line leaves there.
#   tests/bad_input/run.sh PROGRAM CASES...
set -euo pipefail
export LC_ALL=C.UTF-8
umask 022  # a line tells of files that all can read
here=$(cd "$(dirname "$0")" && pwd)
export PROGRAM SOURCE
PROGRAM=$(realpath "$1")
SOURCE=$(realpath "$here/../..")
shift
WORK=$(mktemp -d)
export WORK
trap 'chmod -R u+w "$WORK"; rm -rf "$WORK"' EXIT

# Removes paths of this machine and characters that would break a table.
tidy() {
  sed -e "s|$WORK/files/||g" -e "s|$1/||g" -e "s|$1|.|g" -e "s|$SOURCE|SOURCE|g" -e 's/[.]tmp-[0-9]*/.tmp-N/g' -e 's/tfevents[^ ]*/tfevents.N/g' \
    -e 's/|/\\|/g' | tr -s '\n\t' '  ' | sed -e 's/ $//'
}
# Errors and warnings, without progress and logs; all that a parser of command lines says.
what_counts() {
  local said
  said=$(cat)
  if [ "$1" = 0 ] || grep -q '^simile: ' <<<"$said"; then
    grep -E '^(simile|warning): ' <<<"$said" || true
  else
    echo "$said"
  fi
}
# Lists files with their sizes, so that a replaced file is noticed too.
listing() { (cd "$1" && find . -mindepth 1 -printf '%p %s\n' | grep -v '^\./[.]' | sort); }

run_line() (
  cd "$1"
  simile() { "$PROGRAM" "$@"; }
  eval "$2" >/dev/null </dev/null
)

# In a line `... && simile ...`, the first part prepares files for the last command.
run_case() {
  local number=$1 line folder code=0
  line=$(sed -n "${number}p" "$WORK/lines")
  folder=$WORK/case$number
  cp -r "$WORK/files" "$folder"
  local prepared=${line% && simile *}
  [ "$prepared" = "$line" ] || run_line "$folder" "$prepared" 2>/dev/null
  listing "$folder" >"$folder.before"
  run_line "$folder" "${line#"$prepared && "}" 2>"$folder.err" || code=$?
  local said left=""
  said=$(what_counts "$code" <"$folder.err" | tidy "$folder")
  if [ "$code" != 0 ]; then
    left=$(listing "$folder" | comm -13 "$folder.before" - | cut -d' ' -f1 | tr '\n' ' ' | sed -e 's/tfevents[^ ]*/tfevents.N/')
    [ -z "$left" ] || left="; **leaves** $left"
  elif [ -z "$said" ]; then
    said="(nothing)"
  fi
  printf '| `%s` | %s | %s%s |\n' "${line//|/\\|}" "$code" "${said:-**no message**}" "$left" >"$WORK/row$number"
  rm -rf "$folder"
}
export -f tidy what_counts listing run_line run_case

mkdir "$WORK/files"
(cd "$WORK/files" && M=$SOURCE/tests/golden/tiny-bert bash "$here/files.sh") >/dev/null
cat "$@" >"$WORK/lines"
grep -n '^[^#]' "$WORK/lines" | cut -d: -f1 |
  xargs -P "${JOBS:-2}" -I{} bash -c 'set -uo pipefail; run_case {}'
number=0
while IFS= read -r line; do
  number=$((number + 1))
  case $line in
    '## '*) printf '\n%s\n\n| line | exit | what it says |\n| --- | --- | --- |\n' "$line" ;;
    '#'* | '') ;;
    *) cat "$WORK/row$number" ;;
  esac
done <"$WORK/lines"
