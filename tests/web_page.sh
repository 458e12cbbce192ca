#!/usr/bin/env bash
# The server's web page in a real browser; pictures of it are left in FOLDER. Needs node, chromium and, in a folder
# outside of the repository, `npm install playwright-core axe-core`; PLAYWRIGHT_CORE names that folder. Skipped without.
#   PLAYWRIGHT_CORE=FOLDER tests/web_page.sh PROGRAM FOLDER
set -euo pipefail
if ! command -v node >/dev/null || ! command -v chromium >/dev/null ||
  [ ! -d "${PLAYWRIGHT_CORE:-}/node_modules/playwright-core" ]; then
  echo "skipped: no node, no chromium, or PLAYWRIGHT_CORE names no folder with npm's playwright-core in it"
  exit 77
fi
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "$1")
mkdir -p "$2"
pictures=$(realpath "$2")
work=$(mktemp -d)
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"

# With the first word of the id as its area, and the number of words, as metadata.
awk -F'\t' -v OFS='\t' 'NR == 1 { print $1, "area", "words", $2; next }
  { split($1, parts, "-"); print $1, parts[1], split($2, words, " "), $2 }' "$here/../examples/faq/corpus.tsv" >corpus.tsv
printf 'hostile\t<i>it'"'"'s</i>\t\t<img src=x onerror="document.title=1"> <b>aardvark</b> & <script>document.title=2</script>\n' >>corpus.tsv
printf 'long\t\t\t%sThe walrus sang to the aardvark.%s\n' "$(printf 'Rain fell on the roof. %.0s' {1..60})" \
  "$(printf ' Then it fell again. %.0s' {1..60})" >>corpus.tsv
echo sesame >keys
"$program" index build --model simile-mini-3 --index index --corpus corpus.tsv --metadata area,words --quiet

# A run with a number of steps, whose loss ends at about a value; finished if a value of spearman is given.
run() {
  mkdir -p "runs/$1"
  echo '{"name":"'"$1"'","seed":7,"stages":[{"name":"sts","epochs":2}],"environment":{"threads":2}}' >"runs/$1/run.json"
  awk -v steps="$2" -v low="$3" 'BEGIN {
    for (i = 0; i <= steps; ++i) {
      if (i % 50 == 0) printf "{\"stage\":\"sts\",\"step\":%d,\"epoch\":%g,\"evaluation\":\"dev\",\"metrics\":{\"spearman\":%g,\"pearson\":%g}}\n", i, i / 200, 0.8 - 0.5 * exp(-i / 90) - low / 9, 0.7 - 0.5 * exp(-i / 90)
      if (i > 0) printf "{\"stage\":\"sts\",\"step\":%d,\"epoch\":%g,\"loss\":%g,\"gradient_norm\":%g,\"learning_rate\":%g}\n", i, i / 200, low + 0.9 * exp(-i / 70) + 0.12 * sin(i * 12.9898) * sin(i * 78.233), 1 + 0.5 * sin(i * 4.1), 0.001 * (1 - i / steps)
    }
  }' >"runs/$1/metrics.jsonl"
  [ -n "${4:-}" ] || return 0
  mkdir "runs/$1/predictions"
  awk 'BEGIN { print "left\tright\tgold\tscore"; for (i = 0; i < 40; ++i) printf "<b>Left</b> text %d\tRight text %d\t%d\t%g\n", i, i, i % 6, (i == 7 ? 0.99 : (i % 6) / 6 + i / 2000) }' >"runs/$1/predictions/dev.tsv"
  printf '{"seconds":12.5,"verdict":{"line":"verdict: dev spearman 30.0 -> %s","runs":1,"start_kept":0,"causes":[]},"reports":[%s,%s]}' "$4" \
    '{"task":"sts","name":"dev","model":"own","examples":40,"metrics":{"spearman":0.'"$4"',"pearson":0.7}}' \
    '{"task":"sts","name":"dev","model":"bm25","examples":40,"metrics":{"spearman":0.31,"pearson":0.3}}' >"runs/$1/results.json"
}
run seeds/run-1 300 0.3 76
run seeds/run-2 300 0.35 75
run alpha 400 0.2 78
run broken 20 0.5 50
echo '{"half' >runs/broken/results.json
sed -i '5s/.*/what is this/' runs/broken/metrics.jsonl
sleep 1
run beta 150 0.25

# The process and the port of a server with these options.
serve() {
  "$program" serve --port 0 --quiet "$@" >address &
  servers+=($!)
  for _ in $(seq 100); do
    [ -s address ] && break
    sleep 0.1
  done
  given+=($! "$(sed 's/.*://' address)")
  rm address
}
given=()
serve --index index --body-bytes 4000 --runs runs
serve --index index --api-key-file keys
serve --model simile-mini-3
node "$here/web_page.mjs" "$pictures" runs "${given[@]}"
