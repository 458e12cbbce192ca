// SPDX-License-Identifier: Apache-2.0
// The table "Files beside the tokenizer" of docs/models.md: every row is tried, one key changed in
// a folder that works, and must have the effect that the table says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/encode/sentence_encoder.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using detail::Json;

const std::string kGolden = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";

struct Warnings : EventSink {
  std::string all;
  void warning(const std::string& message) override { all += message + "\n"; }
};

// The result of loading a folder: ids and settings as text, or the reason for its rejection.
struct Outcome {
  std::string seen, refusal, warnings;
};

class ModelKeys : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }

  void restore(bool with_tokenizer) {
    fs::remove_all(folder_);
    fs::copy(kGolden, folder_);
    put("sentence_bert_config.json", Json::object());
    put("config_sentence_transformers.json", Json::object());
    if (with_tokenizer) {
      write_file_atomic(join_path(folder_, "tokenizer.json"), Tokenizer::load(folder_).to_json());
      fs::remove(join_path(folder_, "vocab.txt"));
    }
  }
  void put(const std::string& file, const Json& json) const {
    write_file_atomic(join_path(folder_, file), json.dump());
  }
  void set(const std::string& file, const std::string& key, const Json& value) const {
    const std::string path = join_path(folder_, file);
    Json json = file_exists(path) ? detail::read_json(path) : Json::object();
    json[key] = value;
    put(file, json);
  }

  Outcome look() const {
    Outcome outcome;
    Warnings warnings;
    try {
      const SentenceEncoder encoder = SentenceEncoder::load(folder_, warnings);
      std::ostringstream seen;
      const Tokenizer& tokenizer = encoder.tokenizer();
      const ModelSettings& settings = encoder.settings();
      for (const char* text : {"the Cat SAT", "the CAT", "th\u00E9 cat", "mat on mat",
                               "[MASK] cat [mask]", "\u4E2D\u4E2D cat", "mat."}) {
        for (const int32_t id : tokenizer.encode(text).ids) {
          seen << id << ' ';
        }
        seen << '\n';
      }
      seen << settings.max_length << settings.lower_case << settings.token_types
           << settings.prompts.size() << settings.similarity << settings.dimensions
           << tokenizer.truncation().left << tokenizer.differs_from_file();
      outcome.seen = seen.str();
    } catch (const Error& error) {
      outcome.refusal = error.what();
    }
    outcome.warnings = warnings.all;
    return outcome;
  }

  const std::string folder_ = testing::TempDir() + "simile_keys_" + std::to_string(getpid());
};

struct Case {
  std::string file, key;  // as in the table; a key up to " (" is what is set
  Json value;
  Json before = nullptr;        // other keys of the file
  bool with_tokenizer = false;  // in place of vocab.txt
};

const Json kToken = {{"content", "cat sat"}, {"special", false}, {"normalized", true}};

std::vector<Case> cases() {
  const std::string config = "tokenizer_config.json", sentence = "sentence_bert_config.json",
                    prompts = "config_sentence_transformers.json";
  return {
      {config,
       "tokenizer_class",
       "MPNetTokenizer",
       {{"cls_token", "[CLS]"}, {"sep_token", "[SEP]"}}},
      {config, "tokenizer_class (own splitting)", "BertJapaneseTokenizer"},
      {config, "tokenizer_class (unknown, beside vocab.txt)", "OwnTokenizer"},
      {config, "do_lower_case", false},
      {config, "strip_accents", false},
      {config, "tokenize_chinese_chars", false},
      {config, "add_prefix_space", true, {{"tokenizer_class", "RobertaTokenizer"}}, true},
      {config, "never_split", Json::array({"cat"})},
      {config, "do_basic_tokenize", false},
      {config, "split_special_tokens", true},
      {config, "added_tokens_decoder", {{"30", kToken}}},
      {config, "added_tokens_decoder (other id)", {{"400", kToken}}},
      {config, "additional_special_tokens", Json::array({"mat on"})},
      {config, "extra_special_tokens", Json::array({"mat on"})},
      {config, "mask_token", "mat on"},
      {config, "image_token", "mat on"},
      {config, "truncation_side", "left"},
      {config, "padding_side", "left"},
      {config, "model_max_length", 7},
      {config, "max_len", 7},
      {config, "model_input_names", Json::array({"input_ids", "attention_mask"})},
      {config, "fast_tokenizer_files", Json::array({"tokenizer.json", "tokenizer.4.0.0.json"})},
      {config,
       "auto_map (AutoTokenizer, unknown class)",
       {{"AutoTokenizer", Json::array({nullptr, "own.OwnTokenizer"})}},
       {{"tokenizer_class", "OwnTokenizer"}},
       true},
      {config, "add_bos_token", true},
      {config, "clean_up_tokenization_spaces", false},
      {config, "chat_template", "x"},
      {"special_tokens_map.json", "mask_token", "mat on"},
      {"special_tokens_map.json", "additional_special_tokens", Json::array({"mat on"})},
      {"added_tokens.json", "a token", 30},
      {"config.json", "tokenizer_class", "BertJapaneseTokenizer"},
      {"tokenizer.json",
       "truncation (direction Left)",
       {{"direction", "Left"}, {"max_length", 9}},
       nullptr,
       true},
      {"tokenizer.json", "normalizer (not that of the class)", nullptr, nullptr, true},
      {"tokenizer.json", "pre_tokenizer (not that of the class)", nullptr, nullptr, true},
      {"tokenizer.json", "post_processor (not that of the class)", nullptr, nullptr, true},
      {"tokenizer.json", "version", "2.0", nullptr, true},
      {"config.json", "quantization_config", {{"quant_method", "fp8"}}},
      {"tokenizer.json", "padding", {{"direction", "Left"}}, nullptr, true},
      {"tokenizer.json", "added_tokens (other id)",
       Json::array({{{"id", 99}, {"content", "cat sat"}}}), nullptr, true},
      {sentence, "max_seq_length", 8},
      {sentence, "do_lower_case", true, nullptr, true},
      {sentence, "model_args", {{"output_hidden_states", true}}},
      {sentence, "query_length", 9},
      {prompts, "prompts", {{"query", "q: "}}},
      {prompts, "similarity_fn_name", "dot"},
      {prompts, "truncate_dim", 8},
      {prompts, "a key not known", 1},
  };
}

