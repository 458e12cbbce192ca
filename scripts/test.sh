#!/usr/bin/env bash
# Installs what is missing, builds Simile and runs its tests. Extra arguments go to ctest.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh
cmake --preset dev
cmake --build --preset dev
ctest --preset dev "$@"
