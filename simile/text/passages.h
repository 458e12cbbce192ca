// SPDX-License-Identifier: Apache-2.0
// Long texts cut into parts: overlapping passages by the tokens of a model, and sentences.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simile/core/options.h"
#include "simile/text/tokenizer.h"

namespace simile {

// Bytes [begin, end) of a text.
struct Passage {
  int64_t begin = 0, end = 0;
};

inline bool operator==(const Passage& a, const Passage& b) {
  return a.begin == b.begin && a.end == b.end;
}

struct PassageOptions {
  int64_t passage_tokens = 0;
  int64_t passage_overlap = 16;
  std::optional<int64_t> passage_whole = {};  // none: what the model reads (PassageSplitter)

  void visit(OptionVisitor& v);
  bool splits() const { return passage_tokens > 0; }
};

// Errors (ErrorKind::kUsage): passages that overlap by more than half of their tokens.
void check_passages(const PassageOptions& options);

// Nothing for a text of at most `passage_tokens` or `passage_whole` tokens, else its passages: at
// most `passage_tokens` each, special ones not counted, when read alone. They begin and end between
// words if there is white space in the second half of a passage, else between tokens, never within
// a character. They have no white space at their ends. The next one begins at the first word of the
// last `passage_overlap` tokens. Errors: those of Tokenizer::encode().
std::vector<Passage> split_passages(std::string_view text, const Tokenizer& tokenizer,
                                    const PassageOptions& options);

// Cuts running text into sentences, as Unicode Standard Annex 29 has them (ICU), without a cut
// after the language's common abbreviations ("Mr.", "U.S.").
class SentenceSplitter {
 public:
  // `language`: de, en, es, fr, it, pt or ru; of any other, no abbreviations are known.
  // Errors: ErrorKind::kFailed when ICU lacks its data.
  explicit SentenceSplitter(const std::string& language = "en");
  SentenceSplitter(SentenceSplitter&&) noexcept;
  ~SentenceSplitter();

  // The sentences of `text`, which must be UTF-8: views into it without the white space around
  // them, none empty. One splitter serves one thread.
  std::vector<std::string_view> split(std::string_view text);

 private:
  struct Breaks;
  std::unique_ptr<Breaks> breaks_;
};

}  // namespace simile
