#!/usr/bin/env bash
# The official client of OpenAI's API against the server. Needs node and, in a folder outside of the repository,
# `npm install openai`; OPENAI_CLIENT names that folder. Skipped without.
#   OPENAI_CLIENT=FOLDER tests/openai_client.sh PROGRAM
set -euo pipefail
if ! command -v node >/dev/null || [ ! -d "${OPENAI_CLIENT:-}/node_modules/openai" ]; then
  echo "skipped: no node, or OPENAI_CLIENT names no folder with npm's openai in it"
  exit 77
fi
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "$1")
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
cd "$work"
printf 'the cat sat\na dog ran on the mat\nsun\n' >texts.txt
echo sesame >keys
"$program" encode --model simile-mini-3-static --input texts.txt --output vectors.jsonl --quiet
"$program" serve --model simile-mini-3-static --served-model-name tiny --api-key-file keys --port 0 --quiet >address &
server=$!
for _ in $(seq 100); do
  [ -s address ] && break
  sleep 0.1
done
node "$here/openai_client.mjs" "$(sed 's/.*://' address)" vectors.jsonl
kill "$server"
wait "$server"
server=
