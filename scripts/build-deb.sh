#!/usr/bin/env bash
# Builds the Debian package `simile`, without training, in build/deb, and prints where it lies.
# Needs what scripts/install-deps.sh --serving installs.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake -S . -B build/deb -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr \
  -DSIMILE_MODELS_FOLDER=/usr/share/simile/models -DSIMILE_TRAINING=OFF -DSIMILE_TESTS=OFF >&2
cmake --build build/deb -j "${SIMILE_JOBS:-$(nproc)}" --target simile simile_pages >&2
rm -f build/deb/simile_*.deb
(cd build/deb && cpack -G DEB >&2)
ls "$PWD"/build/deb/simile_*.deb
