// SPDX-License-Identifier: Apache-2.0
#include "simile/data/reader.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "simile/data/detail/packed_files_test.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Rows = std::vector<std::vector<std::string>>;

Rows read_rows(const std::string& path, const std::vector<std::string>& names,
               const ReadOptions& options = {}) {
  std::vector<Column> columns;
  for (const std::string& name : names) columns.push_back({"role of " + name, {name}});
  TableReader reader(path, columns, options);
  Rows rows;
  for (Row row; reader.next(row);) rows.push_back(row.fields);
  return rows;
}

std::string error_reading(const std::string& path, const std::vector<std::string>& names) {
  return error_of([&] { read_rows(path, names); });
}

TEST(Reader, FormatFollowsTheFileName) {
  EXPECT_EQ(table_format("a/b.tsv"), TableFormat::kTsv);
  EXPECT_EQ(table_format("b.csv.gz"), TableFormat::kCsv);
  EXPECT_EQ(table_format("b.tsv.zst"), TableFormat::kTsv);
  EXPECT_EQ(table_format("b.jsonl.zst"), TableFormat::kJsonl);
  EXPECT_EQ(table_format("b.jsonl"), TableFormat::kJsonl);
  for (const char* name : {"a.txt", "a.gz", "a", "", ".gz", ".zst", "a.tsv.zst.gz"}) {
    EXPECT_THAT(error_of([&] { table_format(name); }), HasSubstr(".tsv, .csv or .jsonl"));
  }
  const TestFiles files;
  const std::string table = files.write("a.parquet", "PAR1\x15");
  EXPECT_THAT(error_of([&] { table_format(table); }),
              AllOf(HasSubstr("a.parquet: it is a Parquet file; write it as CSV"),
                    HasSubstr(".tsv, .csv or .jsonl")));
}

TEST(Reader, TheSameTableInEveryFormat) {
  const TestFiles files;
  const std::string tsv = "a\tb\tc\n1\tx y\t2.5\n2\t\xC3\xA9\t-1\n";
  const std::string paths[] = {
      files.write("t.tsv", tsv),
      files.write_gzip("t.tsv.gz", tsv),
      files.write_zstd("t.tsv.zst", tsv),
      files.write("t.csv", "a,b,c\r\n1,\"x y\",2.5\r\n2,\xC3\xA9,-1"),
      files.write(
          "t.jsonl",
          "{\"c\": 2.5, \"b\": \"x y\", \"a\": 1}\n\n{\"a\":\"2\",\"b\":\"\\u00e9\",\"c\":-1}"),
  };
  for (const std::string& path : paths) {
    EXPECT_THAT(read_rows(path, {"c", "a", "b"}),
                ElementsAre(ElementsAre("2.5", "1", "x y"), ElementsAre("-1", "2", "\xC3\xA9")))
        << path;
  }
}

TEST(Reader, ASeparatorIsFoundWhereTheFirstRowsSpanLines) {
  const TestFiles files;
  TableReader reader(files.write("spans.csv", "a;b\n\"1;\n\n2\";x\n\n3;\"y\nz\"\n"),
                     {{"a", {"a"}}, {"b", {"b"}}}, {0, {}, {"strict", ""}});
  Row row;
  ASSERT_TRUE(reader.next(row));
  EXPECT_THAT(row.fields, ElementsAre("1;\n\n2", "x"));
  ASSERT_TRUE(reader.next(row));
  EXPECT_THAT(row.fields, ElementsAre("3", "y\nz"));
  EXPECT_FALSE(reader.next(row));
}

