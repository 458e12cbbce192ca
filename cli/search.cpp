// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <future>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/index_model.h"
#include "cli/input.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/corpus.h"
#include "simile/data/trec.h"

namespace simile::cli {
namespace {

constexpr size_t kShownCharacters = 100;  // of a document's text in a table

struct Arguments {
  std::string index, model, query, queries, output;
  int64_t top_k = 10;
  ModelOptions encode;
};

struct Query {
  std::string id, text;
};

std::vector<Query> read_queries(const Arguments& arguments, Terminal& terminal) {
  SIMILE_CHECK(arguments.query.empty() != arguments.queries.empty(), ErrorKind::kUsage,
               "give either --query TEXT or --queries FILE");
  if (!arguments.query.empty()) return {{"query", arguments.query}};
  std::vector<Query> queries;
  CorpusReader reader(arguments.queries, CorpusReader::Titles::kIgnore);
  CorpusText text;
  while (reader.next(text)) {
    check_signal();
    queries.push_back({std::move(text.id), std::move(text.text)});
  }
  warn_about(reader.report(), terminal);
  return queries;
}

using Json = nlohmann::ordered_json;

Json to_json(const Query& query, const std::vector<SearchHit>& hits) {
  Json line = {{"query_id", query.id}, {"query", query.text}};
  line["hits"] = Json::array();
  for (const SearchHit& hit : hits) {
    line["hits"].push_back({{"id", hit.id}, {"score", hit.score}, {"text", hit.text}});
  }
  return line;
}

std::string to_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// The beginning of a text, cut at a character.
std::string shorten(const std::string& text) {
  if (text.size() <= kShownCharacters) return text;
  size_t end = kShownCharacters;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string to_table(const Query& query, const std::vector<SearchHit>& hits, bool with_query) {
  std::string out = with_query ? fmt::format("? {}\n", query.text) : "";
  int rank = 0;
  for (const SearchHit& hit : hits) {
    out += fmt::format("{:3}  {:.4f}  {}  {}\n", ++rank, hit.score, hit.id, shorten(hit.text));
  }
  return out;
}

enum class Format { kTable, kJson, kJsonLines, kTrec };

Format choose_format(const std::string& output, bool json) {
  if (output.empty() || output == "-") return json ? Format::kJson : Format::kTable;
  SIMILE_CHECK(ends_with(output, ".trec") || ends_with(output, ".jsonl"), ErrorKind::kUsage,
               fmt::format("--output '{}': expected a name that ends in .trec or .jsonl", output));
  return ends_with(output, ".trec") ? Format::kTrec : Format::kJsonLines;
}

void write_trec(const std::string& path, const std::vector<Query>& queries,
                const std::vector<std::vector<SearchHit>>& results) {
  std::vector<RunQuery> runs;
  for (size_t i = 0; i < queries.size(); ++i) {
    RunQuery run;
    run.query = queries[i].id;
    for (const SearchHit& hit : results[i]) {
      run.documents.push_back(hit.id);
      run.scores.push_back(static_cast<double>(hit.score));
    }
    runs.push_back(std::move(run));
  }
  write_run(path, runs, "simile");
}

// `as_list`: one JSON document is a list even of one query.
std::string show(Format format, bool as_list, const std::vector<Query>& queries,
                 const std::vector<std::vector<SearchHit>>& results) {
  std::string out;
  Json list = Json::array();
  for (size_t i = 0; i < queries.size(); ++i) {
    if (format == Format::kTable) {
      out += to_table(queries[i], results[i], queries.size() > 1);
    } else if (format == Format::kJsonLines) {
      out += to_line(to_json(queries[i], results[i]));
    } else {
      list.push_back(to_json(queries[i], results[i]));
    }
  }
  if (format == Format::kJson) out = to_line(as_list ? list : list[0]);
  return out;
}

void run(Arguments arguments, bool json, Terminal& terminal) {
  const Format format = choose_format(arguments.output, json);
  const std::vector<Query> queries = read_queries(arguments, terminal);
  const IndexInfo info = read_index_info(arguments.index);
  keep_settings(info, arguments.encode);
  const std::string model = model_of_index(arguments.index, info, arguments.model);
  // Reads all weights too: while the encoder does.
  std::future<std::string> fingerprint =
      std::async(std::launch::async, [&model] { return fingerprint_of(model); });
  const SentenceEncoder encoder = load_encoder(model, terminal, arguments.encode.precision);
  const SearchIndex index = SearchIndex::open(arguments.index, fingerprint.get(), model);
  std::vector<std::string> texts;
  for (const Query& query : queries) texts.push_back(query.text);
  EncodeCounts counts;
  const Matrix<float> vectors = encoder.encode(
      texts, index_options(arguments.encode, encoder, TextRole::kQuery), terminal, &counts);
  warn_about(counts, encoder, terminal);
  const auto results = index.search(vectors, arguments.top_k);
  if (format == Format::kTrec) return write_trec(arguments.output, queries, results);
  Output output(arguments.output);
  output.write(show(format, !arguments.queries.empty(), queries, results));
  output.finish();
}

}  // namespace

void add_search(const Commands& commands) {
  auto arguments = std::make_shared<Arguments>();
  const CommonOptions& common = commands.common;
  CLI::App* command = commands.add(
      "search", "Find the documents nearest to a query",
      [arguments, &common](Terminal& terminal) { run(*arguments, common.json, terminal); });
  command->add_option("--index", arguments->index, "Index folder")->required();
  command->add_option("--model", arguments->model, kIndexModelHelp);
  command->add_option("--query", arguments->query, "Text to search for");
  command->add_option("--queries", arguments->queries, "Table of queries with id and text");
  command->add_option("--top-k", arguments->top_k, "Documents per query")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30))
      ->capture_default_str();
  command->add_option(
      "--output", arguments->output,
      "File ending in .trec (a TREC run) or .jsonl (one query a line); by default a "
      "table on stdout, or with --json one document: a list for --queries");
  arguments->encode.precision.clear();
  add_model_options(*command, arguments->encode);
}

}  // namespace simile::cli
