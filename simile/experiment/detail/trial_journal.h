// SPDX-License-Identifier: Apache-2.0
// What is known of a trial, on disk: simile/experiment/tuning.h.
#pragma once

#include <optional>
#include <string>

#include "simile/experiment/tuning.h"

namespace simile {

// Of search `search`, a hash; none where there is no file. Errors: ErrorKind::kInput for another
// file, or one of another search.
std::optional<Trial> read_trial(const std::string& path, const std::string& search);
void write_trial(const std::string& path, const std::string& search, const Trial& trial);

}  // namespace simile
