// SPDX-License-Identifier: Apache-2.0
#include "simile/text/sentencepiece.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/core/random.h"
#include "simile/text/tokenizer.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

using detail::Json;
using testing::HasSubstr;
using Texts = std::vector<std::string>;
using Ids = std::vector<int32_t>;

const char kSeeds[] = SIMILE_SOURCE_DIR "/fuzz/corpus/sentencepiece/";
const char kShared[] = SIMILE_SOURCE_DIR "/../shared/tokenizers/";

std::string seed(const std::string& name) { return read_file(kSeeds + name + ".model"); }

SentencePieceModel tiny(const std::string& name) {
  return parse_sentencepiece_model(seed(name), name);
}

Json document_of(const std::string& name, SentencePieceFamily family) {
  SentencePieceSettings settings;
  settings.family = family;
  return detail::parse_json(sentencepiece_document(tiny(name), settings, name), name);
}

Texts tokens_of(const Tokenizer& tokenizer, std::string_view text) {
  Texts texts;
  for (const int32_t id : tokenizer.encode(text).ids) texts.emplace_back(tokenizer.token(id));
  return texts;
}

// A model folder in which files can be put.
class SentencePieceFolder : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "simile_sentencepiece_" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(path_);
    make_folders(path_);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  void put(const std::string& name, std::string_view bytes) {
    write_file_atomic(join_path(path_, name), bytes);
  }

  std::string path_;
};

TEST(SentencePieceModel, FieldsAreRead) {
  const SentencePieceModel model = tiny("unigram");
  ASSERT_EQ(model.pieces.size(), 16u);
  EXPECT_EQ(model.pieces[0].text, "<unk>");
  EXPECT_EQ(model.pieces[0].kind, SentencePiece::Kind::kUnknown);
  EXPECT_EQ(model.pieces[1].kind, SentencePiece::Kind::kControl);
  EXPECT_EQ(model.pieces[7].text, "\u2581a");
  EXPECT_FLOAT_EQ(model.pieces[7].score, -3.25f);
  EXPECT_EQ(model.type, SentencePieceModel::Type::kUnigram);
  EXPECT_EQ(model.unknown_id, 0);
  EXPECT_FALSE(model.byte_fallback);
  EXPECT_TRUE(model.add_dummy_prefix && model.remove_extra_whitespaces && model.escape_whitespaces);
  EXPECT_FALSE(model.character_table.empty());
  EXPECT_TRUE(tiny("unigram_bytes").byte_fallback);
  EXPECT_EQ(tiny("bpe").type, SentencePieceModel::Type::kBpe);
  const SentencePieceModel bare = tiny("unigram_bare");
  EXPECT_FALSE(bare.add_dummy_prefix || bare.remove_extra_whitespaces);
}

TEST(SentencePieceModel, BadFilesAreErrors) {
  const auto error_from = [](const std::string& bytes) {
    return error_of(ErrorKind::kInput, [&] { parse_sentencepiece_model(bytes, "x.model"); });
  };
  EXPECT_THAT(error_from(""), HasSubstr("x.model: no pieces found"));
  EXPECT_THAT(error_from(seed("word")), HasSubstr("model_type 3 is not supported"));
  EXPECT_THAT(error_from(seed("suffix")), HasSubstr("treat_whitespace_as_suffix"));
  EXPECT_THAT(error_from(seed("no_such_unknown")), HasSubstr("unk_id is 99, but there are 16"));
  EXPECT_THAT(error_from(seed("cut")), HasSubstr("longer than what is left"));
  EXPECT_THAT(error_from("{\"version\":\"1.0\"}"), HasSubstr("x.model"));
  EXPECT_THAT(error_from("\x0A\x03\x0A\x01\xFF"),
              HasSubstr("piece 0: the text is not valid UTF-8"));
  EXPECT_THAT(error_from(std::string("\x0A\x05\x15\x00\x00\xC0\x7F", 7)), HasSubstr("not finite"));
  EXPECT_THAT(error_from(std::string("\x0A\x02\x18\x07", 4)), HasSubstr("type 7 is not known"));
}

TEST(SentencePieceModel, ChangedBytesGiveErrorsAtWorst) {
  RandomStream random(17, "text test");
  int read = 0;
  for (const char* name : {"unigram", "bpe", "unigram_bytes"}) {
    const std::string good = seed(name);
    for (int round = 0; round < 300; ++round) {
      std::string bytes = good.substr(0, good.size() - random.below(3));
      for (int i = 0; i < 2; ++i)
        bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      try {
        sentencepiece_document(parse_sentencepiece_model(bytes, name), {}, name);
        ++read;
      } catch (const Error&) {
      }
    }
  }
  EXPECT_GT(read, 50);
}

