// SPDX-License-Identifier: Apache-2.0
#include "simile/data/text_list.h"

#include <fmt/format.h>

#include "simile/core/error.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/line_reader.h"

namespace simile {
namespace {

bool is_jsonl(const std::string& path) {
  const size_t end =
      path.size() - (path.size() >= 3 && path.compare(path.size() - 3, 3, ".gz") == 0 ? 3 : 0);
  return end >= 6 && path.compare(end - 6, 6, ".jsonl") == 0;
}

}  // namespace

class TextListReader::Implementation {
 public:
  Implementation(LineReader lines, bool jsonl, TextListOptions options)
      : lines_(std::move(lines)), jsonl_(jsonl), options_(options) {
    report_.file = lines_.name();
  }

  bool next(TextItem& item) {
    if (options_.limit > 0 && report_.rows >= options_.limit) return false;
    std::string line;
    while (lines_.next(line)) {
      const bool blank = line.find_first_not_of(" \t") == std::string::npos;
      if (blank) ++report_.blank_lines;
      if (blank && (jsonl_ || options_.skip_blank_lines)) continue;
      item = TextItem();
      item.line = lines_.line_number();
      if (jsonl_) {
        read_object(line, item);
      } else {
        item.text = std::move(line);
      }
      ++report_.rows;
      report_.replaced_bytes = lines_.replaced_bytes();
      return true;
    }
    return false;
  }

  const ReadReport& report() const { return report_; }

 private:
  void read_object(const std::string& line, TextItem& item) {
    bool has_text = false;
    std::string names;
    for (JsonField& field : parse_json_members(line, lines_.where())) {
      names += (names.empty() ? "" : ", ") + field.name;
      if (field.kind == JsonField::Kind::kNull) continue;
      const bool is_text = field.name == "text";
      if (!is_text && field.name != "pair") continue;
      SIMILE_CHECK(field.kind == JsonField::Kind::kText, ErrorKind::kInput,
                   fmt::format("{}: '{}' should be a text in quotes", lines_.where(), field.name));
      (is_text ? has_text : item.has_pair) = true;
      (is_text ? item.text : item.pair) = std::move(field.value);
    }
    SIMILE_CHECK(has_text, ErrorKind::kInput,
                 fmt::format("{}: expected an object with 'text' (and 'pair' where there are two "
                             "texts), found the names: {}",
                             lines_.where(), names.empty() ? "none" : names));
  }

  LineReader lines_;
  bool jsonl_;
  TextListOptions options_;
  ReadReport report_;
};

TextListReader::TextListReader(const std::string& path, TextListOptions options)
    : implementation_(std::make_unique<Implementation>(LineReader(path), is_jsonl(path), options)) {
}
TextListReader::TextListReader(std::istream& stream, const std::string& name, bool jsonl,
                               TextListOptions options)
    : implementation_(std::make_unique<Implementation>(LineReader(stream, name), jsonl, options)) {}
TextListReader::TextListReader(TextListReader&&) noexcept = default;
TextListReader::~TextListReader() = default;

bool TextListReader::next(TextItem& item) { return implementation_->next(item); }
const ReadReport& TextListReader::report() const { return implementation_->report(); }

std::vector<std::string> read_texts(const std::string& path, TextListOptions options,
                                    ReadReport* report) {
  TextListReader reader(path, options);
  std::vector<std::string> texts;
  for (TextItem item; reader.next(item);) texts.push_back(std::move(item.text));
  if (report != nullptr) *report = reader.report();
  return texts;
}

}  // namespace simile
