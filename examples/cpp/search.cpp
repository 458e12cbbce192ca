// SPDX-License-Identifier: Apache-2.0
// search INDEX QUERY...: the three nearest documents of an index that `simile index build` made.
#include <cstdio>

#include "simile/core/error.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/index/index_folder.h"
#include "simile/index/search_index.h"
#include "simile/model/model_card.h"
#include "simile/model/model_folder.h"

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "search INDEX QUERY...\n"), 2;
  try {
    simile::EventSink& events = simile::silent_events();
    // The index knows its model: a built-in one by its name, another by its folder.
    const simile::IndexedModel made_by = simile::read_index_info(argv[1]).model;
    const std::string model =
        made_by.folder.empty() ? simile::resolve_model(made_by.name) : made_by.folder;
    const auto encoder = simile::SentenceEncoder::load(model, events);
    const auto index = simile::SearchIndex::open(
        argv[1], simile::model_fingerprint(simile::open_model_folder(model, events)), model);

    const std::vector<std::string> queries(argv + 2, argv + argc);
    simile::EncodeOptions options;
    options.role = simile::TextRole::kQuery;  // the model's prompt for queries, if it has one
    options.dimensions = made_by.dimension;
    options.normalize = true;
    const auto hits = index.search(encoder.encode(queries, options, events), 3);
    for (size_t i = 0; i < queries.size(); ++i) {
      std::printf("? %s\n", queries[i].c_str());
      for (const simile::SearchHit& hit : hits[i]) {
        std::printf("  %.4f  %s  %s\n", hit.score, hit.id.c_str(), hit.text.c_str());
      }
    }
  } catch (const simile::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return simile::exit_code(error.kind());
  }
}
