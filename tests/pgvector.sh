#!/usr/bin/env bash
# Loads what `simile export --to pgvector` writes into a PostgreSQL of its own, without a port, and
# compares its ten nearest documents of each query with those of `simile search`; then metadata, and passages
# beside documents that are called like them. Ends with 77 where PostgreSQL or its extension vector (pgvector) is
# not installed.
#   tests/pgvector.sh PROGRAM
# PG_BIN: the folder of PostgreSQL's programs, such as pgserver/pginstall/bin of the Python package pgserver, which has
# the extension; Debian 12 has none.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
program=$(realpath "$1")
skip() {
  echo "skipped: $1"
  exit 77
}
bin=${PG_BIN:-$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)} || true
[ -n "$bin" ] && [ -x "$bin/initdb" ] || skip "PostgreSQL's server is not installed"
[ -e "$("$bin/pg_config" --sharedir)/extension/vector.control" ] || skip "pgvector is not installed"
as=()
if [ "$(id -u)" -eq 0 ]; then
  id postgres >/dev/null 2>&1 || skip "PostgreSQL does not run as root and there is no user postgres"
  as=(runuser -u postgres --)
fi

work=$(mktemp -d)
stop() {
  "${as[@]}" "$bin/pg_ctl" -D "$work/data" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap stop EXIT
cd "$work"
for what in corpus queries; do
  "$program" index build --model simile-mini-3-static --index $what --corpus "$root/examples/faq/$what.tsv" --quiet
  "$program" export --index $what --to pgvector --output $what.sql --table $what --quiet
done
cat >rows.jsonl <<'EOF'
{"id": "a", "text": "The quick brown fox ran over the hill. A lazy dog saw the sun and slept.", "year": 2020, "who": "a\\b \"c\"\td"}
{"id": "a#1", "text": "the sun", "year": 2021}
{"id": "b", "text": "the sea"}
EOF
"$program" index build --model simile-mini-3-static --index rows --corpus rows.jsonl --metadata year,who --passage-tokens 8 --passage-whole 0 \
    --passage-overlap 2 --quiet
"$program" export --index rows --to pgvector --output rows.sql --table rows --quiet
"$program" search --index corpus --queries "$root/examples/faq/queries.tsv" --mode vector --top-k 10 --output found.trec --quiet
awk '{ print $1 "\t" $3 "\t" $4 "\t" $5 }' found.trec >found.tsv

chmod 755 .
install -d -m 700 data
[ "$(id -u)" -ne 0 ] || chown postgres data .
"${as[@]}" "$bin/initdb" -D data -A trust -U simile --no-sync >/dev/null
"${as[@]}" "$bin/pg_ctl" -D data -w -l "$work/data/log" \
    -o "-c listen_addresses='' -c unix_socket_directories='$work' -c fsync=off" start >/dev/null
psql=("$bin/psql" -h "$work" -U simile -d postgres -X -q -v ON_ERROR_STOP=1)
"${psql[@]}" -f corpus.sql -f queries.sql -f rows.sql
different=$("${psql[@]}" -At <<'SQL'
CREATE TABLE found (query text, id text, rank int, score float8);
\copy found from found.tsv
CREATE TABLE nearest AS
  SELECT q.id AS query, n.* FROM queries q, LATERAL (
    SELECT c.id, row_number() OVER (ORDER BY q.embedding <#> c.embedding) AS rank,
           -(q.embedding <#> c.embedding) AS score
    FROM corpus c ORDER BY q.embedding <#> c.embedding LIMIT 10) n;
-- Sums of another order may exchange scores that are nearly equal.
SELECT count(*) FROM found f FULL JOIN nearest n USING (query, rank)
  WHERE f.score IS NULL OR n.score IS NULL OR abs(f.score - n.score) > 1e-5
        OR (f.id <> n.id AND abs(f.score - n.score) > 1e-6);
SQL
)
kept=$("${psql[@]}" -At <<'SQL'
SELECT count(DISTINCT document), count(*) FILTER (WHERE metadata->'year' = '2021'),
       bool_and(metadata->>'who' = E'a\\b "c"\td') FILTER (WHERE document = 'a'),
       count(*) FILTER (WHERE metadata IS NULL) FROM rows;
SQL
)
[ "$kept" = '3|1|t|1' ] || { echo "passages and metadata: expected 3|1|t|1, found $kept" >&2; exit 1; }
hits=$("${psql[@]}" -Atc "SELECT count(*) FROM nearest")
echo "$hits hits of $("${psql[@]}" -Atc "SELECT count(*) FROM queries") queries, $different different"
[ "$different" = 0 ] && [ "$hits" -gt 0 ]
