// SPDX-License-Identifier: Apache-2.0
// Tokenizers of folders with files of older and newer versions. Ids are those of AutoTokenizer of
// transformers 5.24; tools/conformance/random_folders.py compares hundreds of random folders.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/text/tokenizer.h"

namespace simile {
namespace {

using detail::Json;
using testing::HasSubstr;
using Ids = std::vector<int32_t>;
using Files = std::vector<std::pair<std::string, Json>>;

// [PAD] [UNK] [CLS] [SEP] [MASK], a to j, ##a to ##j, A B < > é ##é cat: ids 0 to 31.
std::string vocabulary(const std::string& more = "") {
  std::string lines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (const char* prefix : {"", "##"}) {
    for (char c = 'a'; c <= 'j'; ++c) lines += prefix + std::string(1, c) + "\n";
  }
  return lines + "A\nB\n<\n>\n\u00E9\n##\u00E9\ncat\n" + more;
}

class TokenizerFolderFiles : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const Files& files, const std::string& lines = vocabulary()) const {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    write_file_atomic(join_path(folder_, "vocab.txt"), lines);
    write_file_atomic(join_path(folder_, "config.json"), R"({"model_type": "bert"})");
    for (const auto& [name, json] : files) {
      write_file_atomic(join_path(folder_, name), json.dump());
    }
  }
  std::string error() const {
    return error_of(ErrorKind::kInput, [&] { Tokenizer::load(folder_); });
  }

  const std::string folder_ = testing::TempDir() + "simile_folder_" + std::to_string(getpid());
};

TEST_F(TokenizerFolderFiles, AddedTokensOfEveryFileAreFound) {
  const Json brand = Json::array({"<brand>"});
  const Ids found = {2, 31, 32, 5, 3}, cut = {2, 5, 9, 31, 27, 1, 28, 3};
  const Ids normalized = {2, 5, 9, 31, 32, 3};
  const std::pair<Files, Ids> cases[] = {
      {{{"added_tokens.json", {{"<brand>", 32}}}}, normalized},
      {{{"added_tokens.json", {{"<brand>", 200}}}}, normalized},
      {{{"special_tokens_map.json", {{"additional_special_tokens", brand}}}}, cut},
      {{{"special_tokens_map.json", {{"extra_special_tokens", brand}}}}, cut},
      {{{"tokenizer_config.json", {{"additional_special_tokens", brand}}}}, cut},
      {{{"tokenizer_config.json", {{"bos_token", "<brand>"}}}}, cut},
      {{{"tokenizer_config.json", {{"image_token", "<brand>"}}}}, cut},
      {{{"added_tokens.json", {{"<brand>", 32}}},
        {"special_tokens_map.json", {{"additional_special_tokens", brand}}}},
       normalized},
      {{{"added_tokens.json", {{"cat a", 33}}},
        {"tokenizer_config.json", {{"added_tokens_decoder", {{"40", {{"content", "<brand>"}}}}}}}},
       normalized}};
  for (const auto& [files, second] : cases) {
    SCOPED_TRACE(files.front().first + " " + files.front().second.dump());
    write(files);
    const Tokenizer tokenizer = Tokenizer::load(folder_);
    EXPECT_EQ(tokenizer.encode("cat <brand> a").ids, found);
    EXPECT_EQ(tokenizer.encode("A \u00E9 cat <BRAND>").ids, second);
    // The saved tokenizer gives the same ids, alone and beside the same files.
    write_file_atomic(join_path(folder_, "tokenizer.json"), tokenizer.to_json());
    EXPECT_EQ(Tokenizer::parse(tokenizer.to_json(), "saved").encode("cat <brand> a").ids, found);
    const Tokenizer again = Tokenizer::load(folder_);
    EXPECT_EQ(again.encode("A \u00E9 cat <BRAND>").ids, second);
    EXPECT_EQ(again.to_json(), tokenizer.to_json());
  }
}

TEST_F(TokenizerFolderFiles, OddVocabulariesAreRead) {
  write({}, vocabulary("cat\nx\n"));
  EXPECT_EQ(Tokenizer::load(folder_).encode("cat x").ids, (Ids{2, 32, 33, 3})) << "the last counts";
  write({{"added_tokens.json", {{"<brand>", 34}}}}, vocabulary("\nx\u00A0\n\u3000\n"));
  EXPECT_EQ(Tokenizer::load(folder_).encode("cat x <brand>").ids, (Ids{2, 31, 33, 34, 3}));
  write({{"added_tokens.json", {{"<brand>", 34}}}}, vocabulary("cat\nx\n"));
  EXPECT_EQ(Tokenizer::load(folder_).encode("cat x <brand>").ids, (Ids{2, 32, 33, 33, 3}));
}

