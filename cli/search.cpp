// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/model.h"
#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/unused_options.h"
#include "simile/data/ranking_files.h"
#include "simile/index/searcher.h"
#include "simile/model/embedding_store.h"
#include "simile/text/utf8.h"
#include "simile/text/words.h"

namespace simile::cli {
namespace {

constexpr size_t kShownBytes = 100;  // of a document's text in a table
constexpr size_t kShownBefore = 20;  // the first word of the query, where it stands further on

// A line for each hit, with words of the query in bold on a terminal; one JSON document, of a query
// or a list; a query with its hits a line; a TREC run, as evaluate --run reads it.
enum class SearchFormat { kTable, kJson, kJsonLines, kTrec };
const std::vector<std::string> kFormatNames = {"table", "json", "jsonl", "trec"};

struct Arguments {
  std::string index, model, query, queries, vector, output, reranker;
  std::optional<std::string> format;
  CorpusColumns columns;  // of queries
  SearchRequest request;
  ModelOptions encode = index_model_options();

  void visit(OptionVisitor& v) {
    v.field("index", index, OptionInfo{kIndexHelp}.required());
    v.field("model", model, {kIndexModelHelp});
    v.field("query", query, {"Text to search for"});
    v.field("queries", queries,
            {"Queries: .tsv, .csv or .jsonl with id and text; or .txt, or - for stdin, with one a "
             "line, whose id is the line's number"});
    v.field("vector", vector,
            {"Vectors of the queries, or instead of queries: a .npy, a .json, or JSON itself: "
             "[0.1, -0.2]; a list, or a list of lists"});
    v.all_but({"title", "metadata"}, [this](OptionVisitor& of) { columns.visit(of); });
    v.all_but({"query", "vector", "rerank", "text", "marks", "prompt_name"},
              [this](OptionVisitor& fields) { request.visit(fields); });
    v.field("rerank", reranker,
            {"Model that reads query and text together (a cross-encoder, or a head of its own): it "
             "scores and orders the first hits"});
    v.field("output", output,
            {"File to write, with a name in .trec (a TREC run) or .jsonl (one query a line), or "
             "any with --format; stdout by default"});
    v.field("format", format,
            choice_info(
                "What to write: a table (for stdout by default), json (with --json), jsonl or trec",
                kFormatNames));
    encode.visit(v);
  }
};

struct Query {
  std::string id, text;
};

// A query with its hits as JSON.
struct ShownQuery : SearchResult {
  std::string query_id, query;
  void visit(OptionVisitor& v) {
    v.required("query_id", query_id);
    v.required("query", query);
    SearchResult::visit(v);
  }
};

// A .npy, a file of JSON, or JSON itself.
void read_vectors(const std::string& given, SearchRequest& request) {
  if (ends_with(given, ".npy")) {
    const EmbeddingStore store(given);
    Matrix<float> rows(store.rows(), store.dimension());
    for (int64_t i = 0; i < rows.rows; ++i) store.row(i, rows.row(i));
    return request.set_vectors(rows);
  }
  const bool is_json = given[0] == '[';
  const std::string json = is_json ? given : read_file(given);
  SearchRequest read;
  read_json_options(fmt::format("{{\"vector\": {}}}", json), is_json ? "--vector" : given, read);
  request.vector = std::move(read.vector);
}

// One query a line, whose ids are the lines' numbers.
std::vector<Query> read_lines(const Arguments& arguments, Terminal& terminal) {
  std::vector<Query> queries;
  TextListReader reader = open_texts(arguments.queries, arguments.columns.table.encoding);
  TextItem item;
  while (reader.next(item)) {
    check_signal();
    if (!is_blank(item.text)) queries.push_back({std::to_string(item.line), std::move(item.text)});
  }
  check_any_text(static_cast<int64_t>(queries.size()), reader.report());
  warn_about(reader.report(), terminal);
  return queries;
}

bool is_plain_text(const std::string& path) {
  return path == "-" || ends_with(path, ".txt") || ends_with(path, ".txt.gz") ||
         ends_with(path, ".txt.zst");
}

std::vector<Query> read_queries(const Arguments& arguments, Terminal& terminal) {
  if (!arguments.query.empty()) return {{"query", arguments.query}};
  if (is_plain_text(arguments.queries)) return read_lines(arguments, terminal);
  std::vector<Query> queries;
  CorpusReader reader(arguments.queries, CorpusReader::Titles::kIgnore, arguments.columns);
  CorpusText text;
  while (reader.next(text)) {
    check_signal();
    queries.push_back({std::move(text.id), std::move(text.text)});
  }
  warn_about(reader.report(), terminal);
  return queries;
}

// A part of a text on one line, cut between characters: its beginning, or the first mark.
class Excerpt {
 public:
  Excerpt(std::string text, std::vector<WordMark> marks)
      : text_(std::move(text)), marks_(std::move(marks)), end_(text_.size()) {
    std::replace_if(
        text_.begin(), text_.end(), [](char c) { return c >= '\t' && c <= '\r'; }, ' ');
    if (text_.size() <= kShownBytes) return;
    if (!marks_.empty() && marks_.front().end > kShownBytes) begin_ = start_before(marks_.front());
    end_ = std::min(text_.size(), begin_ + kShownBytes);
    while (end_ > begin_ && inside_character(text_, end_)) --end_;
  }

