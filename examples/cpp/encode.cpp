// SPDX-License-Identifier: Apache-2.0
// encode MODEL TEXT TEXT...: texts to vectors, and how alike each two of them are.
#include <cstdio>
#include <numeric>

#include "simile/core/error.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/model/model_folder.h"

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "encode MODEL TEXT TEXT...\n"), 2;
  try {
    const auto encoder =
        simile::SentenceEncoder::load(simile::resolve_model(argv[1]), simile::silent_events());
    const std::vector<std::string> texts(argv + 2, argv + argc);
    simile::EncodeOptions options;
    options.normalize = true;  // so that an inner product is a cosine
    const simile::Matrix<float> vectors = encoder.encode(texts, options, simile::silent_events());
    for (int64_t i = 0; i < vectors.rows; ++i) {
      for (int64_t j = i + 1; j < vectors.rows; ++j) {
        const float cosine =
            std::inner_product(vectors.row(i), vectors.row(i + 1), vectors.row(j), 0.0f);
        std::printf("%.4f  %s  |  %s\n", cosine, texts[i].c_str(), texts[j].c_str());
      }
    }
  } catch (const simile::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return simile::exit_code(error.kind());
  }
}
