// SPDX-License-Identifier: Apache-2.0
// search INDEX QUERY...: the three nearest documents of an index that `simile index build` made.
#include <cstdio>

#include "simile/core/error.h"
#include "simile/index/searcher.h"

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "search INDEX QUERY...\n"), 2;
  try {
    const simile::Searcher searcher = simile::Searcher::open(argv[1]);
    for (int i = 2; i < argc; ++i) {
      std::printf("? %s\n", argv[i]);
      for (const simile::FoundDocument& hit : searcher.search(argv[i], 3)) {
        std::printf("  %.4f  %s  %s\n", hit.score, hit.id.c_str(), hit.text->c_str());
      }
    }
  } catch (const simile::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return simile::exit_code(error.kind());
  }
}
