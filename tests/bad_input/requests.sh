#!/usr/bin/env bash
# Prints the page docs/results/bad-requests.md, or with --check compares it with the server. Skipped (77) where
# curl has no --json.
#   tests/bad_input/requests.sh PROGRAM [--check]
set -euo pipefail
export LC_ALL=C.UTF-8
curl --help all | grep -q -- --json || { echo "skipped: no curl with --json"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
PROGRAM=$(realpath "$1")
if [ "${2:-}" = --check ]; then
  diff "$here/../../docs/results/bad-requests.md" <("$0" "$PROGRAM") && exit
  echo "docs/results/bad-requests.md says what stands behind <; write it anew with tests/bad_input/requests.sh PROGRAM" >&2
  exit 1
fi
work=$(mktemp -d)
server=
stop() {
  [ -z "$server" ] || { kill "$server" && wait "$server"; }
  server=
}
trap 'stop; rm -rf "$work"' EXIT
cd "$work"
export PROGRAM
M=$here/../golden/tiny-bert bash "$here/files.sh" >/dev/null
mkdir runs
printf '%s\n' sesame '{key: reader, name: app, role: read}' '{key: once, name: trial, requests_per_minute: 1}' >keys

start() {
  stop
  rm -f address
  eval '"$PROGRAM" serve --port 0 --quiet '"$1"' >address &'
  server=$!
  for _ in $(seq 300); do
    [ -s address ] && break
    sleep 0.1
  done
  url=http://127.0.0.1:$(sed 's/.*://' address)
}
# Arguments that begin with / are the server's.
curl() {
  local words=() word
  for word in "$@"; do
    case $word in /*) word=$url$word ;; esac
    words+=("$word")
  done
  command curl -s -o answer -w '%{http_code}' --max-time 60 "${words[@]}"
}
# The error's text, or the warnings of an answer.
said() {
  sed -nE -e 's/^\{"error":"(.*)","error_type":"([A-Za-z]+)"\}$/\2: \1/p' \
    -e 's/^\{"error":\{"message":"(.*)","type":.*$/\1/p' -e 's/.*"warnings":\[(.*)\]\}$/answered, with warnings \1/p' answer |
    sed -e 's/\\"/"/g' -e 's/\\\\/\\/g' -e 's/|/\\|/g'
}
row() {
  local status words
  : >answer
  status=$(eval "$1")
  words=$(said)
  [ -n "$words" ] || words=$([ "${status:0:1}" = 2 ] && echo answered || echo '(no text)')
  printf '| `%s` | %s | %s |\n' "${1//|/\\|}" "$status" "$words"
}

cat <<'P'
# Bad requests

This page lists the server's answers to wrong or doubtful requests.
`tests/bad_input/requests.sh build/dev/cli/simile >docs/results/bad-requests.md` makes it, and the tests compare it.
`tests/bad_input/files.sh` makes the model and the index that the server uses. Addresses are shown without host and port.
Under `/v1` and at `/embeddings` errors have OpenAI's form, and only the message is shown; elsewhere the error's type comes
before its text.
P
while IFS= read -r line <&3; do
  case $line in
    '! '*) start "${line#! }" && options=${line#! } ;;
    '## '*) printf '\n%s\n\nServed by `simile serve %s`:\n\n| request | status | what it says |\n| --- | --- | --- |\n' "$line" "$options" ;;
    '#'* | '') ;;
    *) row "$line" ;;
  esac
done 3<"$here/requests.txt"
