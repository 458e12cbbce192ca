// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/sentencepiece_merges.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <unordered_map>

#include "simile/text/unicode.h"

namespace simile::detail {
namespace {

struct Merge {
  std::string_view left, right;
  size_t left_id, right_id;
  float score;
  int64_t left_size, right_size;  // characters
};

}  // namespace

std::vector<std::pair<std::string_view, std::string_view>> list_sentencepiece_merges(
    const SentencePieceModel& model) {
  std::unordered_map<std::string_view, size_t> ids;
  for (size_t id = 0; id < model.pieces.size(); ++id) ids[model.pieces[id].text] = id;
  std::vector<Merge> merges;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const SentencePiece& piece = model.pieces[id];
    const std::string_view text = piece.text;
    if (ids[text] != id) continue;  // given again later: refused with the vocabulary
    const size_t first = merges.size();
    const auto characters = static_cast<int64_t>(count_characters(text));
    int64_t left_size = 0;
    for (size_t cut = 0; cut < text.size(); ++left_size) {
      const size_t next = cut + decode_valid_character(text, cut).size;
      if (cut > 0) {
        const auto left = ids.find(text.substr(0, cut));
        const auto right = ids.find(text.substr(cut));
        if (left != ids.end() && right != ids.end()) {
          merges.push_back({text.substr(0, cut), text.substr(cut), left->second, right->second,
                            piece.score, left_size, characters - left_size});
        }
      }
      cut = next;
    }
    std::sort(merges.begin() + static_cast<std::ptrdiff_t>(first), merges.end(),
              [](const Merge& a, const Merge& b) {
                return std::tie(a.left_id, a.right_id) < std::tie(b.left_id, b.right_id);
              });
  }
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    return std::tie(a.score, a.left_size, a.right_size) >
           std::tie(b.score, b.left_size, b.right_size);
  });
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  pairs.reserve(merges.size());
  for (const Merge& merge : merges) pairs.emplace_back(merge.left, merge.right);
  return pairs;
}

}  // namespace simile::detail
