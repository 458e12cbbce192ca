// SPDX-License-Identifier: Apache-2.0
// A command run by several processes of this program on this machine.
#pragma once

#include "cli/command.h"

namespace simile::cli {

// Whether start_processes() of another process has started this one.
bool is_started_process();

// Starts this program `count` times with the arguments it has, each with the variables RANK,
// WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT (a free port) and its share of the
// processors, and waits until all have ended. Rank 0 has stdout and stderr; the stderr of the
// others is shown, with their rank before it, if one of them fails first. Signals are passed on.
// Once one failed, the others are killed a second later. Returns the exit code of the first process
// that failed; 128 + the signal's number if it was killed. Errors: kIo.
int start_processes(int count, const CommonOptions& common);

}  // namespace simile::cli
