// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/padded_batch.h"

#include <torch/types.h>

#include <algorithm>
#include <numeric>

#include "simile/kernel/detail/batch_plan.h"
#include "simile/kernel/detail/position_tables.h"

namespace simile {
namespace {

using torch::Tensor;
using Numbers = std::vector<int64_t>;

Tensor on_device(const Numbers& numbers, torch::Device device) {
  return torch::tensor(numbers, torch::kInt64).to(device);
}

// Index tensors that go to the device together: one copy, from pinned memory, that the host does
// not wait for.
class Upload {
 public:
  void add(const Numbers& numbers, Tensor& tensor) {
    parts_.push_back({&tensor, static_cast<int64_t>(numbers.size())});
    numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  }

  // Sets the tensors, which are parts of one.
  void finish(torch::Device device) {
    Tensor all = torch::tensor(numbers_, torch::kInt64);
    if (device.is_cuda()) all = all.pin_memory().to(device, /*non_blocking=*/true);
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

// Padding costs little beside another round of calls.
bool belongs(int64_t length, int64_t longest) {
  return length + 16 >= longest || 3 * length >= 2 * longest;
}

// The numbers of the sequences that are not empty, the longest first, cut into groups.
std::vector<Numbers> group_by_length(const Numbers& lengths) {
  Numbers order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return lengths[static_cast<size_t>(a)] > lengths[static_cast<size_t>(b)];
  });
  std::vector<Numbers> groups;
  int64_t longest = 0;
  for (const int64_t i : order) {
    const int64_t length = lengths[static_cast<size_t>(i)];
    if (length == 0) break;
    if (groups.empty() || !belongs(length, longest)) {
      groups.emplace_back();
      longest = length;
    }
    groups.back().push_back(i);
  }
  return groups;
}

class GroupMaker {
 public:
  GroupMaker(const EncoderShape& shape, const PackedBatch& batch)
      : shape_(shape), batch_(batch), masks_(attention_mask_offsets(shape, batch)) {}

  // Places of the tokens are told by `places` [tokens], counted from `first`. The group's index
  // tensors are set by upload.finish().
  void make(const Numbers& members, int64_t first, Numbers& places, PaddedGroup& group,
            Upload& upload) const {
    group.size = static_cast<int64_t>(members.size());
    group.length = length_of(members.front());
    Numbers tokens(static_cast<size_t>(group.size * group.length)), lengths, masks;
    for (size_t i = 0; i < members.size(); ++i) {
      const int64_t length = length_of(members[i]);
      const int64_t begin = batch_.offsets[static_cast<size_t>(members[i])];
      const int64_t row = static_cast<int64_t>(i) * group.length;
      std::iota(tokens.begin() + row, tokens.begin() + row + length, begin);
      std::iota(places.begin() + begin, places.begin() + begin + length, first + row);
      lengths.push_back(length);
      masks.push_back(masks_[static_cast<size_t>(members[i])]);
    }
    upload.add(tokens, group.tokens);
    upload.add(members, group.sequences);
    upload.add(lengths, group.lengths);
    upload.add(masks, group.mask_bytes);
  }

  void hide(const Numbers& members, PaddedGroup& group) const {
    const bool is_padded = length_of(members.back()) < group.length;  // the shortest
    const Tensor place = torch::arange(group.length, group.lengths.options());
    if (is_padded) group.hidden = place >= group.lengths.view({-1, 1, 1, 1});
    if (shape_.local_window == 0) return;
    const Tensor far = (place.unsqueeze(1) - place).abs() > shape_.local_window;
    group.hidden_in_windows =
        is_padded ? group.hidden.logical_or(far) : far.unsqueeze(0).unsqueeze(0);
  }

  int64_t length_of(int64_t sequence) const {
    const auto i = static_cast<size_t>(sequence);
    return batch_.offsets[i + 1] - batch_.offsets[i];
  }

 private:
  const EncoderShape& shape_;
  const PackedBatch& batch_;
  Numbers masks_;
};

Tensor relative_buckets(int64_t longest, int64_t buckets, torch::Device device) {
  Numbers by_distance;  // from 1 - longest on
  for (int64_t distance = 1 - longest; distance < longest; ++distance) {
    by_distance.push_back(relative_bucket(distance, buckets));
  }
  const Tensor place = torch::arange(longest, torch::kInt64).to(device);
  const Tensor distance = place - place.unsqueeze(1) + (longest - 1);
  return on_device(by_distance, device).index_select(0, distance.flatten()).view(distance.sizes());
}

}  // namespace

PaddedBatch::PaddedBatch(const EncoderShape& shape, const PackedBatch& batch,
                         torch::Device device) {
  check_batch(shape, batch);
  const GroupMaker maker(shape, batch);
  Upload upload;
  Numbers rows(static_cast<size_t>(batch.tokens())), all_places(rows), lengths;
  for (int64_t i = 0; i < batch.size(); ++i) {
    lengths.push_back(maker.length_of(i));
    PositionRows position_row(shape.position_offset);
    for (int64_t t = 0; t < lengths.back(); ++t) {
      const auto token = static_cast<size_t>(batch.offsets[static_cast<size_t>(i)] + t);
      rows[token] = position_row(batch.ids[token]);
    }
  }
  upload.add(Numbers(batch.ids.begin(), batch.ids.end()), ids);
  const bool has_types = !batch.type_ids.empty();
  if (has_types) upload.add(Numbers(batch.type_ids.begin(), batch.type_ids.end()), types);
  upload.add(rows, positions);
  int64_t first = 0, longest = 0;
  const std::vector<Numbers> members = group_by_length(lengths);
  groups.resize(members.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    maker.make(members[i], first, all_places, groups[i], upload);
    first += groups[i].size * groups[i].length;
    longest = std::max(longest, groups[i].length);
  }
  upload.add(all_places, places);
  upload.finish(device);
  if (!has_types) types = torch::zeros_like(ids);
  for (size_t i = 0; i < groups.size(); ++i) maker.hide(members[i], groups[i]);
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
  if (shape.relative_buckets > 0) {
    buckets = relative_buckets(longest, bucket_count(shape), device);
  }
}

}  // namespace simile
