// SPDX-License-Identifier: Apache-2.0
// Documents with metadata and searches filtered by them, as a user runs them.
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/shell.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::ordered_json;

class MetadataTest : public ShellTest {
 protected:
  void SetUp() override {
    write("c.jsonl",
          R"({"id":"a","text":"the quick fox","year":2020,"lang":"en","ok":true,"deep":{"x":1}}
{"id":"b","text":"a fox and a dog","year":2021.5,"lang":"de","ok":false}
{"id":"c","text":"the world","lang":"en","year":null}
)");
    write("c.tsv",
          "id\tyear\tlang\tok\ttext\n"
          "a\t2020\ten\ttrue\tthe quick fox\n"
          "b\t2021.5\tde\tfalse\ta fox and a dog\n"
          "c\t\ten\t\tthe world\n"
          "d\t007\t\t\tno fox\n");
  }

  void build(const std::string& corpus, const std::string& metadata) const {
    const Outcome outcome = shell(fmt::format(
        "simile index build --quiet --overwrite --model $M --index i --corpus {} --metadata '{}'",
        corpus, metadata));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }

  Json search(const std::string& options) const {
    const Outcome outcome =
        shell("simile search --index i --query 'fox world' --quiet --json " + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? Json::parse(outcome.out)["hits"] : Json::array();
  }

  std::vector<std::string> found(const std::string& filter, const std::string& mode) const {
    std::vector<std::string> ids;
    for (const Json& hit : search(fmt::format("--mode {} --filter \"{}\"", mode, filter))) {
      ids.push_back(hit["id"]);
    }
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  Json metadata_of(const std::string& id) const {
    for (const Json& hit : search("")) {
      if (hit["id"] == id) return hit.value("metadata", Json());
    }
    ADD_FAILURE() << "not found: " << id;
    return {};
  }
};

TEST_F(MetadataTest, ValuesOfJsonLinesStayWhatTheyAre) {
  build("c.jsonl", "*");
  EXPECT_EQ(metadata_of("a").dump(), R"({"year":2020,"lang":"en","ok":true})");
  EXPECT_EQ(metadata_of("b").dump(), R"({"year":2021.5,"lang":"de","ok":false})");
  EXPECT_EQ(metadata_of("c").dump(), R"({"lang":"en"})");
}

TEST_F(MetadataTest, FieldsOfATableAreNumbersWhereJsonHasThem) {
  build("c.tsv", "*");
  EXPECT_EQ(metadata_of("a").dump(), R"({"year":2020,"lang":"en","ok":"true"})");
  EXPECT_EQ(metadata_of("c").dump(), R"({"lang":"en"})");
  EXPECT_EQ(metadata_of("d").dump(), R"({"year":"007"})");
  build("c.tsv", "lang,text");
  EXPECT_EQ(metadata_of("a").dump(), R"({"lang":"en","text":"the quick fox"})");
  EXPECT_TRUE(metadata_of("d").is_object());
}

TEST_F(MetadataTest, EveryModeFindsWhatMatches) {
  build("c.jsonl", "*");
  for (const char* mode : {"vector", "lexical", "hybrid"}) {
    EXPECT_THAT(found("lang = en", mode), ElementsAre("a", "c")) << mode;
    EXPECT_THAT(found("year > 2020.5 or ok = true", mode), ElementsAre("a", "b")) << mode;
    EXPECT_THAT(found("not year > 0", mode), ElementsAre("c")) << mode;
    EXPECT_THAT(found("year != 2020", mode), ElementsAre("b")) << mode;
    EXPECT_THAT(found("lang in (fr, 'es')", mode), IsEmpty()) << mode;
  }
}

TEST_F(MetadataTest, AFilterTakesHitsOutAndLeavesTheOthersAsTheyWere) {
  build("c.jsonl", "lang");
  for (const char* mode : {"vector", "lexical", "hybrid"}) {
    Json left = Json::array();
    for (const Json& hit : search(fmt::format("--mode {}", mode))) {
      if (hit["metadata"]["lang"] == "en") left.push_back(hit);
    }
    EXPECT_EQ(search(fmt::format("--filter 'lang = en' --mode {}", mode)), left);
    EXPECT_EQ(search(fmt::format("--filter 'lang = en' --top-k 1 --mode {}", mode)),
              Json::array({left[0]}));
  }
}

TEST_F(MetadataTest, AnAddedDocumentReplacesMetadataToo) {
  build("c.jsonl", "lang");
  write("d.tsv", "id\ttext\tlang\na\tthe quick fox\tfr\ne\tnew\t\n");
  ASSERT_EQ(
      shell("simile index add --quiet --index i --model $M --corpus d.tsv --metadata lang").code,
      0);
  EXPECT_THAT(found("lang = fr", "vector"), ElementsAre("a"));
  EXPECT_THAT(found("lang = en", "vector"), ElementsAre("c"));
  EXPECT_TRUE(metadata_of("e").is_null());
  EXPECT_EQ(shell("simile check --index i").code, 0);
}

TEST_F(MetadataTest, AddedDocumentsKeepTheColumnsOfTheBuild) {
  build("c.tsv", "year,lang");
  EXPECT_THAT(shell("simile index info --index i --json").out,
              HasSubstr(R"("metadata":["year","lang"])"));
  const std::string add = "simile index add --quiet --index i --model $M --corpus ";
  write("d.tsv", "id\ttext\tlang\tyear\tother\na\tthe quick fox\tfr\t2022\tx\n");
  write("e.jsonl", R"({"id":"b","text":"a fox","lang":"fr","year":2020}
{"id":"c","text":"world"}
)");
  ASSERT_EQ(shell(add + "d.tsv && " + add + "e.jsonl").code, 0);
  EXPECT_EQ(metadata_of("a").dump(), R"({"lang":"fr","year":2022})");
  EXPECT_THAT(found("lang = fr", "vector"), ElementsAre("a", "b"));
  EXPECT_TRUE(metadata_of("c").is_null());
  write("f.tsv", "id\ttext\tlang\na\tthe quick fox\tes\n");
  write("f.jsonl", "{\"id\":\"a\",\"text\":\"fox\",\"lang\":\"es\",\"year\":null}\n");
  expect_error(add + "f.tsv", 3, "f.tsv: no column 'year', which the index keeps with its");
  expect_error(add + "f.jsonl", 3, "f.jsonl: no column 'year', which the index keeps with its");
  EXPECT_EQ(metadata_of("a").dump(), R"({"lang":"fr","year":2022})");
  ASSERT_EQ(shell(add + "f.tsv --metadata lang").code, 0);
  EXPECT_EQ(metadata_of("a").dump(), R"({"lang":"es"})");
  ASSERT_EQ(shell(add + "f.tsv --metadata ''").code, 0);
  EXPECT_TRUE(metadata_of("a").is_null());
  ASSERT_EQ(shell(add + "d.tsv").code, 0);
  EXPECT_EQ(metadata_of("a").dump(), R"({"lang":"fr","year":2022})");
  EXPECT_EQ(shell("simile check --index i").code, 0);
}

TEST_F(MetadataTest, AllColumnsOfTheBuildAreAllColumnsOfWhatIsAdded) {
  build("c.tsv", "*");
  write("d.tsv", "id\ttext\tnew\na\tthe quick fox\t1\n");
  ASSERT_EQ(shell("simile index add --quiet --index i --model $M --corpus d.tsv").code, 0);
  EXPECT_EQ(metadata_of("a").dump(), R"({"new":1})");
  build("c.jsonl", "year,*");
  expect_error("simile index add --quiet --index i --model $M --corpus d.tsv", 3,
               "d.tsv: no column 'year', which the index keeps with its");
  build("c.tsv", "");
  ASSERT_EQ(shell("simile index add --quiet --index i --model $M --corpus d.tsv").code, 0);
  EXPECT_TRUE(metadata_of("a").is_null());
}

TEST_F(MetadataTest, AnImportedIndexKeepsTheColumnsThatItsDocumentsHave) {
  build("c.jsonl", "year");
  ASSERT_EQ(
      shell("simile export --index i --to qdrant-jsonl --output v.jsonl --quiet && "
            "rm v.jsonl.index.json && simile index import --overwrite --index i --from v.jsonl "
            "--model $M --quiet")
          .code,
      0);
  EXPECT_EQ(metadata_of("a").dump(), R"({"year":2020})");
  EXPECT_THAT(shell("simile index info --index i --json").out, HasSubstr(R"("metadata":["year"])"));
  const std::string add = "simile index add --quiet --index i --corpus ";
  write("d.tsv", "id\ttext\tyear\na\tthe quick fox\t2022\n");
  ASSERT_EQ(shell(add + "d.tsv").code, 0);
  EXPECT_EQ(metadata_of("a").dump(), R"({"year":2022})");
  write("e.tsv", "id\ttext\na\tthe quick fox\n");
  expect_error(add + "e.tsv", 3, "e.tsv: no column 'year', which the index keeps with its");
  EXPECT_EQ(metadata_of("a").dump(), R"({"year":2022})");
  build("c.jsonl", "");
  EXPECT_THAT(shell("simile index info --index i --json").out, HasSubstr(R"("metadata":[])"));
}

// As over HTTP, which asks no list.
TEST_F(MetadataTest, MetadataThatTheListLacksAreNotLostSilently) {
  write("x.tsv", "id\ttext\tnew\na\tthe quick fox\t1\n");
  write("d.tsv", "id\ttext\tyear\nb\ta fox\t1\na\tthe quick fox\t2022\n");
  const std::string add = "simile index add --quiet --index i --corpus ";
  for (const char* built : {"", "year"}) {
    build("c.tsv", built);
    ASSERT_EQ(shell(add + "x.tsv --metadata new").code, 0);
    expect_error(
        add + "d.tsv", 3,
        "document \"a\" of the index has 'new' in its metadata, which the one that replaces "
        "it would lose; name the columns to keep with --metadata COLUMNS, or none with "
        "--metadata ''");
    EXPECT_EQ(metadata_of("a").dump(), R"({"new":1})");
    ASSERT_EQ(shell(add + "d.tsv --metadata year").code, 0);
    EXPECT_EQ(metadata_of("a").dump(), R"({"year":2022})");
    ASSERT_EQ(shell(add + "x.tsv --metadata ''").code, 0);
    EXPECT_TRUE(metadata_of("a").is_null());
    ASSERT_EQ(shell(add + "d.tsv --metadata ''").code, 0);
  }
  EXPECT_EQ(shell("simile check --index i").code, 0);
}

TEST_F(MetadataTest, WhatCanBeReadOnlyOnceIsReadOnceOrRefused) {
  build("c.jsonl", "lang");
  write("d.jsonl", "{\"id\":\"a\",\"text\":\"fox\",\"lang\":\"fr\"}\n");
  write("d.tsv", "id\ttext\tlang\na\tfox\tes\n");
  write("e.tsv", "id\ttext\na\tfox\n");
  ASSERT_EQ(shell("mkfifo p.jsonl p.tsv; ln -s /dev/stdin s.jsonl").code, 0);
  const auto piped = [](const std::string& from, const std::string& to, const std::string& more) {
    return fmt::format(
        "timeout 60 cat {0} >{1} & W=$!; timeout 60 \"$P\" index add --quiet --index i --corpus "
        "{1} "
        "{2}; C=$?; kill $W 2>/dev/null; exit $C",
        from, to, more);
  };
  const std::string refused =
      "p.jsonl: no regular file, and would have to be read twice to see whether it has the columns "
      "that the index keeps with its documents; name them with --metadata lang, or write the "
      "corpus "
      "into a file first";
  expect_error(piped("d.jsonl", "p.jsonl", ""), 3, refused);
  expect_error("cat d.jsonl | simile index add --quiet --index i --corpus s.jsonl", 3,
               "s.jsonl: no regular file");
  EXPECT_EQ(metadata_of("a").dump(), R"({"lang":"en"})");
  ASSERT_EQ(shell(piped("d.jsonl", "p.jsonl", "--metadata lang")).code, 0);
  EXPECT_EQ(metadata_of("a").dump(), R"({"lang":"fr"})");
  ASSERT_EQ(shell(piped("d.tsv", "p.tsv", "")).code, 0);
  EXPECT_EQ(metadata_of("a").dump(), R"({"lang":"es"})");
  expect_error(piped("e.tsv", "p.tsv", ""), 3,
               "p.tsv:1: no column 'lang', expected for 'metadata'");
  EXPECT_EQ(metadata_of("a").dump(), R"({"lang":"es"})");
  for (const char* built : {"*", ""}) {
    build("c.jsonl", built);
    ASSERT_EQ(shell(piped("d.jsonl", "p.jsonl", *built == '\0' ? "--metadata lang" : "")).code, 0);
    EXPECT_EQ(metadata_of("a").dump(), R"({"lang":"fr"})");
  }
}

TEST_F(MetadataTest, TablesAndRunsAreAsWithoutThem) {
  build("c.tsv", "*");
  write("q.tsv", "id\ttext\nq\tfox\n");
  EXPECT_THAT(shell("simile search --index i --query fox --quiet").out, Not(HasSubstr("2020")));
  ASSERT_EQ(shell("simile search --index i --queries q.tsv --output r.trec --filter 'lang = de' "
                  "--quiet")
                .code,
            0);
  EXPECT_THAT(read_file(path("r.trec")), ::testing::StartsWith("q Q0 b 1 "));
}

TEST_F(MetadataTest, ExportsHaveThem) {
  build("c.jsonl", "lang,year");
  ASSERT_EQ(shell("simile export --index i --to npy --output v.npy --quiet").code, 0);
  EXPECT_THAT(
      read_file(path("v.jsonl")),
      HasSubstr(R"({"id":"a","text":"the quick fox","metadata":{"year":2020,"lang":"en"}})"));
  const Outcome qdrant = shell("simile export --index i --to qdrant-jsonl --output - --quiet");
  EXPECT_THAT(qdrant.out, HasSubstr(R"("text":"the world","metadata":{"lang":"en"}})"));
  const Outcome opensearch = shell("simile export --index i --to opensearch --output - --quiet");
  EXPECT_THAT(opensearch.out,
              HasSubstr(R"({"text":"the world","metadata":{"lang":"en"},"embedding")"));
}

TEST_F(MetadataTest, SaysWhatIsWrong) {
  const std::string building = "simile index build --model $M --index j --quiet ";
  expect_error(building + "--corpus c.tsv --metadata yaer", 3,
               "c.tsv:1: no column 'yaer', expected for 'metadata'; columns found: id, year, lang, "
               "ok, text (did you mean 'year'?)");
  expect_error(building + "--corpus c.jsonl --metadata yaer", 3,
               "c.jsonl: no row has a column 'yaer', expected for 'metadata'");
  expect_error(building + "--corpus c.jsonl --metadata deep", 3,
               "c.jsonl:1: column 'deep': expected a text or a number, found an object");
  expect_error(
      "printf 'id\\ttext\\tm\\na\\tb\\t%s\\n' $(head -c 20000 /dev/zero | tr '\\0' x) >l.tsv; " +
          building + "--corpus l.tsv --metadata m",
      3, "the metadata of document \"a\" are 20008 bytes, expected at most 16384");
  build("c.tsv", "lang");
  for (const char* asked : {"--query fox --mode vector", "--query fox --mode lexical", "--like a",
                            "--query fox --mode hybrid", "--query nowhere --mode lexical"}) {
    const std::string search = fmt::format("simile search --index i {} --filter ", asked);
    expect_error(search + "'lnag = en'", 2,
                 "no document has 'lnag' in its metadata; known: lang (did you mean 'lang'?)");
    EXPECT_THAT(shell(search + "'lang = xx'").err, HasSubstr("--filter: no document matches"))
        << asked;
    EXPECT_THAT(shell(search + "'lang = de'").err, Not(HasSubstr("--filter"))) << asked;
  }
  expect_error("simile search --index i --query fox --filter 'lang = '", 2,
               "filter: at character 8: expected a value, found the end");
  expect_error("simile search --index i --query fox --filter ''", 2,
               "filter: at character 1: expected a column, not, exists, or (, found the end");
}

}  // namespace
}  // namespace simile
