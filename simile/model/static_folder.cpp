// SPDX-License-Identifier: Apache-2.0
#include "simile/model/detail/static_folder.h"

#include <fmt/format.h>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"

namespace simile::detail {

void read_token_weights(const std::string& path, EncoderConfig& config) {
  const Json parsed = read_json(path);
  const JsonObject json(parsed, path);
  for (const auto& [key, value] : parsed.items()) {
    SIMILE_CHECK(key == "saturation" || key == "half_position", ErrorKind::kInput,
                 fmt::format("{}: \"{}\" is {}: this key is not known; known: saturation, "
                             "half_position",
                             path, key, describe_json(value)));
  }
  EncoderVariant& variant = config.variant;
  variant.saturation = static_cast<float>(json.number_or("saturation", 1, 0, 1));
  variant.half_position =
      static_cast<float>(json.number_or("half_position", 0, 0, kLargestHalfPosition));
}

std::string token_weights_to_json(const EncoderConfig& config) {
  const Json json = {{"saturation", config.variant.saturation},
                     {"half_position", config.variant.half_position}};
  return dump_json(json) + "\n";
}

}  // namespace simile::detail
