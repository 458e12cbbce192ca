// SPDX-License-Identifier: Apache-2.0
#include "simile/data/detail/trec_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "simile/core/error.h"

namespace simile {
namespace {

constexpr const char* kSpace = " \t\r\n\v\f";

std::string to_lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

bool is_tag(const std::string& text, size_t at) {
  if (text[at] != '<' || at + 1 >= text.size()) return false;
  const char c = text[at + 1];
  return c == '/' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

char take_entity(const std::string& text, size_t& at) {
  static const std::pair<std::string_view, char> kEntities[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
  for (const auto& [written, meant] : kEntities) {
    if (text.compare(at, written.size(), written) != 0) continue;
    at += written.size();
    return meant;
  }
  return text[at++];
}

// Without tags, entities and runs of white space.
std::string plain(const std::string& text) {
  std::string read;
  for (size_t at = 0; at < text.size();) {
    char c = ' ';
    if (is_tag(text, at)) {
      at = std::min(text.find('>', at), text.size() - 1) + 1;
    } else {
      c = take_entity(text, at);
    }
    const bool space = std::string_view(kSpace).find(c) != std::string_view::npos;
    if (!space) read += c;
    if (space && !read.empty() && read.back() != ' ') read += ' ';
  }
  if (!read.empty() && read.back() == ' ') read.pop_back();
  return read;
}

struct Block {
  std::string text, lower;
  bool may_be_closed = true;  // false once no </name> follows an element that may hold tags

  // What stands after <name> from `from` on, to </name> or, where tags are left open, to the next
  // tag; `from` becomes its end. False when there is none.
  bool take(const std::string& name, bool may_hold_tags, size_t& from, std::string& content) {
    const size_t open = lower.find("<" + name + ">", from);
    if (open == std::string::npos) return false;
    const size_t begin = open + name.size() + 2;
    const bool search = may_hold_tags && may_be_closed;
    size_t end = search ? lower.find("</" + name + ">", begin) : std::string::npos;
    if (end == std::string::npos) {
      if (search) may_be_closed = false;
      for (end = begin; end < text.size() && !is_tag(text, end);) ++end;
    }
    content = plain(text.substr(begin, end - begin));
    from = end;
    return true;
  }

  std::string first(const std::string& name) {
    size_t from = 0;
    std::string content;
    take(name, false, from, content);
    return content;
  }
};

std::string take_off(const std::string& text, const std::string& prefix) {
  return to_lower(text.substr(0, prefix.size())) == prefix ? plain(text.substr(prefix.size()))
                                                           : text;
}

CorpusText read_topic(Block& block) {
  return {take_off(block.first("num"), "number:"), take_off(block.first("title"), "topic:")};
}

CorpusText read_document(Block& block) {
  CorpusText document{block.first("docno"), ""};
  for (const char* name : {"title", "headline", "head"}) {
    if (document.text.empty()) document.text = block.first(name);
  }
  size_t from = 0;
  for (std::string content; block.take("text", true, from, content);) {
    if (content.empty()) continue;
    document.text += (document.text.empty() ? "" : " ") + content;
  }
  return document;
}

}  // namespace

bool TrecTextReader::next_block(std::string& block) {
  const std::string name = kind_ == Kind::kTopics ? "top" : "doc";
  block.clear();
  for (std::string line; lines_.next(line);) {
    if (block.empty()) {
      const size_t begin = line.find_first_not_of(kSpace);
      if (begin == std::string::npos) continue;
      begin_ = lines_.line_number();
      SIMILE_CHECK(to_lower(line).compare(begin, name.size() + 2, "<" + name + ">") == 0,
                   ErrorKind::kInput,
                   fmt::format("{}: expected <{}> and a TREC {}, or a table in a file whose name "
                               "ends in .tsv, .csv or .jsonl; found '{}'",
                               lines_.where(), name, name == "top" ? "topic" : "document",
                               begin_of_text(line.substr(begin), 40)));
    }
    block += line + "\n";
    const size_t end = to_lower(line).find("</" + name + ">");
    if (end != std::string::npos) {
      SIMILE_CHECK(
          line.find_first_not_of(kSpace, end + name.size() + 3) == std::string::npos,
          ErrorKind::kInput,
          fmt::format("{}: expected nothing more in the line of </{}>", lines_.where(), name));
      return true;
    }
    SIMILE_CHECK(static_cast<int64_t>(block.size()) <= kMaximumLineBytes, ErrorKind::kInput,
                 fmt::format("{}:{}: no </{}> within {} bytes", lines_.name(), begin_, name,
                             kMaximumLineBytes));
  }
  SIMILE_CHECK(block.empty(), ErrorKind::kInput,
               fmt::format("{}:{}: this <{}> is never closed; the file is cut", lines_.name(),
                           begin_, name));
  return false;
}

bool TrecTextReader::next(CorpusText& text) {
  Block block;
  if (!next_block(block.text)) return false;
  block.lower = to_lower(block.text);
  text = kind_ == Kind::kTopics ? read_topic(block) : read_document(block);
  const std::string where = fmt::format("{}:{}", lines_.name(), begin_);
  SIMILE_CHECK(!text.id.empty() && text.id.find(' ') == std::string::npos, ErrorKind::kInput,
               fmt::format("{}: expected an id in <{}>, found '{}'", where,
                           kind_ == Kind::kTopics ? "num" : "DOCNO", begin_of_text(text.id, 40)));
  SIMILE_CHECK(kind_ == Kind::kDocuments || !text.text.empty(), ErrorKind::kInput,
               where + ": the topic has no <title>");
  return true;
}

}  // namespace simile
