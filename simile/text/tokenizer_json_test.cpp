// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <filesystem>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/file.h"
#include "simile/core/random.h"
#include "simile/text/tokenizer.h"

namespace simile {
namespace {

using Ids = std::vector<int32_t>;
using testing::HasSubstr;

const char kSpecials[] =
    R"({"[CLS]":{"id":"[CLS]","ids":[1],"tokens":["[CLS]"]},"[SEP]":{"id":"[SEP]","ids":[2],"tokens":["[SEP]"]}})";

// A small tokenizer.json whose parts can be replaced.
struct Document {
  std::string limits = R"("truncation":null,"padding":null)";
  std::string added = R"([{"id":0,"content":"[UNK]","special":true},)"
                      R"({"id":1,"content":"[CLS]","special":true},)"
                      R"({"id":2,"content":"[SEP]","special":true}])";
  std::string normalizer = R"({"type":"BertNormalizer","clean_text":true,)"
                           R"("handle_chinese_chars":true,"strip_accents":null,"lowercase":true})";
  std::string pre_tokenizer = R"({"type":"BertPreTokenizer"})";
  std::string post_processor =
      std::string(R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]",)") +
      R"("type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]",)" +
      R"("type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B",)" +
      R"("type_id":1}}],"special_tokens":)" + kSpecials + "}";
  std::string model = R"({"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",)"
                      R"("max_input_chars_per_word":100,"vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,)"
                      R"("a":3,"##b":4,"ing":5}})";

  std::string text() const {
    return "{\"version\":\"1.0\"," + limits + ",\"added_tokens\":" + added +
           ",\"normalizer\":" + normalizer + ",\"pre_tokenizer\":" + pre_tokenizer +
           ",\"post_processor\":" + post_processor + ",\"decoder\":null,\"model\":" + model + "}";
  }
};

Ids encode(const Document& document, const std::string& text) {
  return Tokenizer::parse(document.text(), "small.json").encode(text).ids;
}

std::string error_from(const std::string& json) {
  return error_of(ErrorKind::kInput, [&] { Tokenizer::parse(json, "small.json"); });
}

TEST(TokenizerJson, AllPartsTogether) {
  EXPECT_EQ(encode({}, "Ab \u00E1 x"), (Ids{1, 3, 4, 3, 0, 2}));
}

TEST(TokenizerJson, PartsMayBeNull) {
  Document document;
  document.normalizer = document.pre_tokenizer = document.post_processor = "null";
  EXPECT_EQ(encode(document, "ab"), (Ids{3, 4}));
  EXPECT_EQ(encode(document, "ab ab"), (Ids{0}));
  EXPECT_EQ(encode(document, "A"), (Ids{0}));
  const Encoding pair = Tokenizer::parse(document.text(), "small.json").encode_pair("a", "ab");
  EXPECT_EQ(pair.ids, (Ids{3, 3, 4}));
  EXPECT_EQ(pair.type_ids, (Ids{0, 1, 1}));
}

TEST(TokenizerJson, BertProcessingPutsClsAndSep) {
  Document document;
  document.post_processor = R"({"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]})";
  const Tokenizer tokenizer = Tokenizer::parse(document.text(), "small.json");
  EXPECT_EQ(tokenizer.encode("a").ids, (Ids{1, 3, 2}));
  const Encoding pair = tokenizer.encode_pair("a", "ab");
  EXPECT_EQ(pair.ids, (Ids{1, 3, 2, 3, 4, 2}));
  EXPECT_EQ(pair.type_ids, (Ids{0, 0, 0, 1, 1, 1}));
}

TEST(TokenizerJson, RobertaProcessingPutsTwoSeparatorsBetween) {
  Document document;
  document.post_processor =
      R"({"type":"RobertaProcessing","sep":["[SEP]",2],"cls":["[CLS]",1],"trim_offsets":true})";
  const Encoding pair = Tokenizer::parse(document.text(), "small.json").encode_pair("a", "a");
  EXPECT_EQ(pair.ids, (Ids{1, 3, 2, 2, 3, 2}));
  EXPECT_EQ(pair.type_ids, Ids(6, 0));
}

