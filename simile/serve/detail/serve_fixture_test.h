// SPDX-License-Identifier: Apache-2.0
// For tests: a small model, and what a refused request has to say.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "simile/encode/head.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/serve/request_error.h"

namespace simile {

// tests/golden/tiny-bert: reads 24 tokens; vectors of 32 numbers, which are not normalised.
inline std::shared_ptr<const SentenceEncoder> tiny_encoder() {
  static const auto encoder = std::make_shared<const SentenceEncoder>(
      SentenceEncoder::load(SIMILE_SOURCE_DIR "/tests/golden/tiny-bert", silent_events()));
  return encoder;
}

// A head "relevance" of it that reads two texts together.
inline Head tiny_joint_head() {
  HeadSettings settings;
  settings.name = "relevance";
  settings.input = "joint";
  settings.output = "probability";
  std::vector<float> weights(static_cast<size_t>(head_parameter_count(settings, 32)));
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = i % 2 == 0 ? 0.3f : -0.1f;
  return Head(settings, 32, weights);
}

// Texts of many lengths made of the model's words.
inline std::vector<std::string> tiny_texts(int count) {
  const char* const words[] = {"the", "cat", "dog", "sat", "ran", "on", "under", "mat", "sun"};
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) {
    std::string text = "a";
    for (int j = 0; j < (i * 7) % 19; ++j) text += std::string(" ") + words[(i + j * j) % 9];
    texts.push_back(text);
  }
  return texts;
}

// The message of the RequestError that `body` throws, which should be of this kind; empty: none.
template <typename Body>
std::string refusal_of(Refusal refusal, const Body& body) {
  try {
    body();
  } catch (const RequestError& error) {
    EXPECT_EQ(static_cast<int>(error.refusal()), static_cast<int>(refusal)) << error.what();
    return error.what();
  }
  return "";
}

}  // namespace simile
