// SPDX-License-Identifier: Apache-2.0
// Bytes as a sentencepiece model, made into a tokenizer and used: only simile::Error may come out.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "simile/core/error.h"
#include "simile/text/sentencepiece.h"
#include "simile/text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using simile::SentencePieceFamily;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const simile::SentencePieceModel model = simile::parse_sentencepiece_model(bytes, "fuzz");
    for (const SentencePieceFamily family :
         {SentencePieceFamily::kPlain, SentencePieceFamily::kXlmRoberta}) {
      simile::SentencePieceSettings settings;
      settings.family = family;
      const simile::Tokenizer tokenizer =
          simile::Tokenizer::parse(sentencepiece_document(model, settings, "fuzz"), "fuzz");
      tokenizer.encode("Hello \uFF37orld,  ab \u0E33 \U0001F600\tx");
      tokenizer.encode(bytes.substr(0, 1024));
    }
  } catch (const simile::Error&) {
  }
  return 0;
}
