// SPDX-License-Identifier: Apache-2.0
// An index of passages against one whose documents are the passages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/random.h"
#include "simile/index/detail/index_setup_test.h"
#include "simile/index/detail/manifest.h"

namespace simile {
namespace {

using detail::vector_of_text;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int64_t kPassageD = 8;

std::string some_words(RandomStream& stream, int count) {
  static const std::vector<std::string> words = {"sea", "tide", "é", "boat", "wind", "sail"};
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += (text.empty() ? "" : " ") + words[stream.below(words.size())];
  }
  return text;
}

// A document of up to five overlapping passages, or none.
Document some_document(const std::string& id, RandomStream& stream) {
  Document document{id, some_words(stream, 12)};
  document.metadata = stream.below(2) == 0 ? R"({"part":"a"})" : R"({"part":"b"})";
  const auto size = static_cast<int64_t>(document.text.size());
  const auto count = static_cast<int64_t>(stream.below(6));
  for (int64_t i = 0; i < count; ++i) {
    document.passages.push_back({i * 4, std::min(size, 12 + i * 5)});
  }
  return document;
}

Matrix<float> vectors_of_passages(const std::vector<Document>& documents) {
  return detail::vectors_of_texts(documents, kPassageD);
}

// "id#i" for each passage.
std::vector<Document> as_documents(const std::vector<Document>& documents) {
  std::vector<Document> passages;
  for (const Document& document : documents) {
    for (int64_t i = 0; i < document.vectors(); ++i) {
      passages.push_back({fmt::format("{}#{}", document.id, i), std::string(document.text_of(i)),
                          document.metadata});
    }
  }
  return passages;
}

class PassageSearchTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "simile_passages_" + std::to_string(getpid()) +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return join_path(folder_, name); }

  static IndexedModel model(bool with_passages) {
    IndexedModel model{"abc", "mini", kPassageD, VectorMetric::kInnerProduct};
    if (with_passages) model.passages = {16, 4};
    return model;
  }

  void build(const std::string& name, bool with_passages,
             const std::vector<Document>& documents) const {
    SearchSettings exact;
    exact.approximate.approximate = "never";  // the largest would take minutes under sanitizers
    IndexBuilder builder(path(name), model(with_passages), true, exact);
    builder.add(documents, vectors_of_passages(documents));
    builder.commit();
  }

  SearchIndex open(const std::string& name,
                   SearchIndex::Access access = SearchIndex::Access::kRead) const {
    return SearchIndex::open_without_model(path(name), access);
  }

  std::string folder_;
};

SearchQueries some_queries(RandomStream& stream, const std::string& filter) {
  SearchQueries queries;
  for (int i = 0; i < 5; ++i) queries.texts.push_back(some_words(stream, 2));
  queries.vectors = Matrix<float>(5, kPassageD);
  for (int64_t i = 0; i < 5; ++i) {
    vector_of_text(queries.texts[static_cast<size_t>(i)], kPassageD, queries.vectors.row(i));
  }
  if (!filter.empty()) queries.filter = MetadataFilter(filter);
  return queries;
}

// The best of each document's passages in a search of all passages.
std::vector<SearchHit> first_of_each(const std::vector<SearchHit>& passages, size_t top_k) {
  std::vector<SearchHit> hits;
  std::set<std::string> seen;
  for (SearchHit hit : passages) {
    hit.id = hit.id.substr(0, hit.id.find('#'));
    if (hits.size() < top_k && seen.insert(hit.id).second) hits.push_back(hit);
  }
  return hits;
}

void expect_same(const std::vector<SearchHit>& found, const std::vector<SearchHit>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].id, expected[i].id);
    EXPECT_EQ(found[i].text, expected[i].text);
    EXPECT_EQ(found[i].score, expected[i].score);
    EXPECT_EQ(found[i].by_vector, expected[i].by_vector);
    EXPECT_EQ(found[i].by_words, expected[i].by_words);
    EXPECT_EQ(found[i].metadata, expected[i].metadata);
  }
}

void expect_same_searches(const SearchIndex& passages, const SearchIndex& documents) {
  RandomStream stream(3, "queries");
  for (const char* mode : {"vector", "lexical", "hybrid"}) {
    for (const char* filter : {"", "part = a"}) {
      SearchSettings settings;
      settings.mode = mode;
      const SearchQueries queries = some_queries(stream, filter);
      for (const int64_t top_k : {1, 3, 10, 1000}) {
        const auto found = passages.search(queries, top_k, settings);
        const auto all = documents.search(queries, 100000, settings);
        for (size_t i = 0; i < found.size(); ++i) {
          SCOPED_TRACE(fmt::format("{} {} {}", mode, filter, top_k));
          expect_same(found[i], first_of_each(all[i], static_cast<size_t>(top_k)));
        }
      }
    }
  }
}

TEST_F(PassageSearchTest, FindsTheBestPassageOfEachDocumentBitForBit) {
  RandomStream stream(1, "documents");
  std::vector<Document> documents;
  for (int i = 0; i < 60; ++i) documents.push_back(some_document(fmt::format("d{}", i), stream));
  build("passages", true, documents);
  build("documents", false, as_documents(documents));
  expect_same_searches(open("passages"), open("documents"));
  EXPECT_EQ(read_index_info(path("passages")).count, 60);
  EXPECT_EQ(read_index_info(path("passages")).vectors, read_index_info(path("documents")).count);
}

