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
// In an index with passages, each passage is a row or a point with its own text. Its id is the
// document's id, "#" and the passage's number, except in npy and in payloads. A document that is
// not split keeps its id; if that ends with "#", digits and zero or more "#", another "#" is added,
// so no two rows share an id. pgvector and opensearch name the "document"; the others have
// "passage" ({"number", "of", "begin", "end"} in characters) and, with a document's first passage,
// its "whole" text.
//
// For npy and qdrant-jsonl, which index_import.h reads, OUTPUT.index.json describes the index.
//
// All forms have "metadata", an object, beside the text of documents that have some (pgvector:
// jsonb, otherwise NULL). The forms that can be imported also have the "title" of documents that
// have one. For the last two, OUTPUT.settings.json has the settings to create the collection or
// index with. Numbers have enough digits to read back as the same float.
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
// Errors: kUsage for a form that cannot hold this index; kInput, naming it, for a document that it
// cannot hold; those of SearchIndex::for_each().
int64_t export_index(const std::string& path, const ExportTarget& target, EventSink& events);

}  // namespace simile
