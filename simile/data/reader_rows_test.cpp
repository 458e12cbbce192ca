// SPDX-License-Identifier: Apache-2.0
// Which rows of tables are read: of several files, those that meet a filter, those that are sound.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "simile/data/detail/packed_files_test.h"
#include "simile/data/metadata_filter.h"
#include "simile/data/ranking_files.h"
#include "simile/data/reader.h"
#include "simile/data/text_list.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Read {
  std::vector<std::string> values;  // of the column `a`
  std::vector<int64_t> lines;
  ReadReport report;
  std::string error;
};

Read read(const std::vector<std::string>& paths, const ReadOptions& options) {
  Read read;
  read.error = error_of([&] {
    TableReader reader(paths, {{"left", {"a"}}}, options);
    for (Row row; reader.next(row);) {
      EXPECT_EQ(row.fields.size(), 1);
      read.values.push_back(row.fields[0]);
      read.lines.push_back(row.line);
    }
    read.report = reader.report();
  });
  return read;
}

ReadOptions with_filter(const std::vector<std::string>& filter) { return {0, filter}; }
const ReadOptions kSkip{0, {}, {"skip"}};

TEST(ReaderRows, SeveralFilesAreOneTable) {
  const TestFiles files;
  const std::vector<std::string> paths = {files.write("1.tsv", "a\tb\n1\tx\n\n2\tx\n"),
                                          files.write("2.tsv", "b\ta\n"),
                                          files.write_zstd("3.csv.zst", "b,a\ny,3\n"),
                                          files.write("4.jsonl", "{\"a\":4}\n{\"b\":1,\"a\":5}\n")};
  const Read all = read(paths, {});
  EXPECT_EQ(all.error, "");
  EXPECT_THAT(all.values, ElementsAre("1", "2", "3", "4", "5"));
  EXPECT_THAT(all.lines, ElementsAre(2, 4, 2, 1, 2));
  EXPECT_EQ(all.report.file, paths[0] + " and 3 more files");
  EXPECT_EQ(all.report.rows, 5);
  EXPECT_EQ(all.report.blank_lines, 1);
  EXPECT_THAT(read(paths, {3, {}}).values, ElementsAre("1", "2", "3"));
}

TEST(ReaderRows, OfSeveralFilesTheRightOneIsNamed) {
  const TestFiles files;
  const std::string good = files.write("good.tsv", "a\tb\n1\tx\n");
  EXPECT_THAT(read({good, files.write("bad.tsv", "a\tb\n1\n")}, {}).error,
              HasSubstr("bad.tsv:2: expected 2 fields"));
  EXPECT_THAT(read({good, files.write("other.tsv", "c\n1\n")}, {}).error,
              HasSubstr("other.tsv:1: no column 'a'"));
  EXPECT_THAT(read({good, files.write("none.tsv", "")}, {}).error,
              HasSubstr("none.tsv: the file is empty"));
  EXPECT_THAT(read({good, files.path("absent.tsv")}, {}).error, HasSubstr("absent.tsv"));
  TableReader reader(std::vector<std::string>{good, files.write("x.tsv", "a\n7\n")},
                     {{"left", {"a"}}});
  Row row;
  ASSERT_TRUE(reader.next(row));
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(row.file, 1);
  EXPECT_THAT(error_of([&] { reader.fail(row, 0, "why"); }), HasSubstr("x.tsv:2: column 'a': why"));
}

