// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/detail/batch_plan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>

#include "simile/core/check.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

void check_shape(const EncoderShape& s) {
  if (s.averaged) {
    SIMILE_CHECK(s.hidden > 0 && s.vocabulary > 0, ErrorKind::kInput,
                 "encoder shape: expected positive sizes, found hidden {}, vocabulary {}", s.hidden,
                 s.vocabulary);
    return;
  }
  SIMILE_CHECK(
      s.layers >= 0 && s.hidden > 0 && s.heads > 0 && s.intermediate > 0 && s.hidden % s.heads == 0,
      ErrorKind::kInput,
      "encoder shape: expected positive sizes and heads that divide the hidden size, found hidden "
      "{}, heads {}, intermediate {}, layers {}",
      s.hidden, s.heads, s.intermediate, s.layers);
  SIMILE_CHECK(s.projected || s.embedding_size() == s.hidden, ErrorKind::kInput,
               "encoder shape: embeddings of {} numbers need a projection to the hidden size {}",
               s.embedding_size(), s.hidden);
  SIMILE_CHECK(s.has_position_table() || s.head_size() % 2 == 0, ErrorKind::kInput,
               "encoder shape: rotary positions need heads of an even size, found {}",
               s.head_size());
}

void check_ids(const std::vector<int32_t>& ids, int64_t limit, const char* what) {
  for (size_t i = 0; i < ids.size(); ++i) {
    SIMILE_CHECK(ids[i] >= 0 && ids[i] < limit, ErrorKind::kInput,
                 "token batch: {} {} of token {} is outside the embedding of {} rows; is this the "
                 "tokenizer the model was trained with?",
                 what, ids[i], i, limit);
  }
}

// Longest sequences first, each to the chunk with the least work so far.
std::vector<std::vector<int64_t>> share_out(const EncoderShape& shape, const PackedBatch& batch,
                                            int64_t chunks) {
  const auto length = [&](int64_t i) { return batch.offsets[i + 1] - batch.offsets[i]; };
  std::vector<int64_t> order(batch.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return length(a) > length(b); });
  using Load = std::pair<int64_t, int64_t>;  // cost so far, chunk
  std::priority_queue<Load, std::vector<Load>, std::greater<Load>> loads;
  for (int64_t i = 0; i < chunks; ++i) loads.push({0, i});
  std::vector<std::vector<int64_t>> members(chunks);
  for (const int64_t i : order) {
    Load load = loads.top();
    loads.pop();
    members[load.second].push_back(i);
    // Relative time it takes: matrix products per token, attention per pair of tokens.
    load.first += length(i) * (2 * shape.hidden + shape.intermediate + 2 * length(i));
    loads.push(load);
  }
  return members;
}

}  // namespace

void check_batch(const EncoderShape& shape, const PackedBatch& batch) {
  check_shape(shape);
  const std::vector<int32_t>& offsets = batch.offsets;
  const int64_t first = offsets.empty() ? 0 : offsets.front();
  const int64_t last = offsets.empty() ? 0 : offsets.back();
  SIMILE_CHECK(first == 0 && last == batch.tokens(), ErrorKind::kInput,
               "token batch: offsets run from {} to {}, expected 0 to {}, the number of tokens",
               first, last, batch.tokens());
  for (int64_t i = 0; i < batch.size(); ++i) {
    const int64_t length = static_cast<int64_t>(offsets[i + 1]) - offsets[i];
    SIMILE_CHECK(
        length >= 0 && length <= shape.longest_sequence(), ErrorKind::kInput,
        "token batch: sequence {} has {} tokens, the model has {} positions; truncate the text", i,
        length, shape.longest_sequence());
  }
  SIMILE_CHECK(batch.type_ids.empty() || batch.type_ids.size() == batch.ids.size(),
               ErrorKind::kInput, "token batch: {} type ids for {} tokens", batch.type_ids.size(),
               batch.tokens());
  check_ids(batch.ids, shape.vocabulary, "id");
  check_ids(batch.type_ids, std::max<int64_t>(shape.types, 1), "type id");
}

std::vector<int64_t> attention_mask_offsets(const EncoderShape& shape, const PackedBatch& batch) {
  std::vector<int64_t> offsets = {0};
  for (int64_t i = 0; i < batch.size(); ++i) {
    const int64_t length = batch.offsets[i + 1] - batch.offsets[i];
    offsets.push_back(offsets.back() + shape.heads * length * mask_bytes(length));
  }
  return offsets;
}

