// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/passage_splitter.h"

#include <fmt/format.h>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/text/words.h"

namespace simile {
namespace {

int64_t tokens_around(const SentenceEncoder& encoder, const std::string& prompt) {
  Tokenizer tokenizer = encoder.tokenizer();
  tokenizer.set_max_length(0);
  const std::string read = encoder.settings().lower_case ? lower_text(prompt) : prompt;
  return static_cast<int64_t>(tokenizer.encode(read).ids.size());
}

}  // namespace

PassageSplitter::PassageSplitter(const SentenceEncoder& encoder, const PassageOptions& passages,
                                 const EncodeOptions& encode)
    : tokenizer_(encoder.tokenizer()),
      passages_(passages),
      lower_case_(encoder.settings().lower_case) {
  if (!passages.splits()) return;
  check_passages(passages);
  const int64_t limit = encoder.tokenizer().max_length();
  const int64_t around = tokens_around(encoder, encoder.prompt(encode));
  SIMILE_CHECK(limit == 0 || passages.passage_tokens + around <= limit, ErrorKind::kUsage,
               fmt::format("passage_tokens: {}, but the model reads {} tokens, of which {} are "
                           "special ones and its prompt; expected at most {}",
                           passages.passage_tokens, limit, around, limit - around));
}

void PassageSplitter::split(std::vector<Document>& documents) const {
  if (!passages_.splits()) return;
  run_parallel(static_cast<int64_t>(documents.size()), 1, [&](int64_t i) {
    Document& document = documents[static_cast<size_t>(i)];
    document.passages = split_passages(document.text, tokenizer_, passages_, lower_case_);
  });
}

std::vector<std::string> texts_of_vectors(const std::vector<Document>& documents) {
  std::vector<std::string> texts;
  for (const Document& document : documents) {
    for (int64_t i = 0; i < document.vectors(); ++i) texts.emplace_back(document.text_of(i));
  }
  return texts;
}

}  // namespace simile
