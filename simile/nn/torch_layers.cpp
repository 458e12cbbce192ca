// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/torch_layers.h"

#include <torch/version.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "simile/kernel/detail/batch_plan.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

using torch::Tensor;

// Below every score, and finite: a row that sees nothing, of padding, must not become NaN.
constexpr double kHiddenScore = -1e30;

#if TORCH_VERSION_MAJOR >= 2
constexpr bool kHasOperator = true;

Tensor by_operator(const AttentionInput& input) {
  c10::optional<Tensor> added;
  if (input.shift.defined()) added = input.shift.unsqueeze(0).to(input.query.scalar_type());
  if (input.hidden.defined()) {
    const Tensor none = torch::zeros({}, input.query.options());
    added = (added ? *added : none).masked_fill(input.hidden, kHiddenScore);
  }
  if (added) {
    const auto n = input.query.sizes();
    added = added->expand({n[0], n[1], n[2], n[2]});
  }
  return at::scaled_dot_product_attention(input.query, input.key, input.value, added);
}
#else
constexpr bool kHasOperator = false;

Tensor by_operator(const AttentionInput&) { return {}; }
#endif

Tensor by_products(const AttentionInput& input) {
  const double root = std::sqrt(static_cast<double>(input.query.size(-1)));
  Tensor scores = (input.query / root).matmul(input.key.transpose(-2, -1));
  if (scores.scalar_type() == torch::kBFloat16) scores = scores.to(torch::kFloat);
  if (input.shift.defined()) scores = scores + input.shift;
  if (input.hidden.defined()) scores = scores.masked_fill(input.hidden, kHiddenScore);
  Tensor shares = torch::softmax(scores, -1);
  if (input.factors.defined()) shares = shares * input.factors;
  return shares.to(input.value.scalar_type()).matmul(input.value);
}

using Numbers = std::vector<int64_t>;

// On the host; what `device` copies from it needs no wait.
Tensor host_tensor(torch::IntArrayRef shape, torch::ScalarType type, torch::Device device) {
  return torch::empty(shape, torch::TensorOptions(type).pinned_memory(device.is_cuda()));
}

// A copy from pinned memory, without waiting.
Tensor move(const Tensor& numbers, torch::Device device) {
  return device.is_cuda() ? numbers.pin_memory().to(device, /*non_blocking=*/true) : numbers;
}

// Index tensors that go to the device together.
class Upload {
 public:
  void add(const Numbers& numbers, Tensor& tensor) {
    parts_.push_back({&tensor, static_cast<int64_t>(numbers.size())});
    numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  }

  // Sets the tensors, which are parts of one.
  void finish(torch::Device device) {
    const Tensor all = move(torch::tensor(numbers_, torch::kInt64), device);
    int64_t first = 0;
    for (const auto& [tensor, size] : parts_) {
      *tensor = all.narrow(0, first, size);
      first += size;
    }
  }

 private:
  Numbers numbers_;
  std::vector<std::pair<Tensor*, int64_t>> parts_;
};

// The numbers of the sequences that are not empty, the longest first, cut into groups.
std::vector<Numbers> group_by_length(const Numbers& lengths) {
  Numbers order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return lengths[a] > lengths[b]; });
  std::vector<Numbers> groups;
  int64_t longest = 0;
  for (const int64_t i : order) {
    const int64_t length = lengths[i];
    if (length == 0) break;
    // Padding costs little beside another round of calls.
    const bool belongs = length + 16 >= longest || 3 * length >= 2 * longest;
    if (groups.empty() || !belongs) {
      groups.emplace_back();
      longest = length;
    }
    groups.back().push_back(i);
  }
  return groups;
}

