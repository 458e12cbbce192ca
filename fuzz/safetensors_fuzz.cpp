// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "simile/core/error.h"
#include "simile/model/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    for (const simile::TensorInfo& tensor : simile::parse_safetensors("fuzz", bytes).tensors) {
      if (tensor.offset > size || tensor.bytes > size - tensor.offset) std::abort();
    }
  } catch (const simile::Error&) {
  }
  return 0;
}
