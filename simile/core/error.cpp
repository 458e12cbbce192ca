// SPDX-License-Identifier: Apache-2.0
#include "simile/core/error.h"

#include <algorithm>

namespace simile {

int exit_code(ErrorKind kind) {
  if (kind == ErrorKind::kUsage || kind == ErrorKind::kRecipe) return 2;
  return kind == ErrorKind::kInput ? 3 : 1;
}

int edit_distance(const std::string& a, const std::string& b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replace = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

EventSink& silent_events() {
  static EventSink sink;
  return sink;
}

}  // namespace simile
