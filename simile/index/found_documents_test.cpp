// SPDX-License-Identifier: Apache-2.0
// Facts about a search besides its hits, the list of documents, and changes by a filter and of
// metadata alone, compared with plain loops over the documents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/index/detail/index_setup_test.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/detail/sqlite.h"
#include "simile/text/words.h"

namespace simile {
namespace {

using detail::vectors_of_texts;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int64_t kD = 8;
constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

Document document(int64_t i, bool with_passages) {
  constexpr const char* kWords[] = {"sea", "boat", "tide", "wind", "sail"};
  constexpr const char* kLanguages[] = {"en", "de", "fr"};
  Document made;
  made.id = fmt::format("d{}", i);
  made.text = fmt::format("{} {} {} word{} and more of it", kWords[i % 5], kWords[i % 3],
                          i % 2 == 0 ? "boat boat" : "calm", i % 7);
  if (i % 4 != 0) {
    made.metadata = fmt::format(R"({{"lang":"{}","year":{}}})", kLanguages[i % 3], 2000 + i % 10);
  }
  const auto size = static_cast<int64_t>(made.text.size());
  if (with_passages && i % 3 == 0) made.passages = {{0, 10}, {5, size - 2}, {8, size}};
  return made;
}

std::vector<SearchSettings> all_settings() {
  return {{"vector", {}},
          {"lexical", {}},
          {"hybrid", {}},
          {"hybrid", {0.3, "zsum"}},
          {"hybrid", {0.6, "rrf"}}};
}

class FoundDocumentsTest : public testing::TestWithParam<bool> {
 protected:
  FoundDocumentsTest() {
    folder_ = testing::TempDir() + "simile_found_" + std::to_string(getpid());
    fs::remove_all(folder_);
    IndexedModel model{"f", "m", kD, VectorMetric::kInnerProduct};
    if (GetParam()) model.passages = {16, 4};
    IndexBuilder builder(folder_, model);
    builder.commit();
    index_.emplace(SearchIndex::open(folder_, "f", "m", SearchIndex::Access::kWrite));
    for (int64_t i = 0; i < 60; i += 20) add(i, i + 20);  // some segments
    remove({"d7", "d8", "d30"});
  }
  ~FoundDocumentsTest() override { fs::remove_all(folder_); }

  void add(int64_t begin, int64_t end) {
    std::vector<Document> documents;
    for (int64_t i = begin; i < end; ++i) documents.push_back(document(i, GetParam()));
    plain_.add(documents);
    index_->add(documents, vectors_of_texts(documents, kD));
  }
  void remove(const std::vector<std::string>& ids) {
    plain_.remove(ids);
    index_->remove(ids);
  }

  static SearchQueries queries() {
    SearchQueries queries;
    queries.texts = {"boat wind boat word3", "tide", "nowhere"};
    queries.vectors = Matrix<float>(3, kD);
    for (int64_t i = 0; i < 3; ++i) {
      detail::vector_of_text(queries.texts[static_cast<size_t>(i)], kD, queries.vectors.row(i));
    }
    return queries;
  }

  std::vector<std::string> listed(const std::string& filter = "") const {
    std::vector<std::string> ids;
    index_->list(filter.empty() ? MetadataFilter() : MetadataFilter(filter), 0, kAll,
                 [&](const Document& found) {
                   ids.push_back(found.id);
                   return true;
                 });
    return ids;
  }

  std::vector<std::string> expected(const std::string& filter = "") const {
    std::vector<std::string> ids;
    for (const Document& each : plain_.documents()) {
      if (filter.empty() || MetadataFilter(filter).matches(each.metadata)) ids.push_back(each.id);
    }
    return ids;
  }

