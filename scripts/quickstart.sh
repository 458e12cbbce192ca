#!/usr/bin/env bash
# From nothing to a search over your own encoder: installs what is missing, builds a release, fine-tunes
# simile-mini-3 on the shipped questions and answers, shows it beside BM25 and the model it started from,
# builds an index and asks it.
#   --serve   ends with a server of that index and its page, at http://127.0.0.1:$PORT (8080)
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "1/4 Installing what is missing (apt)"
scripts/install-deps.sh

step "2/4 Building a release in build/release"
cmake --preset release -DSIMILE_TESTS=OFF >/dev/null
cmake --build --preset release --target simile
simile=build/release/cli/simile

step "3/4 Fine-tuning simile-mini-3 on examples/faq (recipes/faq.yaml); figures are x 100"
"$simile" train recipes/faq.yaml --output runs/faq --overwrite

step "4/4 Indexing the answers and asking three questions, by vectors and words, in the shares that the run chose on dev"
"$simile" index build --model runs/faq/model --index runs/faq/index --corpus examples/faq/corpus.tsv --overwrite
for question in "forgot my password, how do I get back in" "how do I copy my gmail messages to you" \
                "the phone app shows no new messages"; do
  printf '\n? %s\n' "$question"
  "$simile" search --index runs/faq/index --query "$question" --top-k 3
done
if [ "${1:-}" = --serve ]; then
  printf '\nSearch them in a browser:  http://127.0.0.1:%s/   (Ctrl-C ends it)\n' "${PORT:-8080}"
  exec "$simile" serve --index runs/faq/index --port "${PORT:-8080}"
fi
cat <<'NOTE'

Ask your own:  build/release/cli/simile search --index runs/faq/index --query "..."
NOTE
