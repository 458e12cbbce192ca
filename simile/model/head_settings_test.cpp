// SPDX-License-Identifier: Apache-2.0
#include "simile/model/head_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "simile/core/error.h"

namespace simile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

HeadSettings make_head(const std::string& kind, const std::string& input) {
  HeadSettings s;
  s.name = "head";
  s.kind = kind;
  s.input = input;
  return s;
}

HeadSettings make_classes(const std::string& kind, std::vector<std::string> names) {
  HeadSettings s = make_head(kind, "single");
  s.output = "classes";
  s.class_names = std::move(names);
  return s;
}

void expect_error(const HeadSettings& settings, const std::string& message) {
  try {
    check_head(settings);
    ADD_FAILURE() << "accepted; expected: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRecipe);
    EXPECT_THAT(error.what(), HasSubstr(message));
    EXPECT_THAT(error.what(), HasSubstr("'" + settings.name + "'"));
  }
}

TEST(HeadSettings, KindsTakeTheInputsThatFitThem) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"l1", {"pair"}},
      {"cosine", {"pair"}},
      {"concat", {"pair"}},
      {"linear", {"single", "joint"}},
      {"mlp", {"single", "pair", "joint"}}};
  for (const auto& [kind, inputs] : cases) {
    for (const char* input : {"single", "pair", "joint"}) {
      const bool fits = std::count(inputs.begin(), inputs.end(), input) > 0;
      if (fits) {
        EXPECT_NO_THROW(check_head(make_head(kind, input))) << kind << " " << input;
      } else {
        expect_error(make_head(kind, input), "cannot take input");
      }
    }
  }
}

TEST(HeadSettings, WhatCannotBeIsNamed) {
  expect_error(make_head("cosin", "pair"), "did you mean 'cosine'");
  expect_error(make_head("linear", "singel"), "did you mean 'single'");
  expect_error(make_classes("linear", {"yes"}), "at least two");
  expect_error(make_classes("linear", {"yes", "no", "yes"}), "'yes' is named twice");
  HeadSettings s = make_classes("l1", {"yes", "no"});
  s.input = "pair";
  expect_error(s, "one number");
  s = make_classes("linear", {"yes", "no"});
  s.output = "score";
  expect_error(s, "'output: classes'");
  s.output = "softmax";
  expect_error(s, "'output'");
  for (const char* name : {"", "a/b", "..", "a b", "é"}) {
    s = make_head("linear", "single");
    s.name = name;
    expect_error(s, "letters, digits");
  }
  s = make_head("mlp", "single");
  s.layers = 0;
  expect_error(s, "'layers'");
  s = make_head("mlp", "single");
  s.width = -1;
  expect_error(s, "'width'");
  s = make_head("mlp", "single");
  s.dropout = std::nan("");
  expect_error(s, "'dropout'");
  s = make_head("cosine", "pair");
  s.difference = false;
  expect_error(s, "'difference' and 'dropout_side' need kind concat or mlp of input pair");
  s = make_head("mlp", "joint");
  s.dropout_side = "first";
  expect_error(s, "found kind mlp of input joint");
  s = make_head("concat", "pair");
  s.dropout_side = "second";
  expect_error(s, "'dropout_side' should be one of both, first");
}

TEST(HeadSettings, NamesOfHeadsDiffer) {
  const HeadSettings s = make_head("linear", "single");
  EXPECT_NO_THROW(check_heads({s}));
  EXPECT_THROW(check_heads({s, s}), Error);
}

TEST(HeadSettings, HeadsThatShareLayersHaveEqualOnes) {
  HeadSettings owner = make_head("mlp", "joint"), other = make_classes("mlp", {"yes", "no"});
  owner.name = "owner";
  other.name = "other";
  other.shares = "owner";
  EXPECT_NO_THROW(check_heads({other, owner}));
  const auto expect_refusal = [&](const std::string& message) {
    try {
      check_heads({owner, other});
      ADD_FAILURE() << "accepted; expected: " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kRecipe);
      EXPECT_THAT(error.what(), AllOf(HasSubstr("'shares'"), HasSubstr(message)));
    }
  };
  other.shares = "nobody";
  expect_refusal("no head 'nobody'; it has: owner, other");
  other.shares = "other";
  expect_refusal("layers of its own, found 'other'");
  other.shares = "owner";
  other.width = 8;
  expect_refusal("this is kind mlp of 2 layers, width 8, on one vector");
  owner = other;
  owner.name = "owner";
  expect_refusal("layers of its own, found 'owner'");
  owner.shares.clear();
  owner.layers = other.layers = 1;
  expect_refusal("two or more");
  owner.layers = other.layers = 2;
  EXPECT_NO_THROW(check_heads({owner, other}));
  owner.input = "pair";
  expect_refusal("'owner' is kind mlp of 2 layers, width 8, on two vectors and their difference");
  other = make_head("linear", "single");
  other.shares = "owner";
  expect_refusal("this is kind linear of 1 layers");
}

