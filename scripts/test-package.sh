#!/usr/bin/env bash
# Installs a build into a folder of its own, and builds and runs examples/cpp, a project that knows nothing but
# find_package(simile): scripts/test-package.sh [BUILD_FOLDER], by default that of the preset `serving`
set -euo pipefail
cd "$(dirname "$0")/.."

build=$(realpath "${1:-build/serving}")
folder=$(mktemp -d "$build/package.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cmake --install "$build" --prefix "$folder/installed" >/dev/null
if find "$folder/installed/include" -path '*/detail/*' | grep .; then
  echo "headers of detail/ are installed" >&2
  exit 1
fi
cmake -S examples/cpp -B "$folder/examples" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$folder/installed"
cmake --build "$folder/examples"
ctest --test-dir "$folder/examples" --output-on-failure
