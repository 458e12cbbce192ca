// SPDX-License-Identifier: Apache-2.0
// For tests: the heads of tests/golden/heads.json, which tools/golden/heads.py makes.
#pragma once

#include <nlohmann/json.hpp>

#include "simile/core/file.h"
#include "simile/model/head_settings.h"

namespace simile {

inline nlohmann::json golden_heads() {
  return nlohmann::json::parse(read_file(SIMILE_SOURCE_DIR "/tests/golden/heads.json"));
}

inline HeadSettings read_golden_settings(const nlohmann::json& head) {
  HeadSettings settings;
  read_options(parse_config(head["settings"].dump(), "heads.json"), settings);
  return settings;
}

}  // namespace simile
