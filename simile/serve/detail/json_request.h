// SPDX-License-Identifier: Apache-2.0
// Reading the body of a request: each mistake is a RequestError that names the key, what was
// expected and what was found. Null stands for a member that is not there; keys that are not asked
// for are ignored, as the servers do whose routes these are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/serve/embedder.h"
#include "simile/serve/serve_options.h"

namespace simile::detail {

class JsonRequest {
 public:
  // Errors: kMalformed for what is no JSON object, or nested deeper than parse_json() reads.
  JsonRequest(std::string_view body, const ServeLimits& limits);

  // The object under `key`, which must (`part`) or may (`part_or_empty`) be there.
  JsonRequest part(const char* key) const;
  JsonRequest part_or_empty(const char* key) const;
  // The objects of a list of at most bulk_texts. Errors: kEmpty for an empty one, kTooManyInputs.
  std::vector<JsonRequest> parts(const char* key) const;

  std::string text(const char* key) const;
  std::string full_text(const char* key) const;  // Errors: kEmpty for an empty one
  std::string text_or(const char* key, const std::string& fallback) const;
  // An object of texts, numbers, true and false, as JSON; empty where the key is missing.
  std::string metadata(const char* key) const;
  std::optional<bool> flag(const char* key) const;
  int64_t integer_or(const char* key, int64_t fallback, int64_t minimum, int64_t maximum) const;
  // One of `choices`; the first where the key is missing.
  std::string choice(const char* key, const std::vector<std::string>& choices) const;

  // A text or a list of them, of `most` or request_texts. Errors: kEmpty for an empty list,
  // kTooManyInputs.
  std::vector<std::string> texts(const char* key, int64_t most = 0) const;
  // The same. Errors: kEmpty for an empty text too.
  std::vector<std::string> full_texts(const char* key) const;
  // Texts, none empty, or token ids in their place: one list of ids, or a list of texts and lists.
  std::vector<TextInput> inputs(const char* key, int64_t most = 0) const;

  // A list of token ids, or a list of such lists. Errors: kEmpty, kTooManyInputs.
  std::vector<std::vector<int32_t>> id_lists(const char* key) const;

  bool has(const char* key) const { return find(key) != nullptr; }

  std::string name(const char* key) const { return prefix_ + key; }  // in messages

 private:
  JsonRequest(Json json, const ServeLimits& limits, const std::string& prefix);
  const Json* find(const char* key) const;  // null: not there
  const Json& at(const char* key) const;
  std::string checked_text(const std::string& name, const Json& value) const;
  TextInput input(const char* key, const std::string& name, const Json& value) const;
  void check_count(const char* key, size_t count, int64_t most = 0) const;
  void check_full(const char* key, const std::string& name, const std::string& text) const;

  Json json_;
  const ServeLimits& limits_;
  std::string prefix_;  // of names in messages: "parameters."
};

}  // namespace simile::detail
