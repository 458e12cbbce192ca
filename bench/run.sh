#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures Simile beside eager PyTorch and ONNX Runtime, all in turns, and writes OUTPUT/results/bench.json
# and, from it, OUTPUT/performance.md. Builds nothing. bench/README.md says what is measured.
#
# usage: bench/run.sh [BUILD_FOLDER [OUTPUT_FOLDER]]     defaults: build/release docs
#
# From the environment:
#   MODES          "train infer latency threads program long memory profile load"; those but the first three and
#                  memory are measured with minilm alone
#   MODELS         "minilm"; "minilm bert"
#   DISTRIBUTIONS  "short long"
#   PRECISIONS     of Simile: "fp32 bf16 int8", less what the processor has no instructions for
#   ROUNDS         5; bench/measure.py sets lower limits where a round takes minutes
#   THREADS        all processors
#   TRAIN_BATCHES, INFER_BATCHES    batches of 32 a round, in place of those in bench/measure.py
#   MEMORY_BATCH, MEMORY_LIMIT_GB   pairs of the step whose memory is measured (64), and what it may take
#                                   (nine tenths of what is free)
#   LONG_TOKENS    "512 1024 2048 4096 8192"
#   TEXTS          lines that the whole program encodes (6000)
#   ONNXRUNTIME    a folder in which npm installed onnxruntime-node; without it its rows are left out
#   SERVING        the build without torch (build/serving)
#   WORK           a folder to keep models and runs in: a measurement that was cut off goes on from there
#                  (of one build: empty it when the programs change)
# Needs ../shared/{peers,tokenizers,data} and /usr/bin/python3 with torch and numpy (and onnx).
set -euo pipefail
cd "$(dirname "$0")/.."
exec /usr/bin/python3 bench/measure.py "$@"