  std::string folder_;
  std::optional<SearchIndex> index_;
  detail::PlainIndex plain_;
};
INSTANTIATE_TEST_SUITE_P(WholeOrSplit, FoundDocumentsTest, testing::Bool());

TEST_P(FoundDocumentsTest, ExplanationsAddUpToTheScores) {
  SearchQueries asked = queries();
  asked.explain = true;
  for (const SearchSettings& settings : all_settings()) {
    const auto results = index_->search(asked, 20, settings);
    for (size_t query = 0; query < results.size(); ++query) {
      for (const SearchHit& hit : results[query]) {
        ASSERT_TRUE(hit.explanation);
        const ScoreExplanation& explained = *hit.explanation;
        // Each multiplication and sum is rounded once, as in the score.
        EXPECT_DOUBLE_EQ(explained.vector_part.value_or(0) + explained.word_part.value_or(0),
                         hit.score)
            << settings.mode << settings.fusion.rule;
        EXPECT_EQ(explained.words.has_value(), hit.by_words.has_value());
        double sum = 0;
        for (const auto& word : explained.words.value_or(std::vector<ScoreExplanation::Word>())) {
          sum += word.score;
          const std::vector<std::string> words = split_words(hit.text);
          EXPECT_EQ(std::count(words.begin(), words.end(), word.word), word.in_document);
        }
        EXPECT_EQ(sum, hit.by_words.value_or(0));
      }
    }
    if (settings.mode == "lexical") {
      EXPECT_EQ(results[0][0].explanation->how, "BM25");
      EXPECT_EQ(results[0][0].explanation->words->at(0).in_query, 2);  // boat
    }
  }
  SearchSettings weighted{"hybrid", {0.25, "cosine"}};
  EXPECT_EQ(index_->search(asked, 1, weighted)[1][0].explanation->how,
            "0.25 * V(similarity) + 0.75 * W(BM25), cosine");
  asked.explain = false;
  EXPECT_FALSE(index_->search(asked, 1, weighted)[0][0].explanation);
}

TEST_P(FoundDocumentsTest, ALeastSimilarityTakesHitsOutAndLeavesTheOthersAsTheyWere) {
  SearchQueries asked = queries();
  for (const char* filter : {"", "lang = en"}) {
    if (*filter != '\0') asked.filter = MetadataFilter(filter);
    for (const SearchSettings& settings : all_settings()) {
      if (!settings.by_vectors()) continue;
      asked.min_similarity.reset();
      const auto all = index_->search(asked, 1000, settings);
      asked.min_similarity = 0.4;
      const auto near = index_->search(asked, 1000, settings);
      const auto counts = index_->count(asked, settings, {}, 10);
      ASSERT_EQ(near.size(), all.size());
      for (size_t query = 0; query < all.size(); ++query) {
        EXPECT_EQ(counts[query].documents, static_cast<int64_t>(near[query].size()));
        EXPECT_LT(near[query].size(), all[query].size());
        for (const SearchHit& hit : near[query]) EXPECT_GE(*hit.by_vector, 0.4);
        if (GetParam() && settings.by_words()) continue;  // another passage may be the best now
        size_t next = 0;
        for (const SearchHit& hit : all[query]) {
          if (*hit.by_vector < 0.4) continue;
          ASSERT_LT(next, near[query].size());
          EXPECT_EQ(near[query][next].id, hit.id);
          EXPECT_EQ(near[query][next++].score, hit.score);
        }
        EXPECT_EQ(next, near[query].size());
        const auto few =
            index_->search(asked.part(static_cast<int64_t>(query), static_cast<int64_t>(query) + 1),
                           3, settings)[0];
        ASSERT_EQ(few.size(), std::min<size_t>(3, near[query].size()));
        for (size_t i = 0; i < few.size(); ++i) EXPECT_EQ(few[i].id, near[query][i].id);
      }
    }
  }
}

TEST_P(FoundDocumentsTest, CountsAreThoseOfASearchWithoutALimit) {
  const std::vector<Facet> facets = {Facet::parse("lang"), Facet::parse("year:2003,2007")};
  for (const char* filter : {"", "year > 2004", "not lang = en"}) {
    SearchQueries asked = queries();
    if (*filter != '\0') asked.filter = MetadataFilter(filter);
    for (const SearchSettings& settings : all_settings()) {
      const auto hits = index_->search(asked, 1000, settings);
      const auto counts = index_->count(asked, settings, facets, 10);
      ASSERT_EQ(counts.size(), hits.size());
      for (size_t query = 0; query < hits.size(); ++query) {
        EXPECT_EQ(counts[query].documents, static_cast<int64_t>(hits[query].size()));
        std::map<std::string, int64_t> languages, ranges;
        for (const SearchHit& hit : hits[query]) {
          const Json metadata = hit.metadata.empty() ? Json::object() : Json::parse(hit.metadata);
          ++languages[metadata.value("lang", "")];
          const int64_t year = metadata.value("year", 0);
          ++ranges[year == 0 ? "" : year < 2003 ? "..2003" : year < 2007 ? "2003..2007" : "2007.."];
        }
        const FacetCounts& of_lang = counts[query].facets[0];
        EXPECT_EQ(of_lang.without, languages[""]);
        languages.erase("");
        EXPECT_EQ(of_lang.values.size(), languages.size());
        for (const auto& value : of_lang.values) {
          EXPECT_EQ(value.count, languages[value.value->scalar]);
        }
        const FacetCounts& of_year = counts[query].facets[1];
        ASSERT_EQ(of_year.values.size(), 3u);
        EXPECT_EQ(of_year.without, ranges[""]);
        EXPECT_EQ(of_year.values[0].count, ranges["..2003"]);
        EXPECT_EQ(of_year.values[1].count, ranges["2003..2007"]);
        EXPECT_EQ(of_year.values[2].count, ranges["2007.."]);
        EXPECT_EQ(of_year.values[1].from, 2003.0);
        EXPECT_EQ(of_year.values[1].to, 2007.0);
      }
    }
  }
  const MatchCounts all = index_->count({}, {}, {Facet::parse("year")}, 3)[0];
  EXPECT_EQ(all.documents, static_cast<int64_t>(plain_.documents().size()));
  EXPECT_EQ(all.facets[0].values.size(), 3u);
  EXPECT_EQ(all.facets[0].more_values, 7);
  EXPECT_GE(all.facets[0].values[0].count, all.facets[0].values[2].count);
}

TEST_P(FoundDocumentsTest, AColumnThatNoDocumentHasIsRefused) {
  const auto refused = [&](const auto& ask) {
    try {
      ask();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return std::string(error.what());
    }
    return std::string("answered");
  };
  const std::string expected =
      "no document has 'lnag' in its metadata; known: lang, year (did you mean 'lang'?)";
  EXPECT_EQ(refused([&] { listed("lnag = en"); }), expected);
  EXPECT_EQ(refused([&] { index_->count({}, {}, {Facet::parse("lnag")}, 1); }), expected);
  EXPECT_EQ(refused([&] { index_->remove_matching(MetadataFilter("not lnag = en")); }), expected);
  for (const char* written : {"year:3,2", "year:1,1"}) {
    EXPECT_THAT(refused([&] { Facet::parse(written); }), HasSubstr("expected rising numbers"));
  }
}

TEST(FacetTest, OnlyNumbersBehindTheLastColonAreLimits) {
  for (const char* name : {"year", "a:b", "year:", "og:info", "og:nan", "year:inf", "year:1,",
                           "year:,1", "year:1,x", "year:0x7d0", "year:1e999", "year:5:"}) {
    EXPECT_EQ(Facet::parse(name).column, name);
    EXPECT_THAT(Facet::parse(name).bounds, testing::IsEmpty()) << name;
  }
  const Facet facet = Facet::parse("og:price:-1.5,0, 1e3,+2000");
  EXPECT_EQ(facet.column, "og:price");
  EXPECT_THAT(facet.bounds, ElementsAre(-1.5, 0, 1000, 2000));
}

TEST_P(FoundDocumentsTest, PagesGoOnBehindTheLastWhileTheIndexChanges) {
  EXPECT_EQ(listed(), expected());
  EXPECT_EQ(listed("lang = en"), expected("lang = en"));
  std::vector<std::string> ids;
  int64_t after = 0, page = 0;
  do {
    after = index_->list({}, after, 7, [&](const Document& found) {
      ids.push_back(found.id);
      return true;
    });
    if (++page == 2) {
      remove({"d20", "d2"});  // one that was not given, and one that was
      add(3, 4);              // which was given, and stands at the end again
      index_->merge();
    }
  } while (after != 0);
  std::vector<std::string> wanted;
  for (int64_t i = 0; i < 60; ++i) wanted.push_back(fmt::format("d{}", i));
  for (const char* gone : {"d7", "d8", "d30", "d20"}) {
    wanted.erase(std::find(wanted.begin(), wanted.end(), gone));
  }
  wanted.emplace_back("d3");
  EXPECT_EQ(ids, wanted);
  EXPECT_EQ(index_->list({}, 0, 5, [](const Document&) { return false; }), 0);
}

TEST_P(FoundDocumentsTest, DocumentsAreRemovedByAFilterAllAtOnce) {
  const std::vector<std::string> matching = expected("lang = en and year < 2006");
  ASSERT_FALSE(matching.empty());
  const MetadataFilter filter("lang = en and year < 2006");
  const int64_t generation = index_->info().generation;
  EXPECT_EQ(index_->remove_matching(filter, true), static_cast<int64_t>(matching.size()));
  EXPECT_EQ(index_->info().generation, generation);
  EXPECT_EQ(index_->remove_matching(filter), static_cast<int64_t>(matching.size()));
  EXPECT_EQ(index_->info().generation, generation + 1);
  plain_.remove(matching);
  EXPECT_EQ(listed(), expected());
  EXPECT_EQ(index_->remove_matching(filter), 0);
  EXPECT_EQ(index_->info().generation, generation + 1);
  check_index(folder_);
}

TEST_P(FoundDocumentsTest, MetadataChangeAloneAndOtherReadersSeeIt) {
  const SearchIndex reader = SearchIndex::open_without_model(folder_, SearchIndex::Access::kRead);
  const auto in_english = [](const SearchIndex& index) {
    SearchQueries all;
    all.filter = MetadataFilter("lang = en");
    return index.count(all, {}, {}, 1)[0].documents;
  };
  const int64_t before = in_english(reader);
  const std::vector<std::string> order = listed();
  SearchQueries asked = queries();
  const auto hits = index_->search(asked, 1000, {"hybrid", {}});
  EXPECT_EQ(index_->change_metadata({{"d1", R"({"lang":"en","new":[1,"a"]})"},
                                     {"d3", R"({"lang":null,"year":null})"},
                                     {"d4", R"({"lang":"en"})"},
                                     {"d5", "{}"}}),
            3);
  EXPECT_EQ(index_->find("d1")->metadata, R"({"lang":"en","year":2001,"new":[1,"a"]})");
  EXPECT_EQ(index_->find("d3")->metadata, "");
  EXPECT_EQ(in_english(reader), before + 1);  // d3 was and d1 and d4 were not
  EXPECT_EQ(in_english(*index_), before + 1);
  EXPECT_EQ(listed(), order);
  const auto now = reader.search(asked, 1000, {"hybrid", {}});
  for (size_t query = 0; query < hits.size(); ++query) {
    ASSERT_EQ(now[query].size(), hits[query].size());
    for (size_t i = 0; i < hits[query].size(); ++i) {
      EXPECT_EQ(now[query][i].id, hits[query][i].id);
      EXPECT_EQ(now[query][i].score, hits[query][i].score);
    }
  }
  check_index(folder_);
  EXPECT_EQ(index_->change_metadata({{"d1", R"({"lang":"fr"})"}}), 1);
  EXPECT_EQ(in_english(reader), before);
  index_->merge();
  remove({"d4"});
  check_index(folder_);
  EXPECT_EQ(in_english(reader), before - 1);
  const int64_t generation = index_->info().generation;
  EXPECT_EQ(index_->change_metadata({{"d1", R"({"lang":"fr"})"}}), 0);
  EXPECT_EQ(index_->info().generation, generation);
  const std::vector<SearchIndex::MetadataPatch> bad[] = {
      {{"d1", R"({"lang":"en"})"}, {"nobody", "{}"}},
      {{"d1", R"({"lang":"en"})"}, {"d2", R"({"a":{"b":1}})"}},
      {{"d1", R"({"lang":"en"})"}, {"d2", fmt::format(R"({{"a":"{}"}})", std::string(20000, 'x'))}},
      {{"d1", R"({"lang":"en"})"}, {"d2", "[]"}}};
  for (const auto& patches : bad) {
    EXPECT_THROW(index_->change_metadata(patches), Error) << patches[1].patch;
  }
  EXPECT_EQ(index_->info().generation, generation);
  EXPECT_EQ(index_->find("d1")->metadata, R"({"lang":"fr","year":2001,"new":[1,"a"]})");
}

TEST_P(FoundDocumentsTest, ChangedMetadataThatAreDamagedAreNotGiven) {
  index_->change_metadata({{"d1", R"({"lang":"xx"})"}, {"d2", R"({"lang":"xx"})"}});
  const std::string state =
      fmt::format("UPDATE documents SET changed = '', metadata = '{}' WHERE id = 'd1'",
                  document(1, false).metadata);
  const auto damage = [&](const std::string& sql) {
    detail::Database(detail::documents_path(folder_), detail::Database::Access::kWrite)
        .execute(sql);
  };
  check_index(folder_);
  damage("UPDATE documents SET metadata = replace(metadata, 'xx', 'yy') WHERE id = 'd2'");
  EXPECT_THROW(index_->find("d2"), Error);
  EXPECT_THROW(listed("lang = yy"), Error);
  EXPECT_THROW(check_index(folder_), Error);
  damage("UPDATE documents SET metadata = replace(metadata, 'yy', 'xx') WHERE id = 'd2'");
  check_index(folder_);
  damage(state);  // as if a page of the file were of the time before
  EXPECT_THROW(check_index(folder_), Error);
}

}  // namespace
}  // namespace simile
