// SPDX-License-Identifier: Apache-2.0
#include "simile/data/text_list.h"

#include <fmt/format.h>

#include "simile/core/error.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/line_reader.h"
#include "simile/data/path_list.h"
#include "simile/text/utf8.h"

namespace simile {

TextListReader::TextListReader(const std::string& path, TextListOptions options)
    : TextListReader(std::vector<std::string>{path}, options) {}

TextListReader::TextListReader(std::vector<std::string> paths, TextListOptions options)
    : paths_(std::move(paths)), options_(options) {
  SIMILE_CHECK(!paths_.empty(), ErrorKind::kRecipe, "no file of texts was given");
  report_.file = name_paths(paths_);
  open(0);
}

TextListReader::TextListReader(std::istream& stream, const std::string& name, bool jsonl,
                               TextListOptions options)
    : paths_({name}), options_(options), jsonl_(jsonl), lines_(LineReader(stream, name)) {
  report_.file = name;
}

bool TextListReader::next(TextItem& item) {
  std::string line;
  while ((options_.limit == 0 || report_.rows < options_.limit) && next_line(line)) {
    const bool blank = is_blank(line);
    if (blank) ++report_.blank_lines;
    if (blank && (jsonl_ || options_.skip_blank_lines)) continue;
    if (!read(line, item)) continue;
    ++report_.rows;
    return true;
  }
  check_malformed(report_);
  return false;
}

void TextListReader::open(size_t number) {
  number_ = number;
  jsonl_ = is_json_lines(paths_[number]);
  lines_.emplace(paths_[number]);
}

bool TextListReader::next_line(std::string& line) {
  while (!lines_->next(line)) {
    if (number_ + 1 == paths_.size()) return false;
    replaced_bytes_ += lines_->replaced_bytes();
    open(number_ + 1);
  }
  report_.replaced_bytes = replaced_bytes_ + lines_->replaced_bytes();
  return true;
}

// Returns false for a malformed object that is left out.
bool TextListReader::read(std::string& line, TextItem& item) {
  item = TextItem();
  item.line = lines_->line_number();
  item.file = number_;
  if (!jsonl_) {
    item.text = std::move(line);
    return true;
  }
  try {
    read_object(line, item);
    return true;
  } catch (const RowError& error) {
    leave_out_malformed(error, options_.skip_malformed, report_);
    return false;
  }
}

void TextListReader::read_object(const std::string& line, TextItem& item) {
  bool has_text = false;
  std::vector<std::string> names;
  for (JsonField& field : parse_json_members(line, lines_->where())) {
    names.push_back(field.name);
    if (field.kind == JsonField::Kind::kNull) continue;
    const bool is_text = field.name == "text";
    if (!is_text && field.name != "pair") continue;
    if (field.kind != JsonField::Kind::kText) {
      throw RowError(
          fmt::format("{}: '{}' should be a text in quotes", lines_->where(), field.name));
    }
    (is_text ? has_text : item.has_pair) = true;
    (is_text ? item.text : item.pair) = std::move(field.value);
  }
  if (has_text) return;
  throw RowError(
      fmt::format("{}: expected an object with 'text' (and 'pair' where there are two "
                  "texts), found the names: {}",
                  lines_->where(), list_names(names)));
}

std::vector<std::string> read_texts(const std::string& path, TextListOptions options,
                                    ReadReport* report) {
  TextListReader reader(path, options);
  std::vector<std::string> texts;
  for (TextItem item; reader.next(item);) texts.push_back(std::move(item.text));
  if (report != nullptr) *report = reader.report();
  return texts;
}

}  // namespace simile
