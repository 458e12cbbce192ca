// SPDX-License-Identifier: Apache-2.0
// Reading JSON written by others: a missing or wrong-typed member is an error that names the file,
// the key, what was expected and what was found (ErrorKind::kInput). For sources only, never for
// public headers.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "simile/core/config.h"

namespace simile::detail {

using Json = nlohmann::json;

// Takes the elements of one large member out of the stream, so that they never become a tree.
// `path` holds the names that lead to the member from the top. `take` gets true, the name and the
// value for an object's members; false, "" and the element for an array's. It throws to stop.
struct JsonStream {
  std::vector<std::string> path;
  std::function<void(bool named, const std::string& name, const Json& value)> take;
};

// Parses `text`; `source` is the file name used in messages. A name that occurs twice in one object
// at the top level is an error, and so is nesting deeper than 100 levels. Members that streams take
// are left empty in the result.
Json parse_json(std::string_view text, const std::string& source,
                const std::vector<JsonStream>& streams = {});
Json read_json(const std::string& path);

// Text that is not valid UTF-8 is written with U+FFFD in place of the broken bytes.
std::string dump_json(const Json& json, int indent = 2);

// A tree of settings as JSON; scalars of unknown type become texts.
nlohmann::ordered_json json_of(const ConfigNode& node);

// A JSON object and the file it came from. Holds references: keep both alive.
class JsonObject {
 public:
  JsonObject(const Json& json, const std::string& source);

  bool has(const char* key) const;      // present and not null
  bool is_null(const char* key) const;  // present and null
  const Json& at(const char* key) const;
  const Json& list(const char* key) const;
  int64_t integer(const char* key, int64_t minimum, int64_t maximum) const;
  int64_t integer_or(const char* key, int64_t fallback, int64_t minimum, int64_t maximum) const;
  double number_or(const char* key, double fallback, double minimum, double maximum) const;
  bool flag_or(const char* key, bool fallback) const;
  std::string text(const char* key) const;
  std::string text_or(const char* key, const std::string& fallback) const;
  const Json& json() const { return json_; }
  const std::string& source() const { return source_; }

 private:
  const Json& json_;
  const std::string& source_;
};

// JSON documents that know when they are damaged: the member "checksum" is the hash_bytes() of all
// others, as dump_json() writes them.
inline constexpr const char* kSeal = "checksum";

// The seal of an object that has none.
std::string seal_of(Json object);

// Errors (kInput): `object`, read from `source`, has another seal, or none. `remedy`: what to do.
void check_seal(const Json& object, const std::string& source, const std::string& remedy);

// "a number", "text \"gelu\"" ...: a value as an error message shows it, shortened.
std::string describe_json(const Json& json);

}  // namespace simile::detail