TEST(SentencePieceDocument, FamiliesNumberThePiecesTheirWay) {
  const Json xlmr = document_of("unigram", SentencePieceFamily::kXlmRoberta);
  const Json& vocabulary = xlmr.at("model").at("vocab");
  ASSERT_EQ(vocabulary.size(), 18u);
  EXPECT_EQ(vocabulary[3], Json({"<unk>", 0.0}));
  EXPECT_EQ(vocabulary[4], Json({"\u2581", -2.0}));
  EXPECT_EQ(vocabulary[17], Json({"<mask>", 0.0}));
  EXPECT_EQ(xlmr.at("model").at("unk_id"), 3);

  const Json camembert = document_of("unigram", SentencePieceFamily::kCamembert);
  EXPECT_EQ(camembert.at("model").at("vocab")[4], Json({"<unk>NOTUSED", -100.0}));
  EXPECT_EQ(camembert.at("model").at("vocab")[5], Json({"<s>", 0.0}));
  const Json& specials = camembert.at("post_processor").at("special_tokens");
  EXPECT_EQ(specials.at("<s>").at("ids"), Json({5}));

  const Json xlnet = document_of("xlnet", SentencePieceFamily::kXlnet);
  EXPECT_EQ(xlnet.at("model").at("vocab")[21], Json({"9,", -105.5}));
  EXPECT_EQ(xlnet.at("post_processor").at("single").dump(),
            R"([{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"<sep>","type_id":0}},)"
            R"({"SpecialToken":{"id":"<cls>","type_id":2}}])");

  const Json t5 = document_of("unigram", SentencePieceFamily::kT5);
  EXPECT_EQ(t5.at("model").at("vocab").size(), 116u);
  EXPECT_EQ(t5.at("model").at("vocab")[16], Json({"<extra_id_99>", 0.0}));
}

TEST(SentencePieceDocument, MissingSpecialTokenIsAnError) {
  EXPECT_THROW(document_of("unigram", SentencePieceFamily::kAlbert), Error);
  EXPECT_THROW(document_of("bpe", SentencePieceFamily::kXlmRoberta), Error);
}

TEST(SentencePieceDocument, MergesComeByFallingScore) {
  using Merges = std::vector<std::pair<std::string_view, std::string_view>>;
  const SentencePieceModel model = tiny("bpe");
  EXPECT_EQ(list_sentencepiece_merges(model),
            (Merges{{"\u2581", "a"}, {"a", "b"}, {"\u2581a", "b"}, {"\u2581", "ab"}, {"b", "ab"}}));
}

TEST_F(SentencePieceFolder, FolderWithOnlyTheModelIsLoaded) {
  put("spiece.model", seed("unigram_bare"));
  const Tokenizer plain = Tokenizer::load(path_);
  EXPECT_EQ(tokens_of(plain, "ab a"), (Texts{"ab", "\u2581a"}));
  EXPECT_EQ(tokens_of(Tokenizer::load(path_ + "/spiece.model"), "ab a"), tokens_of(plain, "ab a"));
  EXPECT_EQ(Tokenizer::parse(plain.to_json(), "again").encode("ab fi").ids,
            plain.encode("ab fi").ids);

  put("config.json", R"({"model_type":"xlm-roberta"})");
  EXPECT_EQ(Tokenizer::load(path_).encode("ab").ids, (Ids{0, 9, 2}));
  put("tokenizer_config.json",
      R"({"tokenizer_class":"CamembertTokenizerFast","additional_special_tokens":["<new>"]})");
  const Tokenizer camembert = Tokenizer::load(path_);
  EXPECT_EQ(camembert.encode("ab").ids, (Ids{5, 12, 6}));
  EXPECT_TRUE(camembert.is_special(camembert.find("<new>")));
}

TEST_F(SentencePieceFolder, UnknownTokenizerClassIsAnError) {
  put("spiece.model", seed("unigram"));
  put("tokenizer_config.json", R"({"tokenizer_class":"MBartTokenizer"})");
  try {
    Tokenizer::load(path_);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"MBartTokenizer\" is not supported; known are XLMRob"));
  }
}

