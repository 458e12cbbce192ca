// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/ppmi_start.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/derive/detail/co_occurrence.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

constexpr std::string_view kContinues = "##";
constexpr std::string_view kSpaces[] = {"\u2581", "\u0120"};

bool begins_word(std::string_view text) {
  if (text.empty()) return false;
  const DecodedCharacter first = decode_character(text, 0);
  if (!first.valid) return true;  // a part of a character, which only byte-level tokens are
  return (character_properties(first.code_point) & (kLetter | kNumber)) != 0 ||
         is_combining_mark(first.code_point);
}

bool is_byte_level_word(std::string_view token) {
  std::string bytes;
  if (!decode_byte_level(token, bytes)) return begins_word(token);
  size_t start = 0;
  while (start < bytes.size()) {
    const DecodedCharacter next = decode_character(bytes, start);
    if (!next.valid || (character_properties(next.code_point) & kWhiteSpace) == 0) break;
    start += next.size;
  }
  return begins_word(std::string_view(bytes).substr(start));
}

bool is_word(std::string_view token) {
  if (starts_with(token, kContinues) && token.size() > kContinues.size()) {
    token.remove_prefix(kContinues.size());
  }
  for (const std::string_view space : kSpaces) {
    while (starts_with(token, space)) token.remove_prefix(space.size());
  }
  return begins_word(token);
}

}  // namespace

std::vector<uint8_t> find_word_pieces(const Tokenizer& tokenizer) {
  bool byte_level = true;  // there is a token for each byte
  for (int byte = 0; byte < 256; ++byte) {
    std::string token;
    append_utf8(byte_level_character(static_cast<uint8_t>(byte)), token);
    byte_level = byte_level && tokenizer.find(token) >= 0;
  }
  std::vector<uint8_t> words(tokenizer.vocabulary_size());
  for (size_t i = 0; i < words.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    if (tokenizer.is_special(id)) continue;
    const std::string_view token = tokenizer.token(id);
    words[i] = byte_level ? is_byte_level_word(token) : is_word(token);
  }
  return words;
}

PieceCorpus::PieceCorpus(std::vector<uint8_t> counted, int64_t max_tokens)
    : counted_(std::move(counted)),
      max_tokens_(static_cast<size_t>(max_tokens)),
      tokens_{kEnd},
      document_frequencies_(counted_.size()),
      last_sequence_(counted_.size()) {}

void PieceCorpus::add(const std::vector<int32_t>& ids) {
  const bool keeps = sequences_++ % every_ == 0;
  for (const int32_t id : ids) {
    SIMILE_CHECK(id >= 0 && id < vocabulary(), ErrorKind::kInput,
                 "token id {} is outside the vocabulary of {}; do the texts' tokenizer and the "
                 "table belong together?",
                 id, vocabulary());
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
  constexpr float kLeastScale = 0.02f;
  const double mean =
      std::accumulate(idf.begin(), idf.end(), 0.0) / static_cast<double>(idf.size());
  for (size_t i = 0; i < idf.size(); ++i) {
    const float relative = mean > 0 ? static_cast<float>(idf[i] / mean) : 1;
    const float scale = kept[i] != 0 ? std::max(relative, kLeastScale) : 0;
    float* const row = table + static_cast<int64_t>(i) * D;
    std::transform(row, row + D, row, [scale](float value) { return value * scale; });
  }
}

namespace {

void divide_by_length(float* row, int64_t size) {
  const double squares = std::inner_product(row, row + size, row, 0.0);
  const double length = std::sqrt(squares);
  if (length < 1e-6) return;
  for (int64_t j = 0; j < size; ++j) row[j] = static_cast<float>(row[j] / length);
}

// Adds the noise to each row of the table and scales it, as the header says.
void finish_table(const PieceCorpus& corpus, double noise, uint64_t seed, Matrix<float>& table) {
  const double deviation = noise / std::sqrt(static_cast<double>(table.cols));
  run_parallel(table.rows, 256, [&](int64_t i) {
    RandomStream stream(seed, "token vectors", static_cast<uint64_t>(i));
    float* const row = table.row(i);
    for (int64_t j = 0; j < table.cols; ++j) {
      row[j] += static_cast<float>(deviation * stream.normal());
    }
    divide_by_length(row, table.cols);
  });
  scale_rows(corpus.idf(), corpus.counted(), table.values.data(), table.cols);
}

}  // namespace

void PpmiOptions::visit(OptionVisitor& v) {
  v.field("window", window, {"how far apart two tokens may stand to be counted", "tokens", 1, 1e6});
  v.field("weighting", weighting,
          choice_info("what a pair d tokens apart counts: flat 1, linear window + 1 - d",
                      {"flat", "linear"}));
  v.field("smoothing", smoothing,
          {"power of a context's frequency: below 1, rare contexts count less", "", 0, 1});
  v.field(
      "shift", shift,
      {"taken off the mutual information before it is cut at 0 (log of the number of negatives)",
       "", 0});
  v.field("minimum_count", minimum_count,
          {"weight that a pair must have been counted with", "", 0});
  v.field("power", power, {"of the singular values that the vectors are scaled with", "", 0, 1});
  v.field("noise", noise, {"length of the random vector added to each of length 1", "", 0});
  v.field("iterations", iterations, {"of the subspace iteration", "", 0});
  v.field("oversample", oversample, {"columns beyond the dimensions that it works on", "", 0});
  v.field("max_tokens", max_tokens,
          {"tokens of the corpus held in memory, 8 bytes each; of a larger one every second, "
           "fourth ... text is counted",
           "tokens", 1, 2e9});
}

Matrix<float> ppmi_start(const PieceCorpus& corpus, int64_t D, const PpmiOptions& options,
                         EventSink& events) {
  const auto tell = [&events](const char* task, const char* unit) {
    return [&events, task, unit](int64_t done, int64_t total) {
      events.progress({task, done, total, unit, {}});
    };
  };
  const auto seed = static_cast<uint64_t>(options.seed);
  const detail::PpmiMatrix ppmi = detail::count_ppmi(corpus, options, tell("count", "tokens"));
  const auto found = static_cast<int64_t>(ppmi.tokens.size());
  SIMILE_CHECK(found >= D, ErrorKind::kInput,
               "the corpus has {} different tokens in {} sequences, which cannot give vectors of "
               "{} numbers; give more text, fewer dimensions, or start from random vectors",
               found, corpus.sequences(), D);
  const detail::TruncatedSvd svd =
      detail::truncated_svd(ppmi.matrix, {D, options.oversample, options.iterations, seed},
                            tell("factorise", "products"));
  std::vector<double> scales;
  for (const double value : svd.values) scales.push_back(std::pow(value, options.power));
  Matrix<float> table(corpus.vocabulary(), D);
  for (int64_t i = 0; i < svd.left.rows; ++i) {
    float* const row = table.row(ppmi.tokens[i]);
    std::transform(scales.begin(), scales.end(), svd.left.row(i), row,
                   [](double scale, float u) { return static_cast<float>(scale * u); });
    divide_by_length(row, D);
  }
  finish_table(corpus, options.noise, seed, table);
  return table;
}

Matrix<float> random_start(const PieceCorpus& corpus, int64_t D, uint64_t seed) {
  Matrix<float> table(corpus.vocabulary(), D);
  finish_table(corpus, 1, seed, table);
  return table;
}

}  // namespace simile