TEST(Reader, AnotherSeparatorIsTakenWhereItIsNamedOrCertain) {
  const TestFiles files;
  struct Case {
    const char *name, *bytes, *delimiter, *found;
  };
  const Case cases[] = {
      {"named.csv", "a;b\n1,5;\"x; y\"\n", ";", ""},
      {"tabs.csv", "a\tb\n1,5\t\"x; y\"\n", "tab", ""},
      {"bars.tsv", "a|b\n1,5|x; y\n", "|", ""},
      {"tabs.tsv", "a\tb\n1,5\tx; y\n", "tab", ""},
      {"semi.csv", "a;b\n1,5;\"x; y\"\n", "", "semi.csv is separated by ';'"},
      {"lines.csv", "a;b\n1,5;\"x; y\"\n2;\"one\ntwo; three\"\n", "", "is separated by ';'"},
      {"found.csv", "\"a\"\tb\n1,5\tx; y\n", "", "is separated by 'tab'"},
      {"comma.tsv", "a,b\n\"1,5\",x; y\n", "", "is separated by ','"},
      {"other.tsv", "a\tb\n1,5\tx; y\n", ";",
       "other.tsv is separated by 'tab', as its header line shows, and not by ';'"},
  };
  for (const Case& one : cases) {
    TableReader reader(files.write(one.name, one.bytes), {{"a", {"a"}}, {"b", {"b"}}},
                       {0, {}, {"strict", one.delimiter}});
    Row row;
    ASSERT_TRUE(reader.next(row)) << one.name;
    EXPECT_THAT(row.fields, ElementsAre("1,5", "x; y")) << one.name;
    EXPECT_THAT(reader.report().warning(), HasSubstr(one.found)) << one.name;
    EXPECT_EQ(reader.report().warning().empty(), std::string(one.found).empty()) << one.name;
  }
  // One that is not certain is none: other rows have more or fewer fields, or two would do.
  for (const char* bytes : {"a;b\n1;2;3\n", "a;b\n", "a;b|c\n1;2|3\n", "a;b\n1;2\n3\n"}) {
    EXPECT_THAT(error_reading(files.write("t.csv", bytes), {"a"}),
                HasSubstr("name it with delimiter: ';' in a recipe, --delimiter ';' in a command"));
  }
  EXPECT_THAT(read_rows(files.write("one.csv", "a\n1;2\n"), {"a"}),
              ElementsAre(ElementsAre("1;2")));
  EXPECT_THAT(error_of([&] {
                read_rows(files.path("one.csv"), {"a"}, {0, {}, {"strict", "::"}});
              }),
              HasSubstr("delimiter: expected one character such as ;, or tab, found '::'"));
}

TEST(Reader, APipeHasNoHeaderToLookAt) {
  const TestFiles files;
  const std::string path = files.path("p.tsv");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { read_table_header(path); }),
              HasSubstr("p.tsv' is a pipe, which can be read only once; write it to a file"));
}

TEST(Reader, InTsvAQuoteIsALetter) {
  const TestFiles files;
  EXPECT_THAT(read_rows(files.write("t.tsv", "a\tb\n\"x\ty\"z\"\n"), {"a", "b"}),
              ElementsAre(ElementsAre("\"x", "y\"z\"")));
}

TEST(Reader, CsvQuotingAsInRfc4180) {
  const TestFiles files;
  const std::string path = files.write(
      "t.csv",
      "\"a\",b\n\"x, y\",\"say \"\"hi\"\"\"\n\"two\r\nlines\n\",\n\"\",in \"the\" middle\n");
  EXPECT_THAT(read_rows(path, {"a", "b"}),
              ElementsAre(ElementsAre("x, y", "say \"hi\""), ElementsAre("two\nlines\n", ""),
                          ElementsAre("", "in \"the\" middle")));
}

TEST(Reader, CsvBrokenQuotesNameTheLineTheyBeginIn) {
  const TestFiles files;
  EXPECT_THAT(error_reading(files.write("open.csv", "a,b\n1,2\n3,\"x\ny\n"), {"a"}),
              AllOf(HasSubstr("open.csv:3:"), HasSubstr("never closed")));
  EXPECT_THAT(error_reading(files.write("after.csv", "a,b\n\"x\"y,2\n"), {"a"}),
              AllOf(HasSubstr("after.csv:2:"), HasSubstr("found 'y,2'")));
}

TEST(Reader, MissingColumnNamesFileColumnsFoundAndTheNearest) {
  const TestFiles files;
  const std::string message =
      error_reading(files.write("t.tsv", "sentence1\tsentence2\tscore\na\tb\t1\n"), {"sentense1"});
  EXPECT_THAT(message, AllOf(HasSubstr("t.tsv:1: no column 'sentense1'"),
                             HasSubstr("expected for 'role of sentense1'"),
                             HasSubstr("columns found: sentence1, sentence2, score"),
                             HasSubstr("did you mean 'sentence1'?")));
  EXPECT_THAT(error_reading(files.write("t.jsonl", "{\"a\":1}\n{\"b\":1}\n"), {"a"}),
              AllOf(HasSubstr("t.jsonl:2: no column 'a'"), HasSubstr("columns found: b")));
}

