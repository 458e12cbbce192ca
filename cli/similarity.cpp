// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/model.h"
#include "simile/core/error.h"
#include "simile/eval/embedding_scorer.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::string model;
  std::vector<std::string> texts;
  ModelOptions encode;

  void visit(OptionVisitor& v) {
    v.field("model", model,
            OptionInfo{"Model folder, name of a built-in model (simile-mini-2), bm25 or tfidf"}
                .required());
    v.field("texts", texts, OptionInfo{"Two texts or more"}.named("texts").required());
    encode.visit(v);
  }
};

void run(const Arguments& arguments, bool json, Terminal& terminal) {
  check_model_options({arguments.model}, arguments.encode);
  const std::unique_ptr<Scorer> scorer = make_scorer(arguments.model, arguments.encode, terminal);
  std::vector<std::string> left, right;
  for (size_t i = 0; i < arguments.texts.size(); ++i) {
    for (size_t j = i + 1; j < arguments.texts.size(); ++j) {
      left.push_back(arguments.texts[i]);
      right.push_back(arguments.texts[j]);
    }
  }
  const std::vector<double> scores = scorer->score_pairs(left, right);
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  Output output("-");
  for (size_t i = 0; i < scores.size(); ++i) {
    document.push_back({{"left", left[i]}, {"right", right[i]}, {"score", scores[i]}});
    if (!json) output.write(fmt::format("{:.4f}\t{}\t{}\n", scores[i], left[i], right[i]));
  }
  if (json) {
    output.write(document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                 "\n");
  }
  output.finish();
}

}  // namespace

void add_similarity(const Commands& commands) {
  commands.add<Arguments>("similarity", "Score every pair of the texts given", run)
      ->get_option("texts")
      ->expected(2, 1000);
}

}  // namespace simile::cli
