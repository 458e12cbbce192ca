#!/usr/bin/env bash
# Runs the commands of docs/tutorial.md as they stand there and looks at what they leave.
#   tests/tutorial.sh PROGRAM
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$(realpath "$1")" "$work/bin/simile"
PATH=$work/bin:$PATH
mkdir "$work/own"
cd "$work/own"
ln -s "$source/examples" examples
awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$source/docs/tutorial.md" >"$work/commands.sh"
bash -euo pipefail "$work/commands.sh" >"$work/said" 2>"$work/log" || {
  cat "$work/said" "$work/log" >&2
  echo "docs/tutorial.md: the commands above ended with an error" >&2
  exit 1
}
expect() { grep -qE "$1" "$work/said" || { cat "$work/said" >&2; echo "expected '$1'" >&2; exit 1; }; }
expect '^verdict: helped.*; dev map [0-9.]+ -> [0-9.]+ \(\+[1-9]'
expect '^ +1 +[0-9.]+ +0\.[0-9]+ +[0-9.]+ +billing-cancel-renewal '
expect '^checksums +right'
expect '^\{"label":"bicycle","similarity":0[.]'
expect '^\{"label":null,"similarity":0[.]'
grep -q '</html>' report.html
