#!/usr/bin/env bash
# Builds the fuzzers (clang with its libFuzzer: scripts/install-deps.sh --fuzz) and runs each
# for some minutes, two at a time: scripts/fuzz.sh [MINUTES] [NAME...]. Findings and logs go to build/fuzz/runs.
set -euo pipefail
cd "$(dirname "$0")/.."

minutes=${1:-30}
shift $(( $# > 0 ? 1 : 0 ))
cmake --preset fuzz
cmake --build --preset fuzz
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for source in fuzz/*_fuzz.cpp; do names+=("$(basename "$source" _fuzz.cpp)"); done
fi

run_one() {
  local name=$1 folder=build/fuzz/runs/$1
  mkdir -p "$folder/corpus"
  local options=(-max_total_time=$((minutes * 60)) -timeout=20 -rss_limit_mb=2048 -print_final_stats=1
                 -max_len=16384 "-artifact_prefix=$folder/")
  if [ -f "fuzz/$name.dict" ]; then options+=("-dict=fuzz/$name.dict"); fi
  OMP_NUM_THREADS=1 "build/fuzz/fuzz/${name}_fuzz" "${options[@]}" "$folder/corpus" "fuzz/corpus/$name" \
    >"$folder/log" 2>&1 || echo "$name: FOUND SOMETHING, see $folder"
  grep -E '^stat::|cov:' "$folder/log" | tail -6 | sed "s/^/$name: /"
}
export -f run_one
export minutes
printf '%s\n' "${names[@]}" | xargs -P 2 -I{} bash -c 'run_one {}'
