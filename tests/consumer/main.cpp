// SPDX-License-Identifier: Apache-2.0
// Tokenises and encodes two texts with the built-in model and prints their similarity.
#include <cstdio>
#include <numeric>

#include "simile/core/error.h"
#include "simile/core/event.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/model/builtin_model.h"

int main() {
  try {
    const auto encoder = simile::SentenceEncoder::load(simile::resolve_model("simile-mini"),
                                                       simile::silent_events());
    const std::vector<std::string> texts = {"I forgot my password", "How do I reset my password?"};
    for (const std::string& text : texts) {
      std::printf("%zu tokens: %s\n", encoder.tokenizer().encode(text).ids.size(), text.c_str());
    }
    const auto vectors = encoder.encode(texts, {}, simile::silent_events());
    const float* left = vectors.values.data();
    const float similarity =
        std::inner_product(left, left + vectors.cols, left + vectors.cols, 0.0f);
    std::printf("similarity %.4f\n", similarity);
    return similarity > 0.3f && similarity < 1 ? 0 : 1;
  } catch (const simile::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
