#!/usr/bin/env bash
# Installs a build (the preset `serving`, or the one named) into a folder of its own and builds and runs
# tests/consumer, a project that knows nothing but find_package(simile): scripts/test-package.sh [PRESET]
set -euo pipefail
cd "$(dirname "$0")/.."

build=$PWD/build/${1:-serving}
rm -rf "$build/installed" "$build/consumer"
cmake --install "$build" --prefix "$build/installed" >/dev/null
cmake -S tests/consumer -B "$build/consumer" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$build/installed"
cmake --build "$build/consumer"
SIMILE_MODELS=$build/installed/share/simile/models "$build/consumer/consumer"
