// SPDX-License-Identifier: Apache-2.0
// evaluate MODEL PAIRS: how well a model's similarities rank pairs of texts with a score from 0 to
// 5 (a table with the columns sentence1, sentence2, score), beside word overlap.
#include <cstdio>

#include "simile/core/error.h"
#include "simile/eval/embedding_scorer.h"
#include "simile/eval/lexical_baseline.h"
#include "simile/eval/task.h"
#include "simile/model/model_folder.h"

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "evaluate MODEL PAIRS\n"), 2;
  try {
    simile::EventSink& events = simile::silent_events();
    simile::EvaluationOptions options;
    options.task = "sts";
    options.data = argv[2];
    options.columns.score_scale = 5;
    const auto task = simile::load_task(options);

    const auto encoder = std::make_shared<const simile::SentenceEncoder>(
        simile::SentenceEncoder::load(simile::resolve_model(argv[1]), events));
    const auto model = simile::make_encoder_scorer(argv[1], encoder, {}, {}, events);
    const auto words = simile::make_lexical_scorer("bm25");
    for (simile::Scorer* scorer : {static_cast<simile::Scorer*>(model.get()), words.get()}) {
      const simile::Report report = task->evaluate(*scorer);
      std::printf("%-14s spearman %.4f on %lld pairs\n", scorer->name().c_str(),
                  report.metric("spearman"), static_cast<long long>(report.examples));
    }
  } catch (const simile::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return simile::exit_code(error.kind());
  }
}
