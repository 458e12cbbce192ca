// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/index/detail/index_setup_test.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/detail/sqlite.h"
#include "simile/index/index_builder.h"
#include "simile/index/search_index.h"

namespace simile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

constexpr int64_t kSize = 8;  // of vectors

std::vector<Document> documents_from(int64_t begin, int64_t end) {
  constexpr const char* kLanguages[] = {"en", "de", "fr"};
  std::vector<Document> documents;
  for (int64_t i = begin; i < end; ++i) {
    const std::string text =
        fmt::format("common {} word{} word{}", i % 2 == 0 ? "even" : "odd even", i % 7, i % 11);
    const std::string metadata = i % 5 == 0 ? ""
                                            : fmt::format(R"({{"n":{},"lang":"{}","odd":{}}})", i,
                                                          kLanguages[i % 3], i % 2 == 1);
    documents.push_back({fmt::format("d{}", i), text, metadata});
  }
  return documents;
}

class FilteredSearchTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "simile_filtered_" + std::to_string(getpid()) +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    IndexBuilder builder(folder_, {"abc", "models/mini", kSize, VectorMetric::kInnerProduct});
    const std::vector<Document> documents = documents_from(0, 120);
    builder.add(documents, detail::vectors_of_texts(documents, kSize));
    builder.commit();
  }
  void TearDown() override { fs::remove_all(folder_); }

  SearchIndex open() const {
    return SearchIndex::open(folder_, "abc", "models/mini", SearchIndex::Access::kWrite);
  }

  static void add(SearchIndex& index, const std::vector<Document>& documents) {
    index.add(documents, detail::vectors_of_texts(documents, kSize));
  }

  static SearchQueries queries(const std::string& filter) {
    SearchQueries queries;
    for (const char* text : {"common even word3", "odd word5", "absent"}) {
      queries.texts.emplace_back(text);
    }
    queries.vectors = Matrix<float>(3, kSize);
    for (int64_t i = 0; i < 3; ++i) {
      detail::vector_of_text(queries.texts[static_cast<size_t>(i)], kSize, queries.vectors.row(i));
    }
    if (!filter.empty()) queries.filter = MetadataFilter(filter);
    return queries;
  }

  static int64_t matching(const SearchIndex& index, const std::string& filter) {
    SearchQueries all;
    if (!filter.empty()) all.filter = MetadataFilter(filter);
    return index.count(all, {}, {}, 0)[0].documents;
  }

  static std::vector<std::string> found(const SearchIndex& index, const std::string& filter) {
    std::vector<std::string> ids;
    const auto results = index.search(queries(filter), 1000, {"vector", {}});
    for (const SearchHit& hit : results[0]) ids.push_back(hit.id);
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  std::string folder_;
};

std::vector<SearchSettings> all_settings() {
  return {{"vector", {}},
          {"lexical", {}},
          {"hybrid", {0.3, "zsum"}},
          {"hybrid", {0.5, "rrf"}},
          {"hybrid", {0.7, "zsum"}}};
}

void expect_same(const SearchHit& hit, const SearchHit& expected) {
  EXPECT_EQ(hit.id, expected.id);
  EXPECT_EQ(hit.text, expected.text);
  EXPECT_EQ(hit.metadata, expected.metadata);
  EXPECT_EQ(hit.score, expected.score);
  EXPECT_EQ(hit.by_vector, expected.by_vector);
  EXPECT_EQ(hit.by_words, expected.by_words);
}

// The hits of a filtered search are those of the full ranking that match, to the bit.
void expect_filtered(const SearchIndex& index, const std::string& written, int64_t top_k,
                     const SearchQueries& all, const SearchQueries& some) {
  const MetadataFilter filter(written);
  for (const SearchSettings& settings : all_settings()) {
    SCOPED_TRACE(fmt::format("{} {} {}", written, settings.mode, settings.fusion.rule));
    const auto full = index.search(all, 1000, settings);
    const auto filtered = index.search(some, top_k, settings);
    ASSERT_EQ(filtered.size(), full.size());
    for (size_t query = 0; query < full.size(); ++query) {
      std::vector<SearchHit> expected;
      for (const SearchHit& hit : full[query]) {
        if (filter.matches(hit.metadata)) expected.push_back(hit);
      }
      if (static_cast<int64_t>(expected.size()) > top_k) {
        expected.resize(static_cast<size_t>(top_k));
      }
      ASSERT_EQ(filtered[query].size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) expect_same(filtered[query][i], expected[i]);
    }
  }
}

