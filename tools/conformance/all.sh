#!/usr/bin/env bash
# Compares all models with all inputs: all.sh SIMILE MODELS_FOLDER INPUT... prints a line each and exits 1 when
# any text differs. A model is a folder with a tokenizer.json.
set -uo pipefail
here=$(dirname "$0")
simile=$1 models=$2
shift 2

failed=0
for model in "$models"/*/; do
  if [ ! -f "$model/tokenizer.json" ]; then continue; fi
  for input in "$@"; do
    result=$(node "$here/compare.js" --simile "$simile" --model "$model" --input "$input" 2>&1) || failed=1
    echo "$(basename "$model") $(basename "$input"): $(tail -1 <<<"$result" | sed "s|^$model: ||")"
  done
done
exit $failed