TEST(Reader, OptionalAndAlternativeColumns) {
  const TestFiles files;
  TableReader reader(files.write("t.tsv", "_id\ttext\n7\tx\n"),
                     {{"id", {"id", "_id"}}, {"title", {"title"}, false}});
  Row row;
  ASSERT_TRUE(reader.next(row));
  EXPECT_THAT(row.fields, ElementsAre("7", ""));
  EXPECT_TRUE(reader.has_column(0));
  EXPECT_FALSE(reader.has_column(1));
}

TEST(Reader, ARowOfAnotherLengthNamesLineExpectedAndFound) {
  const TestFiles files;
  const std::string few = files.write("few.tsv", "a\tb\tc\n1\t2\t3\n1\t2\n");
  EXPECT_THAT(error_reading(few, {"a"}),
              HasSubstr("few.tsv:3: expected 3 fields (a, b, c), found 2"));
  const std::string many = files.write("many.csv", "a,b\n1,2,3\n");
  EXPECT_THAT(error_reading(many, {"a"}),
              HasSubstr("many.csv:2: expected 2 fields (a, b), found 3"));
  EXPECT_THAT(error_reading(files.write("twice.tsv", "a\ta\n1\t2\n"), {"a"}),
              HasSubstr("expected one column 'a', found several"));
}

TEST(Reader, ARowOfEndlessFieldsIsMalformed) {
  const TestFiles files;
  const std::string tabs(70000, '\t'), commas(70000, ',');
  EXPECT_THAT(error_reading(files.write("t.tsv", "a\tb\n" + tabs + "\n"), {"a"}),
              HasSubstr("t.tsv:2: expected at most 65536 fields"));
  EXPECT_THAT(error_reading(files.write("h.tsv", tabs + "\n"), {"a"}),
              HasSubstr("h.tsv:1: expected at most 65536 fields"));
  EXPECT_THAT(error_reading(files.write("t.csv", "a,b\n" + commas + "\n"), {"a"}),
              HasSubstr("t.csv:2: expected at most 65536 fields"));
  std::string object = "{\"a\":1";
  for (int i = 0; i < 70000; ++i) object += ",\"b\":[]";
  EXPECT_THAT(error_reading(files.write("t.jsonl", object + "}\n"), {"a"}),
              HasSubstr("t.jsonl:1: expected one JSON object per line: it has more than 65536"));
}

// The parser would take it for the end of the line.
TEST(Reader, AZeroByteInALineOfJsonIsAnError) {
  const TestFiles files;
  const std::string line("{\"a\":\"x\"}\0{\"a\":\"y\"}\n", 20);
  EXPECT_THAT(error_reading(files.write("zero.jsonl", line), {"a"}),
              HasSubstr("zero.jsonl:1: expected one JSON object per line: it has a zero byte"));
}

TEST(Reader, AFileWithoutRowsIsAnError) {
  const TestFiles files;
  EXPECT_THAT(error_reading(files.write("e.tsv", ""), {"a"}),
              HasSubstr("e.tsv: the file is empty"));
  EXPECT_THAT(error_reading(files.write("e.jsonl", "\n\n"), {"a"}), HasSubstr("holds nothing"));
  EXPECT_THAT(error_reading(files.write("h.csv", "a,b\n"), {"a"}),
              HasSubstr("a header line but no rows"));
}

TEST(Reader, ByteOrderMarkBlankLinesAndBrokenBytesAreReported) {
  const TestFiles files;
  TableReader reader(files.write("t.tsv",
                                 "\xEF\xBB\xBF"
                                 "a\tb\r\n\r\ncaf\xE9\t1\r\n\n"),
                     {{"left", {"a"}}});
  Row row;
  ASSERT_TRUE(reader.next(row));
  EXPECT_THAT(row.fields, ElementsAre("caf\xEF\xBF\xBD"));
  EXPECT_EQ(row.line, 3);
  ASSERT_FALSE(reader.next(row));
  EXPECT_EQ(reader.report().rows, 1);
  EXPECT_EQ(reader.report().blank_lines, 2);
  EXPECT_EQ(reader.report().replaced_bytes, 1);
  EXPECT_THAT(reader.report().warning(),
              AllOf(HasSubstr("1 bytes are not UTF-8"), HasSubstr(".tsv:"),
                    HasSubstr("such as windows-1252 (--encoding)")));
  EXPECT_EQ(ReadReport().warning(), "");
}