TEST(TokenizerJson, SpecialTokenOfATemplateMayStandForSeveral) {
  Document document;
  document.post_processor =
      R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"X","type_id":7}},)"
      R"({"Sequence":{"id":"A","type_id":3}}],"pair":[],"special_tokens":)"
      R"({"X":{"id":"X","ids":[2,1],"tokens":["[SEP]","[CLS]"]}}})";
  const Encoding encoding = Tokenizer::parse(document.text(), "small.json").encode("a");
  EXPECT_EQ(encoding.ids, (Ids{2, 1, 3}));
  EXPECT_EQ(encoding.type_ids, (Ids{7, 7, 3}));
}

TEST(TokenizerJson, AddedTokensFollowTheirFlags) {
  Document document;
  document.added = R"([{"id":6,"content":"Caf\u00e9","special":false,"normalized":true},)"
                   R"({"id":7,"content":"<m>","special":true,"lstrip":true,"rstrip":true},)"
                   R"({"id":5,"content":"ing","special":false,"normalized":false,)"
                   R"("single_word":true}])";
  const Tokenizer tokenizer = Tokenizer::parse(document.text(), "small.json");
  EXPECT_EQ(tokenizer.vocabulary_size(), 8);
  const Encoding encoding = tokenizer.encode("a CAFEa  <m>  ab ing aing", false);
  EXPECT_EQ(encoding.ids, (Ids{3, 6, 3, 7, 3, 4, 5, 0}));
  EXPECT_EQ(encoding.offsets[1], (std::pair<uint32_t, uint32_t>(2, 6)));
  EXPECT_EQ(encoding.offsets[3], (std::pair<uint32_t, uint32_t>(7, 14)));
  EXPECT_FALSE(tokenizer.is_special(6));
  EXPECT_TRUE(tokenizer.is_special(7));
}

TEST(TokenizerJson, AddedTokensBeyondTheEmbeddingsAreUnknown) {
  Document document;
  document.added = R"([{"id":6,"content":"<x>","special":true}])";
  Tokenizer tokenizer = Tokenizer::parse(document.text(), "small.json");
  tokenizer.fit(7);
  EXPECT_EQ(tokenizer.encode("a<x>").ids, (Ids{1, 3, 6, 2}));
  tokenizer.fit(6);
  EXPECT_EQ(tokenizer.encode("a<x>").ids, (Ids{1, 3, 0, 2}));
  Ids ids;
  tokenizer.encode_ids("a<x>", ids);
  EXPECT_EQ(ids, (Ids{1, 3, 0, 2}));
  EXPECT_EQ(tokenizer.encode_pair("<x>", "a").ids, (Ids{0, 3}));
  EXPECT_THROW(tokenizer.fit(5), Error);
}

TEST(TokenizerJson, AnAddedTokenInsideWhiteSpaceThatWasTakenIsNotFound) {
  Document document;
  document.added = R"([{"id":6,"content":"X","rstrip":true,"normalized":false},)"
                   R"({"id":7,"content":" ","lstrip":true,"normalized":false}])";
  const Encoding encoding = Tokenizer::parse(document.text(), "small.json").encode("X  ", false);
  for (const auto& [begin, end] : encoding.offsets) EXPECT_LT(begin, end);
  EXPECT_EQ(encoding.ids, (Ids{6}));
}

TEST(TokenizerJson, TrimmedOffsetsStayInTextsThatAreNotUtf8) {
  Document document;
  document.added = "[]";
  document.normalizer = R"({"type":"Nmt"})";
  document.pre_tokenizer = R"({"type":"ByteLevel","add_prefix_space":false})";
  document.post_processor = R"({"type":"ByteLevel","trim_offsets":true})";
  document.model = R"({"type":"BPE","unk_token":null,"vocab":{"\u0120":0},"merges":[]})";
  const Tokenizer tokenizer = Tokenizer::parse(document.text(), "small.json");
  for (const std::string text : {"\x80", "\x80\x80", "a\x80\x80", "\x80 \x80"}) {
    for (const auto& [begin, end] : tokenizer.encode(text).offsets) {
      EXPECT_LE(begin, end);
      EXPECT_LE(end, text.size());
    }
  }
}

