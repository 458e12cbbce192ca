// SPDX-License-Identifier: Apache-2.0
// Articles of a text file with one paragraph a line and blank lines between articles, cut into
// sentences; where articles have titles, the first line of each is its title. Used by
// simile/data/document_pairs.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simile/data/line_reader.h"
#include "simile/data/reader.h"
#include "simile/text/sentence_splitter.h"

namespace simile {

struct Sentence {
  std::string_view text;  // of the paragraph
  int64_t words;          // what white space separates
};

// Movable, but not to be copied: sentences are views of the paragraphs.
struct Article {
  std::string title;                             // empty where articles have none
  std::vector<std::string> paragraphs;           // none blank
  std::vector<std::vector<Sentence>> sentences;  // of each paragraph, at least one

  Article() = default;
  Article(const Article&) = delete;
  Article& operator=(const Article&) = delete;
};

class ArticleReader {
 public:
  ArticleReader(const std::string& path, const std::string& language, bool titles);

  // False at the end. `article` has at least one paragraph, and a title where articles have them; a
  // title alone is skipped.
  bool next(Article& article);

  const ReadReport& report() const { return report_; }  // rows are paragraphs
  int64_t lone_titles() const { return lone_titles_; }

 private:
  bool read_paragraphs(Article& article);

  LineReader lines_;
  SentenceSplitter splitter_;
  bool titles_;
  ReadReport report_;
  int64_t lone_titles_ = 0;
};

// The first (last) `count` words of `text`, which white space separates, or all it has, without
// white space around them.
std::string_view first_words(std::string_view text, int64_t count);
std::string_view last_words(std::string_view text, int64_t count);

}  // namespace simile
