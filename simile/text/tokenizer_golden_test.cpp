// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <sstream>

#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/text/tokenizer.h"

namespace simile {
namespace {

const char kShared[] = SIMILE_SOURCE_DIR "/../shared/tokenizers/";

struct GoldenRow {
  std::string text, pair;
  bool has_pair = false;
  std::vector<int32_t> ids, type_ids;
};

std::vector<GoldenRow> read_golden(const std::string& name) {
  std::istringstream lines(read_file(kShared + name + "/golden.jsonl"));
  std::vector<GoldenRow> rows;
  for (std::string line; std::getline(lines, line);) {
    const detail::Json json = detail::parse_json(line, name);
    GoldenRow row;
    row.text = json.at("text").get<std::string>();
    row.has_pair = json.contains("pair");
    if (row.has_pair) row.pair = json.at("pair").get<std::string>();
    row.ids = json.at("ids").get<std::vector<int32_t>>();
    row.type_ids = json.at("type_ids").get<std::vector<int32_t>>();
    rows.push_back(std::move(row));
  }
  return rows;
}

void expect_golden(const Tokenizer& tokenizer, const std::vector<GoldenRow>& rows) {
  for (const GoldenRow& row : rows) {
    const Encoding encoding =
        row.has_pair ? tokenizer.encode_pair(row.text, row.pair) : tokenizer.encode(row.text);
    EXPECT_EQ(encoding.ids, row.ids) << row.text;
    EXPECT_EQ(encoding.type_ids, row.type_ids) << row.text;
    if (row.has_pair) continue;
    std::vector<int32_t> ids;
    tokenizer.encode_ids(row.text, ids);
    EXPECT_EQ(ids, row.ids) << row.text;
  }
}

TEST(TokenizerSlow, EveryGoldenRowIsExact) {
  if (!folder_exists(kShared)) GTEST_SKIP() << "skipped: no ../shared";
  for (const char* name :
       {"bert-base-uncased-MiniLM-L6", "bert-base-cased", "bert-base-multilingual-cased",
        "mpnet-base", "gpt2", "roberta-base", "xlm-roberta-base", "camembert-base"}) {
    SCOPED_TRACE(name);
    const std::vector<GoldenRow> rows = read_golden(name);
    EXPECT_EQ(rows.size(), 383u);
    const std::string path = kShared + std::string(name) + "/tokenizer.json";
    expect_golden(Tokenizer::parse(read_file(path), path), rows);  // without the class beside it
  }
}

TEST(TokenizerSlow, VocabularyFileAloneGivesTheSameIds) {
  if (!folder_exists(kShared)) GTEST_SKIP() << "skipped: no ../shared";
  const std::string name = "bert-base-uncased-MiniLM-L6";
  expect_golden(Tokenizer::load(kShared + name + "/vocab.txt"), read_golden(name));
}

TEST(TokenizerSlow, VocabularyAloneIsEnoughForCasedModels) {
  if (!folder_exists(kShared)) GTEST_SKIP() << "skipped: no ../shared";
  BertTokenizerSettings settings;
  settings.lowercase = false;
  for (const char* name : {"bert-base-cased", "bert-base-multilingual-cased"}) {
    const Tokenizer tokenizer = Tokenizer::load(kShared + std::string(name));
    std::vector<std::string> tokens;
    for (int32_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
      tokens.emplace_back(tokenizer.token(id));
    }
    expect_golden(Tokenizer::from_vocabulary(tokens, settings, name), read_golden(name));
  }
}

TEST(TokenizerSlow, WrittenTokenizerGivesTheSameIds) {
  if (!folder_exists(kShared)) GTEST_SKIP() << "skipped: no ../shared";
  for (const char* name : {"bert-base-uncased-MiniLM-L6", "mpnet-base"}) {
    const Tokenizer tokenizer = Tokenizer::load(kShared + std::string(name));
    const detail::Json json = detail::parse_json(tokenizer.to_json(), "written");
    EXPECT_TRUE(json.at("truncation").is_null());
    EXPECT_TRUE(json.at("padding").is_null());
    expect_golden(Tokenizer::parse(tokenizer.to_json(), "written"), read_golden(name));
  }
}

TEST(TokenizerSlow, OffsetsPointAtTheTextOfEachToken) {
  if (!folder_exists(kShared)) GTEST_SKIP() << "skipped: no ../shared";
  const Tokenizer tokenizer = Tokenizer::load(kShared + std::string("bert-base-cased"));
  int64_t compared = 0;
  for (const GoldenRow& row : read_golden("bert-base-cased")) {
    const Encoding encoding = tokenizer.encode(row.text);
    for (size_t i = 0; i < encoding.ids.size(); ++i) {
      const auto [begin, end] = encoding.offsets[i];
      std::string_view token = tokenizer.token(encoding.ids[i]);
      if (encoding.special[i] || token == "[UNK]") continue;
      if (token.size() > 2 && token.substr(0, 2) == "##") token.remove_prefix(2);
      const std::string_view original = std::string_view(row.text).substr(begin, end - begin);
      // Characters that the normaliser drops may be inside the original text.
      if (original.size() != token.size()) continue;
      EXPECT_EQ(original, token) << row.text;
      ++compared;
    }
  }
  EXPECT_GT(compared, 8000);
}

}  // namespace
}  // namespace simile
