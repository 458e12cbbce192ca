// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss_options.h"

#include <fmt/format.h>

#include <cctype>
#include <string_view>

#include "simile/core/error.h"
#include "simile/loss/loss_table.h"

namespace simile {
namespace {

struct ForeignLoss {
  const char* name;
  const char* here;
};

constexpr ForeignLoss kForeignLosses[] = {
    {"AnglELoss", "loss: angle"},
    {"BatchAllTripletLoss", "loss: {name: triplet, mining: batch_all}"},
    {"BatchHardTripletLoss", "loss: {name: triplet, mining: batch_hard}"},
    {"BatchSemiHardTripletLoss", "loss: {name: triplet, mining: batch_semi_hard}"},
    {"CachedMultipleNegativesRankingLoss", "loss: mnrl, with chunk_tokens: 8192 in the objective"},
    {"CoSENTLoss", "loss: cosent"},
    {"ContrastiveLoss", "loss: contrastive"},
    {"CosineSimilarityLoss", "loss: mse"},
    {"DistillKLDivLoss", "loss: distill, with teachers"},
    {"MSELoss", "loss: distill, with teachers"},
    {"MatryoshkaLoss", "loss: {name: matryoshka, dimensions: [...], of: ...}"},
    {"MultipleNegativesRankingLoss", "loss: mnrl"},
    {"MultipleNegativesSymmetricRankingLoss", "loss: {name: bsc, temperature: 0.05}"},
    {"OnlineContrastiveLoss", "loss: online_contrastive"},
    {"SoftmaxLoss", "loss: softmax_classification, with a head"},
    {"TripletLoss", "loss: triplet"}};

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

}  // namespace

std::string hint_of_foreign_loss(const std::string& text) {
  const std::string searched = lower(text);
  const ForeignLoss* longest = nullptr;
  for (const ForeignLoss& loss : kForeignLosses) {
    if (searched.find(lower(loss.name)) == std::string::npos) continue;
    const bool is_longer = longest == nullptr || std::string_view(loss.name).size() >
                                                     std::string_view(longest->name).size();
    if (is_longer) longest = &loss;
  }
  if (longest == nullptr) return "";
  return fmt::format("; sentence-transformers' {} is `{}` here", longest->name, longest->here);
}

void LossOptions::visit(OptionVisitor& v) {
  OptionInfo info{"the loss; the other keys are its own"};
  for (const LossRow& row : loss_table()) info.choices.push_back(row.name);
  try {
    v.field("name", name, info);
  } catch (const Error& error) {
    throw Error(error.kind(), error.what() + hint_of_foreign_loss(error.what()));
  }
  find_loss(name).visit(*this, v);
}

void LossTerm::visit(OptionVisitor& v) {
  LossOptions::visit(v);
  v.field("weight", weight, {"factor on this loss in the sum", "", -1e12, 1e12});
}

}  // namespace simile
