// SPDX-License-Identifier: Apache-2.0
#include "simile/index/search_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace simile {

void visit_mode(OptionVisitor& v, std::optional<std::string>& mode, const std::string& help) {
  v.field("mode", mode, choice_info(help, search_modes(SearchSettings())));
}

namespace {

[[noreturn]] void refuse(const std::string& key, const std::string& problem) {
  throw OptionError(ErrorKind::kUsage, "search", key, problem);
}

}  // namespace

void SearchRequest::visit(OptionVisitor& v) {
  const bool is_limited = most_hits < std::numeric_limits<double>::infinity();
  v.field("query", query, OptionInfo{"A query or a list of them; or `like`"}.one_or_more());
  v.field("like", like,
          {"The id of a document: find those nearest to it, without it", "", 1, kLongestId});
  v.field("top_k", top_k,
          {fmt::format("Documents for each query{}",
                       is_limited ? fmt::format(", {} at most", most_hits) : ""),
           "", 1, most_hits});
  visit_mode(v, mode, "What the search goes by; by default as the index says");
  v.field("hybrid_weight", hybrid_weight, FusionOptions::weight_info());
  v.field("hybrid_rule", hybrid_rule, FusionOptions::rule_info());
  v.field("filter", filter,
          {"Find only documents with such metadata: `year >= 2020 and lang in (en, de)`; = != < <= "
           "> >= in, and or not, parentheses, quotes"});
  v.field("rerank", rerank,
          {"Score the first hits by the head that reads query and text together, see /rerank, and "
           "order them by that; the search's score is then `search_score`"});
  v.field(
      "rerank_hits", rerank_hits,
      {fmt::format("How many hits are ranked again{}; by default {}, or top_k where that is more",
                   is_limited ? fmt::format(", of all queries together {} at most", most_hits) : "",
                   kRerankedHits),
       "", 1, most_hits});
  v.field("exact", exact, {"Look at all vectors, also where the index has a graph of them"});
  v.field("text", text, {"Give the texts of hits"});
  v.field("marks", marks, {"Tell where words of the query stand in each text, in characters"});
  v.field("prompt_name", prompt_name,
          {"Which of the model's prompts is put before queries; by default that for queries"});
}

int64_t SearchRequest::hits_to_find() const {
  return rerank ? rerank_hits.value_or(std::max(kRerankedHits, top_k)) : top_k;
}

SearchSettings SearchRequest::over(SearchSettings of_index) const {
  of_index.mode = mode.value_or(of_index.mode);
  of_index.fusion.weight = hybrid_weight.value_or(of_index.fusion.weight);
  of_index.fusion.rule = hybrid_rule.value_or(of_index.fusion.rule);
  return of_index;
}

MetadataFilter SearchRequest::metadata_filter() const {
  if (!filter || filter->empty()) return {};
  try {
    return MetadataFilter(*filter);
  } catch (const Error& error) {
    refuse("filter", error.what());
  }
}

void SearchRequest::check() const {
  if (marks && !text) refuse("marks", "\"marks\" are places in texts, and \"text\" is false");
  if (like) {
    if (query) refuse("like", "give \"query\" or \"like\", not both");
    // What has no meaning without a query is not left out silently.
    const std::pair<const char*, bool> given[] = {{"prompt_name", prompt_name.has_value()},
                                                  {"rerank_hits", rerank_hits.has_value()},
                                                  {"rerank", rerank}};
    for (const auto& [key, is_given] : given) {
      if (is_given) refuse(key, fmt::format("\"{}\" needs a \"query\"", key));
    }
  } else if (!query && (rerank || vectors.rows == 0)) {
    refuse("query", "\"query\" is missing");
  }
  if (hits_to_find() < top_k) {
    refuse("rerank_hits",
           fmt::format("\"rerank_hits\" is {}; expected at least \"top_k\", which is {}",
                       hits_to_find(), top_k));
  }
  metadata_filter();
}

void FoundPassage::visit(OptionVisitor& v) {
  v.required("number", number, "Which of the document's passages, from 0");
  v.required("of", of, "How many passages the document has");
  v.required("begin", begin, "Its first character in the document");
  v.required("end", end, "The character after its last");
}

void FoundDocument::visit(OptionVisitor& v) {
  v.required("id", id);
  v.required("score", score, "Higher is better");
  v.field("search_score", search_score, {"That of the search, of a hit that was ranked again"});
  v.field("vector_score", vector_score, {"By vectors alone, of a hybrid search"});
  v.field("lexical_score", lexical_score, {"By words alone, of a hybrid search"});
  v.field("title", title, {""});
  v.field("text", text, {"The document's text, or that of its best passage"});
  v.field("passage", passage, {"Where the text stands in a document that is split"});
  v.field("marks", marks, {"Begin and end of each word of the query in the text, in characters"});
  v.field("metadata", metadata, {""});
}

void SearchResult::visit(OptionVisitor& v) { v.required("hits", hits, "Best first"); }

void SearchReply::visit(OptionVisitor& v) {
  v.required("mode", mode, "What the search went by");
  v.required("results", results, "One for each query");
  v.field("warnings", warnings, {"Why there are no hits, where it is the filter"});
}

std::optional<ConfigNode> show_metadata(const std::string& metadata) {
  if (metadata.empty()) return std::nullopt;
  return parse_json_config(metadata, "metadata");
}

FoundDocument show_hit(const SearchHit& hit, bool with_text) {
  FoundDocument shown;
  shown.id = hit.id;
  shown.score = hit.score;
  shown.search_score = hit.by_search;
  if (hit.by_vector && hit.by_words) {
    shown.vector_score = hit.by_vector;
    shown.lexical_score = hit.by_words;
  }
  if (!hit.title.empty()) shown.title = hit.title;
  if (with_text) shown.text = hit.text;
  if (hit.passage) {
    shown.passage = {hit.passage->number, hit.passage->of,
                     static_cast<int64_t>(hit.passage->characters.begin),
                     static_cast<int64_t>(hit.passage->characters.end)};
  }
  shown.metadata = show_metadata(hit.metadata);
  return shown;
}

}  // namespace simile
