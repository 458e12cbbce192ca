// SPDX-License-Identifier: Apache-2.0
// /documents.
#include <fmt/format.h>

#include <utility>

#include "simile/serve/detail/index_answers.h"
#include "simile/serve/request_error.h"

namespace simile::detail {
namespace {

struct DocumentBody {
  std::string id, title, text;
  ConfigNode metadata;
  void visit(OptionVisitor& v) {
    v.field("id", id, OptionInfo{"Its name", "", 1, kLongestId}.required());
    v.field("title", title, {"It is put before the text"});
    v.field("text", text, OptionInfo{"What is searched for", "", 1}.required());
    v.field("metadata", metadata, {"An object of texts, numbers, true and false"});
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
  std::vector<std::string> ids;
  void visit(OptionVisitor& v) {
    v.field("ids", ids, OptionInfo{"An id or a list of them"}.required().one_or_more());
  }
};

struct DeleteReply {
  int64_t deleted = 0, documents = 0;
  void visit(OptionVisitor& v) {
    v.required("deleted", deleted, "How many were removed");
    v.required("documents", documents, "Documents of the index");
  }
};

struct DocumentReply {
  std::string id;
  std::optional<std::string> title;
  std::string text;
  std::optional<int64_t> passages;
  std::optional<ConfigNode> metadata;
  void visit(OptionVisitor& v) {
    v.required("id", id);
    v.field("title", title, {""});
    v.required("text", text, "With the title before it");
    v.field("passages", passages, {"How many it was split into"});
    v.field("metadata", metadata, {""});
  }
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

// Into passages, where the index has them.
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
  AddReply done;
  done.added = static_cast<int64_t>(documents.size());
  done.replaced = index.add(documents, vectors);
  done.truncated = call.cost.truncated;
  done.documents = index.info().count;
  return done;
}

DocumentReply document(const Engine& engine, const RouteCall& call) {
  const Document found = index_of(engine).document(call.name);
  DocumentReply reply;
  reply.id = found.id;
  if (!found.title.empty()) reply.title = found.title;
  reply.text = found.text;
  if (!found.passages.empty()) reply.passages = static_cast<int64_t>(found.passages.size());
  reply.metadata = show_metadata(found.metadata);
  return reply;
}

DeleteReply remove_all(const Engine& engine, const std::vector<std::string>& ids) {
  ServedIndex& index = index_of(engine);
  DeleteReply done;
  done.deleted = index.remove(ids);
  done.documents = index.info().count;
  return done;
}

DeleteReply remove(const Engine& engine, const RouteCall&, const DeleteRequest& request) {
  return remove_all(engine, request.ids);
}

DeleteReply remove_one(const Engine& engine, const RouteCall& call) {
  return remove_all(engine, {call.name});
}

}  // namespace

std::vector<Route> document_routes() {
  const std::vector<Refusal> kChanging = {Refusal::kModelCannot, Refusal::kNotFound};
  return {
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
      route("getDocument", "GET", "/documents/{id}",
            "A document of the index: its text, with the title before it, its metadata, and how "
            "many passages it has, if it is split (with --index)",
            document, kChanging),
      route("deleteDocument", "DELETE", "/documents/{id}",
            "Removes a document (with --allow-changes)", remove_one, kChanging)};
}

}  // namespace simile::detail