// Up to the bound of 1 GB, in 4 GB of memory.
TEST(TokenizerJsonSlow, StepsThatMultiplyATextAreStopped) {
  Document document;
  std::string steps;
  for (int i = 0; i < 60; ++i) steps += std::string(i ? "," : "") + R"({"type":"ByteLevel"})";
  document.normalizer = R"({"type":"Sequence","normalizers":[)" + steps + "]}";
  const Tokenizer tokenizer = Tokenizer::parse(document.text(), "small.json");
  EXPECT_THROW(tokenizer.encode_ids_batch({"\u00E9"}), Error);
}

TEST(TokenizerJson, TemplatesAndListsAreBounded) {
  Document document;
  document.post_processor =
      R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},)"
      R"({"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{}})";
  EXPECT_THAT(error_from(document.text()), HasSubstr("occurs more than once"));
  document.post_processor = "null";
  document.model = R"({"type":"Unigram","unk_id":0,"vocab":{"a":0},"vocab":[["b",-1]]})";
  EXPECT_THAT(error_from(document.text()), HasSubstr("the name \"vocab\" occurs twice"));
  document.added = "[]";
  document.model = R"({"type":"Unigram","unk_id":0,"vocab":[["a",-1],[")" + std::string(2000, 'b') +
                   R"(",-1]]})";
  EXPECT_THAT(error_from(document.text()), HasSubstr("2000 bytes"));
}

TEST(TokenizerJson, TheTypeOfTheModelMayBeLeftOut) {
  const auto untyped = [](const std::string& model) {
    Document document;
    document.added = "[]";
    document.normalizer = document.post_processor = "null";
    document.pre_tokenizer = R"({"type":"WhitespaceSplit"})";
    document.model = model;
    return encode(document, "ab a");
  };
  EXPECT_EQ(untyped(R"({"unk_token":"u","continuing_subword_prefix":"##",)"
                    R"("max_input_chars_per_word":9,"vocab":{"u":0,"a":1,"##b":2}})"),
            (Ids{1, 2, 1}));
  EXPECT_EQ(untyped(R"({"unk_token":null,"vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]})"),
            (Ids{2, 0}));
  EXPECT_EQ(untyped(R"({"unk_id":0,"vocab":[["u",0],["a",-1],["b",-1],["ab",-1.5]]})"),
            (Ids{3, 1}));
  EXPECT_EQ(untyped(R"({"unk_token":"u","vocab":{"u":0,"ab":1}})"), (Ids{1, 0}));
}

TEST(TokenizerJson, OwnTruncationAndPaddingAreIgnoredAndWrittenAsNull) {
  Document document;
  const std::string expected = document.text();
  document.limits =
      R"("truncation":{"max_length":3,"strategy":"LongestFirst","stride":0,"x":"}\"]"},)"
      R"("padding":{"strategy":{"Fixed":9},"direction":"Right","pad_id":0,"list":[1,[2]]})";
  const Tokenizer tokenizer = Tokenizer::parse(document.text(), "small.json");
  EXPECT_EQ(tokenizer.encode("a a a a").ids.size(), 6u);
  EXPECT_EQ(tokenizer.to_json(), expected);
}

