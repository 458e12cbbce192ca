// SPDX-License-Identifier: Apache-2.0
// /predict: what the heads of the served model say of texts, in TEI's form and with the numbers of
// `simile predict`.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "simile/serve/detail/route_row.h"

namespace simile::detail {
namespace {

struct PredictRequest : ReadingKeys {
  ConfigNode inputs;
  std::string head;
  bool raw_scores = false;
  void visit(OptionVisitor& v) {
    v.field("inputs", inputs,
            OptionInfo{"A text; two texts, for a head that takes pairs; or a list of lists of one "
                       "or two texts, each answered for itself"}
                .required()
                .one_or_more()
                .shaped_as<std::string, std::vector<std::string>>());
    v.field("head", head, {"Which of the model's heads answers (default: its only one)"});
    v.field("raw_scores", raw_scores, {"Give the head's logits, not probabilities"});
    v.all_but({"truncation_direction"}, [this](OptionVisitor& keys) { ReadingKeys::visit(keys); });
  }
};

struct Prediction {
  std::string label;
  double score = 0;
  std::optional<bool> in_scope;
  void visit(OptionVisitor& v) {
    v.required("label", label, "A class, or the name of a head that has none");
    v.required("score", score);
    v.field("in_scope", in_scope, {"False where the text is like none of the classes"});
  }
};

using Predictions = std::vector<Prediction>;  // of one input, best first

const Head& choose_head(const ServedModel& model, const std::string& name) {
  std::vector<HeadSettings> all;
  for (const Head& head : model.heads) all.push_back(head.settings());
  try {
    return model.heads[find_head(all, name)];
  } catch (const Error& error) {
    throw RequestError(all.empty() ? Refusal::kModelCannot : Refusal::kInvalid, error.what(),
                       "head");
  }
}

Written<std::vector<Predictions>> predict(const Engine& engine, const RouteCall& call,
                                          const PredictRequest& request) {
  const Head& head = choose_head(engine.model(), request.head);
  const size_t sides = head_takes_pairs(head.settings()) ? 2 : 1;
  const std::vector<ConfigNode>& items = request.inputs.items;
  const bool one = items.empty() || items[0].kind != ConfigNode::Kind::kList;
  const std::vector<ConfigNode> inputs = one ? std::vector<ConfigNode>{request.inputs} : items;
  SIMILE_REQUEST_CHECK(static_cast<int64_t>(inputs.size()) <= engine.limits().request_texts,
                       Refusal::kTooManyInputs,
                       fmt::format("\"inputs\" has {} inputs; a request may have {}", inputs.size(),
                                   engine.limits().request_texts),
                       "inputs");
  std::vector<std::string> texts, pairs;
  for (const ConfigNode& input : inputs) {
    const std::vector<std::string> given = read_documents(input, "inputs", engine.limits());
    SIMILE_REQUEST_CHECK(
        given.size() == sides, Refusal::kInvalid,
        fmt::format("an input of \"inputs\" has {} texts; the head takes {}", given.size(), sides),
        "inputs");
    texts.push_back(given[0]);
    if (sides == 2) pairs.push_back(given[1]);
  }
  EncodeOptions options;
  options.prompt_name = request.prompt_name;
  engine.embedder().prompt(request.prompt_name);  // refused here where there is no such
  const auto logits = std::make_shared<Matrix<float>>();
  const auto similarities = std::make_shared<std::vector<double>>();
  run_head(engine, call, texts, request.truncate,
           [encoder = engine.model().encoder, head, texts, pairs, options, logits,
            similarities](EncodeCounts& counts) {
             *logits =
                 Predictor(*encoder, head)
                     .predict(texts, pairs, options, silent_events(), &counts, similarities.get());
           });
  const Matrix<double> scores = head_probabilities(head.settings(), *logits);
  const std::vector<std::string>& classes = head.settings().class_names;
  std::vector<Predictions> all(texts.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    for (int64_t j = 0; j < scores.cols; ++j) {
      Prediction shown;
      shown.label = classes.empty() ? head.settings().name : classes[static_cast<size_t>(j)];
      shown.score = request.raw_scores ? logits->at(row, j) : scores.at(row, j);
      if (head.scope && (*similarities)[i] < head.scope->minimum_similarity) shown.in_scope = false;
      all[i].push_back(std::move(shown));
    }
    std::stable_sort(all[i].begin(), all[i].end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
  }
  return {one ? json_reply(all[0]) : json_reply(all)};
}

}  // namespace

int64_t guess_tokens(const std::vector<std::string>& texts) {
  constexpr int64_t kBytesOfToken = 4;
  int64_t bytes = 0;
  for (const std::string& text : texts) bytes += static_cast<int64_t>(text.size());
  return bytes / kBytesOfToken;
}

void run_head(const Engine& engine, const RouteCall& call, const std::vector<std::string>& texts,
              bool truncate, std::function<void(EncodeCounts&)> work) {
  const auto counts = std::make_shared<EncodeCounts>();
  const auto run = [work = std::move(work), counts] { work(*counts); };
  const auto count = static_cast<int64_t>(texts.size());
  engine.embedder().worker().run(run, count, guess_tokens(texts), call.patience, call.cost.times);
  call.cost.ranks = true;
  call.cost.texts += count;
  call.cost.tokens += counts->tokens;
  call.cost.truncated += counts->truncated;
  SIMILE_REQUEST_CHECK(truncate || counts->truncated == 0, Refusal::kInvalid,
                       "\"truncate\": false, but a text has more tokens than the head reads",
                       "truncate");
}

std::vector<Route> predict_routes() {
  Route row = route("predict", "POST", "/predict",
                    "What a head of the model says of texts: each class with its probability, best "
                    "first, or its one number; a list of these for a list of inputs",
                    predict, {Refusal::kModelCannot});
  row.reply_schema = [] {
    return fmt::format(R"({{"oneOf":[{},{}]}})", options_to_schema<Predictions>(),
                       options_to_schema<std::vector<Predictions>>());
  };
  return {row};
}

}  // namespace simile::detail