// A piece as the file has it.
void append_piece(std::string_view text, float score, int kind, std::string& bytes) {
  std::string body = "\x0A";
  const auto append_size = [](size_t size, std::string& out) {
    for (; size > 127; size >>= 7) out += static_cast<char>((size & 127) | 128);
    out += static_cast<char>(size);
  };
  append_size(text.size(), body);
  body += text;
  body += '\x15';
  body.append(reinterpret_cast<const char*>(&score), sizeof score);
  body += '\x18';
  body += static_cast<char>(kind);
  bytes += '\x0A';
  append_size(body.size(), bytes);
  bytes += body;
}

class SentencePieceSlow : public SentencePieceFolder {};

TEST_F(SentencePieceSlow, ModelWrittenFromXlmRobertaGivesItsIds) {
  const std::string folder = kShared + std::string("xlm-roberta-base/");
  if (!folder_exists(folder)) GTEST_SKIP() << "skipped: no ../shared";
  Json published = detail::read_json(folder + "tokenizer.json");
  Json& vocabulary = published.at("model").at("vocab");
  // The published scores have six digits, the file's are floats: equal sums may come apart.
  for (Json& piece : vocabulary) piece[1] = static_cast<double>(piece[1].get<float>());
  std::string bytes;
  append_piece("<unk>", 0, 2, bytes);
  append_piece("<s>", 0, 3, bytes);
  append_piece("</s>", 0, 3, bytes);
  for (size_t id = 4; id + 1 < vocabulary.size(); ++id) {
    append_piece(vocabulary[id][0].get<std::string>(), vocabulary[id][1].get<float>(), 1, bytes);
  }
  const std::string table = decode_base64(
      published.at("normalizer").at("precompiled_charsmap").get<std::string>(), folder);
  std::string normalizer = "\x12";
  for (size_t size = table.size(); size > 0; size >>= 7) {
    normalizer += static_cast<char>(size > 127 ? (size & 127) | 128 : size);
  }
  normalizer += table;
  bytes += '\x1A';
  for (size_t size = normalizer.size(); size > 0; size >>= 7) {
    bytes += static_cast<char>(size > 127 ? (size & 127) | 128 : size);
  }
  put("sentencepiece.bpe.model", bytes + normalizer);
  put("tokenizer_config.json", R"({"tokenizer_class":"XLMRobertaTokenizer"})");
  const Tokenizer tokenizer = Tokenizer::load(path_);
  const Tokenizer expected = Tokenizer::parse(published.dump(), "published");
  const std::string lines = read_file(folder + "golden.jsonl");
  int rows = 0;
  int equal = 0;
  for (size_t begin = 0; begin < lines.size(); ++rows) {
    const size_t end = lines.find('\n', begin);
    const Json row = detail::parse_json(lines.substr(begin, end - begin), "golden.jsonl");
    begin = end + 1;
    const auto text = row.at("text").get<std::string>();
    const std::string pair = row.value("pair", "");
    const Encoding encoding = tokenizer.encode_pair(text, pair);
    EXPECT_EQ(encoding.ids, expected.encode_pair(text, pair).ids) << text;
    EXPECT_EQ(encoding.type_ids, expected.encode_pair(text, pair).type_ids) << text;
    const Ids alone = tokenizer.encode(text).ids;
    equal += (row.contains("pair") ? encoding.ids : alone) == row.at("ids").get<Ids>();
  }
  EXPECT_EQ(rows, 383);
  EXPECT_GE(equal, 381);
}

TEST_F(SentencePieceSlow, XlnetModelHasThePiecesOfItsVocabularyList) {
  const std::string folder = kShared + std::string("xlnet-base-cased/");
  if (!folder_exists(folder)) GTEST_SKIP() << "skipped: no ../shared";
  const SentencePieceModel model =
      parse_sentencepiece_model(read_file(folder + "spiece.model"), "spiece.model");
  const std::string list = read_file(folder + "spiece.vocab.tsv");
  size_t id = 0;
  for (size_t begin = 0; begin < list.size(); ++id) {
    const size_t tab = list.find('\t', begin);
    const size_t end = list.find('\n', tab);
    ASSERT_LT(id, model.pieces.size());
    EXPECT_EQ(model.pieces[id].text, list.substr(begin, tab - begin));
    EXPECT_NEAR(model.pieces[id].score, std::stod(list.substr(tab + 1, end - tab - 1)), 1e-4);
    begin = end + 1;
  }
  EXPECT_EQ(id, model.pieces.size());
}

}  // namespace
}  // namespace simile
