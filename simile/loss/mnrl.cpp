// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/mnrl.h"

namespace simile {
namespace {

constexpr double kCosineScale = 20.0;
constexpr double kDotScale = 1.0;

}  // namespace

void MnrlOptions::visit(OptionVisitor& v) {
  OptionInfo similarity_info{"score of two embeddings: their cosine or dot product"};
  similarity_info.choices = {"cosine", "dot"};
  v.field("similarity", similarity, similarity_info);
  v.field("scale", scale,
          {"what scores are multiplied by (1 / temperature); 0 takes 20 for cosine and 1 for dot",
           "", 0.0});
  v.field("threshold", threshold, {"pairs with a target above it are positive, the rest negative"});
  OptionInfo duplicates_info{
      "texts that occur several times in a batch: positives of each other, left out of the "
      "denominator, or negatives like any other"};
  duplicates_info.choices = {"positives", "mask", "negatives"};
  v.field("duplicates", duplicates, duplicates_info);
}

BscOptions bsc_options(const MnrlOptions& options) {
  const bool cosine = options.similarity == "cosine";
  const double scale = options.scale > 0.0 ? options.scale : cosine ? kCosineScale : kDotScale;
  BscOptions bsc;
  bsc.temperature.value = 1.0 / scale;
  bsc.normalize = cosine ? "l2" : "none";
  bsc.directions = "left";
  bsc.threshold = options.threshold;
  bsc.duplicates = options.duplicates;
  return bsc;
}

torch::Tensor mnrl_loss(const LossInput& input, const MnrlOptions& options) {
  return bsc_loss(input, bsc_options(options));
}

}  // namespace simile
