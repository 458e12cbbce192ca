#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures a static encoder beside torch's EmbeddingBag, as sentence-transformers' StaticEmbedding uses
# it, interleaved, and writes static.json and static.md. Before it reports a figure, it compares the losses of the
# first steps and the first vectors.
#
# usage: bench/static.sh [BUILD_FOLDER [OUTPUT_FOLDER]]     defaults: build/release docs/results
#
# From the environment: ROUNDS (5), THREADS (1), WIDTHS ("256"), STEPS of 2,048 pairs a round (20),
# TEXTS to encode (100000). Builds nothing. Needs ../shared/data/free_pairs, models/simile-mini-3 (its
# tokenizer) and PYTHON=$(bench/peers.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build/release}
output=${2:-docs/results}
rounds=${ROUNDS:-5}
threads=${THREADS:-1}
widths=${WIDTHS:-256}
steps=${STEPS:-20}
texts=${TEXTS:-100000}
batch=2048
tau=0.05
tokens=14  # of a text to encode
longest=96  # tokens of a text to train on
python=${PYTHON:-python3}
bench=$build/bench/simile_static_bench
simile=$build/cli/simile
pairs=../shared/data/free_pairs/sections.tsv.zst

fail() { echo "bench/static.sh: $*" >&2; exit 1; }
[ -x "$bench" ] && [ -x "$simile" ] || fail "$bench or $simile is missing; make them with
  cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DSIMILE_BENCH=ON -DSIMILE_TESTS=OFF && cmake --build $build --target simile_static_bench simile"
[ -f "$pairs" ] || fail "$pairs is missing: it holds the texts"
"$python" -c 'import numpy, torch' 2>/dev/null || fail "$python lacks torch or numpy: PYTHON=\$(bench/peers.sh) has both"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
raw=$work/raw.jsonl
: > "$raw"

# As many pairs as the steps take, and their tokens for the peer.
zstdcat "$pairs" 2>/dev/null | head -n $((steps * batch + 1)) > "$work/pairs.tsv" || true
for side in 1 2; do
  tail -n +2 "$work/pairs.tsv" | cut -f$side > "$work/side$side.txt"
  "$simile" tokenize --quiet --model models/simile-mini-3 --no-special-tokens --max-length $longest \
    --input "$work/side$side.txt" > "$work/side$side.jsonl"
done

record() {  # who width round result-as-JSON
  printf '{"who": "%s", "width": %s, "round": %s, "load": %s, "result": %s}\n' \
    "$1" "$2" "$3" "$(cut -d' ' -f1 /proc/loadavg)" "$4" >> "$raw"
  echo "  $1 $(grep -oE '"(pairs|texts)_per_(processor_)?second": ?[0-9]+' <<< "$4" | tr '\n' ' ')" >&2
}

measure_peer() {  # name width round arguments...
  record "$1" "$2" "$3" "$(OMP_NUM_THREADS=$threads "$python" bench/static_peer.py "${@:4}")"
}

for width in $widths; do
  start=$work/start$width
  "$bench" model "$start" "$width" models/simile-mini-3
  cat > "$work/recipe.yaml" <<EOF
model: $start
max_length: $longest
baselines: []
data_checks: warn
stages:
  objectives:
    data: {path: pairs.tsv, left: query, right: document, score: ""}
    loss: {name: bsc, temperature: $tau, duplicates: negatives}
    order: sequential
    batch_size: $batch
  steps: $steps
  learning_rate: 1e-2
  schedule: {name: constant, warmup_steps: 0}
  optimizer: {name: adam, weight_decay: 0, epsilon: 1e-8, clip_norm: 0}
EOF
  "$python" bench/static_peer.py ids "$start" "$texts" "$tokens" "$work/ids" > /dev/null
  for ((round = 1; round <= rounds; ++round)); do
    echo "$width numbers, round $round of $rounds" >&2
    for rows in sparse dense; do
      used=$([ $rows = sparse ] && echo used || echo all)
      measure_peer "torch, $rows" "$width" "$round" train "$start" "$work/side1.jsonl" "$work/side2.jsonl" \
        "$steps" "$batch" "$tau" "$rows" "$threads"
      for compute in fp32 bf16; do
        if [ $compute = bf16 ] && ! grep -q -m1 avx512_bf16 /proc/cpuinfo; then continue; fi
        record "simile, $rows, $compute" "$width" "$round" "$("$bench" train "$work/recipe.yaml" \
          "$work/run" "$threads" "compute=$compute" "stages.0.optimizer.rows=$used")"
      done
    done
    measure_peer "torch, encode" "$width" "$round" encode "$start" "$work/ids" "$tokens" "$threads" 7
    record "simile, encode" "$width" "$round" \
      "$("$bench" encode "$start" "$work/ids" "$tokens" "$threads" 7)"
  done
done

mkdir -p "$output"
THREADS=$threads "$python" bench/static_summary.py "$raw" "$output"
