#!/usr/bin/env bash
# From nothing to a search over your own encoder: installs what is missing, builds a release, trains on
# the shipped questions and answers, compares with word overlap, builds an index and asks it.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "1/5 Installing what is missing (apt)"
scripts/install-deps.sh

step "2/5 Building a release in build/release"
cmake --preset release -DSIMILE_TESTS=OFF >/dev/null
cmake --build --preset release --target simile
simile=build/release/cli/simile

step "3/5 Training a tokenizer on the text of examples/faq"
"$simile" train-tokenizer --input examples/faq/text.txt --vocab-size 3000 --output runs/faq-tokenizer

step "4/5 Training an encoder (recipes/faq.yaml); figures are x 100"
"$simile" train recipes/faq.yaml --output runs/faq --overwrite

cat <<'NOTE'
The encoder started from random weights and has seen 1,040 pairs: it comes near word overlap (bm25) on
entries whose wordings it was shown (test-seen), not on new ones. Start from a pre-trained folder with
`model:` in the recipe to change that.
NOTE

step "5/5 Indexing the answers and asking three questions"
"$simile" index build --model runs/faq/model --index runs/faq/index --corpus examples/faq/corpus.tsv
for question in "forgot my password, how do I get back in" "move all my old mail over from gmail" \
                "the phone app shows no new messages"; do
  printf '\n? %s\n' "$question"
  "$simile" search --index runs/faq/index --query "$question" --top-k 3
done
