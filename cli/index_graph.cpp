// SPDX-License-Identifier: Apache-2.0
#include "cli/index_graph.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "simile/index/index_folder.h"
#include "simile/index/search_settings.h"

namespace simile::cli {

GraphProgress graph_progress(Terminal& terminal) {
  return [&terminal](int64_t done, int64_t all) {
    check_signal();
    terminal.progress({"graph", done, all, "vectors", {}});
  };
}

void warn_of_graph(const std::string& path, const std::optional<std::string>& failure,
                   Terminal& terminal) {
  if (!failure) return;
  terminal.warning(
      fmt::format("{}; the index is kept without it and searches are exact: `simile index merge "
                  "--index {} --approximate always` tries again",
                  *failure, path));
}

OptionInfo vectors_info() {
  return choice_info(
      "Numbers in which the index keeps its vectors: fp32, or half the space in fp16, or a quarter "
      "in int8; `index info` tells what share of the nearest is found so",
      stored_number_names());
}

void tell_vectors(const std::string& path, Terminal& terminal) {
  const IndexedModel model = read_index_info(path).model;
  if (!model.vectors_recall) return;
  terminal.info(fmt::format("vectors in {} find {:.2f} % of the ten nearest that floats do",
                            number_name(model.vectors), 100 * *model.vectors_recall));
}

void tell_graph(const std::string& path, Terminal& terminal) {
  const IndexInfo info = read_index_info(path);
  const ApproximateOptions options = read_search_settings(path).approximate;
  if (info.graph) {
    terminal.info(
        fmt::format("a graph of {} vectors: searches by vectors alone go by it and found {:.1f} % "
                    "of the ten nearest when it was made; search --exact finds all",
                    info.graph->rows, 100 * info.graph->recall));
  } else if (options.approximate == "auto" && info.vectors >= kApproximateRows) {
    terminal.info(
        fmt::format("no graph of the vectors found {:g} % of the ten nearest; searches are exact "
                    "(--approximate always, or a lower --recall, makes one)",
                    100 * options.recall));
  }
}

}  // namespace simile::cli