// The sequences `members` of a batch, with the lengths and attention_mask_offsets() of all. Tokens
// lie at `places` [tokens], counted from `first`. upload.finish() sets the group's index tensors.
void make_group(const PackedBatch& batch, const Numbers& lengths, const Numbers& masks,
                const Numbers& members, int64_t first, Numbers& places, PaddedGroup& group,
                Upload& upload) {
  group.size = static_cast<int64_t>(members.size());
  group.length = lengths[members.front()];
  Numbers tokens(static_cast<size_t>(group.size * group.length)), own_lengths, own_masks;
  int64_t row = 0;
  for (const int64_t member : members) {
    const auto i = static_cast<size_t>(member);
    std::iota(tokens.begin() + row, tokens.begin() + row + lengths[i], batch.offsets[i]);
    const auto place = places.begin() + batch.offsets[i];
    std::iota(place, place + lengths[i], first + row);
    own_lengths.push_back(lengths[i]);
    own_masks.push_back(masks[i]);
    row += group.length;
  }
  upload.add(tokens, group.tokens);
  upload.add(members, group.sequences);
  upload.add(own_lengths, group.lengths);
  upload.add(own_masks, group.mask_bytes);
}

void hide_keys(int64_t window, int64_t shortest, PaddedGroup& group) {
  const bool is_padded = shortest < group.length;
  const Tensor place = torch::arange(group.length, group.lengths.options());
  if (is_padded) group.hidden = place >= group.lengths.view({-1, 1, 1, 1});
  if (window == 0) return;
  const Tensor far = (place.unsqueeze(1) - place).abs() > window;
  group.hidden_in_windows =
      is_padded ? group.hidden.logical_or(far) : far.unsqueeze(0).unsqueeze(0);
}

Tensor relative_buckets(int64_t longest, int64_t buckets, torch::Device device) {
  Numbers by_distance;  // from 1 - longest on
  for (int64_t distance = 1 - longest; distance < longest; ++distance) {
    by_distance.push_back(relative_bucket(distance, buckets));
  }
  const Tensor place = torch::arange(longest, torch::kInt64).to(device);
  const Tensor distance = place - place.unsqueeze(1) + (longest - 1);
  return torch::tensor(by_distance, torch::kInt64)
      .to(device)
      .index_select(0, distance.flatten())
      .view(distance.sizes());
}

}  // namespace

Tensor attention_contexts(const AttentionInput& input) {
  return kHasOperator && !input.factors.defined() ? by_operator(input) : by_products(input);
}

Tensor draw_masks(const std::vector<DropoutMask>& masks, int64_t first, int64_t bytes,
                  torch::Device device) {
  const auto count = static_cast<int64_t>(masks.size());
  const Tensor drawn = host_tensor({count, bytes}, torch::kByte, device);
  auto* const numbers = drawn.data_ptr<uint8_t>();
  for (int64_t i = 0; i < count; ++i) {
    masks[static_cast<size_t>(i)].fill(first, bytes, numbers + i * bytes);
  }
  return drawn.to(device, /*non_blocking=*/true);
}

std::vector<Tensor> dropout_factors(const std::vector<DropoutMask>& masks, const Tensor& bytes,
                                    const Tensor& like) {
  const auto count = static_cast<int64_t>(masks.size());
  const Tensor scales = host_tensor({count}, torch::kFloat, like.device());
  for (int64_t i = 0; i < count; ++i) {
    scales.data_ptr<float>()[i] = masks[static_cast<size_t>(i)].scale();
  }
  Numbers column(static_cast<size_t>(bytes.dim()), 1);
  column[0] = count;
  const Tensor bits = torch::pow(2, torch::arange(8, bytes.options()));
  return bytes.unsqueeze(-1)
      .bitwise_and(bits)
      .ne(0)
      .flatten(-2)
      .to(like.scalar_type())
      .mul_(scales.to(like.options(), /*non_blocking=*/true).view(column))
      .unbind();
}

