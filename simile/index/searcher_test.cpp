// SPDX-License-Identifier: Apache-2.0
#include "simile/index/searcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/data/detail/packed_files_test.h"
#include "simile/index/index_writer.h"

namespace simile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kModel = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";
const std::vector<std::string> kQueries = {"the cat sat", "a dog under the sun", "the hill"};

class SearcherTest : public testing::Test, protected TestFiles {
 protected:
  SearcherTest() {
    NewIndexOptions options;
    options.model = kModel;
    IndexWriter writer = IndexWriter::create(path("index"), options);
    writer.add({{"mat", "the cat sat on the mat", R"({"kind":"a"})"},
                {"sun", "the sun was red"},
                {"dog", "a dog ran under the sun", R"({"kind":"b"})"},
                {"hill", "the hill and the cat"}});
    writer.commit();
  }

  static SearchRequest request_of(const std::string& json) {
    SearchRequest request;
    read_json_options(json, "request", request);
    return request;
  }

  // The key of the member that is refused; empty: none.
  std::string refused(const std::string& json) const {
    try {
      Searcher::open(path("index")).search(request_of(json));
    } catch (const OptionError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.key;
    }
    return "";
  }
};

std::vector<std::string> ids_of(const std::vector<FoundDocument>& hits) {
  std::vector<std::string> ids;
  for (const FoundDocument& hit : hits) ids.push_back(hit.id);
  return ids;
}

TEST_F(SearcherTest, FindsWhatTheIndexFindsForTheModelsVectors) {
  const Searcher searcher = Searcher::open(path("index"));
  const auto encoder = SentenceEncoder::load(kModel, silent_events());
  EncodeOptions options;
  options.role = TextRole::kQuery;
  options.normalize = true;
  const SearchIndex index =
      SearchIndex::open_without_model(path("index"), SearchIndex::Access::kRead);
  SearchSettings settings = read_search_settings(path("index"));
  EXPECT_EQ(settings.mode, "hybrid");
  for (const std::string mode : {"hybrid", "vector", "lexical"}) {
    settings.mode = mode;
    const auto expected =
        index.search({kQueries, encoder.encode(kQueries, options, silent_events())}, 3, settings);
    SearchRequest request;
    request.query = kQueries;
    request.mode = mode;
    request.top_k = 3;
    const SearchReply reply = searcher.search(request);
    EXPECT_EQ(reply.mode, mode);
    ASSERT_EQ(reply.results.size(), kQueries.size());
    for (size_t i = 0; i < kQueries.size(); ++i) {
      const std::vector<FoundDocument>& hits = reply.results[i].hits;
      ASSERT_EQ(hits.size(), expected[i].size());
      for (size_t k = 0; k < hits.size(); ++k) {
        EXPECT_EQ(hits[k].id, expected[i][k].id);
        EXPECT_EQ(hits[k].score, expected[i][k].score);  // to the bit
        EXPECT_EQ(hits[k].vector_score.has_value(), mode == "hybrid");
      }
    }
  }
}

TEST_F(SearcherTest, TheShortCallIsTheDefaultRequest) {
  const Searcher searcher = Searcher::open(path("index"));
  const auto hits = searcher.search(kQueries[0], 2);
  ASSERT_EQ(hits.size(), 2u);
  EXPECT_EQ(hits[0].id, "mat");
  EXPECT_EQ(*hits[0].text, "the cat sat on the mat");
  const SearchReply reply = searcher.search(request_of(R"({"query": "the cat sat", "top_k": 2})"));
  EXPECT_EQ(options_to_json(reply.results[0].hits), options_to_json(hits));
}

TEST_F(SearcherTest, TakesVectorsOfTheCaller) {
  const auto encoder = SentenceEncoder::load(kModel, silent_events());
  EncodeOptions options;
  options.normalize = true;
  SearchRequest request;
  request.set_vectors(encoder.encode({"the sun was red"}, options, silent_events()));
  request.top_k = 1;
  EXPECT_THAT(ids_of(Searcher::open(path("index")).search(request).results[0].hits),
              ElementsAre("sun"));
}

TEST_F(SearcherTest, FindsDocumentsLikeOneWithoutReadingTheModel) {
  SearcherOptions options;
  options.load = [](const auto&, const auto&, EventSink&) -> SentenceEncoder {
    throw Error(ErrorKind::kFailed, "the model was read");
  };
  const Searcher searcher = Searcher::open(path("index"), options);
  const auto hits = searcher.search(request_of(R"({"like": "mat"})")).results[0].hits;
  EXPECT_EQ(hits.size(), 3u);
  EXPECT_EQ(searcher.search(request_of(R"({"query": "sun", "mode": "lexical"})")).results.size(),
            1u);
  EXPECT_THROW(searcher.search("sun"), Error);
  EXPECT_THROW(searcher.search(request_of(R"({"like": "nobody"})")), Error);
}

