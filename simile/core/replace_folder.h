// SPDX-License-Identifier: Apache-2.0
// A folder takes the place of another, so that one of the two is always there.
#pragma once

#include <string>

namespace simile {

// Errors (kUsage): something that is not a folder is at `path`, or a folder that has files but none
// of the name `marker`, which every folder of the kind has.
void check_replaceable(const std::string& path, const std::string& marker);

// Moves the folder `from`, beside `path`, to `path`. A folder at `path` is exchanged for it in one
// step, if the file system can, and then removed. Errors: those of check_replaceable(); kIo if the
// folder cannot be moved.
void replace_folder(const std::string& from, const std::string& path, const std::string& marker);

// Flushes the folder that `path` is in. A rename survives a crash of the machine only after that.
void sync_folder_of(const std::string& path);

}  // namespace simile
