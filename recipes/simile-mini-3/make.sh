#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes simile-mini-3 and simile-mini-3-static from free texts. A step is left out if its result is there; a step that was
# stopped goes on.
#   recipes/simile-mini-3/make.sh DATA [OVERRIDES]    in the root of the repository; DATA as
#   tools/data/distillation_texts.py says. OVERRIDES go to every step: with stages.*.objectives.data.limit=2000
#   stages.*.steps=20 all steps take minutes in place of a day, and the models are no use.
# Everything is written to runs/simile-mini-3; the models are runs/simile-mini-3/{more,static}/model.
set -euo pipefail
data=${1:?make.sh: give the folder of the data, such as ../shared/data}
shift
overrides=("$@")
simile=${SIMILE:-build/release/cli/simile}
out=runs/simile-mini-3
mkdir -p "$out"
[ -e "$out/all-MiniLM-L6-v2" ] || ln -s "$(scripts/get-published.sh all-MiniLM-L6-v2)" "$out/all-MiniLM-L6-v2"
if [ ! -e "$out/pairs.tsv" ]; then
  python3 tools/data/distillation_texts.py "$data" "$out/pairs.part"
  mv "$out/pairs.part" "$out/pairs.tsv"
fi
if [ ! -e "$out/tokenizer" ]; then
  rm -rf "$out/tokenizer.part"
  python3 tools/data/select_vocabulary.py "$simile" "$out/all-MiniLM-L6-v2" "$out/pairs.tsv" 24000 "$out/tokenizer.part"
  mv "$out/tokenizer.part" "$out/tokenizer"
fi
step() {  # NAME RECIPE [OVERRIDES]
  local run="$out/$1" recipe="recipes/simile-mini-3/$2"
  [ -e "$run/results.json" ] && return
  if [ -e "$run/run.json" ]; then
    "$simile" train "$run" --resume
  else
    "$simile" train "$recipe" variant=free "${@:3}" "${overrides[@]}" "data=$data" --output "$run"
  fi
}
step table table.yaml stages.epochs=2 stages.objectives.data.limit=300000
step distill distill.yaml compute=bf16
step more distill.yaml variant=more compute=bf16
step static table.yaml variant=shipped stages.epochs=1
