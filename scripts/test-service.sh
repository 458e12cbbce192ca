#!/usr/bin/env bash
# Boots a Debian root that has the package (scripts/test-deb.sh makes one) under a systemd of its own and sees the service
# start, search an index of its own, reload, come back after kill -9, stop, give up on a bad option and ask for keys.
# As root, with systemd-container and curl: scripts/test-service.sh ROOT
set -euo pipefail

root=$1
port=18081
url=localhost:$port
json='Content-Type: application/json'

mount_proc() { unshare -m bash -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "${@:1}"' "$root" "$@"; }
mount_proc bash -c 'export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq && apt-get install -y -qq --no-install-recommends systemd systemd-sysv dbus' >"$root.apt.log" 2>&1

flags=(--register=no --boot)
if [ ! -d /run/systemd/system ]; then flags+=(--keep-unit); fi
systemd-nspawn "${flags[@]}" -D "$root" </dev/null >"$root.boot.log" 2>&1 &
container=$!
# Its init ends as at shutdown.
trap 'kill -s RTMIN+4 "$(init)" 2>/dev/null; wait "$container" || true' EXIT

init() { pgrep -P "$container" | head -n 1; }
within() { nsenter -t "$(init)" -m -u -i -p -C -- "$@"; }
property() { within systemctl show -p "$1" --value simile; }
see() {
  for _ in $(seq 100); do
    if "${@:2}" 2>/dev/null; then echo "$1" && return; fi
    sleep 0.2
  done
  echo "not seen: $1" >&2
  return 1
}
answers() { curl -sf "$url/health" >/dev/null; }
is() { [ "$(property "$1")" = "$2" ]; }
arguments() { within bash -c 'printf "SIMILE_ARGUMENTS=\"%s\"\n" "$0" >/etc/default/simile' "$*"; }
finds() { curl -sf "$url/search" -H "$json" -d "{\"query\": \"$1\", \"top_k\": 1}" | grep -qF "$2"; }

see "booted" within systemctl is-system-running --quiet
within bash -c 'cat >/srv/corpus.tsv && chmod a+r /srv/corpus.tsv' <"$root/root/corpus.tsv"
within systemd-run --quiet --pipe --wait -p DynamicUser=yes -p User=simile -p StateDirectory=simile \
  simile index build --quiet --model simile-mini-3 --index /var/lib/simile/faq.index --corpus /srv/corpus.tsv

arguments --index /var/lib/simile/faq.index --allow-changes --port "$port"
within systemctl start simile
see "serves an index of its own" answers
curl -sf "$url/documents" -H "$json" -d '{"documents": [{"id": "new", "text": "a purple giraffe"}]}' >/dev/null
within systemctl reload simile
see "reloads" within bash -c "journalctl -u simile --no-pager | grep -qF 'were read again'"
see "has what was added" finds "purple giraffe" '"id":"new"'
within bash -c 'kill -9 "$(systemctl show -p MainPID --value simile)"'
see "comes back after kill -9" is NRestarts 1
see "has what was added before the kill" finds "purple giraffe" '"id":"new"'
within systemctl stop simile
see "stops with 0" is ExecMainStatus 0

arguments --model nothing --port "$port"
within systemctl start simile
see "gives up on a model that is not there" is ExecMainStatus 3
see "and is not started again" is NRestarts 0
within systemctl reset-failed simile

within bash -c 'install -d -m 700 /etc/simile /etc/systemd/system/simile.service.d && umask 077
  echo 0123456789abcdefghijklmnopqrstuv >/etc/simile/api-keys
  printf "[Service]\nLoadCredential=api-keys:/etc/simile/api-keys\n" >/etc/systemd/system/simile.service.d/keys.conf
  systemctl daemon-reload'
arguments --model simile-mini-3 --host 0.0.0.0 --port "$port" --api-key-file /run/credentials/simile.service/api-keys
within systemctl start simile
asks() { [ "$(curl -s -o /dev/null -w '%{http_code}' "$url/embed" -H "$json" -H "Authorization: Bearer $1" -d '{"inputs": "a"}')" = "$2" ]; }
see "refuses a wrong key" asks wrong 401
see "takes the credential's key" asks 0123456789abcdefghijklmnopqrstuv 200
within systemctl stop simile
within systemd-analyze security simile --no-pager | grep -o 'Overall.*' || true
