// SPDX-License-Identifier: Apache-2.0
#include "simile/text/metaspace.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "simile/text/unicode.h"

namespace simile {
namespace {

// A single huge text should not keep its memory for ever.
constexpr size_t kKeptBytes = size_t{4} << 20;

// The place of `mark` in text[begin, end), or end.
uint32_t find_mark(std::string_view text, std::string_view mark, uint32_t begin, uint32_t end) {
  const char first = mark[0];
  for (uint32_t i = begin; i + mark.size() <= end; ++i) {
    if (text[i] == first && std::memcmp(text.data() + i, mark.data(), mark.size()) == 0) return i;
  }
  return end;
}

}  // namespace

Metaspace::Metaspace(MetaspaceSettings settings) : settings_(std::move(settings)) {}

bool Metaspace::prepends(const NormalizedText& text, Span word, bool at_start) const {
  const std::string& mark = settings_.mark;
  const std::string_view bytes =
      std::string_view(text.text).substr(word.begin, word.end - word.begin);
  if (bytes.empty() || bytes[0] == ' ' || bytes.substr(0, mark.size()) == mark) return false;
  if (settings_.prepend != MetaspaceSettings::Prepend::kFirst) {
    return settings_.prepend == MetaspaceSettings::Prepend::kAlways;
  }
  return text.tracked ? text.origins[word.begin].begin == 0 : at_start && word.begin == 0;
}

void Metaspace::rewrite(const NormalizedText& text, Span word, bool prepend,
                        NormalizedText& out) const {
  const std::string& mark = settings_.mark;
  const auto put_mark = [&](uint32_t place) {
    out.text += mark;
    if (out.tracked) out.origins.resize(out.text.size(), text.origins[place]);
  };
  if (prepend) put_mark(word.begin);
  for (uint32_t i = word.begin; i < word.end;) {
    const void* found = std::memchr(text.text.data() + i, ' ', word.end - i);
    const auto next =
        found == nullptr
            ? word.end
            : static_cast<uint32_t>(static_cast<const char*>(found) - text.text.data());
    out.append(std::string_view(text.text).substr(i, next - i),
               out.tracked ? text.origins.data() + i : nullptr);
    if (next < word.end) put_mark(next);
    i = next + 1;
  }
}

void Metaspace::cut(std::string_view text, Span word, std::vector<Span>& words) const {
  const std::string& mark = settings_.mark;
  const auto mark_size = static_cast<uint32_t>(mark.size());
  uint32_t begin = word.begin;
  while (begin < word.end) {
    // A mark belongs to the word after it, so that the next cut is before the next mark.
    const bool marked = text.substr(begin, mark_size) == mark;
    const uint32_t end = find_mark(text, mark, begin + (marked ? mark_size : 0), word.end);
    words.push_back({begin, end});
    begin = end;
  }
}

void Metaspace::split(NormalizedText& text, std::vector<Span>& words, bool at_start) const {
  thread_local NormalizedText rewritten;
  thread_local std::vector<Span> parts;
  rewritten.clear(text.tracked);
  parts.swap(words);
  words.clear();
  for (const Span part : parts) {
    const auto begin = static_cast<uint32_t>(rewritten.text.size());
    rewrite(text, part, prepends(text, part, at_start), rewritten);
    const Span whole{begin, static_cast<uint32_t>(rewritten.text.size())};
    if (settings_.split) {
      cut(rewritten.text, whole, words);
    } else if (whole.begin < whole.end) {
      words.push_back(whole);
    }
  }
  std::swap(text, rewritten);
  if (rewritten.text.capacity() > kKeptBytes) rewritten = {};
}

}  // namespace simile