TEST(TokenizerJson, BrokenPartsAreRefusedWithTheirPlace) {
  const struct {
    std::string Document::*part;
    const char* json;
    const char* message;
  } cases[] = {
      {&Document::normalizer, R"({"type":"Other"})", "small.json: normalizer: type \"Other\""},
      {&Document::normalizer, R"({"type":5})", "\"type\""},
      {&Document::normalizer, "[]", "normalizer"},
      {&Document::normalizer, R"({"type":"BertNormalizer","lowercase":"yes"})", "\"lowercase\""},
      {&Document::pre_tokenizer, R"({"type":"Magic"})", "known are \"BertPreTokenizer\""},
      {&Document::post_processor, R"({"type":"Other"})", "post_processor: type \"Other\""},
      {&Document::post_processor, R"({"type":"TemplateProcessing"})", "is missing"},
      {&Document::post_processor,
       R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[X]","type_id":0}}],"pair":[],"special_tokens":{}})",
       "special token \"[X]\""},
      {&Document::post_processor,
       R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"X","type_id":0}}],"pair":[],"special_tokens":{"X":{"ids":[99]}}})",
       "99"},
      {&Document::post_processor,
       R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"C","type_id":0}}],"pair":[],"special_tokens":{}})",
       "\"C\""},
      {&Document::post_processor,
       R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"B","type_id":0}}],"pair":[],"special_tokens":{}})",
       "sequence B"},
      {&Document::post_processor, R"({"type":"BertProcessing","sep":["[SEP]",2],"cls":"[CLS]"})",
       "\"cls\""},
      {&Document::post_processor,
       R"({"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",-1]})", "-1"},
      {&Document::model, "null", "\"model\""},
      {&Document::model, R"("WordPiece")", "model"},
      {&Document::model, R"({"type":"Other","vocab":{}})", "type \"Other\""},
      {&Document::model, R"({"type":"WordPiece","unk_token":"[UNK]","vocab":["[UNK]"]})", "vocab"},
      {&Document::model, R"({"type":"WordPiece","unk_token":"[UNK]","vocab":{}})", "\"[UNK]\""},
      {&Document::model, R"({"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":"0"}})",
       "whole number"},
      {&Document::model, R"({"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":0.5}})",
       "whole number"},
      {&Document::model, R"({"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":-1}})", "-1"},
      {&Document::model,
       R"({"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":18446744073709551615}})", "id"},
      {&Document::model, R"({"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":2000000000}})",
       "2000000000"},
      {&Document::model,
       R"({"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"a":2}})",
       "both have id 2"},
      {&Document::model, R"({"type":"WordPiece","vocab":{"[UNK]":0}})", "\"unk_token\""},
      {&Document::normalizer, R"({"type":"Lowercase","locale":"tr"})", "option \"locale\""},
      {&Document::normalizer,
       R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Foo"}]})",
       "normalizers[1]: type \"Foo\""},
      {&Document::normalizer, R"({"type":"Sequence","normalizers":7})", "\"normalizers\""},
      {&Document::normalizer, R"({"type":"Replace","pattern":"x","content":""})", "\"pattern\""},
      {&Document::normalizer, R"({"type":"Replace","pattern":{"Regex":"("},"content":""})",
       "regular expression \"(\""},
      {&Document::pre_tokenizer, R"({"type":"Split","pattern":{"String":"x"},"behavior":"Kept"})",
       "\"Kept\""},
      {&Document::pre_tokenizer, R"({"type":"FixedLength","length":0})", "\"length\""},
      {&Document::pre_tokenizer, R"({"type":"CharDelimiterSplit","delimiter":"ab"})",
       "one character"},
      {&Document::pre_tokenizer, R"({"type":"Whitespace","unicode":true})", "option \"unicode\""},
      {&Document::post_processor,
       R"({"type":"Sequence","processors":[{"type":"ByteLevel","trim":true}]})",
       "processors[0]: option \"trim\""},
      {&Document::model, R"({"type":"BPE","dropout":0.1,"vocab":{},"merges":[]})", "\"dropout\""},
      {&Document::model, R"({"type":"BPE","vocab":{"a":0},"merges":["a b c"]})", "merge 1"},
      {&Document::model, R"({"type":"BPE","vocab":{"a":0},"merges":[["a"]]})", "merge 1"},
      {&Document::model, R"({"type":"BPE","vocab":{"a":0,"b":1},"merges":["a b"]})", "\"ab\""},
      {&Document::model, R"({"type":"BPE","vocab":{"a":0},"merges":{}})", "\"merges\""},
      {&Document::model, R"({"type":"BPE","vocab":{"a":0},"merges":[],"speed":1})", "\"speed\""},
      {&Document::model, R"({"type":"WordLevel","unk_token":"?","vocab":{"a":0}})", "\"?\""},
      {&Document::added, R"({"id":1})", "added_tokens"},
      {&Document::added, R"([{"content":"x"}])", "\"id\""},
      {&Document::added, R"([{"id":-1,"content":"x"}])", "-1"},
      {&Document::added, R"([{"id":6,"content":7}])", "\"content\""},
  };
  for (const auto& item : cases) {
    Document document;
    document.*item.part = item.json;
    const std::string message = error_from(document.text());
    EXPECT_THAT(message, HasSubstr(item.message)) << item.json;
    EXPECT_THAT(message, HasSubstr("small.json"));
  }
}

