// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <future>

#include "cli/command.h"
#include "cli/index_model.h"
#include "cli/input.h"
#include "cli/search_output.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/ranking_files.h"
#include "simile/text/utf8.h"

namespace simile::cli {
namespace {

constexpr int64_t kRerankedHits = 100;

struct Arguments {
  std::string index, model, query, queries, like, output, reranker;
  std::optional<std::string> filter, format;
  bool exact = false;
  int64_t top_k = 10;
  std::optional<int64_t> reranked;
  ModelOptions encode = index_model_options();
  GivenOptions<SearchSettings> search;

  void visit(OptionVisitor& v) {
    v.field("index", index, OptionInfo{kIndexHelp}.required());
    v.field("model", model, {kIndexModelHelp});
    v.field("query", query, {"Text to search for"});
    v.field("queries", queries,
            {"Queries: .tsv, .csv or .jsonl with id and text; or .txt, or - for stdin, with one a "
             "line, whose id is the line's number"});
    v.field("like", like,
            {"Id of a document of the index: find the documents nearest to it, without it and "
             "without a model"});
    v.field("filter", filter,
            {"Find only documents with such metadata: \"year >= 2020 and lang in (en, de)\"; = != "
             "< <= > >= in, and or not, parentheses, quotes"});
    v.field("top_k", top_k, {"Documents per query", "", 1, 1 << 30});
    v.field("exact", exact, {"Look at all vectors, also where the index has a graph of them"});
    v.field("rerank", reranker,
            {"Model with a head that reads query and text together: the first hits are scored and "
             "ordered by it"});
    v.field("rerank_hits", reranked,
            {"Hits of the search that --rerank scores; 100, or --top-k if that is more, by default",
             "", 1, 1 << 20});
    v.field(
        "output", output,
        {"File to write, with a name in .trec (a TREC run) or .jsonl (one query a line), or any "
         "with --format; stdout by default"});
    v.field("format", format,
            choice_info("What to write: a table (for stdout by default), json (with --json), jsonl "
                        "or trec",
                        search_format_names()));
    search.visit(v);
    encode.visit(v);
  }
};

// One query a line, whose ids are the lines' numbers.
std::vector<Query> read_lines(const std::string& input, Terminal& terminal) {
  std::vector<Query> queries;
  TextListReader reader = open_texts(input);
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
  if (is_plain_text(arguments.queries)) return read_lines(arguments.queries, terminal);
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

SearchResults search_by_words(const Arguments& arguments, const SearchQueries& queries,
                              int64_t top_k, const SearchSettings& settings) {
  const SearchIndex index =
      SearchIndex::open_without_model(arguments.index, SearchIndex::Access::kRead);
  return index.search(queries, top_k, settings);
}

SearchResults search_by_vectors(Arguments arguments, SearchQueries queries, int64_t top_k,
                                const SearchSettings& settings, Terminal& terminal) {
  const IndexInfo info = read_index_info(arguments.index);
  keep_settings(info, arguments.encode);
  const std::string model = model_of_index(arguments.index, info, arguments.model);
  // Reads all weights too: while the encoder does.
  std::future<std::string> fingerprint =
      std::async(std::launch::async, [&model] { return fingerprint_of(model); });
  const SentenceEncoder encoder = load_encoder(model, terminal, arguments.encode);
  const SearchIndex index = SearchIndex::open(arguments.index, fingerprint.get(), model);
  EncodeCounts counts;
  queries.vectors = encoder.encode(
      queries.texts, index_options(arguments.encode, encoder, TextRole::kQuery), terminal, &counts);
  warn_about(counts, encoder, terminal);
  return index.search(queries, top_k, settings);
}

bool matches_none(const std::string& path, const std::string& filter) {
  try {
    return !SearchIndex::open_without_model(path, SearchIndex::Access::kRead)
                .matches(MetadataFilter(filter));
  } catch (const Error&) {  // changed since the search, whose results stand
    return false;
  }
}

void warn_of_none(const Arguments& arguments, const SearchResults& results, Terminal& terminal) {
  const bool any =
      std::any_of(results.begin(), results.end(), [](const auto& hits) { return !hits.empty(); });
  if (any || results.empty() || !matches_none(arguments.index, *arguments.filter)) return;
  terminal.warning(
      "--filter: no document of the index matches; a search without it shows with --json what "
      "metadata documents have");
}

// How many hits of a query are searched for.
int64_t hits_to_find(const Arguments& arguments) {
  if (arguments.reranker.empty()) return arguments.top_k;
  const int64_t count = arguments.reranked.value_or(std::max(kRerankedHits, arguments.top_k));
  SIMILE_CHECK(count >= arguments.top_k, ErrorKind::kUsage,
               fmt::format("--rerank-hits {}: --top-k {} are to be shown; expected as many or more",
                           count, arguments.top_k));
  return count;
}

void rerank(const Arguments& arguments, const std::vector<Query>& queries, SearchResults& results,
            Terminal& terminal) {
  const std::shared_ptr<const Reranker> reranker =
      load_reranker(arguments.reranker, arguments.encode, terminal);
  BlockProgress progress(terminal, "rerank", 0, "pairs");
  EncodeCounts counts;
  for (size_t i = 0; i < queries.size(); ++i) {
    reranker->rerank(queries[i].text, results[i], arguments.top_k, progress, &counts);
  }
  warn_about(counts, reranker->encoder(), terminal);
}

SearchResults search(const Arguments& arguments, const std::vector<Query>& queries,
                     const SearchSettings& settings, Terminal& terminal) {
  SearchQueries asked;
  if (arguments.filter) asked.filter = MetadataFilter(*arguments.filter);
  asked.exact = arguments.exact;
  if (!arguments.like.empty()) {
    const SearchIndex index =
        SearchIndex::open_without_model(arguments.index, SearchIndex::Access::kRead);
    return {
        index.search_like(arguments.like, arguments.top_k, settings, asked.filter, asked.exact)};
  }
  const int64_t top_k = hits_to_find(arguments);
  for (const Query& query : queries) asked.texts.push_back(query.text);
  return settings.by_vectors()
             ? search_by_vectors(arguments, std::move(asked), top_k, settings, terminal)
             : search_by_words(arguments, asked, top_k, settings);
}

void check_arguments(const Arguments& arguments) {
  const auto asked = static_cast<int>(!arguments.query.empty()) +
                     static_cast<int>(!arguments.queries.empty()) +
                     static_cast<int>(!arguments.like.empty());
  SIMILE_CHECK(asked == 1, ErrorKind::kUsage,
               "give one of --query TEXT, --queries FILE and --like ID");
  SIMILE_CHECK(arguments.like.empty() || arguments.reranker.empty(), ErrorKind::kUsage,
               "--rerank needs the text of a query; --like has none");
  SIMILE_CHECK(!arguments.reranked || !arguments.reranker.empty(), ErrorKind::kUsage,
               "--rerank-hits is for --rerank MODEL");
  if (arguments.filter) MetadataFilter(*arguments.filter);
  hits_to_find(arguments);
}

void run(const Arguments& arguments, bool json, Terminal& terminal) {
  const SearchFormat format = choose_format(arguments.format.value_or(""), arguments.output, json);
  check_arguments(arguments);
  const std::vector<Query> queries = arguments.like.empty()
                                         ? read_queries(arguments, terminal)
                                         : std::vector<Query>{{arguments.like, ""}};
  const SearchSettings settings = arguments.search.over(read_search_settings(arguments.index));
  SearchResults results = search(arguments, queries, settings, terminal);
  if (arguments.filter) warn_of_none(arguments, results, terminal);
  if (!arguments.reranker.empty()) rerank(arguments, queries, results, terminal);
  const bool on_terminal =
      (arguments.output.empty() || arguments.output == "-") && isatty(STDOUT_FILENO) == 1;
  const std::string shown =
      show_results(format, !arguments.queries.empty(), on_terminal, queries, results);
  Output output(arguments.output);
  output.write(shown);
  output.finish();
}

}  // namespace

void add_search(const Commands& commands) {
  commands.add<Arguments>(
      "search", "Find the documents nearest to a query, by vectors, by words or by both", run);
}

}  // namespace simile::cli
