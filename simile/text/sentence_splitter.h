// SPDX-License-Identifier: Apache-2.0
// Cuts running text into sentences, as Unicode Standard Annex 29 has them (ICU), without a cut
// after the language's common abbreviations ("Mr.", "U.S.").
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace simile {

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
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace simile
