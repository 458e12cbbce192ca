// SPDX-License-Identifier: Apache-2.0
#include "simile/model/sealed_tensors.h"

#include <fmt/format.h>

#include <utility>

#include "simile/core/error.h"
#include "simile/core/hash.h"

namespace simile {
namespace {

constexpr const char* kChecksum = "checksum";

std::string checksum_of(std::map<std::string, std::string> metadata,
                        const std::map<std::string, std::string_view>& arrays) {
  metadata.erase(kChecksum);
  std::string all;
  for (const auto& [name, text] : metadata) all += name + '\0' + text + '\0';
  for (const auto& [name, bytes] : arrays) all += name + '\0' + hash_bytes(bytes);
  return hash_bytes(all);
}

}  // namespace

void write_sealed_tensors(const std::string& path, const std::vector<TensorView>& tensors,
                          std::map<std::string, std::string> metadata) {
  std::map<std::string, std::string_view> arrays;
  for (const TensorView& tensor : tensors) {
    size_t bytes = tensor_type_width(tensor.type);
    for (const int64_t side : tensor.shape) bytes *= static_cast<size_t>(side);
    arrays[tensor.name] = {static_cast<const char*>(tensor.values), bytes};
  }
  metadata[kChecksum] = checksum_of(metadata, arrays);
  write_safetensors(path, tensors, metadata);
}

void check_seal(const SafetensorsFile& file) {
  std::map<std::string, std::string_view> arrays;
  for (const TensorInfo& tensor : file.tensors()) arrays[tensor.name] = file.bytes(tensor);
  const auto found = file.metadata().find(kChecksum);
  SIMILE_CHECK(
      found != file.metadata().end() && found->second == checksum_of(file.metadata(), arrays),
      ErrorKind::kInput,
      fmt::format("'{}' is damaged: its checksum is not that of its contents", file.path()));
}

}  // namespace simile
