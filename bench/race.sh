#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Races two builds of Simile against each other, interleaved, and fails where B is slower than A by more
# than 5 % with confidence (bench/race.py says how that is judged).
#
# usage: bench/race.sh BUILD_FOLDER_A BUILD_FOLDER_B
#
# From the environment: ROUNDS (9), THREADS (all processors), MODELS ("minilm"), DISTRIBUTIONS ("short
# mixed"), MODES ("train infer"), INFER_BATCHES (40) and TRAIN_BATCHES (10) of 32 a round. Builds nothing.
# Needs ../shared/tokenizers and, for the workloads, PYTHON=$(bench/peers.sh) and ../shared/data.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "bench/race.sh: $*" >&2; exit 2; }
[ $# -eq 2 ] || fail "expected two build folders, as in: bench/race.sh ../before/build/release build/release"
for build in "$1" "$2"; do
  [ -x "$build/bench/simile_bench" ] || fail "$build/bench/simile_bench is missing; make it with
  cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DSIMILE_BENCH=ON -DSIMILE_TESTS=OFF && cmake --build $build --target simile_bench"
done
rounds=${ROUNDS:-9}
threads=${THREADS:-$(nproc)}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tokenizer=../shared/tokenizers/bert-base-uncased-MiniLM-L6
"${PYTHON:-python3}" bench/peer.py workloads "$work" $tokenizer/tokenizer.json ../shared/data/wiki_sents_2015/dev.txt

run() {  # name build mode model distribution round
  local batches=${INFER_BATCHES:-40}
  if [ "$3" = train ]; then batches=${TRAIN_BATCHES:-10}; fi
  printf '{"who": "%s", "case": "%s %s %s", "round": %s, "result": %s}\n' "$1" "$3" "$4" "$5" "$6" \
    "$("$2/bench/simile_bench" "$3" "$work/$4" "$work" "$5" "$batches" 1 "$threads")" >> "$work/raw.jsonl"
}

for model in ${MODELS:-minilm}; do
  "$1/bench/simile_bench" model "$work/$model" "$model" $tokenizer
  for mode in ${MODES:-train infer}; do
    for distribution in ${DISTRIBUTIONS:-short mixed}; do
      echo "$mode $model $distribution, $rounds rounds" >&2
      for ((round = 1; round <= rounds; ++round)); do
        order="A B"
        if ((round % 2 == 0)); then order="B A"; fi
        for who in $order; do
          build=$1
          if [ "$who" = B ]; then build=$2; fi
          run "$who" "$build" "$mode" "$model" "$distribution" "$round"
        done
      done
    done
  done
done
python3 bench/race.py "$work/raw.jsonl"