BatchPlan plan_batch(const EncoderShape& shape, const PackedBatch& batch, int64_t chunk_tokens,
                     int64_t multiple) {
  const int64_t wanted = (batch.tokens() + chunk_tokens - 1) / chunk_tokens;
  const int64_t rounded =
      wanted < multiple ? wanted : (wanted + multiple - 1) / multiple * multiple;
  const std::vector<int64_t> masks = attention_mask_offsets(shape, batch);
  BatchPlan plan;
  for (const auto& members :
       share_out(shape, batch, std::max<int64_t>(1, std::min(rounded, batch.size())))) {
    PlannedChunk chunk{static_cast<int64_t>(plan.sequences.size()), 0, plan.rows, 0};
    for (const int64_t i : members) {
      const int64_t length = batch.offsets[i + 1] - batch.offsets[i];
      plan.sequences.push_back({i, length, batch.offsets[i], plan.rows, masks[i]});
      plan.rows += length;
      plan.longest = std::max(plan.longest, length);
    }
    chunk.end_sequence = static_cast<int64_t>(plan.sequences.size());
    chunk.rows = plan.rows - chunk.row;
    plan.largest_chunk = std::max(plan.largest_chunk, chunk.rows);
    if (chunk.rows > 0) plan.chunks.push_back(chunk);
  }
  return plan;
}

int64_t relative_bucket(int64_t distance, int64_t buckets) {
  constexpr double kFarthest = 128;
  const int64_t half = buckets / 2, exact = half / 2;
  const int64_t first = distance > 0 ? half : 0, n = std::abs(distance);
  if (n < exact) return first + n;
  // Single precision, as the models that were trained with it computed it.
  const float octaves = std::log(static_cast<float>(n) / static_cast<float>(exact)) /
                        static_cast<float>(std::log(kFarthest / static_cast<double>(exact)));
  const auto scaled = static_cast<int64_t>(octaves * static_cast<float>(half - exact));
  return first + std::min(half - 1, exact + scaled);
}

int64_t bucket_count(const EncoderShape& shape) {
  return std::min<int64_t>(shape.relative_buckets, 32);
}

void PositionTables::Rotary::build(double base, int64_t head_size, int64_t longest) {
  numbers.clear();
  if (base <= 0) return;
  const int64_t pairs = head_size / 2;
  numbers.resize(2 * longest * pairs);
  float* const cosine = numbers.data();
  float* const sine = cosine + longest * pairs;
  for (int64_t j = 0; j < pairs; ++j) {
    const auto power = static_cast<float>(
        std::pow(base, 2.0 * static_cast<double>(j) / static_cast<double>(head_size)));
    const float frequency = 1.0f / power;
    for (int64_t p = 0; p < longest; ++p) {
      const float angle = static_cast<float>(p) * frequency;
      cosine[p * pairs + j] = static_cast<float>(std::cos(static_cast<double>(angle)));
      sine[p * pairs + j] = static_cast<float>(std::sin(static_cast<double>(angle)));
    }
  }
}

void PositionTables::build(const EncoderShape& shape, const EncoderWeights& weights,
                           int64_t longest) {
  longest_ = longest;
  global_.build(shape.rotary_base, shape.head_size(), longest);
  local_.build(shape.local_window > 0 ? shape.local_rotary_base : 0.0f, shape.head_size(), longest);
  shift_.clear();
  if (shape.relative_buckets == 0) return;
  constexpr int64_t kBehind = 16;  // readable behind the last distance
  ld_shift_ = 2 * longest + kBehind;
  shift_.resize(shape.heads * ld_shift_);
  for (int64_t distance = 1 - longest; distance < longest; ++distance) {
    const float* row =
        weights.relative + relative_bucket(distance, bucket_count(shape)) * shape.heads;
    for (int64_t h = 0; h < shape.heads; ++h) shift_[h * ld_shift_ + longest + distance] = row[h];
  }
}

void PositionTables::add_shift_gradient(const EncoderShape& shape, const float* d_shift,
                                        float* relative) const {
  for (int64_t distance = 1 - longest_; distance < longest_; ++distance) {
    float* row = relative + relative_bucket(distance, bucket_count(shape)) * shape.heads;
    for (int64_t h = 0; h < shape.heads; ++h)
      row[h] += d_shift[h * ld_shift_ + longest_ + distance];
  }
}

void rotate_sequence(const EncoderShape& shape, const PositionTables& tables, bool local,
                     int64_t length, float* qkv, bool backward) {
  if (tables.cosines(local) == nullptr) return;
  vector_kernels().rotate({length, shape.heads, shape.head_size(), qkv, 3 * shape.hidden,
                           tables.cosines(local), tables.sines(local), backward});
}

}  // namespace simile
