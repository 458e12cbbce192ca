#!/usr/bin/env bash
# Copies the licences of other people's code in a release into a folder: of the shared libraries named, of the libraries that are
# compiled in from their headers, and of those of the web page. Fails at a library that no package of Debian has.
#   scripts/copy-licences.sh FOLDER LIBRARY ...
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
mkdir -p "$folder"
cp packaging/copyright "$folder/simile.txt"
packages=(libboost-dev libcli11-dev libcpp-httplib-dev libeigen3-dev libhnswlib-dev nlohmann-json3-dev)
for library in "${@:2}"; do
  package=$( (dpkg -S "*/$(basename "$library")" 2>/dev/null || true) | head -n 1 | cut -d: -f1)
  if [ -z "$package" ]; then echo "copy-licences.sh: no package has $library, so that its licence is unknown" >&2; exit 1; fi
  packages+=("$package")
done
for package in "${packages[@]}"; do cp "/usr/share/doc/$package/copyright" "$folder/$package.txt"; done