TEST_F(SearcherTest, SaysWhyThereAreNoHits) {
  const Searcher searcher = Searcher::open(path("index"));
  const auto warnings = [&](const std::string& filter) {
    SearchRequest request = request_of(R"({"query": "cat", "mode": "lexical"})");
    request.filter = filter;
    return searcher.search(request).warnings.value_or(std::vector<std::string>());
  };
  EXPECT_THAT(warnings("kind = a"), ElementsAre());
  EXPECT_THAT(warnings(""), ElementsAre());
  EXPECT_THAT(warnings("kind = b"), ElementsAre());  // it matches one, which has not the word
  EXPECT_THAT(warnings("kind = c"), ElementsAre("no document of the index matches the filter"));
  EXPECT_THROW(warnings("size > 1"), Error);  // no document has it
}

TEST_F(SearcherTest, MarksWordsOfTheQuery) {
  const SearchReply reply =
      Searcher::open(path("index"))
          .search(request_of(R"({"query": "sun", "mode": "lexical", "marks": true})"));
  ASSERT_EQ(reply.results[0].hits.size(), 2u);
  EXPECT_EQ(options_to_json(*reply.results[0].hits[0].marks, -1), "[[4,7]]");
}

TEST_F(SearcherTest, RefusesWhatCannotGoTogether) {
  EXPECT_EQ(refused(R"({"query": "a", "like": "mat"})"), "like");
  EXPECT_EQ(refused(R"({"like": "mat", "rerank": true})"), "rerank");
  EXPECT_EQ(refused(R"({"like": "mat", "prompt_name": "query"})"), "prompt_name");
  EXPECT_EQ(refused(R"({"query": "a", "marks": true, "text": false})"), "marks");
  EXPECT_EQ(refused(R"({"query": "a", "filter": "kind ="})"), "filter");
  EXPECT_EQ(refused(R"({"query": "a", "rerank": true, "rerank_hits": 5})"), "rerank_hits");
  EXPECT_EQ(refused(R"({"query": "a", "rerank": true, "offset": 95})"), "rerank_hits");
  EXPECT_EQ(refused("{}"), "query");
  EXPECT_EQ(refused(R"({"like": "mat", "vector": [1]})"), "vector");
  EXPECT_EQ(refused(R"({"like": "mat", "count": true})"), "count");
  EXPECT_EQ(refused(R"({"vector": [1, 2]})"), "vector");  // the index has 32 numbers
  EXPECT_EQ(refused(R"({"vector": [[1, 2], [1]]})"), "vector");
  EXPECT_EQ(refused(R"({"vector": [[1], [1]], "query": "a"})"), "vector");
  EXPECT_EQ(refused(R"({"vector": [1], "mode": "hybrid"})"), "vector");
  EXPECT_EQ(refused(R"({"query": "a", "mode": "lexical", "min_similarity": 0.5})"),
            "min_similarity");
  EXPECT_EQ(refused(R"({"query": "a", "facets": "kind:2,1"})"), "facets");
  EXPECT_THROW(Searcher::open(path("index")).search(request_of(R"({"query":"a","rerank":true})")),
               Error);  // no model that re-ranks was named
}

TEST_F(SearcherTest, AnIndexKeepsTheLanguageOfItsWords) {
  NewIndexOptions options;
  options.model = kModel;
  options.language = "english";
  IndexWriter writer = IndexWriter::create(path("stems"), options);
  writer.add({{"costs", "what trains cost"}, {"dog", "a dog ran"}});
  writer.commit();
  IndexWriter::open(path("stems")).add({{"cities", "old cities"}});
  const auto found = [&](const std::string& folder, const std::string& query) {
    SearchRequest request = request_of(R"({"query": "", "mode": "lexical", "marks": true})");
    request.query = std::vector<std::string>{query};
    return Searcher::open(path(folder)).search(request).results[0].hits;
  };
  EXPECT_THAT(ids_of(found("stems", "costing")), ElementsAre("costs"));
  EXPECT_THAT(ids_of(found("stems", "city")), ElementsAre("cities"));
  EXPECT_EQ(options_to_json(*found("stems", "city")[0].marks, -1), "[[4,10]]");
  EXPECT_THAT(ids_of(found("index", "cats")), ElementsAre());
  options.overwrite = true;
  options.language = "klingon";
  EXPECT_THROW(IndexWriter::create(path("stems"), options), Error);
  EXPECT_THAT(ids_of(found("stems", "city")), ElementsAre("cities"));
}

TEST_F(SearcherTest, AnIndexWhoseWordsWereCutByOtherRulesIsRefused) {
  const std::string file = path("index/manifest.json");
  std::string manifest = read_file(file);
  const std::string rules = "\"word_rules\": ";
  manifest.replace(manifest.find(rules) + rules.size(), 1, "1");
  write("index/manifest.json", manifest);
  try {
    Searcher::open(path("index"));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("into words by rules 1, this program has rules 2"));
    EXPECT_THAT(error.what(), HasSubstr("build the index again"));
  }
}

