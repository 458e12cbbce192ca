// SPDX-License-Identifier: Apache-2.0
// /documents.
#include <fmt/format.h>

#include <utility>

#include "simile/encode/document_vectors.h"
#include "simile/serve/detail/index_answers.h"
#include "simile/serve/request_error.h"

namespace simile::detail {
namespace {

// A title is put before the text, as `simile index add` does.
std::vector<Document> read_documents(const JsonRequest& request) {
  std::vector<Document> documents;
  for (const JsonRequest& part : request.parts("documents")) {
    Document document;
    document.id = checked_id(part.text("id"), part.name("id"));
    document.text = part.text("text");
    if (document.text.empty()) {
      throw RequestError(Refusal::kEmpty, fmt::format("\"{}\" is empty", part.name("text")),
                         part.name("text"));
    }
    const std::string title = part.text_or("title", "");
    if (!title.empty()) document.text.insert(0, title + " ");
    document.title = title;
    document.metadata = part.metadata("metadata");
    documents.push_back(std::move(document));
  }
  return documents;
}

// Into passages, where the index has them.
void split_documents(const Engine& engine, std::vector<Document>& documents) {
  const IndexedModel& model = index_of(engine).info().model;
  EncodeOptions like;
  like.prompt_name = model.prompt_name.value_or("");
  like.role = TextRole::kDocument;
  try {
    PassageSplitter(*engine.model().encoder, model.passages, like).split(documents);
  } catch (const Error& error) {
    throw RequestError(Refusal::kInvalid, error.what(), "documents");
  }
}

Reply remove(const Engine& engine, const std::vector<std::string>& ids) {
  ServedIndex& index = index_of(engine);
  OrderedJson done;
  done["deleted"] = index.remove(ids);
  done["documents"] = index.info().count;
  return json_reply(done);
}

}  // namespace

Reply answer_add(const Engine& engine, const RouteCall& call) {
  ServedIndex& index = index_of(engine);
  index.check_changes();
  const JsonRequest request(call.body, engine.limits());
  std::vector<Document> documents = read_documents(request);
  split_documents(engine, documents);
  const Matrix<float> vectors = embed_documents(engine, call, documents);
  OrderedJson done;
  done["added"] = documents.size();
  done["replaced"] = index.add(documents, vectors);
  done["truncated"] = call.cost.truncated;
  done["documents"] = index.info().count;
  return json_reply(done);
}

Reply answer_document(const Engine& engine, const RouteCall& call) {
  const Document document = index_of(engine).document(call.name);
  OrderedJson shown = {{"id", document.id}};
  if (!document.title.empty()) shown["title"] = document.title;
  shown["text"] = document.text;
  if (!document.passages.empty()) shown["passages"] = document.passages.size();
  if (!document.metadata.empty()) shown["metadata"] = OrderedJson::parse(document.metadata);
  return json_reply(shown);
}

Reply answer_delete(const Engine& engine, const RouteCall& call) {
  index_of(engine).check_changes();
  const JsonRequest request(call.body, engine.limits());
  return remove(engine, request.texts("ids", engine.limits().bulk_texts));
}

Reply answer_delete_one(const Engine& engine, const RouteCall& call) {
  return remove(engine, {call.name});
}

}  // namespace simile::detail
