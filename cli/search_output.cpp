// SPDX-License-Identifier: Apache-2.0
#include "cli/search_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/ranking_files.h"
#include "simile/text/utf8.h"
#include "simile/text/words.h"

namespace simile::cli {
namespace {

constexpr size_t kShownBytes = 100;  // of a document's text in a table
constexpr size_t kShownBefore = 20;  // the first word of the query, where it stands further on

using Json = nlohmann::ordered_json;

bool is_hybrid(const SearchHit& hit) { return hit.by_vector && hit.by_words; }

Json to_json(const SearchHit& hit, const WordMarker& marker) {
  Json entry = {{"id", hit.id}, {"score", hit.score}};
  if (hit.by_search) entry["search_score"] = *hit.by_search;
  if (is_hybrid(hit)) {
    entry["vector_score"] = *hit.by_vector;
    entry["lexical_score"] = *hit.by_words;
  }
  if (!hit.title.empty()) entry["title"] = hit.title;
  entry["text"] = hit.text;
  if (hit.passage) {
    entry["passage"] = {{"number", hit.passage->number},
                        {"of", hit.passage->of},
                        {"begin", hit.passage->characters.begin},
                        {"end", hit.passage->characters.end}};
  }
  entry["marks"] = Json::array();
  for (const WordMark& mark : marker.find_characters(hit.text)) {
    entry["marks"].push_back({mark.begin, mark.end});
  }
  if (!hit.metadata.empty()) entry["metadata"] = Json::parse(hit.metadata);
  return entry;
}

Json to_json(const Query& query, const std::vector<SearchHit>& hits) {
  Json line = {{"query_id", query.id}, {"query", query.text}};
  line["hits"] = Json::array();
  const WordMarker marker(query.text);
  for (const SearchHit& hit : hits) line["hits"].push_back(to_json(hit, marker));
  return line;
}

std::string to_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// For a line of a table: with U+FFFD for control characters (C0, DEL, C1), which a terminal would
// obey, and spaces for those that only stand between words.
std::string on_one_line(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t control = control_size(text, i);
    if (control == 0) {
      out += text[i++];
      continue;
    }
    out += text[i] >= '\t' && text[i] <= '\r' ? " " : kReplacement;
    i += control;
  }
  return out;
}

// A part of a text on one line, cut at characters: its beginning, or where the first mark stands.
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

std::string to_table(const Query& query, const std::vector<SearchHit>& hits, bool with_query,
                     bool on_terminal) {
  std::string out = with_query ? fmt::format("? {}\n", on_one_line(query.text)) : "";
  const WordMarker marker(query.text);
  int rank = 0;
  for (const SearchHit& hit : hits) {
    std::string parts = hit.by_search ? fmt::format("  {:.4f}", *hit.by_search) : "";
    if (is_hybrid(hit)) parts += fmt::format("  {:.4f} {:8.4f}", *hit.by_vector, *hit.by_words);
    out += fmt::format("{:3}  {:.4f}{}  {}  {}\n", ++rank, hit.score, parts, on_one_line(hit.id),
                       Excerpt(hit.text, marker.find(hit.text)).show(on_terminal));
  }
  return out;
}

std::string to_run(const std::vector<Query>& queries, const SearchResults& results) {
  std::string lines;
  for (size_t i = 0; i < queries.size(); ++i) {
    RunQuery run;
    run.query = queries[i].id;
    for (const SearchHit& hit : results[i]) {
      run.documents.push_back(hit.id);
      run.scores.push_back(hit.score);
    }
    lines += run_lines(run, "simile", "a TREC run");
  }
  return lines;
}

}  // namespace

const std::vector<std::string>& search_format_names() {
  static const std::vector<std::string> names = {"table", "json", "jsonl", "trec"};
  return names;
}

SearchFormat choose_format(const std::string& name, const std::string& output, bool json) {
  const std::vector<std::string>& names = search_format_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<SearchFormat>(found - names.begin());
  if (output.empty() || output == "-") return json ? SearchFormat::kJson : SearchFormat::kTable;
  SIMILE_CHECK(ends_with(output, ".trec") || ends_with(output, ".jsonl"), ErrorKind::kUsage,
               fmt::format("--output '{}': expected a name that ends in .trec or .jsonl, or "
                           "--format",
                           output));
  return ends_with(output, ".trec") ? SearchFormat::kTrec : SearchFormat::kJsonLines;
}

std::string show_results(SearchFormat format, bool as_list, bool on_terminal,
                         const std::vector<Query>& queries, const SearchResults& results) {
  if (format == SearchFormat::kTrec) return to_run(queries, results);
  std::string out;
  Json list = Json::array();
  for (size_t i = 0; i < queries.size(); ++i) {
    if (format == SearchFormat::kTable) {
      out += to_table(queries[i], results[i], queries.size() > 1, on_terminal);
    } else if (format == SearchFormat::kJsonLines) {
      out += to_line(to_json(queries[i], results[i]));
    } else {
      list.push_back(to_json(queries[i], results[i]));
    }
  }
  if (format == SearchFormat::kJson) out = to_line(as_list ? list : list[0]);
  return out;
}

}  // namespace simile::cli