  std::string show(bool in_bold) const {
    std::string out = begin_ > 0 ? "..." : "";
    size_t at = begin_;
    for (const WordMark& mark : marks_) {
      if (!in_bold || mark.begin < begin_ || mark.end > end_) continue;
      out += piece(at, mark.begin) + "\x1b[1m" + piece(mark.begin, mark.end) + "\x1b[22m";
      at = mark.end;
    }
    return out + piece(at, end_) + (end_ < text_.size() ? "..." : "");
  }

 private:
  std::string piece(size_t begin, size_t end) const {
    return on_one_line(std::string_view(text_).substr(begin, end - begin));
  }

  size_t start_before(const WordMark& mark) const {
    size_t begin = mark.begin - std::min(mark.begin, kShownBefore);
    const size_t space = text_.find(' ', begin);
    if (space < mark.begin) begin = space + 1;
    while (inside_character(text_, begin)) ++begin;
    return begin;
  }

  std::string text_;
  std::vector<WordMark> marks_;
  size_t begin_ = 0, end_;
};

std::string show_explanation(const ScoreExplanation& explanation) {
  std::string out = fmt::format("       {}\n", explanation.how);
  if (explanation.vector_part && explanation.word_part) {
    out +=
        fmt::format("       = {:.4f} + {:.4f}\n", *explanation.vector_part, *explanation.word_part);
  }
  for (const auto& word : explanation.words.value_or(std::vector<ScoreExplanation::Word>())) {
    out += fmt::format("       BM25 {:8.4f}  {} ({} times here, in {} documents)\n", word.score,
                       on_one_line(word.word), word.in_document, word.documents);
  }
  return out;
}

std::string to_table(const Query& query, const SearchResult& result, int64_t rank, bool with_query,
                     bool on_terminal, const std::string& language) {
  std::string out = with_query ? fmt::format("? {}\n", on_one_line(query.text)) : "";
  const WordMarker marker(query.text, language);
  for (const FoundDocument& hit : result.hits) {
    std::string parts = hit.search_score ? fmt::format("  {:.4f}", *hit.search_score) : "";
    if (hit.vector_score) {
      parts += fmt::format("  {:.4f} {:8.4f}", *hit.vector_score, *hit.lexical_score);
    }
    out += fmt::format("{:3}  {:.4f}{}  {}  {}\n", ++rank, hit.score, parts, on_one_line(hit.id),
                       Excerpt(*hit.text, marker.find(*hit.text)).show(on_terminal));
    if (hit.explanation) out += show_explanation(*hit.explanation);
  }
  return out + show_counts(result);
}

std::string to_run(const Query& query, const std::vector<FoundDocument>& hits) {
  RunQuery run;
  run.query = query.id;
  for (const FoundDocument& hit : hits) {
    run.documents.push_back(hit.id);
    run.scores.push_back(hit.score);
  }
  return run_lines(run, "simile", "a TREC run");
}

// The format that is named, or else that of the file's ending, or of stdout with --json or without.
SearchFormat choose_format(const Arguments& arguments, bool json) {
  const std::string& output = arguments.output;
  const auto found =
      std::find(kFormatNames.begin(), kFormatNames.end(), arguments.format.value_or(""));
  if (found != kFormatNames.end()) return static_cast<SearchFormat>(found - kFormatNames.begin());
  if (output.empty() || output == "-") return json ? SearchFormat::kJson : SearchFormat::kTable;
  SIMILE_CHECK(ends_with(output, ".trec") || ends_with(output, ".jsonl"), ErrorKind::kUsage,
               "--output '{}': expected a name that ends in .trec or .jsonl, or --format", output);
  return ends_with(output, ".trec") ? SearchFormat::kTrec : SearchFormat::kJsonLines;
}

// `as_list`: one JSON document is a list even of one query. `offset`: hits that were skipped.
// Errors (kInput): an id that a run cannot hold.
std::string show_results(SearchFormat format, bool as_list, int64_t offset, bool on_terminal,
                         const std::vector<Query>& queries, std::vector<SearchResult> results,
                         const std::string& language) {
  std::string out;
  std::vector<ShownQuery> list;
  for (size_t i = 0; i < queries.size(); ++i) {
    if (format == SearchFormat::kTrec) {
      out += to_run(queries[i], results[i].hits);
    } else if (format == SearchFormat::kTable) {
      out += to_table(queries[i], results[i], offset, queries.size() > 1, on_terminal, language);
    } else {
      list.push_back({std::move(results[i]), queries[i].id, queries[i].text});
      if (format == SearchFormat::kJsonLines) out += options_to_json(list.back(), -1) + "\n";
    }
  }
  if (format != SearchFormat::kJson) return out;
  return (as_list ? options_to_json(list, -1) : options_to_json(list[0], -1)) + "\n";
}

void check_arguments(const Arguments& arguments) {
  const SearchRequest& request = arguments.request;
  const auto asked = static_cast<int>(!arguments.query.empty()) +
                     static_cast<int>(!arguments.queries.empty()) +
                     static_cast<int>(request.like.has_value());
  SIMILE_CHECK(asked == 1 || (asked == 0 && !arguments.vector.empty()), ErrorKind::kUsage,
               "give one of --query TEXT, --queries FILE, --like ID and --vector FILE");
  SIMILE_CHECK(arguments.query.empty() || !is_blank(arguments.query), ErrorKind::kUsage,
               "--query '{}' has only spaces; give a text", arguments.query);
  SIMILE_CHECK(!request.like || !request.rerank, ErrorKind::kUsage,
               "--rerank needs the text of a query; --like has none");
  SIMILE_CHECK(!request.rerank_hits || request.rerank, ErrorKind::kUsage,
               "--rerank-hits is for --rerank MODEL");
  if (request.filter) MetadataFilter(*request.filter);
  SIMILE_CHECK(
      request.hits_to_find() >= request.hits_shown(), ErrorKind::kUsage,
      "--rerank-hits {}: {} hits are to be shown or skipped (--offset, --top-k); expected as "
      "many or more, the same number for every page",
      request.hits_to_find(), request.hits_shown());
}

void check_files(const Arguments& arguments) {
  const std::string& vector = arguments.vector;
  const bool is_file = !vector.empty() && vector[0] != '[';
  check_outputs({arguments.output},
                {arguments.queries, is_file ? vector : "", is_file ? vector + ".json" : "",
                 arguments.index, arguments.model, arguments.reranker});
}

// Options that the search of this request, in this mode, would silently not use.
void check_idle_options(const Arguments& arguments, SearchFormat format,
                        const SearchSettings& settings) {
  const SearchRequest& request = arguments.request;
  const bool embeds = settings.by_vectors() && request.query && !request.vector;
  const std::vector<IdleRule> rules = {
      {arguments.queries.empty() || is_plain_text(arguments.queries),
       {"id", "text", "delimiter", "on_error"},
       "without a table of --queries"},
      {arguments.queries.empty(), {"encoding"}, "without --queries"},
      {format == SearchFormat::kTrec,
       {"count", "facets", "facet_values", "explain"},
       "in a TREC run, which has ids and scores alone"},
      {!request.facets, {"facet_values"}, "without --facets"},
      {!settings.by_vectors() || !settings.by_words(),
       {"hybrid_weight", "hybrid_rule"},
       fmt::format("in mode {}, which is no hybrid", settings.mode)},
      {!embeds,
       {"batch_tokens", "prompt", "dimensions", "precision"},
       "where no text is embedded (--like, --vector, mode lexical)"},
      {!embeds && !request.rerank,
       {"device"},
       "where no model computes (--like, --vector, mode lexical)"}};
  refuse_idle_flags(find_idle_options(arguments, rules));
}

void run(Arguments& arguments, bool json, Terminal& terminal) {
  const SearchFormat format = choose_format(arguments, json);
  SearchRequest& request = arguments.request;
  if (request.like == "") request.like.reset();
  request.rerank = !arguments.reranker.empty();
  request.marks = format == SearchFormat::kJson || format == SearchFormat::kJsonLines;
  check_arguments(arguments);
  check_files(arguments);
  if (!arguments.vector.empty()) read_vectors(arguments.vector, request);
  std::vector<Query> queries = {{request.like.value_or("vector"), ""}};
  if (arguments.query.empty() && arguments.queries.empty()) {
    const size_t count = request.vector ? request.vector->size() : 1;
    for (size_t i = 2; i <= count; ++i) queries.push_back({fmt::format("vector-{}", i), ""});
  } else {
    queries = read_queries(arguments, terminal);
    request.query.emplace();
    for (const Query& query : queries) request.query->push_back(query.text);
  }
  SearcherOptions options;
  static_cast<IndexModelOptions&>(options) = for_index(arguments.model, arguments.encode);
  options.reranker = arguments.reranker;
  const Searcher searcher = Searcher::open(arguments.index, options, terminal);
  request.check();
  check_idle_options(arguments, format, request.over(read_search_settings(arguments.index)));
  check_dimensions(arguments.encode.dimensions, searcher.index().model().dimension);
  SearchReply reply = searcher.search(request);
  if (reply.warnings) {
    terminal.warning(
        "--filter: no document matches; search without it and with --json to see the metadata");
  }
  const bool on_terminal =
      (arguments.output.empty() || arguments.output == "-") && isatty(STDOUT_FILENO) == 1;
  const bool as_list = !arguments.queries.empty() || queries.size() > 1;
  write_result(show_results(format, as_list, request.offset, on_terminal, queries,
                            std::move(reply.results), searcher.index().model().language),
               arguments.output);
}

}  // namespace

void add_search(const Commands& commands) {
  commands.add<Arguments>(
      "search", "Find the documents nearest to a query, by vectors, by words or by both", run);
}

}  // namespace simile::cli
