// SPDX-License-Identifier: Apache-2.0
#include "simile/data/detail/article.h"

#include <fmt/format.h>

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

std::string_view trim_space(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

}  // namespace

std::string_view first_words(std::string_view text, int64_t count) {
  size_t end = 0;
  for (int64_t i = 0; i < count && end < text.size(); ++i) {
    const size_t word = text.find_first_not_of(kSpace, end);
    if (word == std::string_view::npos) break;
    end = std::min(text.size(), text.find_first_of(kSpace, word));
  }
  return trim_space(text.substr(0, end));
}

std::string_view last_words(std::string_view text, int64_t count) {
  size_t begin = text.size();
  for (int64_t i = 0; i < count && begin > 0; ++i) {
    const size_t word = text.find_last_not_of(kSpace, begin - 1);
    if (word == std::string_view::npos) break;
    begin = text.find_last_of(kSpace, word) + 1;  // 0 where there is none
  }
  return trim_space(text.substr(begin));
}

ArticleReader::ArticleReader(const std::string& path, const std::string& language, bool titles)
    : lines_(path), splitter_(language), titles_(titles) {
  report_.file = path;
}

bool ArticleReader::read_paragraphs(Article& article) {
  for (std::string line; lines_.next(line);) {
    report_.replaced_bytes = lines_.replaced_bytes();
    report_.first_replaced = fmt::format("{}:{}", lines_.name(), lines_.first_replaced());
    const std::string_view text = trim_space(line);
    if (text.empty()) {
      ++report_.blank_lines;
      if (!article.paragraphs.empty()) return true;
      lone_titles_ += article.title.empty() ? 0 : 1;
      article.title.clear();
    } else if (titles_ && article.title.empty()) {
      article.title = text;
    } else {
      ++report_.rows;
      article.paragraphs.push_back(std::move(line));
    }
  }
  if (article.paragraphs.empty()) lone_titles_ += article.title.empty() ? 0 : 1;
  return !article.paragraphs.empty();
}

bool ArticleReader::next(Article& article) {
  article.title.clear();
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
