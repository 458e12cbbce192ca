// SPDX-License-Identifier: Apache-2.0
#include "simile/index/index_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"
#include "simile/index/index_folder.h"
#include "simile/index/searcher.h"

namespace simile {
namespace {

using testing::HasSubstr;

const std::string kModel = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";

class Warnings : public EventSink {
 public:
  void warning(const std::string& message) override { messages.push_back(message); }
  std::vector<std::string> messages;
};

class IndexWriterTest : public testing::Test, protected TestFiles {
 protected:
  static NewIndexOptions options() {
    NewIndexOptions options;
    options.model = kModel;
    return options;
  }
  void build() const {
    IndexWriter writer = IndexWriter::create(path("index"), options());
    writer.add({{"mat", "the cat sat on the mat", R"({"kind":"a"})"}, {"sun", "the sun was red"}});
    writer.commit();
  }
  IndexInfo info() const { return read_index_info(path("index")); }

  template <typename Body>
  static void expect_error(ErrorKind kind, const std::string& message, const Body& body) {
    try {
      body();
      ADD_FAILURE() << "expected: " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
};

TEST_F(IndexWriterTest, NothingIsThereBeforeTheCommit) {
  {
    IndexWriter writer = IndexWriter::create(path("index"), options());
    EXPECT_EQ(writer.add({{"a", "the cat"}}).documents, 1);
    EXPECT_FALSE(is_index(path("index")));
  }
  EXPECT_FALSE(file_exists(path("index")) || folder_exists(path("index.building")));
  build();
  EXPECT_EQ(info().count, 2);
  EXPECT_EQ(info().model.precision, "fp32");
  EXPECT_EQ(info().model.metadata->size(), 1u);
}

TEST_F(IndexWriterTest, ChangesAnIndexThatIsThere) {
  build();
  IndexWriter writer = IndexWriter::open(path("index"));
  const IndexWriter::Added added = writer.add({{"sun", "a red sun"}, {"dog", "a dog ran"}});
  EXPECT_EQ(added.documents, 2);
  EXPECT_EQ(added.replaced, 1);
  EXPECT_EQ(writer.index().remove({"mat"}), 1);
  EXPECT_EQ(info().count, 2);
  EXPECT_EQ(info().removed, 2);
  writer.merge();
  EXPECT_EQ(info().removed, 0);
  EXPECT_EQ(Searcher::open(path("index")).search("a red sun", 1)[0].id, "sun");
  ApproximateOptions always;
  always.approximate = "always";
  writer.merge(always);
  EXPECT_TRUE(info().graph.has_value());
}

TEST_F(IndexWriterTest, VectorsOfOneIndexAreMadeAlike) {
  build();
  IndexModelOptions other;
  other.precision = "int8";
  expect_error(ErrorKind::kUsage, "--precision int8",
               [&] { IndexWriter::open(path("index"), other); });
  other.precision = "fp32";
  other.encode.prompt_name = "query";
  expect_error(ErrorKind::kUsage, "--prompt query",
               [&] { IndexWriter::open(path("index"), other); });
  other = {};
  other.model = SIMILE_SOURCE_DIR "/models/simile-mini-3-static";
  expect_error(ErrorKind::kInput, "cannot be compared",
               [&] { IndexWriter::open(path("index"), other); });
}

TEST_F(IndexWriterTest, CutsDocumentsAsTheIndexSays) {
  NewIndexOptions split = options();
  split.passages = {8, 2, 0};
  const std::string text = "the cat sat on the mat and the dog ran under the sun and the hill";
  {
    IndexWriter writer = IndexWriter::create(path("index"), split);
    writer.add({{"long", text}});
    writer.commit();
  }
  const int64_t passages = info().vectors;
  EXPECT_GT(passages, 1);
  IndexWriter::open(path("index")).add({{"second", text}});
  EXPECT_EQ(info().vectors, 2 * passages);
  split.overwrite = true;
  split.passages = {8, 2};  // documents that the model reads whole are not split
  {
    IndexWriter writer = IndexWriter::create(path("index"), split);
    writer.add({{"long", text}});
    writer.commit();
  }
  IndexWriter::open(path("index")).add({{"second", text}});
  EXPECT_EQ(info().vectors, 2);
  EXPECT_GT(info().model.passages.passage_whole, 20);
  split.passages = {512, 2};
  expect_error(ErrorKind::kUsage, "passage_tokens",
               [&] { IndexWriter::create(path("index"), split); });
  EXPECT_EQ(info().count, 2);  // it was not replaced
}

TEST_F(IndexWriterTest, AddsACorpusWithTheColumnsOfTheIndex) {
  const std::string first =
      write("first.tsv", "id\ttext\tkind\tyear\na\tthe cat\tx\t2020\nb\t \tx\t2021\n");
  NewIndexOptions with_kind = options();
  with_kind.metadata = std::vector<std::string>{"kind"};
  Warnings warnings;
  IndexWriter writer = IndexWriter::create(path("index"), with_kind, warnings);
  CorpusColumns columns;
  columns.metadata = {"kind"};
  EXPECT_EQ(writer.add_corpus(first, columns).documents, 2);
  writer.commit();
  EXPECT_THAT(warnings.messages, testing::Contains(HasSubstr("1 of 2 documents have no text")));

  IndexWriter changes = IndexWriter::open(path("index"));
  const std::string second = write("second.tsv", "id\ttext\tkind\na\ta dog\ty\n");
  EXPECT_EQ(changes.add_corpus(second).replaced, 1);
  const SearchIndex index =
      SearchIndex::open_without_model(path("index"), SearchIndex::Access::kRead);
  EXPECT_EQ(index.find("a")->metadata, R"({"kind":"y"})");
  const std::string without = write("third.tsv", "id\ttext\na\ta dog\n");
  expect_error(ErrorKind::kInput, "no column 'kind'", [&] { changes.add_corpus(without); });
  columns.metadata = {""};
  EXPECT_EQ(changes.add_corpus(without, columns).replaced, 1);
  EXPECT_EQ(index.find("a")->metadata, "");
}

TEST_F(IndexWriterTest, AFileThatFailsSaysWhatWasAddedBefore) {
  build();
  CorpusColumns none;
  none.metadata = {""};
  IndexWriter writer = IndexWriter::open(path("index"));
  const auto error_of = [&](const std::string& rows) -> std::string {
    try {
      writer.add_corpus(write("corpus.tsv", "id\ttext\n" + rows), none);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(error_of("a\tcat\na\tdog\n"), testing::Not(HasSubstr("were added")));
  std::string rows;
  for (int i = 0; i < 4096; ++i) rows += "d" + std::to_string(i) + "\tcat\n";
  EXPECT_THAT(error_of(rows + "d0\tdog\n"),
              HasSubstr("; 4096 documents before it were added to " + path("index") +
                        ": give the whole file again"));
  EXPECT_EQ(info().count, 4098);
}

}  // namespace
}  // namespace simile
