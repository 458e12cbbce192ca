#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The first table of speed in docs/results/published.md: Simile beside sentence-transformers with the same published model, in one run.
#   bench/published.sh [PROGRAM [MODEL]]
# PROGRAM: build/release/cli/simile by default. MODEL: a name that scripts/get-published.sh knows
# (all-MiniLM-L6-v2) or a model folder. PYTHON: one that has sentence-transformers; without it bench/peers.sh makes one.
# About seven minutes on two quiet cores; what makes it shorter is at the head of published.py.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=${1:-$here/../build/release/cli/simile} model=${2:-all-MiniLM-L6-v2}
[ -d "$model" ] || model=$("$here/../scripts/get-published.sh" "$model")
exec python3 "$here/published.py" "$program" "${PYTHON:-$("$here/peers.sh")}" "$model"
