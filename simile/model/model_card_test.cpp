// SPDX-License-Identifier: Apache-2.0
#include "simile/model/model_card.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simile {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ModelSettings settings() {
  ModelSettings s;
  s.encoder.hidden = 8;
  s.encoder.layers = 2;
  s.pooling.modes = {PoolingMode::kCls, PoolingMode::kMean};
  s.max_length = 90;
  s.prompts = {{"query", "query: "}, {"document", ""}};
  s.default_prompt = "query";
  return s;
}

TEST(ModelCard, TellsWhatTheModelIsAndHowToUseIt) {
  ModelCard card;
  card.title = "mine";
  card.base_model = "simile-mini-3";
  card.introduction = "A model.";
  card.body = "## Data\n\n- a.tsv\n";
  const std::string text = make_model_card(card, settings());
  EXPECT_THAT(text, StartsWith("---\nlibrary_name: sentence-transformers\n"));
  for (const char* part :
       {"\n- sentence-transformers\n", "\nbase_model: \"simile-mini-3\"\n---\n# mine\n\nA model.\n",
        "| dimensions | 16 |", "| longest text | 90 tokens |", "| pooling | cls+mean, Normalize |",
        "| similarity | cosine |", "| prompts | query (default): \"query: \" |", "simile encode",
        "SentenceTransformer(", "## Data"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(ModelCard, BytesAreSaidToBeSimilesOwnFormat) {
  const std::string text = make_model_card(ModelCard(), settings(), TensorType::kI8);
  EXPECT_THAT(text, HasSubstr("which Simile alone reads"));
  EXPECT_THAT(text, Not(HasSubstr("sentence-transformers")));
  EXPECT_THAT(text, Not(HasSubstr("base_model")));
}

TEST(ModelCard, AnotherCardIsCutIntoItsParts) {
  struct Case {
    const char* card;
    const char* front_matter;
    const char* body;
  };
  const Case cases[] = {
      {"---\nlicense: mit\ntags:\n- a\n- b\nlanguage:\n- en\n---\n# T\n",
       "license: mit\nlanguage:\n- en\n", "# T\n"},
      {"---\ntags: [a, b]\nbase_model: x\n---\n", "", ""},
      {"# T\n---\n", "", "# T\n---\n"},
      {"---\nlicense: mit\n", "", "---\nlicense: mit\n"},
      {"", "", ""},
  };
  for (const Case& c : cases) {
    const CardParts parts = split_model_card(c.card);
    EXPECT_EQ(parts.front_matter, c.front_matter) << c.card;
    EXPECT_EQ(parts.body, c.body) << c.card;
  }
}

}  // namespace
}  // namespace simile
