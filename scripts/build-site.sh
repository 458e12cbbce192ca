#!/usr/bin/env bash
# Builds the site of all pages in build/site/html, with a search that needs no server, and prints where it lies.
# Needs mkdocs (scripts/install-deps.sh --checks). Fails if a link or an anchor leads nowhere.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/pages.py
rm -rf build/site && mkdir -p build/site
tools/pages.py --site build/site/source
cp docs/mkdocs.yml tools/pages.py build/site/
mkdocs build --quiet --strict --config-file build/site/mkdocs.yml
ls "$PWD/build/site/html/index.html"
