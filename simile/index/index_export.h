// SPDX-License-Identifier: Apache-2.0
// The documents and vectors of an index in the forms that other programs load, a document at a
// time:
//
//   npy           OUTPUT.npy, a matrix [documents, D] with its .json
//                 (simile/model/embedding_store.h), and OUTPUT.jsonl, {"id", "text"} of each row
//   pgvector      a script for psql: a table (id, text, metadata, embedding) and its rows, in one
//                 transaction
//   qdrant-jsonl  a point a line: {"id", "vector", "payload": {"id", "text"}}; its id is a UUID
//                 made of the document's, so that the same document is the same point the next time
//   opensearch    the two lines of _bulk for each document: {"index": {"_id"}}, {"text",
//                 "embedding"}
//
// Of an index with passages each is a row or a point with its own text, whose id is the document's
// with "#" and the passage's number behind it but for npy and in payloads. A document that is not
// split keeps its id, with another "#" behind it where that ends with "#", digits, and no or more
// "#": so no two rows share an id. pgvector and opensearch name the "document", the others have
// "passage" ({"number", "of", "begin", "end"} in characters), and with the first of a document its
// "whole" text.
//
// For npy and qdrant-jsonl, which `simile index import` reads (index_import.h), OUTPUT.index.json
// says what the index was.
//
// All have "metadata" beside the text, an object, of documents that have some; pgvector as jsonb,
// NULL of others. The forms that are imported again have "title" too, of documents that have one.
// Of the last two, OUTPUT.settings.json is what the collection or index is made with. Numbers have
// as many digits as give the same float again.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "simile/core/error.h"
#include "simile/index/search_index.h"

namespace simile {

const std::vector<std::string>& export_forms();

struct ExportTarget {
  std::string form;
  std::string output;               // "-": `write` gets the lines, of all forms but npy
  std::string table = "documents";  // of pgvector
  std::function<void(std::string_view bytes)> write = nullptr;
};

// Exports the index in the folder `path`. Returns the number of documents. Progress: task "export".
// Errors: kUsage for a form that cannot hold this index; kInput for a document that it cannot hold,
// which is named; those of SearchIndex::for_each().
int64_t export_index(const std::string& path, const ExportTarget& target, EventSink& events);

}  // namespace simile