TEST_F(TokenizerFolderFiles, ClassesThatSplitInAnotherWayAreRefusedByName) {
  for (const char* name :
       {"BertJapaneseTokenizer", "PhobertTokenizer", "OwnTokenizer", "T5Tokenizer"}) {
    write({{"tokenizer_config.json", {{"tokenizer_class", name}}}});
    EXPECT_THAT(error(), HasSubstr(name));
    EXPECT_THAT(error(), HasSubstr("tokenizer_config.json"));
  }
  for (const char* name :
       {"BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "ElectraTokenizer"}) {
    write({{"tokenizer_config.json", {{"tokenizer_class", name}}}});
    EXPECT_EQ(Tokenizer::load(folder_).encode("cat").ids, (Ids{2, 31, 3})) << name;
  }
}

TEST_F(TokenizerFolderFiles, SettingsOfTheConfigurationCountOverTokenizerJson) {
  write({});
  const std::string document = Tokenizer::load(folder_).to_json();
  write({{"tokenizer_config.json", {{"do_lower_case", false}, {"truncation_side", "left"}}}});
  write_file_atomic(join_path(folder_, "tokenizer.json"), document);
  Tokenizer tokenizer = Tokenizer::load(folder_);
  EXPECT_EQ(tokenizer.encode("A \u00E9 cat").ids, (Ids{2, 25, 29, 31, 3}));
  EXPECT_FALSE(tokenizer.lower_cases());
  tokenizer.set_max_length(4);
  EXPECT_EQ(tokenizer.encode("a b cat").ids, (Ids{2, 6, 31, 3}));
  Ids ids;
  tokenizer.encode_ids("a b cat", ids);
  EXPECT_EQ(ids, (Ids{2, 6, 31, 3}));
  write({{"tokenizer_config.json",
          {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"do_lower_case", false}}}});
  write_file_atomic(join_path(folder_, "tokenizer.json"), document);
  EXPECT_EQ(Tokenizer::load(folder_).encode("A").ids, (Ids{2, 5, 3}));
}

// As sentence-transformers 6 does it: special tokens in texts stay, and no sigma becomes final.
TEST_F(TokenizerFolderFiles, ALowercaseComesFirstWhereSentenceTransformersAsksForIt) {
  write({{"tokenizer_config.json", {{"do_lower_case", false}}},
         {"sentence_bert_config.json", {{"do_lower_case", true}}}},
        vocabulary("\u03C3\n\u03C2\n"));
  const Tokenizer tokenizer = Tokenizer::load(folder_);
  EXPECT_EQ(tokenizer.encode("CAT [SEP] A \u03A3").ids, (Ids{2, 31, 3, 5, 32, 3}));
  EXPECT_FALSE(tokenizer.lower_cases()) << "by itself";
  EXPECT_EQ(Tokenizer::parse(tokenizer.to_json(), "saved").encode("CAT").ids, (Ids{2, 31, 3}));
  write({{"sentence_roberta_config.json", {{"do_lower_case", true}}}});
  EXPECT_TRUE(Tokenizer::load(folder_).lower_cases());
}

class Warnings : public EventSink {
 public:
  void warning(const std::string& message) override { text += message + "\n"; }
  std::string text;
};

TEST_F(TokenizerFolderFiles, PartsThatAreNotThoseOfTheClassAreWarnedOf) {
  write({});
  Json document = Json::parse(Tokenizer::load(folder_).to_json());
  const auto warnings = [&](const Files& files, const Json& json) {
    write(files);
    write_file_atomic(join_path(folder_, "tokenizer.json"), json.dump());
    Warnings told;
    Tokenizer::load(folder_, told);
    return told.text;
  };
  EXPECT_EQ(warnings({}, document), "");
  for (const char* part : {"normalizer", "pre_tokenizer", "post_processor"}) {
    Json other = document;
    other[part] = nullptr;
    EXPECT_THAT(warnings({}, other),
                HasSubstr(fmt::format("the {} is not that of BertTokenizer", part)));
    EXPECT_EQ(Tokenizer::load(folder_).encode("A \u00E9 cat").ids, (Ids{2, 5, 9, 31, 3})) << part;
    EXPECT_EQ(
        warnings({{"tokenizer_config.json", {{"tokenizer_class", "PreTrainedTokenizerFast"}}}},
                 other),
        "");
  }
  EXPECT_THAT(warnings({{"special_tokens_map.json", {{"cls_token", "[SEP]"}}}}, document),
              HasSubstr("puts [SEP] and [SEP] around a text"));
  document["version"] = "2.0";
  write({});
  write_file_atomic(join_path(folder_, "tokenizer.json"), document.dump());
  EXPECT_THAT(error(), HasSubstr("\"version\" is \"2.0\""));
  write({{"tokenizer_config.json", {{"added_tokens_decoder", {{"x", {{"content", "a"}}}}}}}});
  EXPECT_THAT(error(), HasSubstr("the id of a token must be 0 to"));
}

TEST(TokenizerDocument, GapsAndOtherIdsFollowTheTokenizersLibrary) {
  const std::string start =
      R"({"added_tokens":[{"id":200,"content":"cat"},{"id":90,"content":"new"}],)"
      R"("model":{"type":"WordLevel","unk_token":"u","vocab":{"u":0,"cat":2)";
  const Tokenizer gap = Tokenizer::parse(start + "}}}", "gap");
  EXPECT_EQ(gap.encode("cat").ids, (Ids{2}));
  EXPECT_EQ(gap.encode("new").ids, (Ids{2})) << "their count is no free id";
  EXPECT_THAT(
      error_of(ErrorKind::kInput, [&] { Tokenizer::parse(start + R"(,"far":4194304}}})", "far"); }),
      HasSubstr("\"far\" has id 4194304; expected 0 to 4194303"));
}

TEST(TokenizerDocument, AnEmptyPatternSplitsCharacters) {
  for (const char* pattern : {R"({"String":""})", R"({"Regex":""})"}) {
    for (const char* behavior :
         {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}) {
      const Tokenizer tokenizer = Tokenizer::parse(
          std::string(R"({"pre_tokenizer":{"type":"Split","pattern":)") + pattern +
              R"(,"behavior":")" + behavior +
              R"(","invert":false},"model":{"type":"WordLevel","unk_token":"u","vocab":{"u":0,"a":1,"\u00e9":2,"t":3}}})",
          "split");
      EXPECT_EQ(tokenizer.encode("a\u00E9t").ids, (Ids{1, 2, 3})) << pattern << behavior;
    }
  }
}

}  // namespace
}  // namespace simile
