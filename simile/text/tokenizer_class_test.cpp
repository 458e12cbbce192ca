// SPDX-License-Identifier: Apache-2.0
// Classes that build their own parts beside a tokenizer.json with others. Ids are those of
// AutoTokenizer of transformers 5.24.
#include "simile/text/detail/tokenizer_class.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/text/tokenizer.h"

namespace simile {
namespace {

using detail::Json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using Ids = std::vector<int32_t>;

// Pieces with scores; the normalizer and pre_tokenizer are those of sentencepiece.
const char kPieces[] = R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],
"normalizer":{"type":"Sequence","normalizers":[
 {"type":"Strip","strip_left":false,"strip_right":true},
 {"type":"Replace","pattern":{"Regex":" {2,}"},"content":"\u2581"}]},
"pre_tokenizer":{"type":"Metaspace","replacement":"\u2581","prepend_scheme":"first","split":true},
"post_processor":null,"decoder":null,
"model":{"type":"Unigram","unk_id":0,"byte_fallback":false,"vocab":[["<s>",0],["<unk>",0],
["</s>",0],["<pad>",0],["\u2581",-2],["a",-2.5],["b",-2.5],["\u2581a",-1.5],["\u2581b",-1.6],
["\u00a0",-3],["[CLS]",0],["[SEP]",0],["\"",-3],["\u2581\u00e9",-3],["\n",-3]]}})";

const char kBytePairs[] = R"({"version":"1.0","truncation":null,"padding":null,
"added_tokens":[{"id":6,"content":"<|endoftext|>","single_word":false,"lstrip":false,
 "rstrip":false,"normalized":false,"special":true}],
"normalizer":{"type":"Lowercase"},
"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
"post_processor":null,"decoder":null,
"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":"",
"end_of_word_suffix":"","fuse_unk":false,
"vocab":{"a":0,"b":1,"\u0120":2,"A":3,"ab":4,"\u0120a":5,"<|endoftext|>":6},
"merges":["a b","\u0120 a"]}})";

const char kWordPieces[] = R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],
"normalizer":{"type":"BertNormalizer","clean_text":false,"handle_chinese_chars":true,
 "strip_accents":null,"lowercase":true},
"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":null,"decoder":null,
"model":{"max_input_chars_per_word":3,"unk_token":"a","continuing_subword_prefix":"@@",
"vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"[MASK]":4,"a":5,"##b":6,"@@b":7,".":8,
"<s>":9,"</s>":10}}})";

class Warnings : public EventSink {
 public:
  void warning(const std::string& message) override { text += message + "\n"; }
  std::string text;
};

class TokenizerClassFolder : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Tokenizer load(const std::string& json, const Json& settings) {
    std::filesystem::remove_all(folder_);
    make_folders(folder_);
    write_file_atomic(join_path(folder_, "tokenizer.json"), json);
    write_file_atomic(join_path(folder_, "tokenizer_config.json"), settings.dump());
    warnings_.text.clear();
    return Tokenizer::load(folder_, warnings_);
  }

  const std::string folder_ = testing::TempDir() + "simile_class_" +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
  Warnings warnings_;
};

const char kText[] = "a b\u00A0a  A<mask> \u00C9 \"\"''\n";