TEST(TokenizerJson, EndlessNestingIsRefused) {
  Document document;
  std::string nested;
  for (int i = 0; i < 10000; ++i) nested += R"({"type":"Sequence","normalizers":[)";
  for (int i = 0; i < 10000; ++i) nested += "]}";
  document.normalizer = nested;
  EXPECT_THAT(error_from(document.text()), HasSubstr("small.json"));
}

TEST(TokenizerJson, EveryTruncatedFileIsRefused) {
  const std::string text = Document().text();
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_THAT(error_from(text.substr(0, size)), HasSubstr("small.json")) << size;
  }
}

TEST(TokenizerJson, DeepNestingIsRefused) {
  for (std::string Document::*part : {&Document::model, &Document::added, &Document::normalizer}) {
    Document document;
    document.*part = std::string(200000, '[') + std::string(200000, ']');
    EXPECT_THAT(error_from(document.text()), HasSubstr("small.json"));
  }
}

TEST(TokenizerJson, AnyChangedByteGivesATokenizerOrAnError) {
  RandomStream random(11, "json test");
  const std::string text = Document().text();
  int loaded = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string changed = text;
    for (uint64_t i = 1 + random.below(2); i > 0; --i) {
      changed[static_cast<size_t>(random.below(text.size()))] =
          static_cast<char>(random.below(128));
    }
    try {
      const Tokenizer tokenizer = Tokenizer::parse(changed, "changed.json");
      tokenizer.encode_pair("Ab [CLS] x", "\xFF ing");
      Tokenizer::parse(tokenizer.to_json(), "again.json");
      ++loaded;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()), "");
    }
  }
  EXPECT_GT(loaded, 10);
}

class TokenizerFolder : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "simile_text_" + info->name();
    make_folders(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    write_file_atomic(join_path(folder_, name), text);
  }
  std::string folder_;
};

TEST_F(TokenizerFolder, TokenizerJsonIsPreferredToVocabulary) {
  write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\nA\n");
  write("tokenizer.json", Document().text());
  EXPECT_EQ(Tokenizer::load(folder_).vocabulary_size(), 6);
  EXPECT_EQ(Tokenizer::load(join_path(folder_, "vocab.txt")).vocabulary_size(), 6)
      << "the four and [PAD] and [MASK]";
  EXPECT_EQ(Tokenizer::load(join_path(folder_, "tokenizer.json")).vocabulary_size(), 6);
}

TEST_F(TokenizerFolder, VocabularyFollowsTheConfigurationBesideIt) {
  write("vocab.txt", "<unk>\r\n[CLS]\r\n[SEP]\r\nA\r\na\r\n\n");
  write("tokenizer_config.json",
        R"({"do_lower_case":false,"unk_token":{"content":"<unk>"},"model_max_length":8})");
  EXPECT_EQ(Tokenizer::load(folder_).encode("A a b").ids, (Ids{1, 3, 4, 0, 2}));
  write("tokenizer_config.json", R"({"do_lower_case":true,"unk_token":"<unk>"})");
  EXPECT_EQ(Tokenizer::load(folder_).encode("A a <unk>").ids, (Ids{1, 4, 4, 0, 2}));
  write("tokenizer_config.json", R"({"do_lower_case":1})");
  EXPECT_THROW(Tokenizer::load(folder_), Error);
}

TEST_F(TokenizerFolder, BrokenVocabularyIsRefused) {
  EXPECT_THROW(Tokenizer::load(folder_), Error);  // no file at all
  for (const char* text : {"", "\n\n", "[UNK]\n[CLS]\n", "[UNK]\n[CLS]\n[SEP]\n\xFF\n"}) {
    write("vocab.txt", text);
    EXPECT_THROW(Tokenizer::load(folder_), Error) << text;
  }
}

}  // namespace
}  // namespace simile
