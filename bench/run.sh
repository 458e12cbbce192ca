#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures Simile beside PyTorch, ONNX Runtime and OpenVINO, all in turns, and writes OUTPUT/results/bench/MACHINE.json
# and, from all such files, OUTPUT/performance.md. Builds nothing. bench/README.md describes the measurements.
#
# usage: PYTHON=$(bench/peers.sh) bench/run.sh [BUILD_FOLDER [OUTPUT_FOLDER]]     defaults: build/release docs
#
# From the environment:
#   PYTHON         the one that bench/peers.sh prints
#   MODES          "train infer latency threads program long memory profile load"; those but the first three and
#                  memory are measured with minilm alone
#   MODELS         "minilm"; "minilm mpnet": all-MiniLM-L6-v2 and all-mpnet-base-v2 as published
#   DISTRIBUTIONS  "short mixed even"
#   PRECISIONS     "fp32 bf16 int8", less what the processor has no instructions for
#   ROUNDS         5; bench/measure.py sets lower limits where a round takes minutes
#   THREADS        all processors
#   MACHINE        name of the results (amx, avx512-bf16, avx512 or avx2, by the processor or SIMILE_ISA)
#   TRAIN_BATCHES, INFER_BATCHES    batches of 32 a round, in place of those in bench/measure.py
#   LATENCY_BATCHES                 calls with one text
#   MEMORY_BATCH, MEMORY_LIMIT_GB   pairs of the step whose memory is measured (64), and what it may take
#                                   (nine tenths of what is free)
#   LONG_TOKENS    "512 1024 2048 4096 8192"
#   TEXTS          lines that the whole program encodes (6000)
#   SERVING        the build without torch (build/serving)
#   WORK           a folder to keep models and runs in: an interrupted measurement continues from there
#                  (of one build: empty it when the programs change)
# Needs ../shared/tokenizers and ../shared/data.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${PYTHON:-python3}" bench/measure.py "$@"
