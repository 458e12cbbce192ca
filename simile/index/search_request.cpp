// SPDX-License-Identifier: Apache-2.0
#include "simile/index/search_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "simile/core/check.h"
#include "simile/data/detail/row_parser.h"

namespace simile {

void visit_mode(OptionVisitor& v, std::optional<std::string>& mode, const std::string& help) {
  v.field("mode", mode, choice_info(help, search_modes(SearchSettings())));
}

namespace {

[[noreturn]] void refuse(const std::string& key, const std::string& problem) {
  throw OptionError(ErrorKind::kUsage, "search", key, problem);
}

OptionInfo filter_info(const std::string& what) {
  return {what +
          " with such metadata: `year >= 2020 and lang in (en, de)`; = != < <= > >= in "
          "contains, starts with, exists, and or not, parentheses, quotes"};
}

}  // namespace

Facet Facet::parse(const std::string& written) {
  const size_t colon = written.rfind(':');
  Facet facet{written.substr(0, colon), {}};
  for (size_t at = colon; at != std::string::npos;) {
    const size_t next = written.find(',', at + 1);
    double& bound = facet.bounds.emplace_back();
    // The colon is part of the name.
    if (!parse_number(std::string_view(written).substr(at + 1, next - at - 1), bound)) {
      return {written, {}};
    }
    at = next;
  }
  const auto falls =
      std::adjacent_find(facet.bounds.begin(), facet.bounds.end(), std::greater_equal<>());
  SIMILE_CHECK(falls == facet.bounds.end(), ErrorKind::kUsage,
               "'{}': expected rising numbers with commas between behind the colon", written);
  return facet;
}

void CountRequest::visit(OptionVisitor& v) {
  v.field("count", count,
          {"Count all documents that match: those that the filter and min_similarity allow; in the "
           "mode lexical, those that also share a word with the query"});
  v.field("facets", facets,
          conditions_info("Count these documents by a column of metadata: `lang` for each value, "
                          "`price:10,50` for numbers below 10, from 10 to below 50, and from 50 on")
              .one_or_more());
  v.field("facet_values", facet_values,
          {"Most values of a column to show, the most frequent first", "", 1, 10000});
}

std::vector<Facet> CountRequest::parsed_facets() const {
  std::vector<Facet> parsed;
  try {
    for (const std::string& facet : facets.value_or(std::vector<std::string>())) {
      parsed.push_back(Facet::parse(facet));
    }
  } catch (const Error& error) {
    refuse("facets", error.what());
  }
  return parsed;
}

void CountReply::visit(OptionVisitor& v) {
  v.field("count", count, {"Documents that are found with a top_k without limit"});
  v.field("facets", facets, {"These documents by columns of their metadata"});
}

void CountReply::take(const CountRequest& request, MatchCounts counts) {
  if (request.count) count = counts.documents;
  if (request.facets) facets = std::move(counts.facets);
}

void FacetCounts::Value::visit(OptionVisitor& v) {
  v.field("value", value, {"Each of the values, where it is a list"});
  v.field("from", from, {"The least number of a range"});
  v.field("to", to, {"All numbers of the range are less"});
  v.required("count", count, "Documents that have it");
}

void FacetCounts::visit(OptionVisitor& v) {
  v.required("column", column);
  v.required("values", values, "The values of most documents first, or the ranges in their order");
  v.field("more_values", more_values, {"How many values are not given"});
  v.required("without", without, "Documents without a value, or a number for a range");
}

void SearchRequest::visit(OptionVisitor& v) {
  const bool is_limited = most_hits < std::numeric_limits<double>::infinity();
  v.field("query", query, OptionInfo{"A query or a list of them; or `like`"}.one_or_more());
  v.field("like", like, {"The id of a document: find the documents nearest to it", "", 1});
  v.field("vector", vector,
          OptionInfo{"The vector of the query, or a list of one for each; without a query the "
                     "search goes by vectors. It is taken as it is: a model that compares by "
                     "cosine wants length 1"}
              .one_or_more());
  v.field("top_k", top_k,
          {fmt::format("Documents for each query{}",
                       is_limited ? fmt::format(", {} at most", most_hits) : ""),
           "", 1, most_hits});
  v.field("offset", offset,
          {"Hits to skip: 10 for the second page of ten", "", 0,
           std::min(most_hits, static_cast<double>(kMostShown))});
  visit_mode(v, mode, "Rank by vectors, words or both; default: as the index says");
  v.field("hybrid_weight", hybrid_weight, FusionOptions::weight_info());
  v.field("hybrid_rule", hybrid_rule, FusionOptions::rule_info());
  v.field("filter", filter, filter_info("Find only documents"));
  v.field("min_similarity", min_similarity,
          {"Leave out documents whose similarity with the query (`vector_score`) is below this, in "
           "every mode"});
  v.field("rerank", rerank,
          {"Score the first hits by the head that reads query and text together, see /rerank, and "
           "order them by that; the search's score is then `search_score`"});
  v.field(
      "rerank_hits", rerank_hits,
      {fmt::format("How many hits are ranked again{}; by default {}, or top_k where that is more",
                   is_limited ? fmt::format(", of all queries together {} at most", most_hits) : "",
                   kRerankedHits),
       "", 1, most_hits});
  v.field("exact", exact, {"Look at all vectors, even if the index has a graph of them"});
  v.field("explain", explain,
          {"Show how each score was made: its words with their BM25, and both parts of a hybrid"});
  CountRequest::visit(v);
  v.field("text", text, {"Give the texts of hits"});
  v.field("marks", marks, {"Tell where words of the query stand in each text, in characters"});
  v.field("prompt_name", prompt_name,
          {"Which of the model's prompts is put before queries; by default that for queries"});
}

void SearchRequest::set_vectors(const Matrix<float>& rows) {
  vector.emplace();
  for (int64_t i = 0; i < rows.rows; ++i)
    vector->emplace_back(rows.row(i), rows.row(i) + rows.cols);
}

Matrix<float> SearchRequest::vectors() const {
  if (!vector) return {};
  const auto rows = static_cast<int64_t>(vector->size());
  Matrix<float> all(rows, static_cast<int64_t>(vector->front().size()));
  for (int64_t i = 0; i < rows; ++i) {
    std::copy_n((*vector)[static_cast<size_t>(i)].begin(), all.cols, all.row(i));
  }
  return all;
}

int64_t SearchRequest::hits_to_find() const {
  // All pages rank the same hits again, so the default does not grow with the offset.
  return rerank ? rerank_hits.value_or(std::max(kRerankedHits, top_k)) : hits_shown();
}

SearchSettings SearchRequest::over(SearchSettings of_index) const {
  of_index.mode = mode.value_or(vector && !query ? "vector" : of_index.mode);
  if (vector && !query && of_index.by_words()) {
    refuse("vector", fmt::format("a search in mode {} needs a \"query\" beside a \"vector\"; give "
                                 "one, or the mode vector",
                                 of_index.mode));
  }
  if (min_similarity && !of_index.by_vectors()) {
    refuse("min_similarity", "\"min_similarity\" needs vectors, and the mode is lexical");
  }
  of_index.fusion.weight = hybrid_weight.value_or(of_index.fusion.weight);
  of_index.fusion.rule = hybrid_rule.value_or(of_index.fusion.rule);
  return of_index;
}

MetadataFilter parse_filter(const std::optional<std::string>& written) {
  if (!written || written->empty()) return {};
  try {
    return MetadataFilter(*written);
  } catch (const Error& error) {
    refuse("filter", error.what());
  }
}

void SearchRequest::check() const {
  if (marks && !text) refuse("marks", "\"marks\" are places in texts, and \"text\" is false");
  if (static_cast<double>(hits_shown()) > most_hits) {
    refuse("offset", fmt::format("\"offset\" and \"top_k\" are {} together; expected {} at most",
                                 hits_shown(), most_hits));
  }
  if (like) {
    if (query) refuse("like", "give \"query\" or \"like\", not both");
    // Keys that mean nothing without a query are rejected instead of silently ignored.
    const std::pair<const char*, bool> given[] = {{"prompt_name", prompt_name.has_value()},
                                                  {"rerank_hits", rerank_hits.has_value()},
                                                  {"rerank", rerank},
                                                  {"vector", vector.has_value()},
                                                  {"explain", explain},
                                                  {"count", count},
                                                  {"facets", facets.has_value()}};
    for (const auto& [key, is_given] : given) {
      if (is_given) refuse(key, fmt::format("\"{}\" needs a \"query\"", key));
    }
  } else if (!query && (rerank || !vector)) {
    refuse("query", "\"query\" is missing");
  }
  if (vector) check_vectors();
  if (hits_to_find() < hits_shown()) {
    refuse("rerank_hits",
           fmt::format("\"rerank_hits\" is {}; expected at least \"top_k\"{}, which is {}",
                       hits_to_find(),
                       offset > 0 ? " with \"offset\", and the same number for every page" : "",
                       hits_shown()));
  }
  parsed_facets();
  parse_filter(filter);
}

void SearchRequest::check_vectors() const {
  if (vector->empty() || (query && vector->size() != query->size())) {
    refuse("vector",
           fmt::format("\"vector\" has {} vectors; expected one for each query", vector->size()));
  }
  for (const std::vector<float>& one : *vector) {
    if (one.empty() || one.size() != vector->front().size()) {
      refuse("vector", "\"vector\" has vectors of different sizes, or an empty one");
    }
    const bool is_finite =
        std::all_of(one.begin(), one.end(), [](float number) { return std::isfinite(number); });
    if (!is_finite) refuse("vector", "\"vector\" has a number that is not finite");
    const float square = std::inner_product(one.begin(), one.end(), one.begin(), 0.0f);
    if (!std::isfinite(square)) {
      refuse("vector", "\"vector\" has numbers so large that scores would be infinite");
    }
  }
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
  v.field("search_score", search_score,
          {"The score of the search, where the hit was ranked again"});
  v.field("vector_score", vector_score, {"By vectors alone, of a hybrid search"});
  v.field("lexical_score", lexical_score, {"By words alone, of a hybrid search"});
  v.field("title", title, {""});
  v.field("text", text, {"The document's text, or that of its best passage"});
  v.field("passage", passage, {"Where the text stands in a document that is split"});
  v.field("marks", marks, {"Begin and end of each word of the query in the text, in characters"});
  v.field("metadata", metadata, {""});
  v.field("explanation", explanation, {"How the score, or the search_score, was made"});
}

void ScoreExplanation::Word::visit(OptionVisitor& v) {
  v.required("word", word);
  v.required("in_query", in_query, "How often");
  v.required("in_document", in_document, "How often");
  v.required("documents", documents, "Documents, or passages, that have it");
  v.required("score", score, "Its part of the BM25 score");
}

void ScoreExplanation::visit(OptionVisitor& v) {
  v.required("how", how, "The formula");
  v.field("vector_part", vector_part, {"What vectors add to the score"});
  v.field("word_part", word_part, {"What words add to the score"});
  v.field("words", words, {"Words of the query that the document has"});
}

void SearchResult::visit(OptionVisitor& v) {
  v.required("hits", hits, "Best first");
  CountReply::visit(v);
}

void ListRequest::visit(OptionVisitor& v) {
  v.field("filter", filter, filter_info("Only documents"));
  v.field("cursor", cursor, {"Where the page begins: the cursor of the page before"});
  v.field("limit", limit, {"Documents of a page", "", 0, most_documents});
  v.field("text", text, {"Show their texts"});
  CountRequest::visit(v);
}

void ListedDocument::visit(OptionVisitor& v) {
  v.required("id", id);
  v.field("title", title, {""});
  v.field("text", text, {"With the title before it"});
  v.field("passages", passages, {"How many it was split into"});
  v.field("metadata", metadata, {""});
}

void ListReply::visit(OptionVisitor& v) {
  v.required("documents", documents, "In the order of adding");
  v.field("cursor", cursor, {"Where the next page begins; none: this is the last"});
  CountReply::visit(v);
}

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
  shown.passage = hit.passage;
  shown.metadata = show_metadata(hit.metadata);
  shown.explanation = hit.explanation;
  return shown;
}

ListedDocument show_document(const Document& document, bool with_text) {
  ListedDocument shown;
  shown.id = document.id;
  if (!document.title.empty()) shown.title = document.title;
  if (with_text) shown.text = document.text;
  if (!document.passages.empty()) shown.passages = document.vectors();
  shown.metadata = show_metadata(document.metadata);
  return shown;
}

}  // namespace simile
