// SPDX-License-Identifier: Apache-2.0
#include "simile/data/detail/article.h"

#include "simile/text/utf8.h"

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
    : reader_(path), splitter_(language), titles_(titles), is_jsonl_(is_json_lines(path)) {}

ReadReport ArticleReader::report() const {
  ReadReport report = reader_.report();
  report.rows = paragraphs_;
  return report;
}

void ArticleReader::add_lines(std::string_view text, Article& article) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim_space(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    if (titles_ && article.title.empty()) {
      article.title = line;
    } else {
      ++paragraphs_;
      article.paragraphs.emplace_back(line);
    }
  }
}

// At the end of an article: false if it has no paragraph, and `article` is then empty.
bool ArticleReader::is_complete(Article& article) {
  if (!article.paragraphs.empty()) return true;
  lone_titles_ += article.title.empty() ? 0 : 1;
  article.title.clear();
  return false;
}

bool ArticleReader::read_paragraphs(Article& article) {
  for (TextItem item; reader_.next(item);) {
    if (titles_ && is_jsonl_) article.title = trim(item.title);
    add_lines(item.text, article);
    const bool is_end = is_jsonl_ || trim_space(item.text).empty();
    if (is_end && is_complete(article)) return true;
  }
  return is_complete(article);
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
