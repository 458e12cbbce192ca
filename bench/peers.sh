#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes one virtual environment with all programs that bench/ measures beside Simile, and prints its Python.
#
# usage: PYTHON=$(bench/peers.sh [FOLDER])     default: ~/.cache/simile-peers; 2 GB, from PyPI
set -euo pipefail
folder=${1:-$HOME/.cache/simile-peers}
[ -x "$folder/bin/python" ] || python3 -m venv "$folder"
# Pin torch: other versions bring gigabytes of CUDA.
"$folder/bin/pip" install --quiet torch==2.13.0 sentence-transformers onnxruntime openvino nncf onnx onnxscript \
  model2vec hnswlib tantivy bm25s >&2
echo "$folder/bin/python"
