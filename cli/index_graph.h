// SPDX-License-Identifier: Apache-2.0
// What is told of the graph of an index and of what it keeps of vectors.
#pragma once

#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/terminal.h"
#include "simile/index/indexed_model.h"

namespace simile::cli {

// Ends by ErrorKind::kInterrupted after a signal.
GraphProgress graph_progress(Terminal& terminal);

// Of an index that was to get one: `failure` is why it has none.
void warn_of_graph(const std::string& path, const std::optional<std::string>& failure,
                   Terminal& terminal);

// --vectors: in what an index keeps its vectors, and how much of the nearest it finds by them.
OptionInfo vectors_info();
void tell_vectors(const std::string& path, Terminal& terminal);

// Whether the index at `path` has a graph, and what it finds.
void tell_graph(const std::string& path, Terminal& terminal);

}  // namespace simile::cli
