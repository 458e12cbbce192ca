#!/usr/bin/env bash
# Copies an installed `simile` with the libraries it loads, its models and nothing else into a folder that can be the root of a
# container: scripts/image-root.sh FOLDER. The packages they are of are noted where scanners look.
set -euo pipefail

root=$1
mkdir -p "$root"/{usr/bin,usr/share/simile,etc,data,var/lib/dpkg/status.d}
install -d -m 1777 "$root/tmp"
for link in bin lib lib64 sbin; do
  if [ -L "/$link" ]; then mkdir -p "$root/usr/$link" && ln -sfn "usr/$link" "$root/$link"; fi
done

files=("$(command -v simile)")
mapfile -t -O 1 files < <(ldd "${files[0]}" | awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }')
packages=()
for file in "${files[@]}"; do
  real=$(realpath "$file")
  install -D "$real" "$root$real"
  # Under the name it is loaded by, too.
  name=$(realpath "$(dirname "$file")")/$(basename "$file")
  if [ "$name" != "$real" ]; then
    mkdir -p "$root$(dirname "$name")"
    ln -sf "$real" "$root$name"
  fi
  packages+=("$( (dpkg-query -S "$real" "${real#/usr}" 2>/dev/null || true) | head -n 1 | cut -d: -f1)")
done
cp -a /usr/share/simile/models "$root/usr/share/simile/"
printf 'nobody:x:65534:65534:nobody:/:/sbin/nologin\n' >"$root/etc/passwd"
printf 'nogroup:x:65534:\n' >"$root/etc/group"
printf '%s\n' "${packages[@]}" | sort -u | while read -r package; do
  dpkg-query -s "$package" >"$root/var/lib/dpkg/status.d/$package"
done