constexpr const char* kFilters[] = {"lang = de", "n < 40 and odd = true", "not lang in (en, fr)",
                                    "n >= 1000", "n = 7 or n = 8",        "lang != en"};

TEST_F(FilteredSearchTest, GivesTheFullRankingWithoutTheOthers) {
  SearchIndex index = open();
  const auto check = [&] {
    for (const char* filter : kFilters) {
      for (const int64_t top_k : {5, 1000}) {
        expect_filtered(index, filter, top_k, queries(""), queries(filter));
      }
    }
  };
  check();
  index.remove({"d7", "d31", "d119"});
  add(index, documents_from(120, 130));
  std::vector<Document> changed = documents_from(40, 45);
  for (Document& document : changed) document.metadata = R"({"n":8,"lang":"de"})";
  add(index, changed);
  check();
  index.merge();
  check();
}

TEST_F(FilteredSearchTest, FillsTopKWhereThatManyMatch) {
  const SearchIndex index = open();
  for (const SearchSettings& settings : all_settings()) {
    if (!settings.by_vectors()) continue;
    const auto hits = index.search(queries("n < 20"), 16, settings);
    for (const auto& of_query : hits) EXPECT_EQ(of_query.size(), 16u);
  }
}

TEST_F(FilteredSearchTest, PreparedOrNotItFindsTheSame) {
  const SearchIndex index = open();
  const std::vector<std::string> filters = {"lang = en", "n > 20 and odd = true", "n = 5",
                                            "not lang = xx", "n < 10 or lang in (de, fr)"};
  std::vector<std::vector<std::string>> expected;
  for (const std::string& filter : filters) expected.push_back(found(open(), filter));
  const SearchIndex unprepared = open();
  const std::atomic<bool> never{false}, at_once{true};
  index.prepare_filters(at_once);
  index.prepare_filters(never);
  index.prepare_filters(never);
  for (size_t i = 0; i < filters.size(); ++i) EXPECT_EQ(found(index, filters[i]), expected[i]);
  for (const SearchIndex& each : {std::cref(index), std::cref(unprepared)}) {
    try {
      found(each, "lang = en or not langs = en");
      ADD_FAILURE() << "searched";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_STREQ(error.what(),
                   "no document has 'langs' in its metadata; known: lang, n, odd (did you mean "
                   "'lang'?)");
    }
  }
}

TEST_F(FilteredSearchTest, SeesEachChangeOfMetadata) {
  SearchIndex index = open();
  EXPECT_THAT(found(index, "n = 7"), ElementsAre("d7"));
  add(index, {{"d7", "another", R"({"n":70})"}, {"new", "text", R"({"n":7})"}});
  EXPECT_THAT(found(index, "n = 7"), ElementsAre("new"));
  EXPECT_THAT(found(index, "n = 70"), ElementsAre("d7"));
  index.remove({"new"});
  EXPECT_THAT(found(index, "n = 7"), IsEmpty());
  index.merge();
  EXPECT_THAT(found(index, "n = 70"), ElementsAre("d7"));
}

TEST_F(FilteredSearchTest, KnowsWhetherAnyDocumentMatches) {
  SearchIndex index = open();
  const auto matches = [&](const std::string& filter) {
    const bool any = matching(index, filter) > 0;
    EXPECT_EQ(any, !found(index, filter).empty()) << filter;
    return any;
  };
  EXPECT_TRUE(matches(""));
  EXPECT_TRUE(matches("n = 119"));
  EXPECT_TRUE(matches("not n = 1"));
  EXPECT_FALSE(matches("n = 5")) << "it has no metadata";
  index.remove({"d119"});
  EXPECT_FALSE(matches("n = 119"));
  add(index, {{"new", "text", R"({"n":119})"}});
  EXPECT_TRUE(matches("n = 119"));
  index.merge();
  EXPECT_TRUE(matches("n = 119"));
  index.remove(found(index, ""));
  EXPECT_FALSE(matches(""));
  EXPECT_FALSE(matches("not absent = 1"));
}