TEST_F(SearcherTest, ReranksAHundredHitsUnlessMoreAreShown) {
  SearchRequest request;
  EXPECT_EQ(request.hits_to_find(), 10);
  request.rerank = true;
  EXPECT_EQ(request.hits_to_find(), 100);
  request.offset = 500;  // every page ranks the same hits again
  EXPECT_EQ(request.hits_to_find(), 100);
  request.top_k = 200;
  EXPECT_EQ(request.hits_to_find(), 200);
  request.rerank_hits = 300;
  EXPECT_EQ(request.hits_to_find(), 300);
}

TEST_F(SearcherTest, AnIndexOfAnotherModelIsRefused) {
  SearcherOptions options;
  options.model = SIMILE_SOURCE_DIR "/models/simile-mini-3-static";
  try {
    Searcher::open(path("index"), options).search("cat");
    FAIL() << "searched";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("cannot be compared"));
  }
}

// Embeds each text with the vector of a caller, in parts of two queries.
class OtherWork : public SearchWork {
 public:
  Matrix<float> embed(const std::vector<std::string>& queries, const std::string&) override {
    EncodeOptions options;
    options.role = TextRole::kQuery;
    options.normalize = true;
    return SentenceEncoder::load(kModel, silent_events()).encode(queries, options, silent_events());
  }
  void rerank(const std::vector<std::string>&, int64_t top_k, Results& results) override {
    for (auto& hits : results) {
      std::reverse(hits.begin(), hits.end());
      hits.resize(static_cast<size_t>(top_k));
    }
  }
  void run(const std::function<void()>& work, int64_t queries) override {
    asked.push_back(queries);
    work();
  }
  int64_t queries_together(int64_t) const override { return 2; }
  void see(std::vector<SearchHit>& hits) override { seen += static_cast<int64_t>(hits.size()); }

  std::vector<int64_t> asked;
  int64_t seen = 0;
};

// Changes the index after the first part of an answer was computed.
class DisturbedWork : public OtherWork {
 public:
  explicit DisturbedWork(std::function<void()> change) : change_(std::move(change)) {}
  void run(const std::function<void()>& work, int64_t queries) override {
    OtherWork::run(work, queries);
    if (change_) std::exchange(change_, nullptr)();
  }
  void begin_to_see() override { seen = 0; }

 private:
  std::function<void()> change_;
};

TEST_F(SearcherTest, AnAnswerIsOfOneState) {
  const auto work = std::make_shared<DisturbedWork>([this] {
    SearchIndex::open_without_model(path("index"), SearchIndex::Access::kWrite)
        .change_metadata({{"mat", R"({"kind":"b"})"}, {"dog", R"({"kind":"a"})"}});
  });
  const auto index = std::make_shared<const SearchIndex>(
      SearchIndex::open_without_model(path("index"), SearchIndex::Access::kRead));
  const Searcher searcher(index, read_search_settings(path("index")), work);
  const SearchReply reply = searcher.search(request_of(
      R"({"query":"the cat","filter":"kind = a","count":true,"facets":["kind"],"top_k":4})"));
  EXPECT_THAT(ids_of(reply.results[0].hits), ElementsAre("dog"));
  EXPECT_EQ(reply.results[0].hits[0].metadata->find("kind")->scalar, "a");
  EXPECT_THAT(work->asked, ElementsAre(1, 1, 1, 1));  // hits and counts, and both again
  EXPECT_EQ(work->seen, 1);
}

TEST_F(SearcherTest, AnotherWorkComputesTheSameInParts) {
  const auto work = std::make_shared<OtherWork>();
  const auto index = std::make_shared<const SearchIndex>(
      SearchIndex::open_without_model(path("index"), SearchIndex::Access::kRead));
  const Searcher searcher(index, read_search_settings(path("index")), work);
  SearchRequest request;
  request.query = kQueries;
  request.top_k = 3;
  const SearchReply reply = searcher.search(request);
  EXPECT_THAT(work->asked, ElementsAre(2, 1));
  EXPECT_EQ(work->seen, 9);
  const SearchReply expected = Searcher::open(path("index")).search(request);
  EXPECT_EQ(options_to_json(reply), options_to_json(expected));

  request.rerank = true;
  request.top_k = 2;
  const SearchReply reversed = searcher.search(request);
  for (size_t i = 0; i < kQueries.size(); ++i) {
    EXPECT_EQ(reversed.results[i].hits.size(), 2u);
    EXPECT_EQ(reversed.results[i].hits[1].id,
              Searcher::open(path("index")).search(kQueries[i], 3)[2].id);
  }
}

}  // namespace
}  // namespace simile
