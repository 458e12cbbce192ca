#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Search by words, of Simile and of tantivy, SQLite FTS5 and bm25s, on one thread in one run, in processor time. The ten best documents of
# each query are compared with BM25 computed in Python first; a difference ends the run with exit code 1. With MODEL also search by
# vectors and by both, beside hnswlib (bench/hybrid.py).
#
# usage: bench/search.sh [BUILD_FOLDER [CORPUS QUERIES]]
#   BUILD_FOLDER      of cmake -DSIMILE_BENCH=ON (build/release)
#   CORPUS, QUERIES   a text a line (../shared/data/wiki_sents_2015)
#
# From the environment:
#   ROWS     lines of CORPUS that are indexed (200000)
#   PYTHON   one with numpy and, or its rows are left out, tantivy and bm25s (python3)
#   MODEL    folder of an encoder; PYTHON then needs hnswlib too. A million texts take a quarter of an hour to encode
#   WORK     a folder for what the run writes (a temporary one, removed at the end); vectors that are there are taken
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
python=${PYTHON:-python3}
work=${WORK:-$(mktemp -d)}
[ -n "${WORK:-}" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
corpus=${2:-} queries=${3:-}
if [ -z "$corpus" ]; then
  data=../shared/data/wiki_sents_2015
  corpus=$work/lines.txt queries=$data/dev.txt
  zcat "$data/train.txt.gz" >"$corpus"
fi
"$python" bench/search_peers.py prepare "$corpus" "$queries" "${ROWS:-200000}" "$work"
if [ -n "${MODEL:-}" ]; then
  cp "$work/words-30.txt" "$work/queries.txt"
  for texts in corpus queries; do
    [ -e "$work/vectors-$texts.npy" ] || "$build/cli/simile" encode --model "$MODEL" --input "$work/$texts.txt" --resume \
      --precision int8 --output "$work/vectors-$texts.npy"
  done
fi
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
"$build/bench/simile_search_bench" "$work/corpus.txt" "$work/index" "$work/answers.txt" "$work"/words-{2,8,30}.txt \
  >"$work/simile.jsonl"
"$python" bench/search_peers.py check "$work"
"$python" bench/search_peers.py measure "$work" >"$work/peers.jsonl"
"$python" bench/search_peers.py table "$work"
if [ -n "${MODEL:-}" ]; then
  "$python" bench/hybrid.py "$build" "$work/vectors-corpus.npy" "$work/corpus.txt" "$work/vectors-queries.npy" "$work/queries.txt" \
    --model "$MODEL" --queries 200 --work "$work/hybrid"
fi
