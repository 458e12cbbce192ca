#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Search by words, of Simile and of tantivy, SQLite FTS5 and bm25s, on one thread in one run, in processor time. The ten best documents of
# each query are compared with BM25 computed in Python first; a difference ends the run with exit code 1.
#
# usage: bench/search.sh [BUILD_FOLDER [CORPUS QUERIES]]
#   BUILD_FOLDER      of cmake -DSIMILE_BENCH=ON (build/release)
#   CORPUS, QUERIES   a text a line (../shared/data/wiki_sents_2015)
#
# From the environment:
#   ROWS     lines of CORPUS that are indexed (200000)
#   PYTHON   one with numpy and, or its rows are left out, tantivy and bm25s (python3)
#   WORK     a folder for what the run writes (a temporary one, removed at the end)
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
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
"$python" bench/search_peers.py prepare "$corpus" "$queries" "${ROWS:-200000}" "$work"
"$build/bench/simile_search_bench" "$work/corpus.txt" "$work/index" "$work/answers.txt" "$work"/words-{2,8,30}.txt \
  >"$work/simile.jsonl"
"$python" bench/search_peers.py check "$work"
"$python" bench/search_peers.py measure "$work" >"$work/peers.jsonl"
"$python" bench/search_peers.py table "$work"
