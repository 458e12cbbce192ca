// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/detail/batch_plan.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <string>
#include <utility>

#include "simile/core/error.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

std::string text(int64_t number) { return std::to_string(number); }

void check_shape(const EncoderShape& s) {
  if (s.averaged || s.is_joined()) {
    SIMILE_CHECK(s.hidden > 0 && s.vocabulary > 0, ErrorKind::kInput,
                 "encoder shape: expected positive sizes, found hidden " + text(s.hidden) +
                     ", vocabulary " + text(s.vocabulary));
    return;
  }
  SIMILE_CHECK(
      s.layers >= 0 && s.hidden > 0 && s.heads > 0 && s.intermediate > 0 && s.hidden % s.heads == 0,
      ErrorKind::kInput,
      "encoder shape: expected positive sizes and heads that divide the hidden size, found "
      "hidden " +
          text(s.hidden) + ", heads " + text(s.heads) + ", intermediate " + text(s.intermediate) +
          ", layers " + text(s.layers));
  SIMILE_CHECK(s.projected || s.embedding_size() == s.hidden, ErrorKind::kInput,
               "encoder shape: embeddings of " + text(s.embedding_size()) +
                   " numbers need a projection to the hidden size " + text(s.hidden));
  SIMILE_CHECK(
      s.has_position_table() || s.head_size() % 2 == 0, ErrorKind::kInput,
      "encoder shape: rotary positions need heads of an even size, found " + text(s.head_size()));
}

void check_ids(const std::vector<int32_t>& ids, int64_t limit, const char* what) {
  for (size_t i = 0; i < ids.size(); ++i) {
    SIMILE_CHECK(ids[i] >= 0 && ids[i] < limit, ErrorKind::kInput,
                 std::string("token batch: ") + what + " " + text(ids[i]) + " of token " +
                     text(static_cast<int64_t>(i)) + " is outside the embedding of " + text(limit) +
                     " rows; is this the tokenizer the model was trained with?");
  }
}

// Relative time a sequence takes: matrix products per token, attention per pair of tokens.
int64_t cost(const EncoderShape& s, int64_t length) {
  return length * (2 * s.hidden + s.intermediate + 2 * length);
}

// Longest sequences first, each to the chunk with the least work so far.
std::vector<std::vector<int64_t>> share_out(const EncoderShape& shape, const PackedBatch& batch,
                                            int64_t chunks) {
  const auto length = [&](int64_t i) { return batch.offsets[i + 1] - batch.offsets[i]; };
  std::vector<int64_t> order(static_cast<size_t>(batch.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return length(a) > length(b); });
  using Load = std::pair<int64_t, int64_t>;  // cost so far, chunk
  std::priority_queue<Load, std::vector<Load>, std::greater<Load>> loads;
  for (int64_t i = 0; i < chunks; ++i) loads.push({0, i});
  std::vector<std::vector<int64_t>> members(static_cast<size_t>(chunks));
  for (const int64_t i : order) {
    Load load = loads.top();
    loads.pop();
    members[load.second].push_back(i);
    load.first += cost(shape, length(i));
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
               "token batch: offsets run from " + text(first) + " to " + text(last) +
                   ", expected 0 to " + text(batch.tokens()) + ", the number of tokens");
  for (int64_t i = 0; i < batch.size(); ++i) {
    const int64_t length = static_cast<int64_t>(offsets[i + 1]) - offsets[i];
    SIMILE_CHECK(length >= 0 && length <= shape.longest_sequence(), ErrorKind::kInput,
                 "token batch: sequence " + text(i) + " has " + text(length) +
                     " tokens, the model has " + text(shape.longest_sequence()) +
                     " positions; truncate the text");
  }
  SIMILE_CHECK(batch.type_ids.empty() || batch.type_ids.size() == batch.ids.size(),
               ErrorKind::kInput,
               "token batch: " + text(static_cast<int64_t>(batch.type_ids.size())) +
                   " type ids for " + text(batch.tokens()) + " tokens");
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

}  // namespace simile
