// SPDX-License-Identifier: Apache-2.0
#include "cli/input.h"

#include <iostream>

namespace simile::cli {

TextListReader open_texts(const std::string& input) {
  if (input != "-") return TextListReader(input);
  std::ios::sync_with_stdio(false);
  return TextListReader(std::cin, "stdin", false);
}

void warn_about(const ReadReport& report, Terminal& terminal) {
  if (!report.warning().empty()) terminal.warning(report.warning());
}

}  // namespace simile::cli
