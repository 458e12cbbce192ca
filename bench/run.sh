#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures Simile beside the eager PyTorch peer, interleaved, and writes bench.json and bench.md.
#
# usage: bench/run.sh [BUILD_FOLDER [OUTPUT_FOLDER]]     defaults: build/release docs/results
#
# From the environment: ROUNDS (5), THREADS (all processors), MODELS ("minilm"; "minilm bert"),
# DISTRIBUTIONS ("short long"), MODES ("train infer load"), INFER_BATCHES and TRAIN_BATCHES (batches of
# 32 a round; the defaults are below), PRECISIONS of inference ("fp32 bf16 int8", less what the processor
# has no instructions for), SERVING (the build without torch, build/serving). Builds
# nothing. Needs ../shared/peers, ../shared/tokenizers and /usr/bin/python3 with torch and numpy.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build/release}
output=${2:-docs/results}
serving=${SERVING:-build/serving}
rounds=${ROUNDS:-5}
threads=${THREADS:-$(nproc)}
models=${MODELS:-minilm}
distributions=${DISTRIBUTIONS:-short long}
modes=${MODES:-train infer load}
known="fp32 int8"
if grep -qE -m1 'amx_bf16|avx512_bf16' /proc/cpuinfo; then known="fp32 bf16 int8"; fi
precisions=${PRECISIONS:-$known}
shared=../shared
python=/usr/bin/python3
bench=$build/bench/simile_bench

fail() { echo "bench/run.sh: $*" >&2; exit 1; }
[ -x "$bench" ] || fail "$bench is missing; make it with
  cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DSIMILE_BENCH=ON -DSIMILE_TESTS=OFF && cmake --build $build --target simile_bench simile"
[ -d "$shared/peers" ] || fail "$shared/peers is missing: it holds the workloads and the peer"
"$python" -c 'import numpy, torch' 2>/dev/null || fail "$python lacks torch or numpy: apt-get install python3-torch python3-numpy libopenblas0-openmp"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
raw=$work/raw.jsonl
: > "$raw"
cp "$shared"/peers/*.py "$work"
(cd "$work" && "$python" lengths.py > /dev/null)

# The peer's BLAS as fast as it gets here: Debian's OpenBLAS does not know newer processors by itself.
tuning=()
openmp_blas=/usr/lib/$(uname -m)-linux-gnu/openblas-openmp
if [ -d "$openmp_blas" ]; then tuning+=("LD_LIBRARY_PATH=$openmp_blas"); fi
if grep -q -m1 avx512f /proc/cpuinfo; then tuning+=("OPENBLAS_CORETYPE=SkylakeX"); fi

# Batches a round: enough for seconds, and few enough that the peer ends.
batches() {  # mode distribution
  case $1-$2 in
    infer-short) echo "${INFER_BATCHES:-64}" ;;
    infer-*) echo "${INFER_BATCHES:-20}" ;;
    train-short) echo "${TRAIN_BATCHES:-20}" ;;
    train-*) echo "${TRAIN_BATCHES:-10}" ;;
  esac
}

record() {  # who model round result-as-JSON
  printf '{"who": "%s", "model": "%s", "round": %s, "load": %s, "result": %s}\n' \
    "$1" "$2" "$3" "$(cut -d' ' -f1 /proc/loadavg)" "$4" >> "$raw"
}

measure_peer() {  # mode model distribution batches round
  local variant=padded line
  if [ "$1" = infer ]; then variant=paddedsorted; fi
  line=$(cd "$work" && env "${tuning[@]}" "$python" eager.py "$1" $variant "$2" "$3" 32 "$threads" "$4" | grep '^RES ')
  record peer "$2" "$5" "\"$line\""
  echo "  peer    $line" >&2
}

measure_simile() {  # mode model distribution batches round [precision]
  local line
  line=$("$bench" "$1" "$work/$2" "$work" "$3" "$4" 1 "$threads" ${6:+"$6"})
  record simile "$2" "$5" "$line"
  echo "  simile  $(grep -oE '"(pairs|sentences)_per_second":[0-9.]+|"share_of_sgemm":[0-9.]+' <<< "$line" | tr '\n' ' ')" >&2
}

for model in $models; do
  "$bench" model "$work/$model" "$model" "$shared/tokenizers/bert-base-uncased-MiniLM-L6"
  for mode in $modes; do
    [ "$mode" != load ] || continue
    for distribution in $distributions; do
      count=$(batches "$mode" "$distribution")
      for ((round = 1; round <= rounds; ++round)); do
        echo "$mode $model $distribution, $count batches, round $round of $rounds" >&2
        measure_peer "$mode" "$model" "$distribution" "$count" "$round"
        if [ "$mode" = infer ]; then
          for precision in $precisions; do
            measure_simile "$mode" "$model" "$distribution" "$count" "$round" "$precision"
          done
        else
          measure_simile "$mode" "$model" "$distribution" "$count" "$round"
        fi
      done
    done
  done
done

if [[ " $modes " == *" load "* && " $models " == *" minilm "* ]]; then
  programs=()
  if [ -x "$build/cli/simile" ]; then programs+=("release=$build/cli/simile"); fi
  if [ -x "$serving/cli/simile" ]; then programs+=("serving=$serving/cli/simile")
  else echo "no $serving/cli/simile: make it with  cmake --preset serving && cmake --build --preset serving" >&2; fi
  [ ${#programs[@]} -gt 0 ] || fail "no simile program in $build/cli or $serving/cli"
  while read -r line; do record simile minilm 1 "$line"; echo "  load    $line" >&2
  done < <("$python" bench/load_bench.py "$work/minilm" "$rounds" "${programs[@]}")
fi

mkdir -p "$output"
THREADS=$threads TUNING="${tuning[*]}" "$python" bench/summarize.py "$raw" "$output"
