// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "simile/batch/detail/stop_words.h"
#include "simile/batch/word_order.h"
#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/text/words.h"

namespace simile {

struct TextShingler::StopWords {
  std::unordered_set<std::string> words;
};

TextShingler::TextShingler(int64_t shingle, const std::vector<std::string>& stop_words)
    : shingle_(shingle) {
  SIMILE_CHECK(shingle >= 1, ErrorKind::kFailed,
               fmt::format("shingles of {} words: expected 1 or more", shingle));
  auto stopped = std::make_unique<StopWords>();
  for (const std::string& entry : stop_words.empty() ? detail::english_stop_words() : stop_words) {
    for (std::string& word : split_words(entry)) stopped->words.insert(std::move(word));
  }
  stop_words_ = std::move(stopped);
}

TextShingler::TextShingler(TextShingler&&) noexcept = default;
TextShingler::~TextShingler() = default;

void TextShingler::append(const std::string& text, std::vector<uint64_t>& words) const {
  std::vector<uint64_t> hashes;
  for (const std::string& word : split_words(text)) {
    if (stop_words_->words.count(word) == 0) hashes.push_back(stream_key(0, word));
  }
  if (hashes.empty()) return;
  const size_t size = std::min(hashes.size(), static_cast<size_t>(shingle_));
  for (size_t begin = 0; begin + size <= hashes.size(); ++begin) {
    uint64_t hash = hashes[begin];
    for (size_t i = begin + 1; i < begin + size; ++i) {
      hash = (hash ^ hash >> 29) * 0x9E3779B97F4A7C15ull + hashes[i];  // depends on their order
    }
    words.push_back(hash);
  }
}

}  // namespace simile
