// SPDX-License-Identifier: Apache-2.0
#include "simile/core/detail/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/file_kind.h"
#include "simile/core/hash.h"

namespace simile::detail {
namespace {

constexpr int kDeepest = 100;

[[noreturn]] void fail(const std::string& source, const char* key, const std::string& expected,
                       const Json& found) {
  throw_error(ErrorKind::kInput, "{}: \"{}\" must be {}, but it is {}", source, key, expected,
              describe_json(found));
}

using Event = Json::parse_event_t;

// Checks the document and takes streamed members out of it while the parser reads.
class Watcher {
 public:
  Watcher(const std::string& source, const std::vector<JsonStream>& streams)
      : source_(source), streams_(streams) {}

  // Whether the tree is to hold what was just read; `depth` containers are around it.
  bool keep(int depth, Event event, const Json& value) {
    SIMILE_CHECK(depth <= kDeepest, ErrorKind::kInput, "{}: JSON nested deeper than {} levels",
                 source_, kDeepest);
    if (event == Event::key) return keep_key(static_cast<size_t>(depth), value);
    const JsonStream* stream = find_stream(static_cast<size_t>(depth));
    if (stream == nullptr) return true;
    const bool named = names_.size() == static_cast<size_t>(depth);
    if (event == Event::object_start || event == Event::array_start) {
      SIMILE_CHECK(!named, ErrorKind::kInput,
                   "{}: \"{}\" in \"{}\" must be a single value, but it is a list or an object",
                   source_, names_.back(), stream->path.back());
      return true;
    }
    stream->take(named, named ? names_.back() : std::string(), value);
    return named;  // a member whose name was not kept goes with it
  }

  void finish() const {
    SIMILE_CHECK(twice_.empty(), ErrorKind::kInput, "{}: the name \"{}\" occurs twice", source_,
                 twice_);
  }

 private:
  bool keep_key(size_t depth, const Json& value) {
    names_.resize(depth);
    names_.back() = value.get_ref<const std::string&>();
    if (depth == 1 && !known_.insert(names_[0]).second && twice_.empty()) twice_ = names_[0];
    for (const JsonStream& stream : streams_) {
      SIMILE_CHECK(names_ != stream.path || entered_.insert(names_).second, ErrorKind::kInput,
                   "{}: the name \"{}\" occurs twice", source_, names_.back());
    }
    return find_stream(depth) == nullptr;
  }

  // The stream whose elements have `depth` containers around them, if one is being read.
  const JsonStream* find_stream(size_t depth) const {
    for (const JsonStream& stream : streams_) {
      if (stream.path.size() + 1 != depth || names_.size() < stream.path.size()) continue;
      if (std::equal(stream.path.begin(), stream.path.end(), names_.begin())) return &stream;
    }
    return nullptr;
  }

  const std::string& source_;
  const std::vector<JsonStream>& streams_;
  std::vector<std::string> names_;              // of the members being read, from the top
  std::set<std::string> known_;                 // at the top
  std::set<std::vector<std::string>> entered_;  // paths of streams
  std::string twice_;
};

[[noreturn]] void fail_to_parse(std::string_view text, const std::string& source,
                                const std::string& problem) {
  const std::string foreign = describe_foreign(text);
  throw_error(ErrorKind::kInput, "{}: not valid JSON: {}", source,
              foreign.empty() ? problem : "it " + foreign);
}

// The parser takes a zero byte for the end and would drop the rest.
void check_no_zero(std::string_view text, const std::string& source) {
  if (text.find('\0') != std::string_view::npos) fail_to_parse(text, source, "it has a zero byte");
}

// Builds the tree while the parser reads. Time: n log n of the names in an object.
class ConfigReader : public nlohmann::json_sax<Json> {
 public:
  explicit ConfigReader(const std::string& source) : source_(source) {}

  ConfigNode take() { return std::move(root_); }
  const std::string& problem() const { return problem_; }

  bool null() override { return place(), true; }
  bool boolean(bool value) override {
    return scalar(value ? "true" : "false", ConfigNode::Type::kTruth);
  }
  bool number_integer(number_integer_t value) override { return number(value); }
  bool number_unsigned(number_unsigned_t value) override { return number(value); }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t& value) override {
    return scalar(std::move(value), ConfigNode::Type::kText);
  }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool start_object(std::size_t) override { return open(ConfigNode::Kind::kMap); }
  bool start_array(std::size_t) override { return open(ConfigNode::Kind::kList); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    SIMILE_CHECK(around_.back().names.insert(name).second, ErrorKind::kInput,
                 "{}: the name \"{}\" occurs twice", source_, name);
    around_.back().node->members.emplace_back(std::move(name), ConfigNode());
    return true;
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& error) override {
    problem_ = error.what();
    return false;
  }

 private:
  struct Container {
    ConfigNode* node;
    std::set<std::string> names;
  };

  // The node of the value that was just read. Those around it stay where they are until they end.
  ConfigNode& place() {
    ConfigNode* node = &root_;
    if (!around_.empty()) {
      ConfigNode& parent = *around_.back().node;
      node = parent.kind == ConfigNode::Kind::kMap ? &parent.members.back().second
                                                   : &parent.items.emplace_back();
    }
    node->source = source_;
    return *node;
  }
  bool scalar(std::string text, ConfigNode::Type type) {
    ConfigNode& node = place();
    node.kind = ConfigNode::Kind::kScalar;
    node.type = type;
    node.scalar = std::move(text);
    return true;
  }
  bool number(const Json& value) { return scalar(value.dump(), ConfigNode::Type::kNumber); }
  bool open(ConfigNode::Kind kind) {
    SIMILE_CHECK(around_.size() < kDeepest, ErrorKind::kInput,
                 "{}: JSON nested deeper than {} levels", source_, kDeepest);
    ConfigNode& node = place();
    node.kind = kind;
    around_.push_back({&node, {}});
    return true;
  }
  bool close() {
    around_.pop_back();
    return true;
  }

