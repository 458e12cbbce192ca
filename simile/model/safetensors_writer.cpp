// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "simile/core/detail/json.h"
#include "simile/core/half.h"
#include "simile/model/safetensors.h"

namespace simile {
namespace {

constexpr int64_t kBlock = int64_t{1} << 18;  // numbers converted at a time

int64_t size_of(const TensorView& tensor) {
  int64_t size = 1;
  for (const int64_t side : tensor.shape) size *= side;
  return size;
}

std::string make_header(const std::vector<TensorView>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  // Ordered, so that the names stand in the order of their bytes.
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  size_t offset = 0;
  for (const TensorView& tensor : tensors) {
    const size_t end =
        offset + static_cast<size_t>(size_of(tensor)) * tensor_type_width(tensor.type);
    header[tensor.name] = {{"dtype", tensor_type_name(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

void write_tensor(AtomicFile& file, const TensorView& tensor) {
  const int64_t size = size_of(tensor);
  if (tensor.as_it_is || (tensor.type != TensorType::kF16 && tensor.type != TensorType::kBf16)) {
    const size_t bytes = static_cast<size_t>(size) * tensor_type_width(tensor.type);
    return file.write({static_cast<const char*>(tensor.values), bytes});
  }
  std::vector<uint16_t> halves;
  for (int64_t begin = 0; begin < size; begin += kBlock) {
    const int64_t count = std::min(kBlock, size - begin);
    const float* values = static_cast<const float*>(tensor.values) + begin;
    halves.resize(static_cast<size_t>(count));
    const auto round = tensor.type == TensorType::kF16 ? float_to_half : float_to_bfloat16;
    std::transform(values, values + count, halves.begin(), round);
    file.write({reinterpret_cast<const char*>(halves.data()), halves.size() * 2});
  }
}

}  // namespace

void write_safetensors(const std::string& path, const std::vector<TensorView>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = make_header(tensors, metadata);
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  AtomicFile file(path);
  file.write(length);
  file.write(header);
  for (const TensorView& tensor : tensors) {
    assert(tensor.values != nullptr || size_of(tensor) == 0);
    write_tensor(file, tensor);
  }
  file.commit();
}

}  // namespace simile
