// SPDX-License-Identifier: Apache-2.0
#include "simile/data/detail/row_parser.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "simile/core/error.h"

namespace simile {
namespace {

using Json = nlohmann::json;

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
    --depth_;
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
    if (depth_ == 1 && is_object) members.push_back({name_, kind, value});
    return true;
  }
  bool enter(JsonField::Kind kind) {
    add(kind, "");
    ++depth_;
    return true;
  }

  int64_t depth_ = 0;
  std::string name_;
};

// Without the library's own prefix "[json.exception.parse_error.101] ".
std::string plain_message(const std::string& message) {
  const size_t end = message.find("] ");
  return end == std::string::npos ? message : message.substr(end + 2);
}

}  // namespace

std::vector<std::string> split_tsv(const std::string& line) {
  std::vector<std::string> fields;
  size_t begin = 0;
  for (size_t tab; (tab = line.find('\t', begin)) != std::string::npos; begin = tab + 1) {
    fields.push_back(line.substr(begin, tab - begin));
  }
  fields.push_back(line.substr(begin));
  return fields;
}

std::vector<std::string> split_csv(const std::string& line, LineReader& lines) {
  const std::string where = lines.where();
  std::vector<std::string> fields;
  std::string rest = line;
  size_t i = 0;
  while (true) {
    std::string field;
    if (i >= rest.size() || rest[i] != '"') {
      const size_t end = std::min(rest.find(',', i), rest.size());
      field = rest.substr(i, end - i);
      i = end;
    } else {
      ++i;
      while (i >= rest.size() || rest[i] != '"' || rest.compare(i, 2, "\"\"") == 0) {
        if (i < rest.size()) {
          if (rest[i] == '"') ++i;
          field += rest[i++];
          continue;
        }
        SIMILE_CHECK(static_cast<int64_t>(field.size()) <= kMaximumLineBytes && lines.next(rest),
                     ErrorKind::kInput,
                     where +
                         ": a quoted field that begins in this row is never closed; close it "
                         "with a \", and write a quote inside it as \"\"");
        field += '\n';
        i = 0;
      }
      ++i;
      SIMILE_CHECK(i >= rest.size() || rest[i] == ',', ErrorKind::kInput,
                   fmt::format("{}: expected a comma after a quoted field, found '{}'; write a "
                               "quote inside a quoted field as \"\"",
                               where, rest.substr(i, 20)));
    }
    fields.push_back(std::move(field));
    if (i >= rest.size()) return fields;
    ++i;  // the comma
  }
}

std::vector<JsonField> parse_json_members(const std::string& line, const std::string& where) {
  MemberCollector collector;
  const bool good = Json::sax_parse(line, &collector);
  SIMILE_CHECK(good, ErrorKind::kInput,
               fmt::format("{}: expected one JSON object per line: {}", where,
                           plain_message(collector.problem)));
  SIMILE_CHECK(collector.is_object, ErrorKind::kInput,
               fmt::format("{}: expected a JSON object such as {{\"text\": \"...\"}}, found '{}'",
                           where, line.substr(0, 40)));
  return std::move(collector.members);
}

}  // namespace simile