TEST(ReaderRows, FiltersAreExpressionsThatAllHold) {
  const TestFiles files;
  const std::string path = files.write("t.tsv",
                                       "a\tscore\tgenre\tmy col\n"
                                       "1\t3.0\tnews\tx\n"
                                       "2\t10\tforum\tx y\n"
                                       "3\t-2\tnews flash\t\n"
                                       "4\t3\t\tz\n");
  const struct {
    std::vector<std::string> filter;
    std::vector<std::string> rows;
  } cases[] = {
      {{"score = 3"}, {"1", "4"}},  // as numbers
      {{"score == 3.00"}, {"1", "4"}},
      {{"score != 3"}, {"2", "3"}},
      {{"score>=3"}, {"1", "2", "4"}},
      {{"score > 3"}, {"2"}},
      {{"score < 3"}, {"3"}},
      {{"score <= 3", "score > -2"}, {"1", "4"}},
      {{"score <= 3 and score > -2"}, {"1", "4"}},
      {{"score > 3 or (genre = news and not score < 0)"}, {"1", "2"}},
      {{"score < 0 or score > 3", "genre contains news"}, {"3"}},
      {{"genre = news"}, {"1"}},
      {{"genre != news"}, {"2", "3"}},  // an empty field is no value
      {{"not genre = news"}, {"2", "3", "4"}},
      {{"genre contains news"}, {"1", "3"}},
      {{"genre contains 'news '"}, {"3"}},
      {{"genre < forums"}, {"2"}},
      {{"genre != ''"}, {"1", "2", "3"}},
      {{"'my col' = 'x y'"}, {"2"}},
      {{"'my col' contains x"}, {"1", "2"}},
      {{"score contains 0"}, {"1", "2"}},
      {{"genre not contains news"}, {"2"}},
      {{"genre in (news, forum)"}, {"1", "2"}},
      {{"genre in ('news flash','forum')"}, {"2", "3"}},
      {{"genre not in (news , \"forum\")"}, {"3"}},
      {{"score in (3, 10.0)"}, {"1", "2", "4"}},
      {{"score not in (3)"}, {"2", "3"}},
      {{"'my col' in ('x, y', 'x y')"}, {"2"}},
  };
  for (const auto& c : cases) {
    const Read found = read({path}, with_filter(c.filter));
    EXPECT_EQ(found.error, "") << c.filter[0];
    EXPECT_EQ(found.values, c.rows) << c.filter[0];
    EXPECT_EQ(found.report.filtered, 4 - static_cast<int64_t>(c.rows.size()));
  }
  EXPECT_EQ(read({path}, with_filter({"score = 3"})).report.note(),
            path + ": the filter left out 2 of 4 rows");
  EXPECT_EQ(read({path}, with_filter({"genre not in (forum)"})).report.note(),
            path +
                ": the filter left out 2 of 4 rows; 1 of them lack a value in a column of the "
                "filter, and != and not in do not match a missing value");
  EXPECT_EQ(ReadReport().note(), "");
  EXPECT_THAT(read({path}, {1, {"score = 3"}}).values, ElementsAre("1"));
}

TEST(ReaderRows, FirstRowsCountBeforeTheFilter) {
  const TestFiles files;
  const std::vector<std::string> paths = {
      files.write("1.tsv", "a\tscore\n1\t1\n2\t3\nbroken\n4\t0\n"),
      files.write("2.tsv", "a\tscore\n5\t3\n6\t3\n")};
  ReadOptions options{0, {"score = 3"}, {"skip"}};
  for (const auto& [first, values] : std::map<int64_t, std::vector<std::string>>{
           {2, {"2"}}, {4, {"2"}}, {5, {"2", "5"}}, {0, {"2", "5", "6"}}}) {
    options.first_rows = first;
    EXPECT_EQ(read(paths, options).values, values) << first;
  }
  options.limit = 1;
  options.first_rows = 5;
  EXPECT_THAT(read(paths, options).values, ElementsAre("2"));
}

TEST(ReaderRows, FiltersThatCannotBeAskedAreErrors) {
  const TestFiles files;
  const std::string path = files.write("t.tsv", "a\tscore\n1\tn/a\n2\t\n");
  EXPECT_THAT(read({path}, with_filter({"scores > 3"})).error,
              AllOf(HasSubstr("t.tsv:1: no column 'scores', expected for 'filter'"),
                    HasSubstr("columns found: a, score (did you mean 'score'?)")));
  EXPECT_THAT(read({path}, with_filter({"score > 3"})).error,
              HasSubstr("t.tsv:2: column 'score': expected a number to compare (score > 3), found "
                        "'n/a'"));
  EXPECT_THAT(read({path}, with_filter({"a > 3"})).error,
              HasSubstr("t.tsv: the filter leaves none of its 2 rows: a > 3"));
  EXPECT_THAT(read({path}, with_filter({"a > 3 or score > 3"})).error,
              HasSubstr("t.tsv:2: column 'score': expected a number to compare (a > 3 or score"));
  EXPECT_THAT(read({path}, with_filter({"a < 1 and score > 3"})).error,
              HasSubstr("the filter leaves none"));  // the second test decides nothing
  const std::pair<const char*, const char*> faults[] = {
      {"score >", "filter: at character 8: expected a value, found the end (score >)"},
      {"my col = x", "at character 4: expected =, !=, "},
      {"my col = x",
       "behind the column 'my', found 'col'; several words stand in quotes (my col = x)"},
      {"a = x y", "expected and, or, or the end, found 'y'; several words stand in quotes"},
      {"a in 1, 2", "expected ( and values with commas between, as in (a, b), found '1'"},
      {"score !=", "expected a value, found the end"},
      {"score >= 3 and score", "expected =, !="},
      {"", "expected a column"},
  };
  for (const auto& [bad, message] : faults) {
    EXPECT_THAT(read({path}, with_filter({bad})).error, HasSubstr(message)) << bad;
  }
}

