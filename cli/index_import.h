// SPDX-License-Identifier: Apache-2.0
// `simile index import`: an index of vectors that stand in files already.
#pragma once

#include "cli/command.h"

namespace simile::cli {

void add_index_import(const Commands& index_commands);

}  // namespace simile::cli
