// SPDX-License-Identifier: Apache-2.0
#include "simile/model/piece_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simile/core/error.h"

namespace simile {
namespace {

constexpr float kLeastScale = 0.02f;

}  // namespace

PieceCorpus::PieceCorpus(std::vector<uint8_t> counted, int64_t max_tokens)
    : counted_(std::move(counted)),
      max_tokens_(static_cast<size_t>(max_tokens)),
      tokens_{kEnd},
      document_frequencies_(counted_.size()),
      last_sequence_(counted_.size()) {}

void PieceCorpus::add(const std::vector<int32_t>& ids) {
  const bool keeps = sequences_++ % every_ == 0;
  for (const int32_t id : ids) {
    SIMILE_CHECK(
        id >= 0 && id < vocabulary(), ErrorKind::kInput,
        fmt::format("token id {} is outside the vocabulary of {}; do the texts' tokenizer and the "
                    "table belong together?",
                    id, vocabulary()));
    const auto i = static_cast<size_t>(id);
    if (last_sequence_[i] != sequences_) ++document_frequencies_[i];
    last_sequence_[i] = sequences_;
    if (keeps && counted_[i] != 0) tokens_.push_back(id);
  }
  if (keeps) tokens_.push_back(kEnd);
  while (tokens_.size() > max_tokens_ && every_ < sequences_) halve();
}

void PieceCorpus::halve() {
  every_ *= 2;
  size_t kept = 1;
  bool keeps = true;
  for (size_t i = 1; i < tokens_.size(); ++i) {
    if (keeps) tokens_[kept++] = tokens_[i];
    if (tokens_[i] == kEnd) keeps = !keeps;
  }
  tokens_.resize(kept);
}

std::vector<float> PieceCorpus::idf() const {
  const auto total = static_cast<double>(sequences_ + 1);
  std::vector<float> idf;
  idf.reserve(document_frequencies_.size());
  for (const int64_t df : document_frequencies_) {
    idf.push_back(static_cast<float>(std::log(total / static_cast<double>(df + 1))));
  }
  return idf;
}

void scale_rows(const std::vector<float>& idf, const std::vector<uint8_t>& kept, float* table,
                int64_t D) {
  const double mean =
      std::accumulate(idf.begin(), idf.end(), 0.0) / static_cast<double>(idf.size());
  for (size_t i = 0; i < idf.size(); ++i) {
    const float relative = mean > 0 ? static_cast<float>(idf[i] / mean) : 1;
    const float scale = kept[i] != 0 ? std::max(relative, kLeastScale) : 0;
    float* const row = table + static_cast<int64_t>(i) * D;
    std::transform(row, row + D, row, [scale](float value) { return value * scale; });
  }
}

}  // namespace simile