// The filter of a table finds the rows that a search finds by the same filter.
TEST(ReaderRows, FieldsAreValuesAsInAnIndex) {
  const TestFiles files;
  const std::string rows[] = {R"("g":"news, uk","n":10)", R"("g":"web","n":9)",
                              R"("g":"","n":null)",       R"("g":"Web")",
                              R"("g":"it's","n":"9.0")",  R"("g":"007","n":true)"};
  std::string objects, fields = "a\tg\tn\n";
  for (size_t i = 0; i < 6; ++i) objects += fmt::format("{{\"a\":{},{}}}\n", i, rows[i]);
  fields += "0\tnews, uk\t10\n1\tweb\t9\n2\t\t\n3\tWeb\t\n4\tit's\t9.0\n5\t007\ttrue\n";
  const std::vector<std::string> paths = {files.write("t.jsonl", objects),
                                          files.write("t.tsv", fields)};
  for (const char* filter :
       {"n = 9", "n = '9.0'", "n = 9.0", "n != 9", "not n = 9", "n in (9, 10)", "n not in (9)",
        "n = true", "n = 'true'", "g = 007", "g = 7", "g != web", "g = 'it''s' or g = 'news, uk'",
        "g contains news and n >= 9", "not (g = web) and not g = Web", "g not contains e"}) {
    for (const std::string& path : paths) {
      std::vector<std::string> expected;
      CorpusColumns columns;
      columns.id = columns.text = "a";
      columns.metadata = {"g", "n"};
      CorpusReader corpus(path, CorpusReader::Titles::kIgnore, columns);
      for (CorpusText text; corpus.next(text);) {
        if (MetadataFilter(filter).matches(text.metadata)) expected.push_back(text.id);
      }
      const Read found = read({path}, with_filter({filter}));
      EXPECT_EQ(found.values, expected) << filter << " " << path << " " << found.error;
    }
  }
}

TEST(ReaderRows, OfObjectsAFilterMayAskWhatOnlySomeHave) {
  const TestFiles files;
  const std::string path =
      files.write("t.jsonl", "{\"a\":1}\n{\"a\":2,\"ok\":true}\n{\"a\":3,\"ok\":null}\n");
  EXPECT_THAT(read({path}, with_filter({"ok = true"})).values, ElementsAre("2"));
  EXPECT_THAT(read({path}, with_filter({"not ok = true"})).values, ElementsAre("1", "3"));
  EXPECT_THAT(read({path}, with_filter({"ok != true"})).error, HasSubstr("leaves none"));
  EXPECT_THAT(read({path}, with_filter({"okay != true"})).error,
              AllOf(HasSubstr("t.jsonl: no row has a column 'okay'"),
                    HasSubstr("columns of the last row: a, ok")));
}

TEST(ReaderRows, MalformedRowsAreLeftOutWhereAskedFor) {
  const TestFiles files;
  const std::string tsv = files.write("t.tsv", "a\tb\n1\tx\n2\n3\tx\ty\n4\tx\n");
  EXPECT_THAT(read({tsv}, {}).error, HasSubstr("t.tsv:3: expected 2 fields (a, b), found 1"));
  const Read skipped = read({tsv}, kSkip);
  EXPECT_THAT(skipped.values, ElementsAre("1", "4"));
  EXPECT_EQ(skipped.report.rows, 2);
  EXPECT_EQ(skipped.report.malformed, 2);
  EXPECT_EQ(skipped.report.warning(),
            tsv + ": 2 of 4 rows are malformed and were left out (on_error: skip): " + tsv +
                ":3: expected 2 fields (a, b), found 1; " + tsv +
                ":4: expected 2 fields (a, b), found 3");
  const Read objects =
      read({files.write("t.jsonl", "{\"a\":1}\n{\"a\":\n{\"b\":2}\n[1]\n{\"a\":[]}\n{\"a\":2}\n")},
           kSkip);
  EXPECT_THAT(objects.values, ElementsAre("1", "2"));
  EXPECT_THAT(objects.report.problems,
              ElementsAre(HasSubstr("t.jsonl:2: expected one JSON"), HasSubstr(":3: no column 'a'"),
                          HasSubstr(":4: expected a JSON object"), HasSubstr(":5: column 'a'")));
  const Read filtered =
      read({files.write("f.tsv", "a\tn\n1\t5\n2\tx\n3\t1\n")}, {0, {"n > 2"}, {"skip"}});
  EXPECT_THAT(filtered.values, ElementsAre("1"));
  EXPECT_EQ(filtered.report.filtered, 1);
  EXPECT_EQ(filtered.report.malformed, 1);
}

TEST(ReaderRows, AfterABrokenQuoteReadingGoesOnInTheNextLine) {
  const TestFiles files;
  // Row 3 opens a quote, which row 4 seems to close; row 6's is never closed.
  const std::string path = files.write("t.csv",
                                       "a,b\n"
                                       "1,\"x\ny\"\n"
                                       "2,\"x\n"
                                       "3,\"y\"\n"
                                       "4,\"y\" z\n"
                                       "5,\"never\n"
                                       "6,last\n");
  EXPECT_THAT(read({path}, {}).error, HasSubstr("t.csv:4: expected a comma after a quoted field"));
  const Read skipped = read({path}, kSkip);
  EXPECT_EQ(skipped.error, "");
  EXPECT_THAT(skipped.values, ElementsAre("1", "3", "6"));
  EXPECT_THAT(skipped.lines, ElementsAre(2, 5, 8));
  EXPECT_THAT(skipped.report.problems,
              ElementsAre(HasSubstr("t.csv:4: expected a comma after"),
                          HasSubstr("t.csv:6: expected a comma"), HasSubstr("t.csv:7: a quoted")));
  EXPECT_THAT(read({files.write("h.csv", "a,\"b\n1,2\n")}, kSkip).error, HasSubstr("h.csv:1:"));
}

TEST(ReaderRows, TheFirstTenProblemsAreShown) {
  const TestFiles files;
  std::string text = "a\tb\n";
  for (int i = 0; i < 12; ++i) text += "bad\nok\tx\n";
  const Read skipped = read({files.write("t.tsv", text)}, kSkip);
  EXPECT_EQ(skipped.error, "");
  EXPECT_EQ(skipped.report.malformed, 12);
  EXPECT_EQ(skipped.report.problems.size(), 10);
  EXPECT_THAT(skipped.report.problems.back(), HasSubstr("t.tsv:20: "));
  EXPECT_THAT(skipped.report.warning(), HasSubstr("; and 2 more"));
  const Read long_name = read({files.write("l.tsv", "a\tb\n1\tx\nx\n"),
                               files.write("l.csv", "a\n\"x\"" + std::string(500, 'y') + "\n2\n")},
                              kSkip);
  for (const std::string& problem : long_name.report.problems) EXPECT_LE(problem.size(), 303);
}

TEST(ReaderRows, TooManyMalformedRowsAreAnErrorAllTheSame) {
  const TestFiles files;
  std::string half = "a\tb\n", more = "a\tb\nbad\n";
  for (int i = 0; i < 10; ++i) half += "bad\nok\tx\n";
  EXPECT_EQ(read({files.write("half.tsv", half)}, kSkip).error, "");
  EXPECT_THAT(read({files.write("more.tsv", half + "bad\n")}, kSkip).error,
              AllOf(HasSubstr("more.tsv: 11 of 21 rows are malformed, too many to leave out"),
                    HasSubstr("The first: "), HasSubstr("more.tsv:2: expected 2 fields")));
  EXPECT_EQ(read({files.write("few.tsv", "a\tb\nok\tx\nbad\nbad\n")}, kSkip).error, "");
  EXPECT_THAT(read({files.write("all.tsv", "a\tb\nbad\n")}, kSkip).error,
              HasSubstr("all.tsv: 1 of 1 rows are malformed"));
}

TEST(ReaderRows, WhatIsNotARowsFaultIsNeverSkipped) {
  const TestFiles files;
  std::string text = "a\n";
  for (int i = 0; i < 20000; ++i) text += std::to_string(i * i) + "\n";
  const std::string packed = TestFiles::pack_zstd(text);
  const Read cut = read({files.write("t.tsv.zst", packed.substr(0, packed.size() / 2))}, kSkip);
  EXPECT_THAT(cut.error, HasSubstr("the zstd file is cut"));
  const Read other = read({files.write("1.tsv", "a\n1\n"), files.write("2.tsv", "b\n1\n")}, kSkip);
  EXPECT_THAT(other.error, HasSubstr("2.tsv:1: no column 'a'"));
}

TEST(ReaderRows, TextsOfObjectsAreLeftOutToo) {
  const TestFiles files;
  const std::vector<std::string> paths = {
      files.write("a.jsonl", "{\"text\":\"x\"}\n{\"txt\":\"y\"}\n{\"text\":3}\n"),
      files.write("b.txt", "plain {\n"), files.write("c.jsonl", "{\n{\"text\":\"z\"}\n")};
  TextListReader strict(paths);
  TextItem item;
  ASSERT_TRUE(strict.next(item));
  EXPECT_THAT(error_of([&] { strict.next(item); }), HasSubstr("a.jsonl:2: expected an object"));
  TextListReader reader(paths, {true, 0, {"skip"}});
  std::vector<std::string> texts;
  while (reader.next(item)) texts.push_back(item.text);
  EXPECT_THAT(texts, ElementsAre("x", "plain {", "z"));
  EXPECT_EQ(item.file, 2);
  EXPECT_EQ(reader.report().malformed, 3);
  EXPECT_EQ(reader.report().rows, 3);
  EXPECT_THAT(
      reader.report().warning(),
      AllOf(StartsWith(paths[0] + " and 2 more files: 3 of 6 rows"), HasSubstr("c.jsonl:1")));
}

TEST(ReaderRows, CorporaLeaveOutTextsWithoutAnIdOfTheirOwn) {
  const TestFiles files;
  const std::vector<std::string> paths = {files.write("a.tsv", "id\ttext\n1\tx\n\ty\n1\tz\n2\tw\n"),
                                          files.write("b.tsv", "id\ttext\n2\tv\n3\tu\n")};
  const auto ids = [&](const ReadOptions& options, ReadReport& report) {
    CorpusColumns columns;
    columns.table = options.table;
    CorpusReader reader(paths, CorpusReader::Titles::kPrepend, columns);
    std::vector<std::string> found;
    for (CorpusText text; reader.next(text);) found.push_back(text.id);
    report = reader.report();
    return found;
  };
  ReadReport report;
  EXPECT_THAT(ids(kSkip, report), ElementsAre("1", "2", "3"));
  EXPECT_THAT(report.problems,
              ElementsAre(HasSubstr("a.tsv:3: column 'id': expected an id"),
                          HasSubstr("a.tsv:4: column 'id': the id '1' already stands in line 2"),
                          HasSubstr("the id '2' already stands in line 5 of " + paths[0])));
  EXPECT_THAT(error_of([&] { ids({}, report); }), HasSubstr("a.tsv:3"));
}

// A file cut anywhere gives rows or an Error, nothing else.
TEST(ReaderRows, FilesCutAtAnyByteGiveRowsOrAnError) {
  const TestFiles files;
  const std::string tsv = "a\tb\n1\t\xC3\xA9\n2\ty\n";
  const std::string csv = "a,b\n1,\"x\n\"\"y\"\n2,\"z\"\n";
  const std::string jsonl = "{\"a\":\"\\u00e9\",\"b\":[1,{}]}\n{\"a\":2}\n";
  const std::pair<std::string, std::string> cases[] = {
      {"t.tsv", tsv},
      {"t.csv", csv},
      {"t.jsonl", jsonl},
      {"t.csv.zst", TestFiles::pack_zstd(csv)},
  };
  for (const auto& [name, bytes] : cases) {
    for (size_t size = 0; size <= bytes.size(); ++size) {
      const std::string path = files.write(name, bytes.substr(0, size));
      for (const bool skip : {false, true}) {
        const Read found = read({path}, {0, {"a != 7"}, {skip ? "skip" : "strict"}});
        EXPECT_TRUE(!found.error.empty() || !found.values.empty()) << name << " " << size;
        if (found.error.empty()) continue;
        EXPECT_THAT(found.error, HasSubstr(name));
      }
    }
  }
}

}  // namespace
}  // namespace simile
