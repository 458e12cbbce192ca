// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <limits>

#include "simile/core/check.h"
#include "simile/text/token_model.h"
#include "simile/text/utf8.h"
#include "simile/text/vocabulary.h"

namespace simile {
namespace {

// A single huge word should not keep its memory for ever.
constexpr size_t kKeptSteps = size_t{1} << 18;

class Unigram : public TokenModel {
 public:
  Unigram(Vocabulary vocabulary, std::vector<double> scores, const UnigramSettings& settings,
          const std::string& source)
      : TokenModel(std::move(vocabulary)),
        scores_(std::move(scores)),
        settings_(settings),
        source_(source) {
    unknown_id_ = settings.unknown_id;
    const int64_t size = vocabulary_.size();
    SIMILE_CHECK(size <= detail::PieceTrie::kMaxPieces, ErrorKind::kInput,
                 "{}: the vocabulary has {} tokens; at most {} are supported", source, size,
                 detail::PieceTrie::kMaxPieces);
    SIMILE_CHECK(settings.unknown_id >= -1 && settings.unknown_id < size, ErrorKind::kInput,
                 "{}: unk_id is {}, but the vocabulary has {} tokens", source, settings.unknown_id,
                 size);
    double lowest = std::numeric_limits<double>::infinity();
    std::vector<std::pair<std::string_view, int32_t>> pieces;
    pieces.reserve(size);
    for (int32_t id = 0; id < size; ++id) {
      lowest = std::min(lowest, scores_[id]);
      const std::string_view token = vocabulary_.token(id);
      if (!vocabulary_.repeats() || vocabulary_.find(token) == id) pieces.emplace_back(token, id);
    }
    unknown_score_ = lowest - kUnknownPenalty;
    trie_ = detail::PieceTrie(std::move(pieces));
    for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
      byte_ids_[byte] = vocabulary_.find(fmt::format("<0x{:02X}>", byte));
    }
  }

  void tokenize(std::string_view text, const std::vector<Span>& words, size_t limit,
                std::vector<Token>& tokens) const override {
    thread_local std::vector<Step> steps;
    for (const Span word : words) {
      if (tokens.size() >= limit) break;
      if (word.begin == word.end) continue;
      find_best(text.substr(word.begin, word.end - word.begin), steps);
      append_tokens(text, word, steps, tokens);
    }
    if (steps.capacity() > kKeptSteps) steps = {};
  }

 private:
  // The best way to a position of the word.
  struct Step {
    double score;
    uint32_t begin;  // of its last token; kUnreached
    int32_t id;
  };
  static constexpr uint32_t kUnreached = 0xFFFFFFFF;

  void find_best(std::string_view word, std::vector<Step>& steps) const {
    const auto size = static_cast<uint32_t>(word.size());
    steps.assign(size + 1, {0.0, kUnreached, -1});
    const auto offer = [&](uint32_t end, double score, uint32_t begin, int32_t id) {
      Step& step = steps[end];
      if (step.begin == kUnreached || score > step.score) step = {score, begin, id};
    };
    for (uint32_t begin = 0; begin < size;) {
      const double here = steps[begin].score;
      const uint32_t single_end = begin + character_size(word[begin]);
      bool has_single = false;
      detail::PieceTrie::Cursor cursor(trie_);
      for (uint32_t end = begin; end < size && cursor.descend(word[end]);) {
        ++end;
        const int32_t id = cursor.piece();
        if (id < 0) continue;
        offer(end, scores_[id] + here, begin, id);
        has_single |= end == single_end;
      }
      if (!has_single) {
        SIMILE_CHECK(settings_.unknown_id >= 0, ErrorKind::kInput,
                     "{}: \"{}\" is not in the vocabulary, and the model has no unk_id", source_,
                     word.substr(begin, single_end - begin));
        offer(single_end, unknown_score_ + here, begin, settings_.unknown_id);
      }
      begin = single_end;
    }
  }

  void append_tokens(std::string_view text, Span word, const std::vector<Step>& steps,
                     std::vector<Token>& tokens) const {
    const auto first = static_cast<std::ptrdiff_t>(tokens.size());
    uint32_t unknown_end = kUnreached;
    uint32_t end = word.end - word.begin;
    while (end > 0) {
      const Step& step = steps[end];
      if (step.id == settings_.unknown_id) {
        if (unknown_end == kUnreached) unknown_end = end;
      } else {
        if (unknown_end != kUnreached) {
          append_unknown(text, {word.begin + end, word.begin + unknown_end}, tokens);
          unknown_end = kUnreached;
        }
        tokens.push_back({step.id, {word.begin + step.begin, word.begin + end}});
      }
      end = step.begin;
    }
    if (unknown_end != kUnreached) {
      append_unknown(text, {word.begin, word.begin + unknown_end}, tokens);
    }
    std::reverse(tokens.begin() + first, tokens.end());
  }

  // Appends, last one first, the tokens of a run of unknown characters.
  void append_unknown(std::string_view text, Span run, std::vector<Token>& tokens) const {
    const std::string_view bytes = text.substr(run.begin, run.end - run.begin);
    const int32_t known = vocabulary_.find(bytes);
    if (known >= 0) {
      tokens.push_back({known, run});
      return;
    }
    const auto id_of = [&](char byte) { return byte_ids_[static_cast<uint8_t>(byte)]; };
    const bool has_all =
        std::all_of(bytes.begin(), bytes.end(), [&](char byte) { return id_of(byte) >= 0; });
    if (!settings_.byte_fallback || !has_all) {
      tokens.push_back({settings_.unknown_id, run});
      return;
    }
    for (size_t i = bytes.size(); i-- > 0;) tokens.push_back({id_of(bytes[i]), run});
  }

  std::vector<double> scores_;
  UnigramSettings settings_;
  std::string source_;
  detail::PieceTrie trie_;
  double unknown_score_ = 0;
  std::array<int32_t, 256> byte_ids_{};  // -1 where the vocabulary has none
};

}  // namespace

std::unique_ptr<const TokenModel> make_unigram(Vocabulary vocabulary, std::vector<double> scores,
                                               const UnigramSettings& settings,
                                               const std::string& source) {
  return std::make_unique<Unigram>(std::move(vocabulary), std::move(scores), settings, source);
}

}  // namespace simile
