#!/usr/bin/env bash
# Builds the native module of `pysimile` in a build that is there and runs the package's tests with it, without a wheel:
# scripts/test-python.sh [BUILD_FOLDER], by default that of the preset `serving`. Needs the Python package index once.
#   --asan   in build/asan, that of the preset with the address and undefined-behaviour sanitizers
set -euo pipefail
cd "$(dirname "$0")/.."

settings=(-DSIMILE_PYTHON=ON)
targets=(_native _native_stub simile)
sanitizer=()
if [ "${1:-}" = "--asan" ]; then
  set -- build/asan
  settings+=(--preset asan)
  targets=(_native simile)
  # Python does not free all that it allocates. Its own allocator would hide errors, and a long quarantine looks like a leak.
  # Without libstdc++ beside it, libasan does not find how exceptions are thrown.
  sanitizer=(env "LD_PRELOAD=$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)" PYTHONMALLOC=malloc
             ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=8:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1)
fi
mkdir -p "${1:-build/serving}"
build=$(realpath "${1:-build/serving}")
venv=$build/python-venv
[ -x "$venv/bin/pytest" ] || { python3 -m venv "$venv" && "$venv/bin/pip" install -q nanobind numpy pytest; }
cmake -S . -B "$build" "${settings[@]}" -DPython_EXECUTABLE="$venv/bin/python" >/dev/null
cmake --build "$build" --target "${targets[@]}"
rm -rf "$build/python-package"
cmake --install "$build" --prefix "$build/python-package" --component python >/dev/null
cp -r python/pysimile "$build/python-package/"
if [ -x "$build/cli/simile-training" ]; then cp "$build/cli/simile-training" "$build/python-package/pysimile/bin/"; fi
if [ ${#sanitizer[@]} -gt 0 ]; then  # the program has a sanitizer of its own, and hangs with a second one
  program=$(find "$build/python-package" -name simile -type f -perm -u+x | head -n 1)
  mv "$program" "$program.plain"
  printf '#!/bin/sh\nLD_PRELOAD= exec "$0.plain" "$@"\n' >"$program"
  chmod +x "$program"
fi
PYTHONPATH=$build/python-package "${sanitizer[@]}" "$venv/bin/python" -m pytest -q -rs python/tests
