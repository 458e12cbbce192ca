// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/tokenizer_class.h"

#include <algorithm>

#include "simile/core/file.h"
#include "simile/text/detail/tokenizer_document.h"
#include "simile/text/detail/tokenizer_folder.h"

namespace simile::detail {
namespace {

using Kind = TokenizerKind;

struct ClassRow {
  Kind kind;
  std::vector<const char*> classes;
  const char* model;                // type of its model
  std::vector<const char*> tokens;  // bos, eos, unk, sep, pad, cls, mask; empty: none
};

const std::vector<ClassRow>& rows() {
  static const std::vector<const char*> sentence = {"<s>",   "</s>", "<unk>", "</s>",
                                                    "<pad>", "<s>",  "<mask>"};
  static const std::vector<ClassRow> table = {
      {Kind::kBert,
       {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "ConvBertTokenizer",
        "MobileBertTokenizer", "LayoutLMTokenizer", "LxmertTokenizer", "SqueezeBertTokenizer",
        "DPRQuestionEncoderTokenizer", "DPRContextEncoderTokenizer"},
       "WordPiece",
       {"", "", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}},
      {Kind::kMpnet,
       {"MPNetTokenizer"},
       "WordPiece",
       {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"}},
      {Kind::kGpt2,
       {"GPT2Tokenizer"},
       "BPE",
       {"<|endoftext|>", "<|endoftext|>", "<|endoftext|>", "", "", "", ""}},
      {Kind::kRoberta,
       {"RobertaTokenizer", "BartTokenizer", "LongformerTokenizer"},
       "BPE",
       sentence},
      {Kind::kXlmRoberta, {"XLMRobertaTokenizer"}, "Unigram", sentence},
      {Kind::kCamembert, {"CamembertTokenizer"}, "Unigram", sentence},
      {Kind::kAlbert,
       {"AlbertTokenizer"},
       "Unigram",
       {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"}},
      {Kind::kUnknown,
       {"BarthezTokenizer",    "BigBirdTokenizer",    "BlenderbotTokenizer", "CLIPTokenizer",
        "CodeGenTokenizer",    "CohereTokenizer",     "DebertaTokenizer",    "DebertaV2Tokenizer",
        "FunnelTokenizer",     "GemmaTokenizer",      "GPTNeoXTokenizer",    "HerbertTokenizer",
        "LayoutLMv2Tokenizer", "LayoutLMv3Tokenizer", "LayoutXLMTokenizer",  "LlamaTokenizer",
        "LukeTokenizer",       "MarkupLMTokenizer",   "MBart50Tokenizer",    "MBartTokenizer",
        "MLukeTokenizer",      "NllbTokenizer",       "OpenAIGPTTokenizer",  "PegasusTokenizer",
        "Qwen2Tokenizer",      "ReformerTokenizer",   "RemBertTokenizer",    "SplinterTokenizer",
        "T5Tokenizer",         "UdopTokenizer",       "XGLMTokenizer",       "XLNetTokenizer"},
       "",
       {}},
  };
  return table;
}

const ClassRow* find_row(Kind kind) {
  const auto row = std::find_if(rows().begin(), rows().end(),
                                [&](const ClassRow& known) { return known.kind == kind; });
  return row == rows().end() ? nullptr : &*row;
}

// The options that change nothing where they are missing or have these values.
Json defaults_of(const std::string& type) {
  if (type == "BertNormalizer") {
    return {{"clean_text", true},
            {"handle_chinese_chars", true},
            {"strip_accents", nullptr},
            {"lowercase", true}};
  }
  if (type == "ByteLevel") return {{"add_prefix_space", true}, {"use_regex", true}};
  if (type == "Metaspace") return {{"prepend_scheme", "always"}, {"split", true}};
  if (type == "WordPiece") {
    return {{"unk_token", "[UNK]"},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 100}};
  }
  if (type == "Unigram") return {{"byte_fallback", false}};
  if (type == "BPE") {
    return {{"dropout", nullptr},
            {"unk_token", nullptr},
            {"fuse_unk", false},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"byte_fallback", false},
            {"ignore_merges", false}};
  }
  return Json::object();
}

// `part` with all options that matter, so that parts that do the same are equal.
Json complete(const Json& part) {
  if (!part.is_object()) return part;
  for (const char* list : {"normalizers", "pretokenizers"}) {
    if (!part.contains(list) || !part[list].is_array()) continue;
    Json steps = Json::array();
    for (const Json& step : part[list]) {
      Json inner = complete(step);
      if (inner.is_array()) {
        steps.insert(steps.end(), inner.begin(), inner.end());
      } else {
        steps.push_back(std::move(inner));
      }
    }
    return steps.empty() ? Json() : steps.size() == 1 ? steps[0] : steps;
  }
  const Json type = part.value("type", Json());
  Json all = defaults_of(type.is_string() ? type.get<std::string>() : "");
  all.update(part);
  if (type == "Metaspace" && all.value("add_prefix_space", Json()) == false) {
    all["prepend_scheme"] = "never";
  }
  for (const char* key : {"add_prefix_space", "str_rep"}) {
    if (type == "Metaspace") all.erase(key);
  }
  if (type == "ByteLevel") all.erase("trim_offsets");  // a post_processor does that
  const Json nothing = "";
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (type == "BPE" && all[key] == nothing) all[key] = nullptr;
  }
  return all;
}

Json replace_step(const char* found) {
  return {{"type", "Replace"}, {"pattern", {{"String", found}}}, {"content", "\""}};
}

// The first "Precompiled" of a normalizer, alone or in a "Sequence"; null: none.
Json find_character_table(const Json& normalizer) {
  if (!normalizer.is_object()) return nullptr;
  if (normalizer.value("type", Json()) == "Precompiled") return normalizer;
  for (const Json& step : normalizer.value("normalizers", Json::array())) {
    if (step.is_object() && step.value("type", Json()) == "Precompiled") return step;
  }
  return nullptr;
}

Json normalizer_of(const TokenizerFolder& folder, const Json& given) {
  const JsonObject json(folder.settings, folder.source);
  if (folder.is_bert()) {
    return {{"type", "BertNormalizer"},
            {"clean_text", true},
            {"handle_chinese_chars", json.flag_or("tokenize_chinese_chars", true)},
            {"strip_accents",
             json.has("strip_accents") ? Json(json.flag_or("strip_accents", false)) : Json()},
            {"lowercase", json.flag_or("do_lower_case", true)}};
  }
  if (folder.kind == Kind::kGpt2 || folder.kind == Kind::kRoberta) return nullptr;
  const Json table = find_character_table(given);
  if (folder.kind != Kind::kAlbert) return table;
  Json steps = {replace_step("``"), replace_step("''")};
  if (!json.flag_or("keep_accents", false)) {
    steps.push_back({{"type", "NFKD"}});
    steps.push_back({{"type", "StripAccents"}});
  }
  if (json.flag_or("do_lower_case", true)) steps.push_back({{"type", "Lowercase"}});
  if (!table.is_null()) steps.push_back(table);
  return {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
}

Json pre_tokenizer_of(const TokenizerFolder& folder) {
  const JsonObject json(folder.settings, folder.source);
  if (folder.is_bert()) return {{"type", "BertPreTokenizer"}};
  if (folder.kind == Kind::kGpt2 || folder.kind == Kind::kRoberta) {
    return {{"type", "ByteLevel"},
            {"add_prefix_space", json.flag_or("add_prefix_space", false)},
            {"use_regex", true}};
  }
  return white_space_pre_tokenizer(json.flag_or("add_prefix_space", true));
}

Json model_of(const TokenizerFolder& folder, const ModelTables& tables) {
  const std::string unknown = folder.token("unk_token");
  if (folder.is_bert()) {
    return {{"unk_token", unknown},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 100}};
  }
  if (folder.kind == Kind::kGpt2 || folder.kind == Kind::kRoberta) return defaults_of("BPE");
  int64_t id = folder.kind == Kind::kAlbert ? 1 : 3;
  if (folder.kind == Kind::kCamembert) {
    const auto found = std::find_if(tables.tokens.begin(), tables.tokens.end(),
                                    [&](const auto& token) { return token.first == unknown; });
    id = found == tables.tokens.end() ? 0 : found - tables.tokens.begin();
  }
  return {{"unk_id", id}, {"byte_fallback", false}};
}

bool has_model_of(const TokenizerFolder& folder, const Json& root) {
  return root.at("model").at("type") == find_row(folder.kind)->model;
}

// The key of tokenizer_config.json that sets an option; null: none does.
const char* setting_of(const std::string& option) {
  constexpr std::pair<const char*, const char*> kSettings[] = {
      {"lowercase", "do_lower_case"},
      {"strip_accents", "strip_accents"},
      {"handle_chinese_chars", "tokenize_chinese_chars"},
      {"add_prefix_space", "add_prefix_space"},
      {"unk_token", "unk_token"}};
  for (const auto& [name, setting] : kSettings) {
    if (option == name) return setting;
  }
  return nullptr;
}

}  // namespace

TokenizerKind tokenizer_kind(const std::string& name) {
  for (const ClassRow& row : rows()) {
    if (std::find(row.classes.begin(), row.classes.end(), name) != row.classes.end()) {
      return row.kind;
    }
  }
  return Kind::kFile;
}

std::vector<std::string> tokenizer_classes(TokenizerKind kind) {
  const ClassRow* row = find_row(kind);
  if (row == nullptr) return {};
  return {row->classes.begin(), row->classes.end()};
}

std::map<std::string, std::string> default_tokens(TokenizerKind kind) {
  constexpr const char* kKeys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                   "pad_token", "cls_token", "mask_token"};
  std::map<std::string, std::string> tokens;
  const ClassRow* row = find_row(kind);
  for (size_t i = 0; row != nullptr && i < row->tokens.size(); ++i) {
    if (*row->tokens[i] != '\0') tokens[kKeys[i]] = row->tokens[i];
  }
  return tokens;
}

Json white_space_pre_tokenizer(bool prefix) {
  const Json metaspace = {{"type", "Metaspace"},
                          {"replacement", "\u2581"},
                          {"prepend_scheme", prefix ? "always" : "never"},
                          {"split", true}};
  return {{"type", "Sequence"},
          {"pretokenizers", Json::array({{{"type", "WhitespaceSplit"}}, metaspace})}};
}

std::vector<std::string> apply_class(const TokenizerFolder& folder, const ModelTables& tables,
                                     Json& root, const std::string& source, EventSink& sink) {
  if (folder.kind == Kind::kFile) return {};
  // The parts made for a sentencepiece model are in no file that could be mended.
  EventSink& events = ends_with(source, ".model") ? silent_events() : sink;
  if (folder.kind == Kind::kUnknown) {
    events.warning(
        fmt::format("{}: {} builds its own parts in transformers 5, which Simile does not know; "
                    "the file's own are used, as in transformers 4",
                    source, folder.name));
    return {};
  }
  const std::string type = model_type(JsonObject(root.at("model"), source + ": model"));
  root["model"]["type"] = type;
  if (!has_model_of(folder, root)) {
    events.warning(
        fmt::format("{}: the model is {}, but {} has {}; the file's own parts are used. Check "
                    "\"tokenizer_class\" in {}",
                    source, type, folder.name, find_row(folder.kind)->model, folder.source));
    return {};
  }
  std::vector<std::string> changed;
  const JsonObject settings(folder.settings, folder.source);
  // Options that differ, one by one: `of` are those of the file.
  const auto set = [&](const std::string& part, Json& of, const Json& own) {
    const Json given = complete(of);
    bool differs = false;
    for (const auto& [key, value] : own.items()) {
      const Json before = given.value(key, Json());
      if (before == value) continue;
      const char* const setting = setting_of(key);
      const bool is_set = setting != nullptr && settings.has(setting);
      events.warning(fmt::format(
          "{}: \"{}\" of the {} is {}, but {}{} says {}; the latter counts, as in transformers 5",
          source, key, part, before.dump(), is_set ? folder.source : folder.name,
          is_set ? fmt::format(" (\"{}\")", setting) : "", value.dump()));
      of[key] = value;
      differs = true;
      if (part == "model") changed.push_back("model." + key);
    }
    if (differs && part != "model") changed.push_back(part);
  };
  const auto put = [&](const char* part, const Json& own) {
    Json& given = root[part];
    if (complete(given) == complete(own)) return;
    const bool has_options = given.is_object() && own.is_object() && own["type"] != "Sequence" &&
                             given.value("type", Json()) == own["type"];
    if (has_options) return set(part, given, own);
    events.warning(
        fmt::format("{}: the {} is not that of {}; the latter counts, as in "
                    "transformers 5",
                    source, part, folder.name));
    given = own;
    changed.emplace_back(part);
  };
  put("normalizer", normalizer_of(folder, root.value("normalizer", Json())));
  put("pre_tokenizer", pre_tokenizer_of(folder));
  set("model", root["model"], model_of(folder, tables));
  return changed;
}

Json class_post_processor(const TokenizerFolder& folder, const Json& root,
                          const std::function<int32_t(const std::string&)>& find_id) {
  if (!folder.is_rebuilt() || !has_model_of(folder, root)) return nullptr;
  std::string first = folder.token("cls_token"), last = folder.token("sep_token");
  switch (folder.kind) {
    case Kind::kFile:
    case Kind::kUnknown:
    case Kind::kGpt2:
      return nullptr;
    case Kind::kMpnet:
    case Kind::kRoberta:
      return {{"type", "RobertaProcessing"},
              {"sep", {last, find_id(last)}},
              {"cls", {first, find_id(first)}},
              {"trim_offsets", true},
              {"add_prefix_space",
               folder.kind == Kind::kRoberta &&
                   JsonObject(folder.settings, folder.source).flag_or("add_prefix_space", false)}};
    case Kind::kXlmRoberta:
    case Kind::kCamembert:
      first = folder.token("bos_token");
      last = folder.token("eos_token");
      return template_processing({{first, 0}, {"A", 0}, {last, 0}},
                                 {{first, 0}, {"A", 0}, {last, 0}, {last, 0}, {"B", 0}, {last, 0}},
                                 find_id);
    case Kind::kAlbert:
      if (!root.value("post_processor", Json()).is_null()) return nullptr;
      break;
    case Kind::kBert:
      break;
  }
  return template_processing({{first, 0}, {"A", 0}, {last, 0}},
                             {{first, 0}, {"A", 0}, {last, 0}, {"B", 1}, {last, 1}}, find_id);
}

}  // namespace simile::detail
