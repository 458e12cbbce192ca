// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>
#include <string_view>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/eval/predictions.h"

namespace simile {
namespace {

template <typename T>
void append(const std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

void append_examples(const Predictions& part, Predictions& joined) {
  SIMILE_CHECK(
      part.kind == joined.kind && part.metrics == joined.metrics &&
          part.right.empty() == joined.right.empty(),
      ErrorKind::kInput,
      fmt::format("'{}' and '{}' are predictions of different kinds", joined.path, part.path));
  append(part.left, joined.left);
  append(part.right, joined.right);
  append(part.gold, joined.gold);
  append(part.score, joined.score);
  append(part.gold_class, joined.gold_class);
  append(part.predicted, joined.predicted);
  append(part.probability, joined.probability);
  for (size_t m = 0; m < joined.metrics.size(); ++m) append(part.values[m], joined.values[m]);
  append(part.first_relevant, joined.first_relevant);
  append(part.top_id, joined.top_id);
  append(part.top_text, joined.top_text);
  append(part.relevant_id, joined.relevant_id);
  append(part.relevant_text, joined.relevant_text);
}

bool has_common_ids(const std::vector<Predictions>& parts) {
  std::set<std::string_view> ids;
  for (const Predictions& part : parts) {
    for (const std::string& id : part.left) {
      if (!ids.insert(id).second) return true;
    }
  }
  return false;
}

std::string number_prefix(size_t file) { return fmt::format("{}.", file); }

void write_joined_run(const std::vector<std::string>& files, bool numbered,
                      const std::string& path) {
  AtomicFile run(path);
  for (size_t f = 0; f < files.size(); ++f) {
    const std::string text = read_file(files[f]);
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      run.write((numbered ? number_prefix(f) : "") + std::string(line) + "\n");
    }
  }
  run.commit();
}

}  // namespace

Predictions join_predictions(const std::vector<std::string>& files, const std::string& path) {
  std::vector<Predictions> parts;
  for (const std::string& file : files) parts.push_back(read_predictions(file));
  const bool are_queries = parts[0].kind == PredictionKind::kQueries;
  const bool numbered = are_queries && has_common_ids(parts);
  for (size_t f = 0; f < parts.size() && numbered; ++f) {
    for (std::string& id : parts[f].left) id.insert(0, number_prefix(f));
  }
  if (are_queries) write_joined_run(files, numbered, path);
  Predictions joined = parts[0];
  for (size_t f = 1; f < parts.size(); ++f) append_examples(parts[f], joined);
  joined.path = are_queries ? query_table_file(path) : path;
  write_predictions(joined.path, joined);
  return joined;
}

}  // namespace simile
