// SPDX-License-Identifier: Apache-2.0
// What /search, /map and /documents take and give.
#include "simile/serve/detail/route_answers.h"
#include "simile/serve/detail/route_rows.h"

namespace simile::detail {
namespace {

Route search_route() {
  return {
      "search",
      "POST",
      "/search",
      "The documents of the index nearest to each query, by vectors, words or both, best first "
      "(with --index)",
      {{"query", kTexts, "", "A query or a list of them; or `like`"},
       {"like", kText, "", "The id of a document: find those nearest to it, without it"},
       {"top_k", kInteger, "10", "Documents for each query, 1000 at most"},
       {"mode", R"({"type":"string","enum":["vector","lexical","hybrid"]})", "",
        "What the search goes by; by default as the index says"},
       {"filter", kText, "",
        "Find only documents with such metadata: `year >= 2020 and lang in (en, de)`"},
       {"rerank", kFlag, "false",
        "Score the first hits by the head that reads query and text together, see /rerank, and "
        "order them by that; the search's score is then `search_score`"},
       {"rerank_hits", kInteger, "100", "How many; of all queries together 1000 at most"},
       {"exact", kFlag, "false", "Look at all vectors, also where the index has a graph of them"},
       {"text", kFlag, "true", "Give the texts of hits"},
       {"marks", kFlag, "false", "Tell where words of the query stand in each text, in characters"},
       {"prompt_name", kText, "",
        "Which of the model's prompts is put before queries; by default that for queries"}},
      R"({"type":"object","properties":{"mode":{"type":"string"},)"
      R"("warnings":{"type":"array","items":{"type":"string"}},"results":{"type":"array",)"
      R"("items":{"type":"object",)"
      R"("properties":{"hits":{"type":"array","items":{"type":"object","properties":{)"
      R"("id":{"type":"string"},"score":{"type":"number"},"search_score":{"type":"number"},)"
      R"("vector_score":{"type":"number"},"lexical_score":{"type":"number"},)"
      R"("title":{"type":"string"},"text":{"type":"string"},"passage":{"type":"object","properties":{)"
      R"("number":{"type":"integer"},"of":{"type":"integer"},"begin":{"type":"integer"},)"
      R"("end":{"type":"integer"}}},"metadata":{"type":"object"},"marks":{"type":"array",)"
      R"("items":{"type":"array","items":{"type":"integer"}}}}}}}}}}})",
      false,
      answer_search};
}

Route map_route() {
  return {
      "map",
      "POST",
      "/map",
      "Documents of the index, or its passages where it has some, as points of the plane in which "
      "their vectors vary most, and the share of the variance along its two axes (with --index)",
      {{"query", kText, "", "Place this among them, with the ten documents that a search finds"},
       {"mode", R"({"type":"string","enum":["vector","lexical","hybrid"]})", "",
        "What that search goes by; by default as the index says"},
       {"prompt_name", kText, "",
        "Which of the model's prompts is put before the query; by default that for queries"},
       {"sample", kFlag, "true",
        "Give the documents or passages: 2000 at even distances, or all where there are fewer, the "
        "same ones until the index changes; of their texts the first 200 characters"},
       {"neighbours", kFlag, "false",
        "Give of each, and of the query and its hits, the 15 nearest documents of the sample, by "
        "their places in it, and how far their vectors are: what other layouts (UMAP) are made "
        "of"}},
      R"({"type":"object","properties":{"generation":{"type":"integer"},)"
      R"("documents":{"type":"integer"},"passages":{"type":"integer"},"variance":{"type":"array","items":{"type":"number"}},)"
      R"("sample":{"type":"array","items":{"type":"object","properties":{)"
      R"("id":{"type":"string"},"x":{"type":"number"},"y":{"type":"number"},)"
      R"("text":{"type":"string"},"passage":{"type":"object","properties":{)"
      R"("number":{"type":"integer"},"of":{"type":"integer"}}},)"
      R"("metadata":{"type":"object"},"near":{"type":"array",)"
      R"("items":{"type":"integer"}},"distances":{"type":"array","items":{"type":"number"}}}}},)"
      R"("query":{"type":"object","properties":{)"
      R"("x":{"type":"number"},"y":{"type":"number"},"mode":{"type":"string"},)"
      R"("hits":{"type":"array","items":{"type":"object"}}}}}})",
      false,
      answer_map};
}

Route add_route() {
  return {
      "addDocuments",
      "POST",
      "/documents",
      "Adds documents to the index, replacing those with the same id (with --allow-changes); "
      "they are found when this is answered",
      {{"documents",
        R"({"type":"array","items":{"type":"object","required":["id","text"],"properties":{)"
        R"("id":{"type":"string"},"title":{"type":"string"},"text":{"type":"string"},)"
        R"("metadata":{"type":"object"}}}})",
        "",
        "Objects with id, text and optionally title, which is put before the text, and metadata, "
        "an object of texts, numbers, true and false",
        true}},
      R"({"type":"object","properties":{"added":{"type":"integer"},"replaced":)"
      R"({"type":"integer"},"truncated":{"type":"integer"},"documents":{"type":"integer"}}})",
      false,
      answer_add};
}

constexpr const char* kDeletedSchema =
    R"({"type":"object","properties":{"deleted":{"type":"integer"},)"
    R"("documents":{"type":"integer"}}})";

constexpr const char* kDocumentSchema =
    R"({"type":"object","properties":{"id":{"type":"string"},"title":{"type":"string"},)"
    R"("text":{"type":"string"},"passages":{"type":"integer"},"metadata":{"type":"object"}}})";

Route delete_route(const char* operation, const char* method, const char* path,
                   const char* summary) {
  return {operation,
          method,
          path,
          summary,
          {{"ids", kTexts, "", "An id or a list of them", true}},
          kDeletedSchema,
          false,
          answer_delete};
}

Route delete_one_route() {
  return {"deleteDocument",
          "DELETE",
          "/documents/{id}",
          "Removes a document (with --allow-changes)",
          {},
          kDeletedSchema,
          false,
          answer_delete_one};
}

}  // namespace

std::vector<Route> index_routes() {
  return {
      search_route(),
      map_route(),
      add_route(),
      delete_route("deleteDocuments", "DELETE", "/documents",
                   "Removes documents from the index, all of them or none (with --allow-changes)"),
      delete_route("deleteDocumentsByPost", "POST", "/documents/delete",
                   "The same, for proxies that drop the body of DELETE"),
      page(
          "getDocument", "/documents/{id}",
          "A document of the index: its text, with the title before it, its metadata, and how many "
          "passages it has, if it is split (with --index)",
          kDocumentSchema, false, answer_document),
      delete_one_route()};
}

}  // namespace simile::detail
