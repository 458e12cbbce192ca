// SPDX-License-Identifier: Apache-2.0
// Texts that are embedded more than once: by several tasks, such as the corpus of a dev and a test
// set, or for MODEL and hybrid:MODEL. A model embeds them once for all (Scorer::embed_once()).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simile/core/matrix.h"

namespace simile {

class Task;

class SharedTexts {
 public:
  // `tasks` outlive it. `scorers`: how many scorers of the same vectors each task evaluates.
  explicit SharedTexts(const std::vector<const Task*>& tasks, int64_t scorers = 1);

  int64_t size() const { return static_cast<int64_t>(places_.size()); }

  // From 0; negative for a text that is not shared.
  int64_t place(const std::string& text) const;

 private:
  std::unordered_map<std::string_view, int64_t> places_;
};

// The texts of both sides, each once, in order of appearance.
std::vector<std::string> distinct_texts(const std::vector<std::string>& left,
                                        const std::vector<std::string>& right);

// Embeddings of distinct texts, [texts, D], D the same at every call.
using EmbedTexts = std::function<Matrix<float>(const std::vector<std::string>&)>;

// `embed`, which is asked once for each of `shared` and keeps those vectors, D floats for each of
// `shared`. For one thread at a time; copies keep the same vectors.
EmbedTexts embed_shared_once(EmbedTexts embed, std::shared_ptr<const SharedTexts> shared);

}  // namespace simile