TEST_F(FilteredSearchTest, AColumnOfEmptyListsIsKnownAndHasNoValue) {
  SearchIndex index = open();
  add(index, {{"new", "text", R"({"labels":[],"room:5":1})"}});
  EXPECT_THAT(found(index, "exists labels"), IsEmpty());
  EXPECT_THAT(found(index, "labels != a"), IsEmpty());
  EXPECT_EQ(found(index, "not exists labels").size(), 121u);
  const MatchCounts counts = index.count({}, {}, {Facet::parse("labels")}, 3)[0];
  EXPECT_THAT(counts.facets[0].values, IsEmpty());
  EXPECT_EQ(counts.facets[0].without, 121);
  try {
    index.count({}, {}, {Facet::parse("room:5")}, 3);
    ADD_FAILURE() << "counted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("room:5; numbers behind a facet's last colon are limits"));
  }
}

TEST_F(FilteredSearchTest, MatchesOfAnIndexThatChangesIsOneOfBeforeOrAfter) {
  std::atomic<bool> done{false};
  std::thread writer([&] {
    SearchIndex index = open();
    for (int i = 0; i < 40; ++i) {
      add(index, {{"turn", "text", i % 2 == 0 ? R"({"n":-1})" : R"({"n":-2})"}});
    }
    done = true;
  });
  const SearchIndex index = open();
  bool was_there = false;
  while (!done) {
    const bool is_there = matching(index, "n < 0") > 0;
    EXPECT_TRUE(!was_there || is_there) << "lost";
    was_there = was_there || is_there;
  }
  writer.join();
  EXPECT_EQ(matching(index, "n = -2"), 1);
}

// An update gives the document its metadata in turn: it is found by one of both at any time.
TEST_F(FilteredSearchTest, AnUpdateMeanwhileIsSeenWholeOrNotAtAll) {
  std::atomic<bool> done{false};
  std::thread writer([&] {
    SearchIndex index = open();
    for (int i = 0; i < 60; ++i) {
      add(index, {{"turn", "text", i % 2 == 0 ? R"({"n":-1})" : R"({"n":-2})"}});
    }
    done = true;
  });
  const SearchIndex index = open();
  bool was_there = false;
  while (!done) {
    const std::vector<std::string> ids = found(index, "n < 0");
    EXPECT_LE(ids.size(), 1u);
    EXPECT_TRUE(!was_there || ids.size() == 1) << "lost";
    was_there = was_there || !ids.empty();
  }
  writer.join();
  EXPECT_THAT(found(index, "n = -2"), ElementsAre("turn"));
}

TEST_F(FilteredSearchTest, MetadataThatAreNoneAreRefused) {
  SearchIndex index = open();
  const auto error_of = [&](const std::string& metadata) -> std::string {
    try {
      add(index, {{"x", "text", metadata}});
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
  };
  EXPECT_THAT(error_of("[1]"), HasSubstr("document \"x\": metadata: expected a JSON object"));
  EXPECT_THAT(error_of("{"), HasSubstr("document \"x\": metadata"));
  EXPECT_THAT(error_of(R"({"a":1,"a":2})"), HasSubstr("document \"x\": metadata"));
  EXPECT_THAT(error_of(R"({"a":[[1]]})"),
              HasSubstr("expected a text, a number, true or false, or a list of these, for 'a'"));
  EXPECT_THAT(error_of(R"({"a":null})"), HasSubstr("for 'a'"));
  EXPECT_THAT(error_of(R"({"a":")" + std::string(16377, 'x') + "\"}"),
              HasSubstr("are 16385 bytes, expected at most 16384"));
  EXPECT_EQ(error_of(R"({"a":")" + std::string(16376, 'x') + "\"}"), "");
  EXPECT_EQ(index.info().count, 121);
}

TEST_F(FilteredSearchTest, DamagedMetadataAreFoundAlsoOfDocumentsThatDoNotMatch) {
  // Written with right checksums of pages, but not by the index.
  detail::Database(detail::documents_path(folder_), detail::Database::Access::kWrite)
      .execute("UPDATE documents SET metadata = replace(metadata, 'fr', 'xx') WHERE key = 102");
  const SearchIndex index = open();
  try {
    found(index, "lang = en");
    ADD_FAILURE() << "searched";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("document 102 is not the one of its vector"));
  }
  EXPECT_THROW(check_index(folder_), Error);
}

}  // namespace
}  // namespace simile
