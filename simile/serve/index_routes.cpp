// SPDX-License-Identifier: Apache-2.0
// The routes of an index: /search and /documents.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "simile/serve/detail/route_row.h"
#include "simile/serve/request_error.h"
#include "simile/text/utf8.h"

namespace simile::detail {
namespace {

constexpr int64_t kMostHits = 1000;  // of a query; reranked, of all queries together

struct SearchBody : SearchRequest {
  SearchBody() { most_hits = kMostHits; }
};

// As the index's own vectors are made.
VectorOptions like_the_index(const Engine& engine) {
  const SentenceEncoder& encoder = *engine.model().encoder;
  const EncodeOptions like = document_options(index_of(engine).info().model, encoder);
  VectorOptions options;
  options.dimensions = like.dimensions;
  options.normalize = like.normalize.value_or(encoder.settings().normalize);
  return options;
}

class RequestWork : public SearchWork {
 public:
  RequestWork(const Engine& engine, const RouteCall& call, bool with_text, std::string advice)
      : engine_(engine), call_(call), with_text_(with_text), advice_(std::move(advice)) {}

  Matrix<float> embed(const std::vector<std::string>& queries,
                      const std::string& prompt_name) override {
    return embed_queries(engine_, call_, queries, prompt_name);
  }

  void rerank(const std::vector<std::string>& queries, int64_t top_k, Results& results) override {
    const auto reranked = std::make_shared<Results>(std::move(results));
    int64_t pairs = 0;
    for (const auto& hits : *reranked) pairs += static_cast<int64_t>(hits.size());
    run(
        [reranker = engine_.model().reranker, queries, top_k, reranked] {
          for (size_t i = 0; i < queries.size(); ++i) {
            reranker->rerank(queries[i], (*reranked)[i], top_k, silent_events());
          }
        },
        pairs);
    results = std::move(*reranked);
  }

  void run(const std::function<void()>& work, int64_t count) override {
    engine_.embedder().worker().run(work, count, 0, call_.patience, call_.cost.times);
  }

  int64_t page_bytes() const override { return engine_.limits().answer_bytes; }

  // The texts of hits are in memory before it is known how large they are.
  int64_t queries_together(int64_t hits) const override {
    return std::max<int64_t>(1, kMostHits / hits);
  }

  void begin_to_see() override {
    call_.cost.searches -= seen_;
    seen_ = bytes_ = 0;
  }

  void see(std::vector<SearchHit>& hits) override {
    ++seen_;
    ++call_.cost.searches;
    for (SearchHit& hit : hits) {
      if (!with_text_) hit.text = std::string();
      bytes_ += static_cast<int64_t>(hit.id.size() + hit.title.size() + hit.text.size() +
                                     hit.metadata.size());
    }
    const int64_t most = engine_.limits().answer_bytes;
    SIMILE_REQUEST_CHECK(bytes_ <= most, Refusal::kTooLarge,
                         fmt::format("the hits have more than {} bytes; {}", most, advice_));
  }

