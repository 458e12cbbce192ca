// SPDX-License-Identifier: Apache-2.0
#include "simile/train/option_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/config.h"
#include "simile/core/error.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kReviewedRecipe =
    "model: simile-mini-3\n"
    "heads: [{name: grade, input: pair, kind: l1, output: probability}]\n"
    "stages:\n"
    "  objectives: {data: {path: a.tsv}, loss: bce, head: grade}\n";

template <typename T>
T read_reviewed(const std::string& recipe, const std::vector<std::string>& overrides) {
  ConfigNode node = parse_config(recipe, "recipe.yaml");
  for (const std::string& each : overrides) apply_override(node, each);
  T options;
  read_options(node, options);
  return options;
}

TrainOptions reviewed(const std::vector<std::string>& overrides) {
  return read_reviewed<TrainOptions>(kReviewedRecipe, overrides);
}

std::string refusal_of(const std::vector<std::string>& overrides) {
  try {
    check_train_options(reviewed(overrides));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(OptionRules, OptionsOfWhatTheRecipeHasNotAreRefused) {
  EXPECT_EQ(refusal_of({}), "");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"stages.objectives.teacher_precision=int8"},
       "stage 'train': `teacher_precision` does nothing without `teachers`; remove it"},
      {{"stages.objectives.teacher_vectors=/tmp", "stages.objectives.teacher_dimensions=8"},
       "`teacher_vectors`, `teacher_dimensions` do nothing without `teachers`"},
      {{"stages.objectives.head=", "stages.head_learning_rate=0.1"}, "`head_learning_rate` does"},
      {{"heads.0.layers=3", "heads.0.width=8"}, "`layers`, `width` do nothing with `kind: l1`"},
      {{"heads.0.kind=mlp", "heads.0.layers=1", "heads.0.width=8"},
       "`width` does nothing with one"},
      {{"hybrid_weight=0.3"}, "`hybrid_weight` does nothing where nothing is ranked"},
      {{"stages.optimizer.momentum=0.9"}, "the optimizer adamw does not take: momentum"},
      {{"stages.optimizer={name: sgd, beta1: 0.8}", "stages.learning_rate=0.1"},
       "the optimizer sgd does not take: beta1"},
      {{"stages.optimizer=sgd"}, "the optimizer sgd has no default learning rate; set"},
      {{"stages.objectives.data.right=''", "stages.objectives.prompts.right=query"},
       "`prompts.right` does nothing with single texts"},
  };
  for (const auto& [overrides, message] : cases) {
    EXPECT_THAT(refusal_of(overrides), HasSubstr(message));
  }
  EXPECT_EQ(refusal_of({"stages.head_learning_rate=0.1"}), "");
  EXPECT_EQ(refusal_of({"hybrid_weight=0.3", "baselines=[hybrid]"}), "");
  EXPECT_EQ(refusal_of({"hybrid_weight=0.3", "evaluations={name: dev, task: ranking, folder: .}"}),
            "");
  EXPECT_EQ(refusal_of({"stages.optimizer={name: sgd, momentum: 0.9}", "stages.learning_rate=0.1"}),
            "");
}

TEST(OptionRules, OptionsOfWhatIsSwitchedOffAreToldOf) {
  EXPECT_THAT(idle_option_warnings(reviewed({})), IsEmpty());
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"stages.steps=9", "stages.epochs=3"}, "`epochs` does nothing beside `steps: 9`"},
      {{"stages.schedule={warmup_steps: 5, warmup_fraction: 0.2}"}, "beside `warmup_steps`"},
      {{"stages.siar.radius=0.1", "stages.siar.norm=2"},
       "`siar.radius`, `siar.norm` do nothing without `siar.weight`"},
      {{"stages.siar={weight: 1, mode: peer, radius: 0.1}"}, "with `siar.mode: peer`"},
      {{"stages.siar.bregman_decay=0.9"}, "without `siar.bregman`"},
      {{"stages.mixing=sequential"}, "`mixing` does nothing with one objective"},
      {{"stages.selection={every_steps: 5, every_epochs: 2}"}, "beside `every_steps`"},
      {{"stages.selection.early_stop.minimum_improvement=0.1"}, "without `patience`"},
      {{"stages.selection.early_stop.direction=max"}, "without `selection.metric`"},
      {{"stages.selection.precision=int8"}, "`selection.precision` does nothing without `eval"},
      {{"stages.objectives.loss={name: bsc, temperature: {learning_rate: 0.1}}"},
       "loss 'bsc', temperature: `learning_rate` does nothing without `trainable: true`"},
      {{"stages.objectives.loss={name: sum, of: [{name: bsc, temperature: {parametrization: "
        "scale}}, pearson]}"},
       "`parametrization` does nothing"},
      {{"stages.objectives.head="}, "head 'grade': no objective has it, so that it keeps random"},
      {{"heads=[{name: a, kind: mlp, layers: 2}, {name: grade, kind: mlp, layers: 2, shares: a}]"},
       "head 'a': no objective has it, so that its last layer keeps random weights"},
      {{"architecture.hidden=64"}, "`architecture.hidden` does nothing beside `model`"},
  };
  for (const auto& [overrides, message] : cases) {
    EXPECT_THAT(idle_option_warnings(reviewed(overrides)), ElementsAre(HasSubstr(message)));
  }
  EXPECT_THAT(idle_option_warnings(reviewed({"stages.steps=9"})), IsEmpty());
  EXPECT_THAT(idle_option_warnings(reviewed({"stages.siar={weight: 1, radius: 0.1}"})), IsEmpty());
}

TEST(OptionRules, SoInPreTraining) {
  const auto options = [](const std::vector<std::string>& overrides) {
    return read_reviewed<PretrainOptions>("model: simile-mini-3\ncorpus: a.txt\n", overrides);
  };
  check_pretrain_options(options({}));
  check_pretrain_options(options({"optimizer=sgd"}));  // whose beta2 is another here
  EXPECT_THROW(check_pretrain_options(options({"held_out.limit=8"})), Error);
  EXPECT_THROW(check_pretrain_options(options({"optimizer={name: sgd, beta2: 0.9}"})), Error);
  EXPECT_THAT(idle_option_warnings(options({"steps=4", "epochs=2"})),
              ElementsAre("`epochs` does nothing beside `steps: 4`"));
}

}  // namespace
}  // namespace simile
