// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simile {
namespace {

TEST(ForeignNames, AreHintedAtByTheLongestThatStandsInTheText) {
  const std::pair<const char*, const char*> cases[] = {
      {"MultipleNegativesRankingLoss", "MultipleNegativesRankingLoss is `loss: mnrl`"},
      {"multiplenegativesrankingloss", "MultipleNegativesRankingLoss is `loss: mnrl`"},
      {"losses.CoSENTLoss", "CoSENTLoss is `loss: cosent`"},
      {"'loss' should be one of bsc, mse, found 'TripletLoss'", "TripletLoss is `loss: triplet`"},
      {"BatchHardTripletLoss",
       "BatchHardTripletLoss is `loss: {name: triplet, mining: batch_hard}`"},
      {"OnlineContrastiveLoss", "OnlineContrastiveLoss is `loss: online_contrastive`"},
      {"CachedMultipleNegativesRankingLoss",
       "CachedMultipleNegativesRankingLoss is `loss: mnrl, with chunk_tokens: 8192 in the "
       "objective`"},
  };
  for (const auto& [text, hint] : cases) {
    EXPECT_EQ(hint_of_foreign_loss(text), std::string("; sentence-transformers' ") + hint + " here")
        << text;
  }
}

TEST(ForeignNames, OtherTextsGiveNoHint) {
  for (const char* text : {"", "mnrl", "Triplet", "RankingLoss", "GISTEmbedLoss"}) {
    EXPECT_EQ(hint_of_foreign_loss(text), "") << text;
  }
}

}  // namespace
}  // namespace simile