TEST(HeadSettings, LayoutIsWeightAndBiasOfEachLayer) {
  EXPECT_THAT(head_widths(make_head("l1", "pair"), 8), ElementsAre(1, 1));
  EXPECT_THAT(head_widths(make_head("concat", "pair"), 8), ElementsAre(24, 1));
  EXPECT_THAT(head_widths(make_classes("linear", {"a", "b", "c"}), 8), ElementsAre(8, 3));
  HeadSettings s = make_head("mlp", "pair");
  s.layers = 3;
  EXPECT_THAT(head_widths(s, 8), ElementsAre(24, 8, 8, 1));
  s.difference = false;
  EXPECT_THAT(head_widths(s, 8), ElementsAre(16, 8, 8, 1));
  s.difference = true;
  s.width = 5;
  EXPECT_EQ(head_parameter_count(s, 8), 24 * 5 + 5 + 5 * 5 + 5 + 5 + 1);
  EXPECT_EQ(inner_parameter_count(s, 8), 24 * 5 + 5 + 5 * 5 + 5);
  const std::vector<ParameterSlot> layout = head_layout(s, 8);
  ASSERT_EQ(layout.size(), 6u);
  EXPECT_EQ(layout[2].name, "layers.1.weight");
  EXPECT_THAT(layout[0].shape, ElementsAre(5, 24));
  EXPECT_EQ(layout[3].offset, 24 * 5 + 5 + 5 * 5);
  EXPECT_TRUE(layout[0].decays);
  EXPECT_FALSE(layout[1].decays);
  EXPECT_FALSE(head_layout(make_head("cosine", "pair"), 8)[0].decays);
}

TEST(HeadSettings, StartIsSmallRandomWeightsOfTheSeedAndName) {
  HeadSettings s = make_classes("mlp", {"a", "b"});
  const int64_t H = 32, count = head_parameter_count(s, H);
  const auto start = [&](uint64_t seed) {
    std::vector<float> flat(static_cast<size_t>(count), 9.0f);
    initialise_head_weights(s, H, seed, flat.data());
    return flat;
  };
  const std::vector<float> first = start(1);
  double squares = 0;
  for (int64_t i = 0; i < H * H; ++i)
    squares += first[static_cast<size_t>(i)] * first[static_cast<size_t>(i)];
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(H * H)), 0.02, 0.002);
  for (int64_t i = H * H; i < H * H + H; ++i) EXPECT_EQ(first[static_cast<size_t>(i)], 0.0f);
  EXPECT_EQ(start(1), first);
  EXPECT_NE(start(2), first);
  s.name = "other";
  EXPECT_NE(start(1), first);
}

TEST(HeadSettings, EqualTextsStartWithOneUnderL1AndCosine) {
  float flat[2];
  initialise_head_weights(make_head("l1", "pair"), 8, 1, flat);
  EXPECT_THAT(flat, ElementsAre(1.0f, 1.0f));
  initialise_head_weights(make_head("cosine", "pair"), 8, 1, flat);
  EXPECT_THAT(flat, ElementsAre(1.0f, 0.0f));
}

TEST(HeadSettings, SettingsReadBackWhatTheyWrite) {
  HeadSettings s = make_classes("mlp", {"yes", "no: never", "\"null\"", "7"});
  s.layers = 3;
  s.width = 64;
  s.dropout = 0.3;
  HeadSettings read;
  read_options(parse_config(options_to_json(s), "config.json"), read);
  EXPECT_EQ(options_to_json(read), options_to_json(s));
  EXPECT_EQ(read.class_names, s.class_names);
}

}  // namespace
}  // namespace simile
