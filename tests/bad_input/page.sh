#!/usr/bin/env bash
# Prints the page docs/results/bad-input.md, or with --check AREA compares that part of it with the program.
#   tests/bad_input/page.sh PROGRAM [--check encode|models|evaluate|index|serve|train|tune]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
areas=(encode models evaluate index serve train tune)
area() {
  printf '\n<!-- %s -->\n' "$2"
  "$here/run.sh" "$1" "$here/$2.txt"
  printf '\n<!-- end -->\n'
}
if [ "${2:-}" = --check ]; then
  page=$here/../../docs/results/bad-input.md
  diff <(awk -v area="<!-- $3 -->" '$0 == area { on = 1 } on; /<!-- end -->/ { on = 0 }' "$page") \
    <(area "$1" "$3" | tail -n +2) && exit
  echo "docs/results/bad-input.md says what stands behind <; write it anew with tests/bad_input/page.sh PROGRAM" >&2
  exit 1
fi
cat <<'P'
# Bad input

This page lists the program's messages for wrong or doubtful input.
`tests/bad_input/page.sh build/dev/cli/simile >docs/results/bad-input.md` makes it, and the tests compare it.
`tests/bad_input/files.sh` makes the files that the lines name. A line `... && simile ...` tests its last command.
SOURCE is this repository. Exit codes: 0 done (with warnings, if any, in the last column; other lines of stderr are left
out), 1 the system failed, 2 the command or recipe is wrong, 3 the data or model is wrong.
P
for name in "${areas[@]}"; do area "$1" "$name"; done