TEST(Reader, LimitStopsEarly) {
  const TestFiles files;
  const std::string path = files.write("t.tsv", "a\n1\n2\n3\n");
  EXPECT_EQ(read_rows(path, {"a"}, {2}).size(), 2);
  EXPECT_EQ(read_rows(path, {"a"}, {9}).size(), 3);
}

TEST(Reader, NumbersAreReadWholeOrNamedWithFileLineColumnAndText) {
  const TestFiles files;
  const std::string good[] = {"1", " 2.5 ", "-3e2", "+4", "0"};
  const double values[] = {1, 2.5, -300, 4, 0};
  for (size_t i = 0; i < 5; ++i) {
    TableReader reader(files.write("t.tsv", "s\tb\n" + good[i] + "\t\n"), {{"score", {"s"}}});
    Row row;
    ASSERT_TRUE(reader.next(row));
    EXPECT_EQ(reader.number(row, 0), values[i]);
  }
  for (const char* bad : {"", "x", "1x", "nan", "inf", "1e999", "1,5", "+-1", "--1"}) {
    TableReader reader(files.write("t.tsv", std::string("s\tb\n") + bad + "\t\n"),
                       {{"score", {"s"}}});
    Row row;
    ASSERT_TRUE(reader.next(row));
    EXPECT_THAT(
        error_of([&] { reader.number(row, 0); }),
        HasSubstr(std::string("t.tsv:2: column 's': expected a number, found '") + bad + "'"));
  }
}

TEST(Reader, JsonLinesThatAreNotPlainObjectsAreErrors) {
  const TestFiles files;
  const char* broken[] = {"{", "[1]", "1", "{\"a\":}", "{\"a\":\"\\ud800\"}", "{\"a\":1} x", "nul"};
  for (const char* text : broken) {
    EXPECT_THAT(error_reading(files.write("t.jsonl", std::string("{\"a\":1}\n") + text), {"a"}),
                HasSubstr("t.jsonl:2: expected"))
        << text;
  }
  EXPECT_THAT(error_reading(files.write("l.jsonl", "{\"a\":[1]}"), {"a"}),
              HasSubstr("l.jsonl:1: column 'a': expected a text or a number, found a list"));
  EXPECT_THAT(error_reading(files.write("n.jsonl", "{\"a\":null}"), {"a"}),
              HasSubstr("'a' is null, expected a value"));
}

TEST(Reader, DeeplyNestedJsonIsPassedOver) {
  const TestFiles files;
  const std::string deep(100000, '[');
  const std::string path = files.write(
      "t.jsonl", "{\"x\":" + deep + std::string(100000, ']') + ",\"a\":{\"a\":3},\"b\":true}");
  EXPECT_THAT(read_rows(path, {"b"}), ElementsAre(ElementsAre("true")));
  EXPECT_THAT(error_reading(files.write("cut.jsonl", "{\"x\":" + deep), {"b"}),
              HasSubstr("cut.jsonl:1"));
}

// Any bytes give rows or an Error, nothing else.
TEST(Reader, BytesOfAnyKindGiveRowsOrAnError) {
  const TestFiles files;
  const std::string alphabet("a\t\n\r,\"{}[]:\\1.\0\xC3\xA9\xFF", 18);
  uint32_t state = 12345;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = round % 3 == 0 ? "a\tb\n" : round % 3 == 1 ? "a,b\n" : "{\"a\":1}\n";
    for (int i = 0; i < 40; ++i) {
      state = state * 1664525 + 1013904223;
      bytes += alphabet[(state >> 16) % alphabet.size()];
    }
    for (const char* name : {"t.tsv", "t.csv", "t.jsonl"})
      error_reading(files.write(name, bytes), {"a"});
  }
}

}  // namespace
}  // namespace simile
