#!/usr/bin/env bash
# Runs the block of commands of a page that starts a server, as it stands there, on another port.
#   tests/server_examples.sh PROGRAM PAGE
set -euo pipefail
command -v curl >/dev/null && curl --help all | grep -q -- --json || { echo "skipped: no curl with --json"; exit 77; }
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/own"
ln -s "$(realpath "$1")" "$work/bin/simile"
PATH=$work/bin:$PATH
cd "$work/own"
ln -s "$source/examples" examples
port=$((20000 + RANDOM % 12000))
cat >"$work/commands.sh" <<'S'
set -m
curl() { command curl -sS --fail-with-body "$@" && echo; }
await() { command curl -s --retry 50 --retry-delay 1 --retry-connrefused "localhost:$1/health"; }
S
awk '/^```sh$/ { on = 1; block = ""; next } /^```$/ { if (block ~ /simile serve/) printf "%s", block; on = 0 } on { block = block $0 "\n" }' \
  "$source/$2" | sed -e "s/8080/$port/g" -e "/^simile serve.*&\$/a await $port" -e '/^kill %1/a wait %1' >>"$work/commands.sh"
bash -euo pipefail "$work/commands.sh" >"$work/said" 2>"$work/log" || {
  cat "$work/said" "$work/log" >&2
  echo "$2: the commands above ended with an error" >&2
  exit 1
}
expect() { grep -qE "$1" "$work/said" || { cut -c1-200 "$work/said" >&2; echo "$2: expected '$1'" >&2; exit 1; }; }
expect '^\[\[-?0\.[0-9]+,' "$2"
expect '"object":"embedding","embedding":[["]' "$2"
if [ "$2" = README.md ]; then
  expect '"id":"password-forgotten"' "$2"
  expect '"hits":\[\{"id":"tea"' "$2"
  expect '^te_embed_success [1-9]' "$2"
else
  expect '"openapi":"3' "$2"
  expect '"index":1,"score"' "$2"
fi
