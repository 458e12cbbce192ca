// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/text/detail/components.h"
#include "simile/text/detail/tokenizer_core.h"

namespace simile {
namespace {

using detail::Json;

const Json& member_or_null(const Json& root, const char* key) {
  static const Json null;
  const auto found = root.find(key);
  return found == root.end() ? null : *found;
}

// The end of the JSON string that starts (with its quote) at `begin`. The text is valid JSON.
size_t skip_string(std::string_view text, size_t begin) {
  size_t i = begin + 1;
  while (text[i] != '"') i += text[i] == '\\' ? 2 : 1;
  return i + 1;
}

// The end of the value that starts at `begin`.
size_t skip_value(std::string_view text, size_t begin) {
  if (text[begin] == '"') return skip_string(text, begin);
  if (text[begin] != '{' && text[begin] != '[') {
    return std::min(text.find_first_of(",} \t\r\n", begin), text.size());
  }
  int64_t depth = 0;
  for (size_t i = begin; i < text.size();) {
    const char c = text[i];
    if (c == '"') {
      i = skip_string(text, i);
      continue;
    }
    ++i;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return i;
  }
  return text.size();
}

size_t skip_space(std::string_view text, size_t i) {
  while (i < text.size() &&
         (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r')) {
    ++i;
  }
  return i;
}

// The JSON object `text` with the members "truncation" and "padding" null, otherwise byte for byte.
std::string without_limits(std::string_view text) {
  std::string result;
  size_t i = text.find('{') + 1;
  size_t copied = 0;
  while (text[i = skip_space(text, i)] == '"') {
    const size_t name_end = skip_string(text, i);
    const std::string_view name = text.substr(i + 1, name_end - i - 2);
    const size_t begin = skip_space(text, skip_space(text, name_end) + 1);  // after the colon
    const size_t end = skip_value(text, begin);
    if (name == "truncation" || name == "padding") {
      result += text.substr(copied, begin - copied);
      result += "null";
      copied = end;
    }
    i = skip_space(text, end);
    if (text[i] == ',') ++i;
  }
  result += text.substr(copied);
  return result;
}

// The model's tokens and the added ones as one vocabulary without gaps.
Vocabulary join_vocabulary(const Vocabulary& model, const std::vector<AddedToken>& added,
                           const std::string& source) {
  std::vector<std::pair<std::string, int64_t>> entries;
  for (int32_t id = 0; id < model.size(); ++id) {
    const std::string_view token = model.token(id);
    if (!token.empty() || model.find(token) == id) entries.emplace_back(token, id);
  }
  std::set<std::pair<std::string, int32_t>> taken;
  for (const AddedToken& token : added) {
    const int32_t known = model.find(token.content);
    SIMILE_CHECK(
        known < 0 || known == token.id, ErrorKind::kInput,
        fmt::format("{}: added token \"{}\" has id {}, but the model's vocabulary gives it "
                    "id {}",
                    source, token.content, token.id, known));
    if (known < 0 && taken.insert({token.content, token.id}).second) {
      entries.emplace_back(token.content, token.id);
    }
  }
  const auto count = static_cast<int64_t>(entries.size());
  return Vocabulary(
      std::move(entries), count, source,
      model.repeats() ? Vocabulary::Repeats::kLastWins : Vocabulary::Repeats::kRefused);
}

AddedTokenFinder make_finder(const TokenizerCore& core, bool normalized) {
  std::vector<AddedToken> tokens;
  std::vector<std::string> patterns;
  // Of tokens that look the same in normal form, a special one is found.
  std::vector<AddedToken> ordered = core.added_tokens;
  std::stable_partition(ordered.begin(), ordered.end(),
                        [](const AddedToken& token) { return token.special; });
  for (const AddedToken& token : ordered) {
    if (token.normalized != normalized) continue;
    tokens.push_back(token);
    patterns.push_back(token.content);
    if (normalized && core.normalizer != nullptr) {
      NormalizedText raw;
      NormalizedText out;
      raw.assign(token.content, 0, false);
      core.normalizer->normalize(raw, out);
      patterns.back() = out.text;
    }
  }
  return AddedTokenFinder(std::move(tokens), patterns);
}

int32_t find_first(const Vocabulary& vocabulary, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const int32_t id = vocabulary.find(name);
    if (id >= 0) return id;
  }
  return -1;
}

SpecialTokens find_special_tokens(const TokenizerCore& core) {
  SpecialTokens special;
  special.unk = core.model->unknown_id();
  if (special.unk < 0) special.unk = find_first(core.vocabulary, {"[UNK]", "<unk>"});
  special.pad = find_first(core.vocabulary, {"[PAD]", "<pad>"});
  special.mask = find_first(core.vocabulary, {"[MASK]", "<mask>"});
  const auto& pieces = core.post_processor.single;
  const auto is_special = [](const TemplatePiece& piece) {
    return piece.kind == TemplatePiece::Kind::kSpecial;
  };
  if (!pieces.empty() && is_special(pieces.front())) special.cls = pieces.front().id;
  if (!pieces.empty() && is_special(pieces.back())) special.sep = pieces.back().id;
  if (special.cls < 0) special.cls = find_first(core.vocabulary, {"[CLS]", "<s>"});
  if (special.sep < 0) special.sep = find_first(core.vocabulary, {"[SEP]", "</s>"});
  return special;
}

}  // namespace

std::shared_ptr<const TokenizerCore> read_tokenizer_core(std::string_view json,
                                                         const std::string& source) {
  detail::ModelTables tables;
  const Json root = detail::parse_json(json, source, detail::model_streams(source, tables));
  const detail::JsonObject object(root, source);
  auto core = std::make_shared<TokenizerCore>();
  core->source = source;
  core->added_tokens = detail::read_added_tokens(member_or_null(root, "added_tokens"), source);
  core->normalizer = detail::make_normalizer(member_or_null(root, "normalizer"), source);
  core->pre_tokenizer = detail::make_pre_tokenizer(member_or_null(root, "pre_tokenizer"), source);
  core->model = detail::make_model(object.at("model"), tables,
                                   static_cast<int64_t>(core->added_tokens.size()), source);
  core->vocabulary = join_vocabulary(core->model->vocabulary(), core->added_tokens, source);
  core->post_processor = detail::make_post_processor(member_or_null(root, "post_processor"),
                                                     core->vocabulary.size(), source);
  core->decoder = detail::make_decoder(member_or_null(root, "decoder"), source);
  core->raw_finder = make_finder(*core, false);
  core->normalized_finder = make_finder(*core, true);
  core->special = find_special_tokens(*core);
  core->is_special.assign(static_cast<size_t>(core->vocabulary.size()), 0);
  for (const AddedToken& token : core->added_tokens) {
    if (token.special) core->is_special[static_cast<size_t>(token.id)] = 1;
  }
  core->document = without_limits(json);
  return core;
}

}  // namespace simile
