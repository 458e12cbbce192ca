// SPDX-License-Identifier: Apache-2.0
#include "simile/data/detail/row_parser.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "simile/core/check.h"
#include "simile/data/reader.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

using Json = nlohmann::json;

constexpr size_t kKeptProblems = 10;
constexpr size_t kProblemBytes = 300;
constexpr int64_t kRowsToJudgeBy = 20;

// Keeps the members of the outermost object only, so that memory stays in proportion to the line.
class MemberCollector : public nlohmann::json_sax<Json> {
 public:
  std::vector<JsonField> members;
  bool is_object = false;
  std::string problem;

  bool null() override { return add(JsonField::Kind::kNull, ""); }
  bool boolean(bool value) override {
    return add(JsonField::Kind::kBoolean, value ? "true" : "false");
  }
  bool number_integer(int64_t value) override {
    return add(JsonField::Kind::kNumber, std::to_string(value));
  }
  bool number_unsigned(uint64_t value) override {
    return add(JsonField::Kind::kNumber, std::to_string(value));
  }
  bool number_float(double, const std::string& written) override {
    return add(JsonField::Kind::kNumber, written);
  }
  bool string(std::string& value) override { return add(JsonField::Kind::kText, value); }
  bool binary(Json::binary_t&) override { return false; }
  bool start_object(size_t) override {
    if (depth_ == 0) is_object = true;
    return enter(JsonField::Kind::kObject);
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(size_t) override { return enter(JsonField::Kind::kList); }
  bool end_array() override {
    if (--depth_ == 1 && list_) members.back().value = *list_ + "]";
    if (depth_ == 1) list_.reset();
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ == 1) name_ = name;
    return true;
  }
  bool parse_error(size_t, const std::string&, const Json::exception& error) override {
    problem = error.what();
    return false;
  }

 private:
  bool add(JsonField::Kind kind, const std::string& value) {
    if (depth_ == 2 && list_) {
      *list_ += list_->size() == 1 ? "" : ",";
      *list_ += kind == JsonField::Kind::kText ? Json(value).dump() : value;
      if (value.empty() && kind != JsonField::Kind::kText) list_.reset();  // null, or nested
    }
    if (depth_ != 1 || !is_object) return true;
    if (members.size() == kMaximumFields) {
      problem = fmt::format("it has more than {} members", kMaximumFields);
      return false;
    }
    members.push_back({name_, kind, value});
    return true;
  }
  bool enter(JsonField::Kind kind) {
    if (!add(kind, "")) return false;
    if (++depth_ == 2 && is_object && kind == JsonField::Kind::kList) list_ = "[";
    return true;
  }

  int64_t depth_ = 0;
  std::string name_;
  std::optional<std::string> list_;  // that is read, of values only so far
};

