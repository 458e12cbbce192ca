// SPDX-License-Identifier: Apache-2.0
// A plain model of an index's expected content, for tests.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "simile/core/hash.h"
#include "simile/core/matrix.h"
#include "simile/index/index_builder.h"
#include "simile/index/index_folder.h"
#include "simile/index/search_index.h"

namespace simile::detail {

// Numbers in [-1, 1) that a text alone decides.
inline void vector_of_text(const std::string& text, int64_t D, float* vector) {
  for (int64_t d = 0; d < D; ++d) {
    const uint64_t bits = hash64(fmt::format("{} {}", d, text)) >> 40;
    vector[d] = std::ldexp(static_cast<float>(bits), -23) - 1.0f;
  }
}

// One vector for each document, or for each of its passages.
inline Matrix<float> vectors_of_texts(const std::vector<Document>& documents, int64_t D) {
  std::vector<std::string> texts;
  for (const Document& document : documents) {
    for (int64_t i = 0; i < document.vectors(); ++i) texts.emplace_back(document.text_of(i));
  }
  Matrix<float> vectors(static_cast<int64_t>(texts.size()), D);
  for (size_t i = 0; i < texts.size(); ++i) {
    vector_of_text(texts[i], D, vectors.row(static_cast<int64_t>(i)));
  }
  return vectors;
}

// Documents by their ids and in the order of adding.
class PlainIndex {
 public:
  void add(const std::vector<Document>& documents) {
    for (const Document& document : documents) {
      remove({document.id});
      places_[document.id] = next_;
      documents_[next_++] = document;
    }
  }

  void remove(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
      const auto found = places_.find(id);
      if (found == places_.end()) continue;
      documents_.erase(found->second);
      places_.erase(found);
    }
  }

  bool has(const std::string& id) const { return places_.count(id) != 0; }
  std::vector<Document> documents() const {
    std::vector<Document> all;
    for (const auto& entry : documents_) all.push_back(entry.second);
    return all;
  }

 private:
  std::map<std::string, int64_t> places_;
  std::map<int64_t, Document> documents_;
  int64_t next_ = 0;
};

}  // namespace simile::detail