  const std::string& source_;
  ConfigNode root_;
  std::vector<Container> around_;
  std::string problem_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& source,
                const std::vector<JsonStream>& streams) {
  check_no_zero(text, source);
  Watcher watcher(source, streams);
  Json json;
  try {
    json = Json::parse(text.begin(), text.end(), [&](int depth, Event event, Json& value) {
      return watcher.keep(depth, event, value);
    });
  } catch (const Json::exception& error) {
    fail_to_parse(text, source, error.what());
  }
  watcher.finish();
  return json;
}

Json read_json(const std::string& path) { return parse_json(read_file(path), path); }

std::string dump_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string describe_json(const Json& json) {
  std::string shown = dump_json(json, -1);
  if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
  return fmt::format("{} {}", json.type_name(), shown);
}

JsonObject::JsonObject(const Json& json, const std::string& source) : json_(json), source_(source) {
  SIMILE_CHECK(json.is_object(), ErrorKind::kInput, "{}: expected a JSON object, found {}", source,
               describe_json(json));
}

bool JsonObject::has(const char* key) const {
  return json_.contains(key) && !json_.at(key).is_null();
}

bool JsonObject::is_null(const char* key) const {
  return json_.contains(key) && json_.at(key).is_null();
}

const Json& JsonObject::at(const char* key) const {
  SIMILE_CHECK(has(key), ErrorKind::kInput, "{}: \"{}\" is missing", source_, key);
  return *json_.find(key);
}

const Json& JsonObject::list(const char* key) const {
  const Json& value = at(key);
  if (!value.is_array()) fail(source_, key, "a list", value);
  return value;
}

int64_t JsonObject::integer(const char* key, int64_t minimum, int64_t maximum) const {
  const Json& value = at(key);
  const bool is_too_large =
      value.is_number_unsigned() &&
      value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const int64_t number =
      value.is_number_integer() && !is_too_large ? value.get<int64_t>() : minimum;
  if (!value.is_number_integer() || is_too_large || number < minimum || number > maximum) {
    fail(source_, key, fmt::format("a whole number between {} and {}", minimum, maximum), value);
  }
  return number;
}

int64_t JsonObject::integer_or(const char* key, int64_t fallback, int64_t minimum,
                               int64_t maximum) const {
  return has(key) ? integer(key, minimum, maximum) : fallback;
}

double JsonObject::number_or(const char* key, double fallback, double minimum,
                             double maximum) const {
  if (!has(key)) return fallback;
  const Json& value = at(key);
  const std::string expected = fmt::format("a number between {} and {}", minimum, maximum);
  if (!value.is_number()) fail(source_, key, expected, value);
  const double number = value.get<double>();
  if (!(number >= minimum && number <= maximum)) fail(source_, key, expected, value);
  return number;
}

bool JsonObject::flag_or(const char* key, bool fallback) const {
  if (!has(key)) return fallback;
  const Json& value = at(key);
  if (!value.is_boolean()) fail(source_, key, "true or false", value);
  return value.get<bool>();
}

std::string JsonObject::text(const char* key) const {
  const Json& value = at(key);
  if (!value.is_string()) fail(source_, key, "text", value);
  return value.get<std::string>();
}

std::string JsonObject::text_or(const char* key, const std::string& fallback) const {
  return has(key) ? text(key) : fallback;
}

nlohmann::ordered_json json_of(const ConfigNode& node) {
  using Ordered = nlohmann::ordered_json;
  if (node.kind == ConfigNode::Kind::kNull) return nullptr;
  if (node.kind == ConfigNode::Kind::kScalar) {
    const bool is_text =
        node.type == ConfigNode::Type::kUntold || node.type == ConfigNode::Type::kText;
    return is_text ? Ordered(node.scalar) : Ordered::parse(node.scalar);
  }
  Ordered json = node.kind == ConfigNode::Kind::kList ? Ordered::array() : Ordered::object();
  for (const ConfigNode& item : node.items) json.push_back(json_of(item));
  for (const auto& [name, member] : node.members) {
    json.get_ref<Ordered::object_t&>().emplace_back(name, json_of(member));  // names differ
  }
  return json;
}

std::string seal_of(Json object) {
  object.erase(kSeal);
  return hash_bytes(dump_json(object, -1));
}

void check_seal(const Json& object, const std::string& source, const std::string& remedy) {
  SIMILE_CHECK(JsonObject(object, source).text(kSeal) == seal_of(object), ErrorKind::kInput,
               "{} is damaged or was changed by hand: checksum mismatch; {}", source, remedy);
}

}  // namespace simile::detail

namespace simile {

ConfigNode parse_json_config(std::string_view text, const std::string& source) {
  detail::ConfigReader reader(source);
  detail::check_no_zero(text, source);
  if (!detail::Json::sax_parse(text.begin(), text.end(), &reader)) {
    detail::fail_to_parse(text, source, reader.problem());
  }
  return reader.take();
}

std::string config_to_json(const ConfigNode& node) {
  return detail::json_of(node).dump(-1, ' ', false, detail::Json::error_handler_t::replace);
}

}  // namespace simile