std::vector<Tensor> dropout_rows(const std::vector<DropoutMask>& masks, int64_t first_row,
                                 int64_t rows, int64_t width, const Tensor& like) {
  const int64_t row_bytes = mask_bytes(width);
  const Tensor bytes = draw_masks(masks, first_row * row_bytes, rows * row_bytes, like.device());
  std::vector<Tensor> factors = dropout_factors(masks, bytes.view({-1, rows, row_bytes}), like);
  for (Tensor& of_mask : factors) of_mask = of_mask.narrow(1, 0, width);
  return factors;
}

Tensor dropout_heads(const DropoutMask& mask, int64_t first, int64_t sequences, int64_t heads,
                     const Tensor& like) {
  const Tensor factors = host_tensor({sequences, heads}, torch::kFloat, like.device());
  for (int64_t i = 0; i < sequences; ++i) {
    mask.fill_heads(first + i, heads, factors.data_ptr<float>() + i * heads);
  }
  return factors.to(like.options(), /*non_blocking=*/true);
}

Tensor sequence_means(const Tensor& rows, const PackedBatch& batch) {
  std::vector<int64_t> sequences;
  std::vector<float> shares;
  for (int64_t i = 0; i < batch.size(); ++i) {
    const int64_t length = batch.offsets[static_cast<size_t>(i) + 1] - batch.offsets[i];
    sequences.insert(sequences.end(), length, i);
    shares.insert(shares.end(), length, 1.0f / static_cast<float>(length));
  }
  const Tensor weights = torch::tensor(shares).to(rows.options()).unsqueeze(1);
  const Tensor where = torch::tensor(sequences, torch::kInt64).to(rows.device());
  return torch::zeros({batch.size(), rows.size(1)}, rows.options())
      .index_add(0, where, rows * weights);
}

PaddedBatch::PaddedBatch(const EncoderShape& shape, const PackedBatch& batch,
                         torch::Device device) {
  check_batch(shape, batch);
  const Numbers masks = attention_mask_offsets(shape, batch);
  Upload upload;
  Numbers rows(static_cast<size_t>(batch.tokens())), all_places(rows), lengths;
  for (int64_t i = 0; i < batch.size(); ++i) {
    const auto begin = static_cast<size_t>(batch.offsets[i]);
    const auto end = static_cast<size_t>(batch.offsets[static_cast<size_t>(i) + 1]);
    lengths.push_back(static_cast<int64_t>(end - begin));
    PositionRows position_row(shape.position_offset);
    for (size_t t = begin; t < end; ++t) rows[t] = position_row(batch.ids[t]);
  }
  upload.add(Numbers(batch.ids.begin(), batch.ids.end()), ids);
  const bool has_types = !batch.type_ids.empty();
  if (has_types) upload.add(Numbers(batch.type_ids.begin(), batch.type_ids.end()), types);
  upload.add(rows, positions);
  int64_t first = 0, longest = 0;
  const std::vector<Numbers> members = group_by_length(lengths);
  groups.resize(members.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    make_group(batch, lengths, masks, members[i], first, all_places, groups[i], upload);
    first += groups[i].size * groups[i].length;
    longest = std::max(longest, groups[i].length);
  }
  attention_bytes = masks.back();
  upload.add(all_places, places);
  upload.finish(device);
  if (!has_types) types = torch::zeros_like(ids);
  for (size_t i = 0; i < groups.size(); ++i) {
    hide_keys(shape.local_window, lengths[members[i].back()], groups[i]);
  }
  EncoderShape rotary = shape;
  rotary.relative_buckets = 0;  // what they shift by is a tensor here
  PositionTables tables;
  tables.build(rotary, {}, longest);
  for (const bool local : {false, true}) {
    if (tables.cosines(local) == nullptr) continue;
    const auto copy = [&](const float* numbers) {
      return torch::from_blob(const_cast<float*>(numbers), {longest, shape.head_size() / 2})
          .clone()
          .to(device);
    };
    cosines[local] = copy(tables.cosines(local));
    sines[local] = copy(tables.sines(local));
  }
  if (shape.relative_buckets > 0) buckets = relative_buckets(longest, bucket_count(shape), device);
}

}  // namespace simile