TEST_F(PassageSearchTest, ChangesReplaceAndRemoveAllPassages) {
  RandomStream stream(2, "documents");
  detail::PlainIndex plain;
  std::vector<Document> documents;
  for (int i = 0; i < 30; ++i) documents.push_back(some_document(fmt::format("d{}", i), stream));
  build("passages", true, documents);
  plain.add(documents);
  SearchIndex index = open("passages", SearchIndex::Access::kWrite);
  for (int round = 0; round < 30; ++round) {
    const std::string id = fmt::format("d{}", stream.below(40));
    if (stream.below(3) == 0 && plain.has(id)) {
      index.remove({id});
      plain.remove({id});
    } else {
      const Document document = some_document(id, stream);
      EXPECT_EQ(index.add({document}, vectors_of_passages({document})), plain.has(id) ? 1 : 0);
      plain.add({document});
    }
    if (round % 10 == 9) index.merge();
  }
  build("documents", false, as_documents(plain.documents()));
  expect_same_searches(index, open("documents"));
  const IndexCheck check = check_index(path("passages"));
  EXPECT_EQ(check.info.count, static_cast<int64_t>(plain.documents().size()));
  std::vector<std::string> texts, expected;
  index.for_each([&](const Document& document, int64_t passage, const float* vector) {
    texts.emplace_back(document.text_of(passage));
    std::vector<float> of_text(kPassageD);
    vector_of_text(texts.back(), kPassageD, of_text.data());
    EXPECT_EQ(std::vector<float>(vector, vector + kPassageD), of_text);
  });
  for (const Document& document : as_documents(plain.documents())) {
    expected.push_back(document.text);
  }
  EXPECT_EQ(texts, expected);
}

TEST_F(PassageSearchTest, HitsTellWhereTheirPassageStands) {
  Document document{"long", "é tide wind sail", "", {{0, 7}, {3, 12}, {8, 17}}};
  build("index", true, {document, {"short", "boat"}});
  SearchQueries queries;
  queries.texts = {"sail", "boat"};
  SearchSettings settings;
  settings.mode = "lexical";
  const auto hits = open("index").search(queries, 5, settings);
  ASSERT_EQ(hits[0].size(), 1u);
  EXPECT_EQ(hits[0][0].text, "wind sail");
  ASSERT_TRUE(hits[0][0].passage);
  EXPECT_EQ(hits[0][0].passage->begin, 7);
  EXPECT_EQ(hits[0][0].passage->end, 16);
  EXPECT_EQ(hits[0][0].passage->number, 2);
  EXPECT_EQ(hits[0][0].passage->of, 3);
  ASSERT_EQ(hits[1].size(), 1u);
  EXPECT_FALSE(hits[1][0].passage);
}

TEST_F(PassageSearchTest, DocumentsOfManyPassagesCrossSegments) {
  Document large{"large", std::string(70000, 'x')};
  for (int64_t i = 0; i < 70000; ++i) large.passages.push_back({i, i + 1});
  Document words{"words", "sea boat", "", {{0, 3}, {4, 8}}};
  build("index", true, {large, words});
  SearchIndex index = open("index", SearchIndex::Access::kWrite);
  EXPECT_EQ(index.info().segments, 2);
  EXPECT_EQ(index.info().vectors, 70002);
  const IndexCheck check = check_index(path("index"));
  EXPECT_EQ(check.info.count, 2);
  Matrix<float> query(1, kPassageD);
  vector_of_text("boat", kPassageD, query.row(0));
  EXPECT_EQ(index.search(query, 2)[0].size(), 2u);
  index.remove({"large"});
  EXPECT_EQ(index.info().vectors, 2);
  index.merge();
  EXPECT_EQ(index.search(query, 2)[0].size(), 1u);
  EXPECT_EQ(index.search(query, 2)[0][0].text, "boat");
}

TEST_F(PassageSearchTest, PassagesThatAreNoneAreRefused) {
  build("index", true, {});
  build("without", false, {});
  SearchIndex index = open("index", SearchIndex::Access::kWrite);
  const auto refuse = [](SearchIndex& to, const std::vector<Passage>& passages,
                         const std::string& message) {
    Document document{"a", "some text"};
    document.passages = passages;
    try {
      to.add({document}, Matrix<float>(document.vectors(), kPassageD));
      ADD_FAILURE() << "added; expected " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  };
  const std::string wrong = "document \"a\": its passages do not rise within its text";
  refuse(index, {{0, 10}}, wrong);
  refuse(index, {{-1, 4}}, wrong);
  refuse(index, {{4, 4}}, wrong);
  refuse(index, {{2, 4}, {0, 6}}, wrong);
  SearchIndex without = open("without", SearchIndex::Access::kWrite);
  refuse(without, {{0, 4}}, "the index was made without");
}

}  // namespace
}  // namespace simile
