// SPDX-License-Identifier: Apache-2.0
// The expression of a filter, and where it is one, what it says of some documents.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "simile/core/error.h"
#include "simile/data/metadata_filter.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const std::string written(reinterpret_cast<const char*>(data), size);
    const simile::MetadataFilter filter(written);
    const simile::MetadataFilter negated("not (" + written + ")");
    for (const char* metadata :
         {"", R"({"year":2020,"lang":"en","ok":true,"a":-1.5})", R"({"lang":"","a":"2020"})"}) {
      if (filter.matches(metadata) == negated.matches(metadata)) std::abort();
    }
  } catch (const simile::Error&) {
  }
  return 0;
}
