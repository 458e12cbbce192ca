// SPDX-License-Identifier: Apache-2.0
// The recipe group `loss`: a name and the options of that loss alone. Without torch.
//
//   loss: {name: bsc, temperature: 0.05, normalize: l2}
//   loss: mse
//   loss: {name: sum, of: [{name: bsc, weight: 0.5}, pearson]}
//   loss: {name: matryoshka, dimensions: [256, 64], of: bsc}
//
// visit() names `name` first and then only the options of the loss it holds, so that an option of
// another loss is an unknown key.
#pragma once

#include <any>
#include <string>
#include <utility>
#include <vector>

#include "simile/core/options.h"

namespace simile {

struct LossTerm;

struct LossOptions {
  std::string name = "bsc";
  std::vector<LossTerm> of;  // of the losses that are made of others: sum, matryoshka

  // The options of the loss `name`, T being their type (BscOptions, ...); as they are by default
  // until they are set.
  template <typename T>
  T& get() {
    if (T* options = std::any_cast<T>(&own_)) return *options;
    return own_.emplace<T>();
  }
  template <typename T>
  const T& get() const {
    static const T defaults{};
    const T* options = std::any_cast<T>(&own_);
    return options != nullptr ? *options : defaults;
  }

  void visit(OptionVisitor& v);

 private:
  std::any own_;
};

struct LossTerm : LossOptions {
  double weight = 1;

  void visit(OptionVisitor& v);
};

// What is trained with a loss, as a checkpoint stores it: names and values of Loss::parameters(),
// in their order.
using LossState = std::vector<std::pair<std::string, std::vector<float>>>;

// "; MultipleNegativesRankingLoss is `loss: mnrl` here", of the longest name of a loss of
// sentence-transformers that stands in `text`, in any case; otherwise an empty text.
std::string hint_of_foreign_loss(const std::string& text);

}  // namespace simile
