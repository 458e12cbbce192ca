#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# README's first table: Simile beside sentence-transformers with the same published model, in one run.
#   bench/published.sh [PROGRAM [MODEL]]
# PROGRAM: build/release/cli/simile by default. MODEL: a name that scripts/get-published.sh knows
# (all-MiniLM-L6-v2) or a model folder. PYTHON: one that has sentence-transformers; without it a virtual
# environment is made in ~/.cache/simile-published/python (1 GB, from PyPI). About seven minutes on two quiet cores; what
# makes it shorter is at the head of published.py.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=${1:-$here/../build/release/cli/simile} model=${2:-all-MiniLM-L6-v2}
[ -d "$model" ] || model=$("$here/../scripts/get-published.sh" "$model")
if [ -z "${PYTHON:-}" ]; then
  environment=${SIMILE_PUBLISHED:-$HOME/.cache/simile-published}/python
  PYTHON=$environment/bin/python
  if [ ! -x "$PYTHON" ]; then
    python3 -m venv "$environment"
    "$PYTHON" -m pip install --quiet torch --index-url https://download.pytorch.org/whl/cpu ||
      "$PYTHON" -m pip install --quiet torch
    "$PYTHON" -m pip install --quiet sentence-transformers
  fi
fi
exec python3 "$here/published.py" "$program" "$PYTHON" "$model"
