// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/detail/request_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>

#include "simile/core/detail/json.h"
#include "simile/index/document_store.h"
#include "simile/serve/request_error.h"

namespace simile::detail {
namespace {

using Kind = ConfigNode::Kind;
using Type = ConfigNode::Type;

std::string describe(const ConfigNode& node) { return describe_json(json_of(node)); }

[[noreturn]] void refuse(const std::string& name, const std::string& expected,
                         const ConfigNode& found) {
  throw RequestError(
      Refusal::kInvalid,
      fmt::format("\"{}\" must be {}, but it is {}", name, expected, describe(found)), name);
}

std::string element_name(const std::string& list, size_t i) {
  return fmt::format("{}[{}]", list, i);
}

void check_text(const std::string& name, const std::string& text, const ServeLimits& limits,
                const OptionInfo& info) {
  const auto bytes = static_cast<int64_t>(text.size());
  const bool fits = static_cast<double>(bytes) <= info.maximum;
  const bool is_missing = bytes == 0 && info.minimum > 0;
  SIMILE_REQUEST_CHECK(!is_missing || !std::isinf(info.maximum), Refusal::kEmpty,
                       fmt::format("\"{}\" is an empty text", name),
                       name.substr(0, name.find('[')));
  SIMILE_REQUEST_CHECK(fits && !is_missing, Refusal::kInvalid,
                       fmt::format("\"{}\" must have {} to {} bytes, but it has {}", name,
                                   info.minimum, info.maximum, bytes),
                       name);
  SIMILE_REQUEST_CHECK(
      bytes <= limits.text_bytes, Refusal::kInvalid,
      fmt::format("\"{}\" has {} bytes; a text may have {}", name, bytes, limits.text_bytes), name);
}

void check_count(const std::string& name, size_t count, const ServeLimits& limits, BodySize size) {
  SIMILE_REQUEST_CHECK(count > 0, Refusal::kEmpty, fmt::format("\"{}\" is empty", name), name);
  const int64_t most = size == BodySize::kBulk ? std::max(limits.bulk_texts, limits.request_texts)
                                               : limits.request_texts;
  SIMILE_REQUEST_CHECK(static_cast<int64_t>(count) <= most, Refusal::kTooManyInputs,
                       fmt::format("\"{}\" has {} texts; a request may have {}", name, count, most),
                       name);
}

// Checks a parsed request against the operator's limits.
class LimitChecker : public OptionVisitor {
 public:
  LimitChecker(std::string prefix, const ServeLimits& limits, BodySize size)
      : prefix_(std::move(prefix)), limits_(limits), size_(size) {}

  void visit_value(const char* name, const OptionValue& value, const OptionInfo& info) override {
    check(prefix_ + name, value, info);
  }
  void visit_group(const char* name, const std::string&, const Members& members) override {
    check(prefix_ + name, OptionValue(members), {});
  }
  void visit_list(const char*, const std::string&, const List&) override {}

 private:
  void check(const std::string& name, const OptionValue& value, const OptionInfo& info) const {
    const auto& reference = value.reference();
    if (const auto* text = std::get_if<std::string*>(&reference)) {
      check_text(name, **text, limits_, info);
    } else if (const auto* members = std::get_if<Members>(&reference)) {
      LimitChecker inner(name + ".", limits_, size_);
      (*members)(inner);
    } else if (const auto* optional = std::get_if<OptionValue::Optional>(&reference)) {
      if (optional->has_value) check(name, optional->value(), info);
    } else if (const auto* list = std::get_if<OptionValue::List>(&reference)) {
      const OptionValue example = list->element(list->size);
      if (std::holds_alternative<float*>(example.reference())) return;  // a vector
      check_count(name, list->size, limits_, size_);
      const bool is_one = list->size == 1 && info.takes_one;
      for (size_t i = 0; i < list->size; ++i) {
        check(is_one ? name : element_name(name, i), list->element(i), info);
      }
    }
  }

