// SPDX-License-Identifier: Apache-2.0
// pytorch_model.bin: a whole archive where the bytes begin like one, else the pickle inside it.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "simile/core/error.h"
#include "simile/model/detail/state_dict.h"
#include "simile/model/tensor_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    if (bytes.substr(0, 2) != "PK") {
      simile::detail::read_state_dict(bytes, "fuzz");
      return 0;
    }
    for (const simile::TensorInfo& tensor : simile::parse_torch_file("fuzz", bytes).tensors) {
      if (tensor.offset > size || tensor.bytes > size - tensor.offset) std::abort();
      if (tensor.size > static_cast<int64_t>(size)) std::abort();
    }
  } catch (const simile::Error&) {
  }
  return 0;
}