TEST_F(TokenizerClassFolder, ThePartsOfTheClassAreThoseOfTransformers) {
  struct Case {
    const char* json;
    const char* name;
    Ids ids;
    Ids pair;  // of "a" and "b"
  };
  const Case cases[] = {
      {kPieces,
       "XLMRobertaTokenizer",
       {0, 7, 8, 7, 4, 3, 15, 4, 3, 4, 12, 12, 3, 2},
       {0, 7, 2, 2, 8, 2}},
      {kPieces,
       "CamembertTokenizerFast",
       {0, 7, 8, 7, 4, 1, 15, 4, 1, 4, 12, 12, 1, 2},
       {0, 7, 2, 2, 8, 2}},
      {kPieces,
       "AlbertTokenizer",
       {10, 7, 8, 7, 7, 1, 5, 1, 4, 1, 4, 12, 12, 12, 11},
       {10, 7, 11, 8, 11}},
      {kBytePairs, "RobertaTokenizer", {7, 0, 2, 1, 0, 2, 2, 3, 11, 2, 2, 8}, {7, 0, 8, 8, 1, 8}},
      {kBytePairs, "BartTokenizerFast", {7, 0, 2, 1, 0, 2, 2, 3, 11, 2, 2, 8}, {7, 0, 8, 8, 1, 8}},
      {kBytePairs, "GPT2Tokenizer", {0, 2, 1, 0, 2, 2, 3, 0, 2, 2}, {0, 1}},
      {kWordPieces, "BertTokenizer", {2, 5, 1, 5, 5, 1, 1, 1, 1, 1, 1, 1, 1, 3}, {2, 5, 3, 1, 3}},
      {kWordPieces,
       "MPNetTokenizer",
       {9, 5, 1, 5, 5, 12, 1, 1, 1, 1, 1, 10},
       {9, 5, 10, 10, 1, 10}},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    const Tokenizer tokenizer = load(test.json, {{"tokenizer_class", test.name}});
    EXPECT_EQ(tokenizer.encode(kText).ids, test.ids);
    EXPECT_EQ(tokenizer.encode_pair("a", "b").ids, test.pair);
    EXPECT_TRUE(tokenizer.differs_from_file());
    EXPECT_THAT(warnings_.text, HasSubstr(std::string(test.name).substr(0, 4)));
    // The saved tokenizer is the same, alone and beside the same settings.
    const std::string saved = tokenizer.to_json();
    EXPECT_EQ(Tokenizer::parse(saved, "saved").encode(kText).ids, test.ids);
    const Tokenizer again = load(saved, {{"tokenizer_class", test.name}});
    EXPECT_EQ(again.encode(kText).ids, test.ids);
    EXPECT_EQ(again.to_json(), saved);
    EXPECT_THAT(warnings_.text, IsEmpty());
  }
}

TEST_F(TokenizerClassFolder, EachPartThatDiffersIsWarnedOf) {
  load(kPieces, {{"tokenizer_class", "XLMRobertaTokenizer"}});
  EXPECT_THAT(warnings_.text,
              AllOf(HasSubstr("the normalizer is not that of XLMRobertaTokenizer"),
                    HasSubstr("the pre_tokenizer is not that of XLMRobertaTokenizer"),
                    HasSubstr("\"unk_id\" of the model is 0, but XLMRobertaTokenizer says 3"),
                    HasSubstr("which puts <s> and </s> around a text")));
  load(kWordPieces, {{"tokenizer_class", "BertTokenizer"}, {"unk_token", "."}});
  EXPECT_THAT(warnings_.text,
              AllOf(HasSubstr("\"clean_text\" of the normalizer is false, but BertTokenizer says "
                              "true"),
                    HasSubstr("\"max_input_chars_per_word\" of the model is 3, but BertTokenizer "
                              "says 100"),
                    HasSubstr("tokenizer_config.json (\"unk_token\") says \".\"")));
}

TEST_F(TokenizerClassFolder, SettingsOfTheClassAreRead) {
  const Json pieces = {{"tokenizer_class", "XLMRobertaTokenizer"}, {"add_prefix_space", false}};
  EXPECT_EQ(load(kPieces, pieces).encode("a b").ids, (Ids{0, 5, 6, 2}));
  const Json unknown = {{"tokenizer_class", "BertTokenizer"}, {"unk_token", "."}};
  EXPECT_EQ(load(kWordPieces, unknown).encode("a x").ids, (Ids{2, 5, 8, 3}));
  const Json spaced = {{"tokenizer_class", "RobertaTokenizer"}, {"add_prefix_space", true}};
  EXPECT_EQ(load(kBytePairs, spaced).encode("a").ids, (Ids{7, 5, 8}));
}

TEST_F(TokenizerClassFolder, OtherClassesLeaveTheFileItsParts) {
  const Ids own = {7, 8, 9, 5, 4, 0, 5, 0, 4, 0, 4, 12, 12, 0};
  EXPECT_EQ(load(kPieces, {{"tokenizer_class", "PreTrainedTokenizerFast"}}).encode(kText).ids, own);
  EXPECT_THAT(warnings_.text, IsEmpty());
  EXPECT_EQ(load(kPieces, {{"tokenizer_class", "T5Tokenizer"}}).encode(kText).ids, own);
  EXPECT_THAT(warnings_.text, HasSubstr("T5Tokenizer builds its own parts"));
  EXPECT_EQ(load(kPieces, {{"tokenizer_class", "RobertaTokenizer"}}).encode("a").ids, Ids{7});
  EXPECT_THAT(warnings_.text, HasSubstr("the model is Unigram, but RobertaTokenizer has BPE"));
}

}  // namespace
}  // namespace simile
