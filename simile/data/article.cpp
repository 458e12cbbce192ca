// SPDX-License-Identifier: Apache-2.0
#include "simile/data/detail/article.h"

namespace simile {
namespace {

constexpr std::string_view kSpace = " \t\v\f\r";

int64_t count_words(std::string_view text) {
  int64_t words = 0;
  bool inside = false;
  for (const char c : text) {
    const bool space = kSpace.find(c) != std::string_view::npos;
    words += !space && !inside;
    inside = !space;
  }
  return words;
}

}  // namespace

ArticleReader::ArticleReader(const std::string& path, const std::string& language)
    : lines_(path), splitter_(language) {
  report_.file = path;
}

bool ArticleReader::read_paragraphs(Article& article) {
  for (std::string line; lines_.next(line);) {
    report_.replaced_bytes = lines_.replaced_bytes();
    if (line.find_first_not_of(kSpace) != std::string::npos) {
      ++report_.rows;
      article.paragraphs.push_back(std::move(line));
      continue;
    }
    ++report_.blank_lines;
    if (!article.paragraphs.empty()) return true;
  }
  return !article.paragraphs.empty();
}

bool ArticleReader::next(Article& article) {
  article.paragraphs.clear();
  article.sentences.clear();
  if (!read_paragraphs(article)) return false;
  for (const std::string& paragraph : article.paragraphs) {
    std::vector<Sentence>& sentences = article.sentences.emplace_back();
    for (const std::string_view text : splitter_.split(paragraph)) {
      sentences.push_back({text, count_words(text)});
    }
  }
  return true;
}

}  // namespace simile
