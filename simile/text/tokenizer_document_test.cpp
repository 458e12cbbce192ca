// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/tokenizer_document.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/text/tokenizer.h"

namespace simile {
namespace {

using detail::Json;
using testing::HasSubstr;

const char kShared[] = SIMILE_SOURCE_DIR "/../shared/tokenizers/";

class BytePairFolder : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "byte_pair_folder_" + info->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
  }

  void write_small(const std::string& config) {
    write("vocab.json", R"({"<s>":0,"<pad>":1,"</s>":2,"a":3,"b":4,"ab":5,"<mask>":6})");
    write("merges.txt", "#version: 0.2\na b\n");
    if (!config.empty()) write("tokenizer_config.json", config);
  }

  std::string error() {
    return error_of([&] { Tokenizer::load(folder_); });
  }

  std::string folder_;
};

using BytePairFolderSlow = BytePairFolder;

TEST_F(BytePairFolder, ClassAndTokensDecideWhatIsPutAround) {
  using Ids = std::vector<int32_t>;
  write_small("");
  EXPECT_EQ(Tokenizer::load(folder_).encode("ab <mask>").ids, (Ids{0, 5, 6, 2}));
  write_small(R"({"tokenizer_class":"RobertaTokenizerFast","cls_token":{"content":"<pad>"}})");
  EXPECT_EQ(Tokenizer::load(folder_).encode("ab").ids, (Ids{1, 5, 2}));
  write_small(R"({"tokenizer_class":"GPT2Tokenizer","bos_token":"</s>"})");
  EXPECT_EQ(Tokenizer::load(folder_).encode("ab</s>a").ids, (Ids{5, 2, 3}));
}

TEST_F(BytePairFolder, AMaskTakesTheSpaceBeforeItOnlyWhereAFileSaysSo) {
  using Ids = std::vector<int32_t>;
  write_small("");
  write("vocab.json", R"({"<s>":0,"<pad>":1,"</s>":2,"a":3,"b":4,"\u0120":5,"<mask>":6,"ab":7})");
  const auto ids = [&](const std::string& config) {
    write("tokenizer_config.json", config);
    return Tokenizer::load(folder_).encode("a <mask> b").ids;
  };
  EXPECT_EQ(ids(R"({"tokenizer_class":"RobertaTokenizer"})"), (Ids{0, 3, 5, 6, 5, 4, 2}));
  EXPECT_EQ(ids(R"({"tokenizer_class":"RobertaTokenizer","mask_token":)"
                R"({"__type":"AddedToken","content":"<mask>","lstrip":true}})"),
            (Ids{0, 3, 6, 5, 4, 2}));
}

TEST_F(BytePairFolder, BrokenFilesAreRefusedWithTheirPlace) {
  EXPECT_THAT(error(), HasSubstr("vocab.json with merges.txt"));
  write_small(R"({"tokenizer_class":"Qwen2Tokenizer"})");
  EXPECT_THAT(error(), HasSubstr("\"Qwen2Tokenizer\""));
  write_small(R"({"tokenizer_class":"RobertaTokenizer","cls_token":"[CLS]"})");
  EXPECT_THAT(error(), HasSubstr("\"[CLS]\""));
  write_small("{}");
  write("merges.txt", "a b\na b c\n");
  EXPECT_THAT(error(), HasSubstr("merges.txt:2"));
  write("merges.txt", "a c\n");
  EXPECT_THAT(error(), HasSubstr("\"c\" is not in the vocabulary"));
  std::filesystem::remove(folder_ + "/merges.txt");
  EXPECT_THAT(error(), HasSubstr("merges.txt"));
  write("vocab.json", "[]");
  EXPECT_THAT(error(), HasSubstr("vocab.json"));
}

TEST_F(BytePairFolderSlow, FilesAloneGiveTheSameEncodings) {
  if (!folder_exists(kShared)) GTEST_SKIP() << "skipped: no ../shared";
  for (const char* name : {"roberta-base", "gpt2"}) {
    SCOPED_TRACE(name);
    const std::string path = kShared + std::string(name);
    const Json model = detail::read_json(path + "/tokenizer.json").at("model");
    std::string merges = "#version: 0.2\n";
    for (const Json& merge : model.at("merges")) merges += merge.get<std::string>() + "\n";
    write("vocab.json", detail::dump_json(model.at("vocab")));
    write("merges.txt", merges);
    const Tokenizer expected = Tokenizer::load(path);
    const Tokenizer tokenizer = Tokenizer::load(folder_);
    for (const char* text :
         {"", "Hello  world, it's 2015!", "<mask>\u00E9 <|endoftext|>\n\n</s> x"}) {
      EXPECT_EQ(tokenizer.encode(text).ids, expected.encode(text).ids);
      EXPECT_EQ(tokenizer.encode(text).offsets, expected.encode(text).offsets);
      EXPECT_EQ(tokenizer.encode_pair(text, "b").type_ids,
                expected.encode_pair(text, "b").type_ids);
    }
  }
}

}  // namespace
}  // namespace simile
