#!/usr/bin/env bash
# Builds the Debian package, installs it on a bare Debian 12 made for it, and has it encode, search and serve there; then the
# same from the root of the container image. Prints what they measure. As root, with debootstrap and curl
# (scripts/install-deps.sh --packaging) and a mirror within reach; some minutes: scripts/test-deb.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

bare=${1:-$PWD/build/bare}
image=$bare/image
texts='forgot my password\nmove all my old mail over\n'
port=18080

step() { printf '\n== %s\n' "$*"; }
megabytes() { find "$1" -xdev ${2:+-path "$2" -prune -o} -type f -print0 | du -cm --files0-from=- | tail -n 1 | cut -f1; }
# in FOLDER command...: with /proc, whose mount ends with the command
in_root() { unshare -m bash -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "${@:1}"' "$@"; }

step "package"
deb=$(scripts/build-deb.sh)
du -m "$deb"

step "Debian 12 in $bare"
rm -rf "$bare"
debootstrap --variant=minbase bookworm "$bare" "${SIMILE_MIRROR:-http://deb.debian.org/debian}" >/dev/null
cp /etc/resolv.conf "$bare/etc/"
cp scripts/image-root.sh examples/faq/corpus.tsv "$bare/root/"
printf "$texts" >"$bare/root/texts.txt"
rm -rf "$bare"/var/cache/apt/* "$bare"/var/lib/apt/lists/* "$bare"/usr/share/{doc,man,info,locale}/*
before=$(megabytes "$bare")
cp "$deb" "$bare/root/simile.deb"
in_root "$bare" bash -c 'export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq && apt-get install -y --no-install-recommends /root/simile.deb | grep -E "newly installed|After this"
  rm -rf /root/simile.deb /var/cache/apt/* /var/lib/apt/lists/*'
echo "$before MB before, $(megabytes "$bare") MB with the package"

step "what it does there"
in_root "$bare" bash -ec 'cd /root; simile --version
  simile encode --quiet --model simile-mini-3 --input texts.txt --output vectors.npy
  simile index build --quiet --model simile-mini-3 --index faq.index --corpus corpus.tsv
  simile search --index faq.index --query "I forgot my password" --top-k 2'
build/deb/cli/simile encode --quiet --model "$PWD/models/simile-mini-3" --input "$bare/root/texts.txt" --output "$bare/root/here.npy"
cmp "$bare/root/vectors.npy" "$bare/root/here.npy"
echo "vectors: the bytes that are written here"

# serve_and_ask ROOT command...: the server answers, reads itself again, and ends well.
serve_and_ask() {
  local answer=
  chroot --userspec=65534:65534 "$@" --port "$port" &
  local server=$!
  for _ in $(seq 100); do
    if curl -sf "localhost:$port/health" >/dev/null; then break; fi
    sleep 0.1
  done
  answer=$(curl -sf "localhost:$port/embed" -H 'Content-Type: application/json' -d '{"inputs": ["forgot my password"]}')
  kill -HUP "$server"
  sleep 1
  curl -sf "localhost:$port/health" >/dev/null
  kill -TERM "$server"
  wait "$server"
  echo "served ${#answer} bytes of a vector, was told to reload, and ended with 0"
}
chmod -R a+rX "$bare/root"
serve_and_ask "$bare" /usr/bin/simile serve --index /root/faq.index

step "the image's root"
in_root "$bare" /root/image-root.sh /image
echo "$(megabytes "$image" "$image/usr/share/simile") MB and $(megabytes "$image/usr/share/simile") MB of models"
cp "$bare/root/texts.txt" "$image/data/"
chown 65534 "$image/data"
chroot --userspec=65534:65534 "$image" /usr/bin/simile encode --quiet --model simile-mini-3 --input /data/texts.txt --output /data/vectors.npy
cmp "$image/data/vectors.npy" "$bare/root/here.npy"
serve_and_ask "$image" /usr/bin/simile serve --model simile-mini-3

step "a service of systemd"
scripts/test-service.sh "$bare"