 private:
  const Engine& engine_;
  const RouteCall& call_;
  const bool with_text_;
  const std::string advice_;
  int64_t seen_ = 0, bytes_ = 0;  // searches, and bytes of their hits
};

void check_queries(const RouteCall& call, const Engine& engine, const SearchRequest& request) {
  if (!request.query && request.vector) return;
  if (!request.query) {  // that or `like` is required: tell it of this one
    std::vector<std::string> query;
    read_body(call.body, engine.limits(), BodySize::kUsual, [&](OptionVisitor& v) {
      v.field("query", query, OptionInfo().required().one_or_more());
    });
  }
  SIMILE_REQUEST_CHECK(std::none_of(request.query->begin(), request.query->end(), is_blank),
                       Refusal::kEmpty, "\"query\" is an empty text", "query");
}

void check_rerank(const Engine& engine, const SearchRequest& request) {
  SIMILE_REQUEST_CHECK(
      engine.model().reranker != nullptr, Refusal::kModelCannot,
      "the server has no model that re-ranks; it was started without --rerank-model", "rerank");
  const auto queries = static_cast<int64_t>(request.query ? request.query->size() : 1);
  const int64_t hits = request.hits_to_find();
  SIMILE_REQUEST_CHECK(hits >= request.top_k && queries * hits <= kMostHits, Refusal::kInvalid,
                       fmt::format("\"rerank_hits\" is {} for each of {} queries; expected at "
                                   "least \"top_k\", which is {}, and {} for all at most",
                                   hits, queries, request.top_k, kMostHits),
                       "rerank_hits");
}

// Returns answer(), and reports its errors of usage to the client as invalid requests.
template <typename Answer>
auto as_refusals(const Answer& answer) {
  try {
    return answer();
  } catch (const OptionError& error) {
    throw RequestError(Refusal::kInvalid, error.problem, error.key);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    throw RequestError(Refusal::kInvalid, error.what());
  }
}

SearchReply answer_search(const Engine& engine, const RouteCall& call, const SearchBody& request) {
  const ServedIndex& index = index_of(engine);
  if (!request.like) {
    check_queries(call, engine, request);
    if (request.rerank) check_rerank(engine, request);
  }
  const std::string advice =
      fmt::format("ask for fewer of them (\"top_k\"), in several requests{}",
                  request.text ? ", or without their texts (\"text\": false)" : "");
  try {
    return as_refusals(
        [&] { return searcher_of(engine, call, request.text, advice).search(request); });
  } catch (const Error& error) {
    if (request.like && error.kind() == ErrorKind::kInput) index.check_has(*request.like, "like");
    throw;
  }
}

}  // namespace

ServedIndex& index_of(const Engine& engine) {
  SIMILE_REQUEST_CHECK(engine.model().index != nullptr, Refusal::kModelCannot,
                       "the server has no index; it was started without --index");
  return *engine.model().index;
}

Matrix<float> embed_queries(const Engine& engine, const RouteCall& call,
                            const std::vector<std::string>& queries,
                            const std::string& prompt_name) {
  ReadingKeys like;
  like.prompt_name = prompt_name;
  return engine.embedder().embed({like.group(queries, TextRole::kQuery)}, like_the_index(engine),
                                 call.patience, call.cost);
}

Matrix<float> embed_documents(const Engine& engine, const RouteCall& call,
                              const std::vector<Document>& documents) {
  ReadingKeys like;
  like.prompt_name = index_of(engine).info().model.prompt_name.value_or("");
  return engine.embedder().embed({like.group(texts_of_vectors(documents), TextRole::kDocument)},
                                 like_the_index(engine), call.patience, call.cost);
}

Searcher searcher_of(const Engine& engine, const RouteCall& call, bool with_text,
                     const std::string& advice) {
  index_of(engine);
  const std::shared_ptr<const ServedIndex> served = engine.model().index;
  return {std::shared_ptr<const SearchIndex>(served, &served->index()), served->settings(),
          std::make_shared<RequestWork>(engine, call, with_text, advice)};
}

std::vector<Route> search_routes() {
  return {route("search", "POST", "/search",
                "The documents of the index nearest to each query, by vectors, words or both, best "
                "first (with --index)",
                answer_search, {Refusal::kModelCannot, Refusal::kNotFound})};
}

namespace {

struct DocumentBody {
  std::string id, title, text;
  ConfigNode metadata;
  void visit(OptionVisitor& v) {
    v.field("id", id, OptionInfo{"Its name", "", 1, kLongestId}.required());
    v.field("title", title, {"It is put before the text"});
    v.field("text", text, OptionInfo{"What is searched for", "", 1}.required());
    v.field("metadata", metadata,
            {"An object of texts, numbers, true and false, or lists of these"});
  }
};

struct AddRequest {
  std::vector<DocumentBody> documents;
  void visit(OptionVisitor& v) { v.required("documents", documents, "The documents"); }
};

struct AddReply {
  int64_t added = 0, replaced = 0, truncated = 0, documents = 0;
  void visit(OptionVisitor& v) {
    v.required("added", added, "Documents of the request");
    v.required("replaced", replaced, "How many of them replaced one with the same id");
    v.required("truncated", truncated, "Texts that were cut at the model's limit");
    v.required("documents", documents, "Documents of the index");
  }
};

struct DeleteRequest {
  std::optional<std::vector<std::string>> ids;
  std::optional<std::string> filter;
  bool dry_run = false;
  void visit(OptionVisitor& v) {
    v.field("ids", ids, OptionInfo{"An id or a list of them; or `filter`"}.one_or_more());
    v.field("filter", filter, {"Remove all documents with such metadata, see /search"});
    v.field("dry_run", dry_run, {"Count those that the filter would remove, and remove none"});
  }
};

struct DeleteReply {
  int64_t deleted = 0, documents = 0;
  void visit(OptionVisitor& v) {
    v.required("deleted", deleted, "How many were removed, or with dry_run would be");
    v.required("documents", documents, "Documents of the index");
  }
};

struct PatchBody {
  std::string id;
  ConfigNode metadata;
  void visit(OptionVisitor& v) {
    v.field("id", id, OptionInfo{"Its name", "", 1}.required());
    v.field("metadata", metadata, OptionInfo{"Members to set; null removes one"}.required());
  }
};

struct PatchRequest {
  std::vector<PatchBody> documents;
  void visit(OptionVisitor& v) { v.required("documents", documents, "The documents"); }
};

struct PatchReply {
  int64_t changed = 0, documents = 0;
  void visit(OptionVisitor& v) {
    v.required("changed", changed, "How many have other metadata now");
    v.required("documents", documents, "Documents of the index");
  }
};

struct ListBody : ListRequest {
  ListBody() { most_documents = kMostHits; }
};

// A title is put before the text, as `simile index add` does.
std::vector<Document> documents_of(const AddRequest& request) {
  std::vector<Document> documents;
  for (const DocumentBody& body : request.documents) {
    Document document;
    document.id = body.id;
    document.title = body.title;
    document.text = body.title.empty() ? body.text : body.title + " " + body.text;
    document.metadata =
        read_metadata(body.metadata, fmt::format("documents[{}].metadata", documents.size()));
    documents.push_back(std::move(document));
  }
  return documents;
}

// Splits documents into passages if the index has them.
void split_documents(const Engine& engine, std::vector<Document>& documents) {
  const IndexedModel model = index_of(engine).info().model;
  const SentenceEncoder& encoder = *engine.model().encoder;
  try {
    PassageSplitter(encoder, model.passages, document_options(model, encoder)).split(documents);
  } catch (const Error& error) {
    throw RequestError(Refusal::kInvalid, error.what(), "documents");
  }
}

AddReply add(const Engine& engine, const RouteCall& call, const AddRequest& request) {
  ServedIndex& index = index_of(engine);
  index.check_changes();
  std::vector<Document> documents = documents_of(request);
  split_documents(engine, documents);
  const Matrix<float> vectors = embed_documents(engine, call, documents);
  const int64_t replaced = index.add(documents, vectors, call.patience.deadline);
  return {static_cast<int64_t>(documents.size()), replaced, call.cost.truncated,
          index.info().count};
}

ListedDocument document(const Engine& engine, const RouteCall& call) {
  return show_document(index_of(engine).document(call.name));
}

ListReply list(const Engine& engine, const RouteCall& call, const ListBody& request) {
  return as_refusals([&] { return searcher_of(engine, call, request.text, "").list(request); });
}

PatchReply patch(const Engine& engine, const RouteCall& call, const PatchRequest& request) {
  ServedIndex& index = index_of(engine);
  index.check_changes();
  std::vector<SearchIndex::MetadataPatch> patches;
  for (const PatchBody& body : request.documents) {
    const std::string key = fmt::format("documents[{}].metadata", patches.size());
    patches.push_back({body.id, read_metadata(body.metadata, key, true)});
  }
  const int64_t changed = index.change_metadata(patches, call.patience.deadline);
  return {changed, index.info().count};
}

DeleteReply remove_all(const Engine& engine, const RouteCall& call,
                       const std::vector<std::string>& ids) {
  ServedIndex& index = index_of(engine);
  const int64_t deleted = index.remove(ids, call.patience.deadline);
  return {deleted, index.info().count};
}

DeleteReply remove(const Engine& engine, const RouteCall& call, const DeleteRequest& request) {
  SIMILE_REQUEST_CHECK(request.ids || request.filter, Refusal::kInvalid,
                       "\"ids\" is missing; give them, or a \"filter\"", "ids");
  SIMILE_REQUEST_CHECK(!request.ids || !request.filter, Refusal::kInvalid,
                       "give \"ids\" or \"filter\", not both", "filter");
  SIMILE_REQUEST_CHECK(request.filter || !request.dry_run, Refusal::kInvalid,
                       "\"dry_run\" needs a \"filter\"", "dry_run");
  if (request.ids) return remove_all(engine, call, *request.ids);
  ServedIndex& index = index_of(engine);
  const int64_t deleted = as_refusals([&] {
    return index.remove_matching(MetadataFilter(*request.filter), request.dry_run,
                                 call.patience.deadline);
  });
  return {deleted, index.info().count};
}

DeleteReply remove_one(const Engine& engine, const RouteCall& call) {
  return remove_all(engine, call, {call.name});
}

struct SnapshotBody {
  std::string name;
  void visit(OptionVisitor& v) {
    v.field("name", name, OptionInfo{"The copy is this new folder of --snapshots"}.required());
  }
};

struct SnapshotReply {
  int64_t documents = 0, generation = 0;
  void visit(OptionVisitor& v) {
    v.required("documents", documents, "Documents of the copy");
    v.required("generation", generation, "Changes of the index since it was begun");
  }
};

SnapshotReply snapshot(const Engine& engine, const RouteCall&, const SnapshotBody& request) {
  const IndexInfo info = index_of(engine).copy(engine.model().snapshots, request.name);
  return {info.count, info.generation};
}

}  // namespace

std::vector<Route> document_routes() {
  const std::vector<Refusal> kChanging = {Refusal::kModelCannot, Refusal::kNotFound};
  std::vector<Route> routes = {
      route("addDocuments", "POST", "/documents",
            "Adds documents to the index, replacing those with the same id (with "
            "--allow-changes); they are found when this is answered",
            add, {Refusal::kModelCannot}, BodySize::kBulk),
      route("deleteDocuments", "DELETE", "/documents",
            "Removes documents from the index, all of them or none (with --allow-changes)", remove,
            kChanging, BodySize::kBulk),
      route("deleteDocumentsByPost", "POST", "/documents/delete",
            "The same, for proxies that drop the body of DELETE", remove, kChanging,
            BodySize::kBulk),
      route("patchDocuments", "PATCH", "/documents",
            "Changes metadata of documents, all of them or none, and neither texts nor vectors "
            "(with --allow-changes)",
            patch, kChanging, BodySize::kBulk),
      query_route("listDocuments", "/documents",
                  "Documents of the index in the order of adding, a page at a time, with their "
                  "metadata and, if asked for, texts and counts (with --index)",
                  list, {Refusal::kModelCannot, Refusal::kInvalid}),
      route("getDocument", "GET", "/documents/{id}",
            "A document of the index: its text, with the title before it, its metadata, and "
            "how many passages it has, if it is split (with --index)",
            document, kChanging),
      route("deleteDocument", "DELETE", "/documents/{id}",
            "Removes a document (with --allow-changes)", remove_one, kChanging)};
  for (Route& changing : routes) {
    if (std::string_view(changing.method) != "GET") changing.role = "write";
  }
  routes.push_back(
      route("snapshot", "POST", "/snapshot",
            "Copies the index as it is now into the server's folder for that, verifies "
            "the copy and answers when it is done (with --index and --snapshots)",
            snapshot, {Refusal::kModelCannot}));
  routes.back().role = "admin";
  return routes;
}

}  // namespace simile::detail