// "file | key" -> effect, of the page.
std::map<std::string, std::string> read_table() {
  std::map<std::string, std::string> rows;
  std::istringstream page(model_reference());
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (starts_with(line, "## ")) inside = line == "## Files beside the tokenizer";
    if (!inside || !starts_with(line, "| ") || starts_with(line, "| ---") ||
        starts_with(line, "| file "))
      continue;
    std::vector<std::string> cells;
    std::istringstream row(line.substr(2));
    for (std::string cell; std::getline(row, cell, '|');) {
      const size_t end = cell.find_last_not_of(' ');
      const size_t begin = cell.find_first_not_of(' ');
      cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
    }
    rows[cells.at(0) + " | " + cells.at(1)] = cells.at(2);
  }
  return rows;
}

TEST_F(ModelKeys, EveryRowOfTheTableIsTrue) {
  std::map<std::string, std::string> rows = read_table();
  for (const Case& test : cases()) {
    const std::string name = test.file + " | " + test.key;
    SCOPED_TRACE(name);
    ASSERT_EQ(rows.count(name), 1u) << "the table has no such row";
    const std::string effect = rows[name];
    rows.erase(name);
    restore(test.with_tokenizer);
    const std::string key =
        test.key == "a token" ? "mat on" : test.key.substr(0, test.key.find(" ("));
    for (const auto& item : test.before.items()) set(test.file, item.key(), item.value());
    if (test.file == "sentence_bert_config.json" && key == "do_lower_case") {
      set("tokenizer_config.json", "do_lower_case", false);
    }
    if (key == "add_prefix_space") {
      set("tokenizer.json", "pre_tokenizer",
          {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}});
      set("tokenizer.json", "model",
          {{"type", "BPE"}, {"vocab", {{"c", 0}, {"\u0120", 1}}}, {"merges", Json::array()}});
      set("tokenizer.json", "added_tokens", Json::array());
    }
    const Outcome before = look();
    set(test.file, key, test.value);
    const Outcome after = look();
    if (effect == "refused") {
      const std::string named = test.key == "a key not known" ? "not known"
                                : key == "model_args"         ? "output_hidden_states"
                                                              : key;
      EXPECT_THAT(after.refusal, testing::HasSubstr(named)) << after.seen;
      EXPECT_THAT(after.refusal, testing::HasSubstr(folder_));
    } else if (effect == "warned") {
      EXPECT_NE(after.warnings, before.warnings);
      EXPECT_EQ(after.refusal, "");
    } else if (effect == "read") {
      EXPECT_NE(after.seen + after.refusal, before.seen + before.refusal);
    } else {
      EXPECT_EQ(effect, "ignored");
      EXPECT_EQ(after.refusal, "");
      EXPECT_EQ(after.seen, before.seen);
      EXPECT_EQ(after.warnings, before.warnings);
    }
  }
  for (const auto& [name, effect] : rows)
    ADD_FAILURE() << name << ": the table's row has no case here";
}

}  // namespace
}  // namespace simile
