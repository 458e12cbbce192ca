#!/usr/bin/env bash
# hub.sh SIMILE [PYTHON]: fetches a model from a local hub, whole, killed at ten moments, and with the hub's own client
# (huggingface_hub, where PYTHON has it) on the same cache. The model is the published all-MiniLM-L6-v2 where
# scripts/get-published.sh finds it, else the one in the repository.
set -euo pipefail
simile=$1 python=${2:-python3}
here=$(cd "$(dirname "$0")" && pwd)
model=$("$here/../scripts/get-published.sh" --find all-MiniLM-L6-v2 2>/dev/null) || model=$here/../models/simile-mini-3
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 0; }
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill $server 2>/dev/null; rm -rf "$work"' EXIT
fail() { echo "hub.sh: $*" >&2; exit 1; }
start() { # [--slow RATE]
  [ -z "$server" ] || kill "$server"
  rm -f "$work/address"
  "$here/hub_server.py" "$model" acme/encoder "$@" >"$work/address" &
  server=$!
  for _ in $(seq 600); do [ -s "$work/address" ] && break; sleep 0.1; done
  [ -s "$work/address" ] || fail "the local hub does not start"
  HF_ENDPOINT=$(cat "$work/address"); export HF_ENDPOINT
}
export HF_HUB_DISABLE_PROGRESS_BARS=1 HF_HUB_DISABLE_XET=1 HF_HUB_DISABLE_TELEMETRY=1
unset HF_TOKEN HF_HUB_OFFLINE HF_HUB_CACHE HF_TOKEN_PATH
same() { # a snapshot's files are those of the model
  (cd "$1" && find . -type l -o -type f | sort) | while read -r file; do
    cmp "$1/$file" "$model/$file" || fail "$file differs"
  done
  cmp "$1/model.safetensors" "$model/model.safetensors"
}

start
export HF_HOME=$work/whole
folder=$("$simile" get acme/encoder --quiet)
same "$folder"
[ "$(readlink "$folder/config.json")" = "../../blobs/$(cd "$model" && git hash-object config.json)" ] || fail "links"
[ "$(cat "$HF_HOME/hub/models--acme--encoder/refs/main")" = "$(basename "$folder")" ] || fail "refs/main"
echo "one text" >"$work/texts"
"$simile" encode --model acme/encoder --input "$work/texts" --output "$work/a.npy" --quiet
"$simile" encode --model "$model" --input "$work/texts" --output "$work/b.npy" --quiet
cmp "$work/a.npy" "$work/b.npy"
"$simile" get acme/encoder@v1 --quiet >/dev/null
"$simile" encode --model acme/encoder@v1 --input "$work/texts" --output "$work/c.npy" --quiet
HF_HUB_OFFLINE=1 "$simile" get acme/encoder --quiet >/dev/null || fail "offline"

says() { # CODE TEXT COMMAND...
  local code=$1 text=$2 got=0
  shift 2
  "$@" >"$work/said" 2>&1 || got=$?
  [ "$got" = "$code" ] && grep -qF -- "$text" "$work/said" || fail "$*: exit $got, $(cat "$work/said")"
}
says 3 "is gated: accept its conditions at $HF_ENDPOINT/acme/encoder-gated" "$simile" get acme/encoder-gated
says 3 "has no such model, or it is private" "$simile" get acme/encoder-private
HF_TOKEN=secret "$simile" get acme/encoder-gated acme/encoder-private --quiet >/dev/null || fail "token"
says 3 "has no revision 'v2'" "$simile" get acme/encoder@v2
says 2 "expected ORG/NAME" "$simile" get ./encoder
says 3 "simile get acme/other" "$simile" encode --model acme/other --input "$work/texts"
says 3 "HF_HUB_OFFLINE forbids" env HF_HUB_OFFLINE=1 "$simile" get acme/other
HF_ENDPOINT=http://127.0.0.1:1 says 1 "cannot be reached" "$simile" get acme/other

# Killed at ten moments, then finished: the same bytes, and nothing half-written where a reader looks.
size=$(du -sb "$model" | cut -f1)
start --slow $((size / 4 + 1))
export HF_HOME=$work/killed
for moment in 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0; do
  { timeout -s KILL "$moment" "$simile" get acme/encoder --quiet >/dev/null && break; } 2>/dev/null || true
  [ ! -e "$HF_HOME/hub/models--acme--encoder/refs/main" ] || fail "refs/main of an unfinished model"
done
same "$("$simile" get acme/encoder --quiet)"
[ -z "$(find "$HF_HOME" -name '*.incomplete')" ] || fail "parts are left"

if ! "$python" -c 'import huggingface_hub' 2>/dev/null; then
  echo "skipped: the hub's own client (huggingface_hub)"
  exit 0
fi
start
export HF_HOME=$work/whole
"$python" -c 'import huggingface_hub as h; print(h.hf_hub_download("acme/encoder", "model.safetensors", local_files_only=True))' |
  grep -qx "$folder/model.safetensors" || fail "the client does not find what simile fetched"
"$python" -c 'import huggingface_hub as h; print(h.scan_cache_dir().warnings)' | grep -qx '\[\]' || fail "the client's scan warns"
export HF_HOME=$work/python
theirs=$("$python" -c 'import huggingface_hub as h; print(h.snapshot_download("acme/encoder"))')
"$simile" encode --model acme/encoder --input "$work/texts" --output "$work/d.npy" --quiet
cmp "$work/a.npy" "$work/d.npy"
HF_ENDPOINT=http://127.0.0.1:1 HF_HUB_OFFLINE=1 "$simile" get acme/encoder --quiet | grep -qx "$theirs" || fail "find"
[ "$("$simile" get acme/encoder --quiet)" = "$theirs" ] || fail "another folder than the client's"
echo "the hub's own client reads and fills the same cache"
