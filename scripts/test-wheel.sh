#!/usr/bin/env bash
# Installs a wheel of `pysimile` in a fresh virtual environment and runs its tests there: scripts/test-wheel.sh WHEEL
#   PYTHON      the interpreter (python3)
#   NEIGHBOURS  1: with the released packages of LangChain, LlamaIndex, mteb, KeyBERT, BERTopic, Ray and Spark, of which Spark needs Java
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
packages=(pytest pandas polars pyarrow scikit-learn)
if [ "${NEIGHBOURS:-0}" = 1 ]; then packages+=(langchain-core llama-index-core mteb datasets keybert bertopic 'ray[data]' pyspark); fi
"$folder/venv/bin/pip" install -q "$1" "${packages[@]}"
"$folder/venv/bin/python" -m pytest -q -rs python/tests