template <typename Number>
bool parse_whole(std::string_view text, Number& number) {
  const size_t begin = text.find_first_not_of(kBlankCharacters);
  if (begin == std::string_view::npos) return false;
  text = text.substr(begin, text.find_last_not_of(kBlankCharacters) + 1 - begin);
  if (text[0] == '+' && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

void check_fields(size_t fields, const std::string& where) {
  if (fields <= kMaximumFields) return;
  throw RowError(fmt::format("{}: expected at most {} fields, found more", where, kMaximumFields));
}

// Takes the fields of one record off its lines.
class CsvRecord {
 public:
  CsvRecord(std::string line, const std::string& where, const NextLine& next_line,
            int64_t maximum_bytes, char separator)
      : line_(std::move(line)),
        where_(where),
        next_line_(next_line),
        maximum_bytes_(static_cast<size_t>(maximum_bytes)),
        separator_(separator) {}

  std::vector<std::string> split() {
    std::vector<std::string> fields;
    while (true) {
      check_fields(fields.size() + 1, where_);
      fields.push_back(is_quote() ? take_quoted() : take_plain());
      if (at_ >= line_.size()) return fields;
      ++at_;  // the separator
    }
  }

 private:
  bool is_quote() const { return at_ < line_.size() && line_[at_] == '"'; }

  std::string take_plain() {
    const size_t begin = at_;
    at_ = std::min(line_.find(separator_, begin), line_.size());
    return line_.substr(begin, at_ - begin);
  }

  std::string take_quoted() {
    std::string field;
    for (++at_; !is_quote() || line_.compare(at_, 2, "\"\"") == 0;) {
      if (at_ >= line_.size()) {
        take_next_line(field);
        continue;
      }
      if (is_quote()) ++at_;
      field += line_[at_++];
    }
    ++at_;
    if (at_ < line_.size() && line_[at_] != separator_) {
      throw RowError(fmt::format(
          "{}: expected a {} after a quoted field, found '{}'; write a quote inside it as \"\"",
          where_,
          separator_ == '\t'  ? "tab"
          : separator_ == ',' ? "comma"
                              : std::string(1, separator_),
          begin_of_text(line_.substr(at_), 20)));
    }
    return field;
  }

  void take_next_line(std::string& field) {
    if (field.size() > maximum_bytes_ || !next_line_(line_)) {
      throw RowError(where_ +
                     ": a quoted field that begins in this row is never closed; close it with a "
                     "\", and write a quote inside it as \"\"");
    }
    field += '\n';
    at_ = 0;
  }

  std::string line_;
  const std::string& where_;
  const NextLine& next_line_;
  size_t maximum_bytes_, at_ = 0;
  char separator_;
};

}  // namespace

void leave_out_malformed(const RowError& error, bool skip_malformed, ReadReport& report) {
  if (!skip_malformed) {
    throw RowError(
        std::string(error.what()) +
        "; leave such rows out with on_error: skip, or --on-error skip in a command that "
        "has it");
  }
  ++report.malformed;
  if (report.problems.size() == kKeptProblems) return;
  report.problems.push_back(shorten_text(error.what(), kProblemBytes));
}

void check_malformed(const ReadReport& report) {
  const int64_t seen = report.rows + report.filtered + report.malformed;
  const bool none_left = report.malformed == seen;
  if (report.malformed == 0) return;
  SIMILE_CHECK(!none_left && (seen < kRowsToJudgeBy || report.malformed * 2 <= seen),
               ErrorKind::kInput,
               "{}: {} of {} rows are malformed, too many to leave out; the options do "
               "not fit the file, or it is damaged. The first: {}",
               report.file, report.malformed, seen, report.problems.front());
}

std::vector<std::string> split_tsv(const std::string& line, const std::string& where) {
  check_fields(static_cast<size_t>(std::count(line.begin(), line.end(), '\t')) + 1, where);
  std::vector<std::string> fields;
  size_t begin = 0;
  for (size_t tab; (tab = line.find('\t', begin)) != std::string::npos; begin = tab + 1) {
    fields.push_back(line.substr(begin, tab - begin));
  }
  fields.push_back(line.substr(begin));
  return fields;
}

std::vector<std::string> split_csv(const std::string& line, const std::string& where,
                                   const NextLine& next_line, int64_t maximum_bytes,
                                   char separator) {
  return CsvRecord(line, where, next_line, maximum_bytes, separator).split();
}

std::vector<JsonField> parse_json_members(const std::string& line, const std::string& where) {
  if (line.find('\0') != std::string::npos) {  // which ends a text for the parser
    throw RowError(fmt::format("{}: expected one JSON object per line: it has a zero byte", where));
  }
  MemberCollector collector;
  const bool good = Json::sax_parse(line, &collector);
  if (!good) {
    // Without the library's own prefix "[json.exception.parse_error.101] ".
    const size_t prefix = collector.problem.find("] ");
    throw RowError(
        fmt::format("{}: expected one JSON object per line: {}", where,
                    collector.problem.substr(prefix == std::string::npos ? 0 : prefix + 2)));
  }
  if (!collector.is_object) {
    throw RowError(
        fmt::format("{}: expected a JSON object such as {{\"text\": \"...\"}}, found '{}'", where,
                    begin_of_text(line, 40)));
  }
  // Which of two values would count is anybody's guess.
  std::vector<std::string_view> names;
  names.reserve(collector.members.size());
  for (const JsonField& member : collector.members) names.push_back(member.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    throw RowError(fmt::format("{}: the name '{}' stands twice in the object; keep one", where,
                               begin_of_text(*twice, 40)));
  }
  return std::move(collector.members);
}

bool parse_number(std::string_view text, double& number) {
  return parse_whole(text, number) && std::isfinite(number);
}
bool parse_number(std::string_view text, int64_t& number) { return parse_whole(text, number); }

std::string with_decimal_point(const std::string& text) {
  std::string point = text;
  const size_t comma = point.find(',');
  double number = 0;
  if (comma == std::string::npos || comma + 1 == point.size()) return "";
  point[comma] = '.';
  return parse_number(point, number) ? point : "";
}

bool looks_quoted(std::string_view field) {
  if (field.size() < 4 || field.front() != '"' || field.back() != '"') return false;
  bool has_doubled = false;
  for (size_t i = 1; i + 1 < field.size(); ++i) {
    if (field[i] != '"') continue;
    if (field[i + 1] != '"' || i + 2 >= field.size()) return false;
    has_doubled = true;
    ++i;
  }
  return has_doubled;
}

std::string no_column(const std::string& message, const std::string& wanted,
                      const std::vector<std::string>& names) {
  return fmt::format("{}; columns found: {}{}", message, list_names(names),
                     did_you_mean(wanted, names));
}

std::string list_names(const std::vector<std::string>& names) {
  constexpr size_t kShown = 20;
  if (names.empty()) return "none";
  if (names.size() <= kShown) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kShown, ", "),
                     names.size() - kShown);
}

}  // namespace simile
