// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/tokenizer_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace simile::detail {

std::string quote_json(std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<uint8_t>(c) >= 0x20 && c != '"' && c != '\\' && c != 0x7F;
  });
  return plain ? fmt::format("\"{}\"", text) : dump_json(Json(text), -1);
}

std::string tokens_and_merges_text(
    const std::vector<std::string_view>& tokens,
    const std::vector<std::pair<std::string_view, std::string_view>>& merges) {
  std::string text = "\"vocab\":{";
  const char* separator = "";
  for (size_t id = 0; id < tokens.size(); ++id) {
    text += fmt::format("{}{}:{}", separator, quote_json(tokens[id]), id);
    separator = ",";
  }
  text += "},\"merges\":[";
  separator = "";
  for (const auto& [left, right] : merges) {
    text += fmt::format("{}[{},{}]", separator, quote_json(left), quote_json(right));
    separator = ",";
  }
  return text + "]}";
}

Json special_token_entry(std::string_view content, int64_t id) {
  return {{"id", id},
          {"content", content},
          {"single_word", false},
          {"lstrip", content == "<mask>" || content == "[MASK]"},
          {"rstrip", false},
          {"normalized", false},
          {"special", true}};
}

Json sequence_of(const char* name, std::vector<Json> steps) {
  if (steps.empty()) return nullptr;
  if (steps.size() == 1) return std::move(steps.front());
  return {{"type", "Sequence"}, {name, std::move(steps)}};
}

Json trained_normalizer(bool compatibility, bool lowercase) {
  std::vector<Json> steps;
  const auto add = [&](const char* type) { steps.push_back({{"type", type}}); };
  if (compatibility) add("Nmt");
  if (lowercase) {
    add(compatibility ? "NFKD" : "NFD");
    add("StripAccents");
    add("NFC");
    add("Lowercase");
  } else if (compatibility) {
    add("NFKC");
  }
  return sequence_of("normalizers", std::move(steps));
}

Json trained_post_processor(int64_t first, int64_t last) {
  const auto special = [](const char* token) {
    return Json{{"SpecialToken", {{"id", token}, {"type_id", 0}}}};
  };
  const auto sequence = [](const char* name) {
    return Json{{"Sequence", {{"id", name}, {"type_id", 0}}}};
  };
  const auto entry = [](const char* token, int64_t id) {
    return Json{{"id", token}, {"ids", {id}}, {"tokens", {token}}};
  };
  const Json single = {special("<s>"), sequence("A"), special("</s>")};
  Json pair = single;
  pair.insert(pair.end(), {special("</s>"), sequence("B"), special("</s>")});
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", {{"<s>", entry("<s>", first)}, {"</s>", entry("</s>", last)}}}};
}

std::string trained_document(const std::vector<std::string>& special_tokens,
                             const std::vector<int64_t>& special_ids, const Json& normalizer,
                             const Json& pre_tokenizer, const Json& post_processor,
                             const Json& decoder, const std::string& model) {
  Json added = Json::array();
  for (size_t i = 0; i < special_tokens.size(); ++i) {
    added.push_back(special_token_entry(special_tokens[i], special_ids[i]));
  }
  std::string text = R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":)";
  text += dump_json(added, -1);
  text += ",\"normalizer\":" + dump_json(normalizer, -1);
  text += ",\"pre_tokenizer\":" + dump_json(pre_tokenizer, -1);
  text += ",\"post_processor\":" + dump_json(post_processor, -1);
  text += ",\"decoder\":" + dump_json(decoder, -1);
  return text + ",\"model\":" + model + "}";
}

}  // namespace simile::detail