  const std::string prefix_;
  const ServeLimits& limits_;
  const BodySize size_;
};

bool is_id(const ConfigNode& node) {
  return node.kind == Kind::kScalar && node.type == Type::kNumber && node.scalar.size() <= 10 &&
         node.scalar.find_first_not_of("0123456789") == std::string::npos &&
         std::strtoll(node.scalar.c_str(), nullptr, 10) <= std::numeric_limits<int32_t>::max();
}

bool is_id_list(const ConfigNode& node) {
  return node.kind == Kind::kList && !node.items.empty() &&
         std::all_of(node.items.begin(), node.items.end(), is_id);
}

std::vector<int32_t> ids_of(const std::string& name, const ConfigNode& node) {
  if (node.kind != Kind::kList) refuse(name, "a list of token ids", node);
  std::vector<int32_t> ids;
  for (size_t i = 0; i < node.items.size(); ++i) {
    if (!is_id(node.items[i])) refuse(element_name(name, i), "a token id", node.items[i]);
    ids.push_back(static_cast<int32_t>(std::atoi(node.items[i].scalar.c_str())));
  }
  return ids;
}

TextInput read_input(const ConfigNode& node, const std::string& name, const ServeLimits& limits) {
  TextInput input;
  if (is_id_list(node)) {
    input.is_ids = true;
    input.ids = ids_of(name, node);
  } else if (node.kind == Kind::kScalar && node.type == Type::kText) {
    input.text = node.scalar;
    check_text(name, input.text, limits, {"", "", 1});
  } else {
    refuse(name, "a text or a list of token ids", node);
  }
  return input;
}

}  // namespace

void read_body(std::string_view body, const ServeLimits& limits, BodySize size,
               const OptionVisitor::Members& members) {
  ConfigNode node;
  try {
    node = parse_json_config(body, "the body");
  } catch (const Error& error) {
    throw RequestError(Refusal::kMalformed, error.what());
  }
  SIMILE_REQUEST_CHECK(node.kind == Kind::kMap, Refusal::kMalformed,
                       "the body must be a JSON object, but it is " + describe(node));
  try {
    read_option_members(node, members, OptionSource::kJson);
  } catch (const OptionError& error) {
    throw RequestError(Refusal::kInvalid, error.problem, error.key);
  }
  LimitChecker checker("", limits, size);
  members(checker);
}

void read_query(const AddressQuery& query, const OptionVisitor::Members& members) {
  std::map<std::string, std::vector<ConfigNode>> values;
  for (const auto& [name, text] : query) {
    values[name].push_back({Kind::kScalar, text, {}, {}, "the address"});
  }
  ConfigNode node;
  node.kind = Kind::kMap;
  for (auto& [name, given] : values) {
    const ConfigNode list{Kind::kList, "", given, {}, given[0].source};
    node.members.emplace_back(name, given.size() == 1 ? given[0] : list);
  }
  try {
    read_option_members(node, members);
  } catch (const OptionError& error) {
    throw RequestError(Refusal::kInvalid, error.problem, error.key);
  } catch (const Error& error) {
    throw RequestError(Refusal::kInvalid, error.what());
  }
}

OptionInfo inputs_info(const std::string& help) {
  return OptionInfo{help}.required().one_or_more().shaped_as<std::string, std::vector<int32_t>>();
}

std::vector<TextInput> read_inputs(const ConfigNode& node, const std::string& key,
                                   const ServeLimits& limits, BodySize size) {
  if (node.kind != Kind::kList || is_id_list(node)) return {read_input(node, key, limits)};
  check_count(key, node.items.size(), limits, size);
  std::vector<TextInput> inputs;
  for (size_t i = 0; i < node.items.size(); ++i) {
    inputs.push_back(read_input(node.items[i], element_name(key, i), limits));
  }
  return inputs;
}

std::vector<std::string> read_documents(const ConfigNode& node, const std::string& key,
                                        const ServeLimits& limits) {
  ConfigNode texts = node;
  for (ConfigNode& item : texts.items) {
    const ConfigNode* const text = item.kind == Kind::kMap ? item.find("text") : nullptr;
    if (text != nullptr) item = ConfigNode(*text);
  }
  std::vector<std::string> read;
  for (TextInput& input : read_inputs(texts, key, limits, BodySize::kBulk)) {
    if (input.is_ids) refuse(key, "a text or a list of texts", node);
    read.push_back(std::move(input.text));
  }
  return read;
}

OptionInfo id_lists_info(const std::string& help) {
  return OptionInfo{help}.required().one_or_more().shaped_as<std::vector<int32_t>>();
}

std::vector<std::vector<int32_t>> read_id_lists(const ConfigNode& node, const std::string& key,
                                                const ServeLimits& limits) {
  if (node.kind != Kind::kList) refuse(key, "a list of token ids, or a list of such lists", node);
  if (!node.items.empty() && node.items[0].kind != Kind::kList) return {ids_of(key, node)};
  check_count(key, node.items.size(), limits, BodySize::kUsual);
  std::vector<std::vector<int32_t>> lists;
  for (size_t i = 0; i < node.items.size(); ++i) {
    lists.push_back(ids_of(element_name(key, i), node.items[i]));
  }
  return lists;
}

std::string read_metadata(const ConfigNode& node, const std::string& key, bool with_nulls) {
  if (node.kind == Kind::kNull) return "";
  if (node.kind != Kind::kMap) refuse(key, "an object", node);
  for (const auto& [column, member] : node.members) {
    const bool is_null = with_nulls && member.kind == Kind::kNull;
    const bool is_list = member.kind == Kind::kList &&
                         std::all_of(member.items.begin(), member.items.end(),
                                     [](const auto& item) { return item.kind == Kind::kScalar; });
    if (member.kind != Kind::kScalar && !is_null && !is_list) {
      refuse(key + "." + column, "a text, a number, true or false, or a list of these", member);
    }
  }
  std::string written = config_to_json(node);
  SIMILE_REQUEST_CHECK(written.size() <= kMaximumMetadataBytes, Refusal::kInvalid,
                       fmt::format("\"{}\" has {} bytes; a document's metadata may have {}", key,
                                   written.size(), kMaximumMetadataBytes),
                       key);
  return written;
}

}  // namespace simile::detail
