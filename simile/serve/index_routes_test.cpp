// SPDX-License-Identifier: Apache-2.0
// /search and /map of an index with passages: like a document, ranked again, words marked.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include "simile/serve/detail/route_row.h"
#include "simile/serve/detail/search_fixture_test.h"

namespace simile {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST_F(SearchRoutesTest, HitsArePassagesWithTheirPlacesAndMarks) {
  serve(false);
  const json hits = search({{"query", "boats of the sun"}, {"mode", "vector"}, {"marks", true}});
  ASSERT_EQ(hits.size(), 3u);
  for (const json& hit : hits) {
    const std::string text = hit["text"];
    if (hit["id"] == "sun") {
      EXPECT_EQ(hit["marks"], json::parse("[[4,7]]"));
    }
    if (hit["id"] != "long") continue;
    const size_t begin = hit["passage"]["begin"], end = hit["passage"]["end"];
    EXPECT_EQ(text, std::string(kLongText).substr(begin, end - begin));
    EXPECT_GT(hit["passage"]["of"], 1);
  }
  EXPECT_FALSE(search({{"query", "sun"}})[0].contains("marks"));
}

TEST_F(SearchRoutesTest, DocumentsLikeOneLeaveItOut) {
  serve(false);
  const json hits = search({{"like", "long"}});
  ASSERT_EQ(hits.size(), 2u);
  EXPECT_NE(hits[0]["id"], "long");
  const json filtered = search({{"like", "long"}, {"filter", "kind = a"}});
  ASSERT_EQ(filtered.size(), 1u);
  EXPECT_EQ(filtered[0]["id"], "sun");
  refuse({{"like", "nobody"}}, 404, "the index has no document");
  refuse({{"like", ""}}, 400, "like");
  refuse({{"like", {"a"}}}, 422, "like");
  refuse({{"like", "long"}, {"query", "x"}}, 422, "not both");
  refuse({{"like", "long"}, {"rerank", true}}, 422, "needs a");
  refuse({{"like", "long"}, {"rerank_hits", 50}}, 422, "rerank_hits");
  refuse({{"like", "long"}, {"prompt_name", "query"}}, 422, "prompt_name");
  refuse({{"top_k", 3}}, 422, "is missing");
}

TEST_F(SearchRoutesTest, HitsAreRankedAgainAsRerankDoes) {
  serve(true);
  const json plain = search({{"query", "a cat"}});
  const json hits = search({{"query", "a cat"}, {"rerank", true}});
  ASSERT_EQ(hits.size(), 3u);
  std::vector<std::string> texts;
  for (const json& hit : hits) texts.push_back(hit["text"]);
  const json ranks = post("/rerank", {{"query", "a cat"}, {"texts", texts}});
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ranks[i]["index"], i);
    EXPECT_EQ(ranks[i]["score"], hits[i]["score"]);
    for (const json& before : plain) {
      if (before["id"] == hits[i]["id"]) {
        EXPECT_EQ(before["score"], hits[i]["search_score"]);
      }
    }
  }
  EXPECT_EQ(search({{"query", "a cat"}, {"rerank", true}, {"top_k", 1}})[0], hits[0]);
  refuse({{"query", "a"}, {"rerank", true}, {"rerank_hits", 2}}, 422, "rerank_hits");
  refuse({{"query", "a"}, {"rerank", true}, {"rerank_hits", 1001}}, 422, "rerank_hits");
  refuse({{"query", {"a", "b"}}, {"rerank", true}, {"rerank_hits", 501}}, 422, "rerank_hits");
}

TEST_F(SearchRoutesTest, WithoutAHeadNothingIsRankedAgain) {
  serve(false);
  refuse({{"query", "a"}, {"rerank", true}}, 424, "--rerank-model");
}

TEST_F(SearchRoutesTest, TheMapHasAPointForEachPassage) {
  serve(false);
  const json map = post("/map", {{"query", "red hill"}});
  EXPECT_EQ(map["documents"], 3);
  EXPECT_EQ(map["passages"], map["sample"].size());
  std::vector<json> of_long;
  for (const json& point : map["sample"]) {
    if (point["id"] == "long") of_long.push_back(point);
    EXPECT_EQ(point.contains("passage"), point["id"] == "long") << point;
  }
  ASSERT_GT(of_long.size(), 1u);
  for (size_t i = 0; i < of_long.size(); ++i) {
    EXPECT_EQ(of_long[i]["passage"], json({{"number", i}, {"of", of_long.size()}}));
  }
  for (const json& hit : map["query"]["hits"]) {
    if (hit["id"] != "long") continue;
    const json& point = of_long.at(hit["passage"]["number"].get<size_t>());
    EXPECT_EQ(hit["x"], point["x"]);
    EXPECT_EQ(hit["text"], point["text"]);
  }
}

TEST_F(SearchRoutesTest, TextsAreLeftOutWhereTheyAreNotAskedFor) {
  serve(true);
  for (const json& more : {json::object(), json{{"rerank", true}}, json{{"mode", "lexical"}}}) {
    json body = {{"query", "the sun"}, {"text", false}};
    body.update(more);
    const json hits = search(body);
    ASSERT_FALSE(hits.empty());
    for (const json& hit : hits) {
      EXPECT_FALSE(hit.contains("text"));
      EXPECT_TRUE(hit.contains("metadata"));
    }
  }
  refuse({{"query", "a"}, {"text", false}, {"marks", true}}, 422, "places in texts");
  refuse({{"query", "a"}, {"text", 0}}, 422, "true or false");
}

TEST_F(SearchRoutesTest, AnAnswerIsNoLargerThanTheServerSays) {
  ServeLimits limits;
  limits.answer_bytes = 40;
  serve(true, limits);
  EXPECT_EQ(search({{"query", "the sun"}, {"top_k", 1}}).size(), 1u);
  const json many = {{"query", {"the sun", "a cat", "a dog", "red"}}, {"mode", "vector"}};
  for (const json& more : {json::object(), json{{"rerank", true}}, json{{"top_k", 1000}}}) {
    json body = many;
    body.update(more);
    const Reply reply = call("POST", "/search", body);
    EXPECT_EQ(reply.status, 413) << reply.body;
    EXPECT_THAT(reply.body, HasSubstr("(\\\"text\\\": false)"));
  }
  EXPECT_EQ(call("POST", "/search", {{"like", "cat"}}).status, 413);
  json without = many;
  without["text"] = false;
  EXPECT_THAT(call("POST", "/search", without).body, HasSubstr("ask for fewer"));
}

TEST_F(SearchRoutesTest, TitlesOfHitsAreCounted) {
  ServeLimits limits;
  limits.answer_bytes = 2000;
  serve(false, limits);
  json documents = json::array();
  for (int i = 0; i < 8; ++i) {
    documents.push_back(
        {{"id", std::to_string(i)}, {"title", std::string(9000, 'x')}, {"text", "a boat"}});
  }
  post("/documents", {{"documents", documents}});
  const json body = {{"query", "a boat"}, {"mode", "vector"}, {"text", false}};
  const Reply reply = call("POST", "/search", body);
  EXPECT_EQ(reply.status, 413);
  EXPECT_THAT(reply.body, HasSubstr("the hits have more than 2000 bytes; ask for fewer"));
  EXPECT_THAT(reply.body, testing::Not(HasSubstr("false")));
}

TEST_F(SearchRoutesTest, HitsOnTheMapAreCounted) {
  ServeLimits limits;
  limits.answer_bytes = 40;
  serve(false, limits);
  EXPECT_EQ(post("/map", json::object())["sample"].empty(), false);
  const Reply reply = call("POST", "/map", {{"query", "the sun"}, {"mode", "vector"}});
  EXPECT_EQ(reply.status, 413) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr("more than 40 bytes; /search gives fewer"));
}

TEST_F(SearchRoutesTest, ManyQueriesFindWhatEachFindsAlone) {
  serve(false);
  const std::vector<std::string> queries = {"the sun", "a cat", "boat", "red hill", "the mat"};
  const json all = post("/search", {{"query", queries}, {"top_k", 400}})["results"];
  ASSERT_EQ(all.size(), queries.size());
  for (size_t i = 0; i < queries.size(); ++i) {
    EXPECT_EQ(all[i]["hits"], search({{"query", queries[i]}, {"top_k", 400}}));
  }
}

TEST_F(SearchRoutesTest, AFilterThatNothingMatchesIsTold) {
  serve(false);
  const auto warnings = [&](const json& body) {
    const json answer = post("/search", body);
    return answer.contains("warnings") ? answer["warnings"] : json::array();
  };
  for (const char* mode : {"vector", "lexical", "hybrid"}) {
    const json body = {{"query", "the sun"}, {"mode", mode}};
    json unknown = body, none = body, some = body;
    unknown["filter"] = "knid = a or kind = a";
    none["filter"] = "kind = z";
    some["filter"] = "kind = a or kind = z";
    refuse(unknown, 422,
           "no document has 'knid' in its metadata; known: kind (did you mean 'kind'?)");
    EXPECT_EQ(warnings(none), json({"no document of the index matches the filter"}));
    EXPECT_EQ(warnings(some), json::array());
    EXPECT_EQ(warnings(body), json::array());
  }
  EXPECT_EQ(warnings({{"query", "nowhere"}, {"mode", "lexical"}, {"filter", "kind = a"}}),
            json::array());
  refuse({{"like", "sun"}, {"filter", "\"od d\" = a"}}, 422, "no document has 'od d'");
}

// A server that is stopping computes the search that waits, and takes nothing more.
TEST_F(SearchRoutesTest, AnAnswerWhoseWarningCannotBeHadIsGivenWithout) {
  Metrics metrics;
  Engine engine(served_model(false), {}, metrics);
  BatchingWorker& worker = engine.embedder().worker();
  const auto later = ServeClock::now() + std::chrono::minutes(1);
  const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  std::atomic<int> held{0};
  const auto hold = [&] {
    WorkTimes times;
    const auto work = [&held, opened] {
      ++held;
      opened.wait();
    };
    worker.run(work, 1, 0, later, times);
  };
  const auto teams = {std::async(std::launch::async, hold), std::async(std::launch::async, hold)};
  while (held != 2) wait();
  std::future<Reply> found = std::async(std::launch::async, [&] {
    const std::string body = R"({"query":"sun","mode":"lexical","filter":"kind = z"})", none;
    RequestCost cost;
    return find_route("POST", "/search").answer(engine, {"/search", none, body, later, cost});
  });
  while (worker.waiting() != 1) wait();
  std::thread stopping([&] { engine.stop(); });
  const auto is_stopping = [&] {
    WorkTimes times;
    try {
      worker.run([] {}, 1, 0, ServeClock::now(), times);
    } catch (const RequestError& error) {
      return error.refusal() == Refusal::kUnready;
    }
    return false;
  };
  while (!is_stopping()) wait();
  gate.set_value();
  const json answer = json::parse(found.get().body);
  stopping.join();
  EXPECT_EQ(answer["results"], json::parse(R"([{"hits":[]}])"));
  EXPECT_FALSE(answer.contains("warnings"));
}

TEST_F(SearchRoutesTest, SearchesAreCountedAndEmbeddingsOnlyWhereThereAreAny) {
  serve(false);
  const auto metrics = [&] { return call_with("GET", "/metrics", "").body; };
  post("/search", {{"query", {"the sun", "a cat"}}, {"mode", "lexical"}});
  search({{"like", "cat"}});
  EXPECT_THAT(metrics(), HasSubstr("te_search_count 3\n"));
  EXPECT_THAT(metrics(), HasSubstr("te_search_success 3\n"));
  EXPECT_THAT(metrics(), HasSubstr("te_search_duration_count 2\n"));
  EXPECT_THAT(metrics(), testing::Not(HasSubstr("te_embed_success 2\n")));
  EXPECT_THAT(metrics(), HasSubstr("te_index_documents 3\n"));
  search({{"query", "the sun"}});
  EXPECT_THAT(metrics(), HasSubstr("te_embed_success 1\n"));
  EXPECT_THAT(metrics(), HasSubstr("te_search_count 4\n"));
}

struct BadBody {
  const char* method;
  const char* path;
  const char* body;
  int status;
  const char* message;
};

TEST_F(SearchRoutesTest, BodiesThatCannotBeUsedAreRefusedAndChangeNothing) {
  serve(true);
  const BadBody table[] = {
      {"POST", "/search", "", 400, "the body"},
      {"POST", "/search", "[]", 400, "must be a JSON object"},
      {"POST", "/search", R"({"query":"a",})", 400, "the body"},
      {"POST", "/search", R"({"query":[]})", 400, "is empty"},
      {"POST", "/search", R"({"query":""})", 400, "is an empty text"},
      {"POST", "/search", R"({"query":["a"," \n"]})", 400, "is an empty text"},
      {"POST", "/search", R"({"query":1})", 422, "a text or a list of texts"},
      {"POST", "/search", R"({"query":["a",null]})", 422, "query[1]"},
      {"POST", "/search", R"({"query":{"text":"a"}})", 422, "a text or a list of texts"},
      {"POST", "/search", R"({"qurey":"a"})", 422, "is \"qurey\" meant"},
      {"POST", "/search", R"({"query":"a","top_k":0})", 422, "between 1 and 1000"},
      {"POST", "/search", R"({"query":"a","top_k":1001})", 422, "between 1 and 1000"},
      {"POST", "/search", R"({"query":"a","top_k":2.5})", 422, "whole number"},
      {"POST", "/search", R"({"query":"a","top_k":"3"})", 422, "whole number"},
      {"POST", "/search", R"({"query":"a","top_k":18446744073709551615})", 422, "whole number"},
      {"POST", "/search", R"({"query":"a","mode":"fuzzy"})", 422, "one of"},
      {"POST", "/search", R"({"query":"a","mode":["vector"]})", 422, "one of"},
      {"POST", "/search", R"({"query":"a","filter":"kind ="})", 422, "filter"},
      {"POST", "/search", R"({"query":"a","filter":"(kind = a"})", 422, "filter"},
      {"POST", "/search", R"({"query":"a","filter":{"kind":"a"}})", 422, "must be a text"},
      {"POST", "/search", R"({"query":"a","exact":1})", 422, "true or false"},
      {"POST", "/search", R"({"query":"a","marks":"yes"})", 422, "true or false"},
      {"POST", "/search", R"({"query":"a","prompt_name":"none"})", 422, "prompt"},
      {"POST", "/search", R"({"query":"a","rerank":"yes"})", 422, "true or false"},
      {"POST", "/search", R"({"query":"a","rerank_hits":0})", 422, "between 1 and 1000"},
      {"POST", "/search", R"({"query":"a","rerank":true,"rerank_hits":3,"top_k":4})", 422,
       "rerank_hits"},
      {"POST", "/search", R"({"like":["cat","sun"]})", 422, "must be a text"},
      {"POST", "/search", R"({"like":null})", 422, "\"query\" is missing"},
      {"POST", "/search", R"({"like":"cat","filter":"kind <"})", 422, "filter"},
      {"POST", "/search", R"({"like":"cat","mode":"none"})", 422, "one of"},
      {"GET", "/search", "", 405, "takes POST"},
      {"POST", "/map", "x", 400, "the body"},
      {"POST", "/map", R"({"query":["a"]})", 422, "must be a text"},
      {"POST", "/map", R"({"sample":1})", 422, "true or false"},
      {"POST", "/map", R"({"neighbours":"all"})", 422, "true or false"},
      {"POST", "/map", R"({"query":"a","mode":"near"})", 422, "one of"},
      {"POST", "/map", R"({"query":"a","prompt_name":"none"})", 422, "prompt"},
      {"POST", "/documents", "{}", 422, "\"documents\" is missing"},
      {"POST", "/documents", R"({"documents":[]})", 400, "is empty"},
      {"POST", "/documents", R"({"documents":{"id":"a","text":"b"}})", 422, "a list of objects"},
      {"POST", "/documents", R"({"documents":["a"]})", 422, "documents[0]"},
      {"POST", "/documents", R"({"documents":[{"text":"b"}]})", 422, "documents[0].id"},
      {"POST", "/documents", R"({"documents":[{"id":7,"text":"b"}]})", 422, "must be a text"},
      {"POST", "/documents", R"({"documents":[{"id":"","text":"b"}]})", 422, "1 to 1000 bytes"},
      {"POST", "/documents", R"({"documents":[{"id":"a"}]})", 422, "documents[0].text"},
      {"POST", "/documents", R"({"documents":[{"id":"a","text":""}]})", 400, "is an empty text"},
      {"POST", "/documents", R"({"documents":[{"id":"a","text":"b","title":1}]})", 422, "title"},
      {"POST", "/documents", R"({"documents":[{"id":"a","text":"b","metadata":[1]}]})", 422,
       "must be an object"},
      {"POST", "/documents", R"({"documents":[{"id":"a","text":"b","metadata":{"k":[[1]]}}]})", 422,
       "a text, a number"},
      {"POST", "/documents", R"({"documents":[{"id":"a","text":"b"},{"id":"a","text":"c"}]})", 422,
       "stands twice"},
      {"POST", "/documents", R"({"documents":[{"id":"a","text":"b"},{"id":"c","text":4}]})", 422,
       "documents[1].text"},
      {"DELETE", "/documents", R"({"ids":[]})", 400, "is empty"},
      {"DELETE", "/documents", R"({"ids":7})", 422, "a text or a list of texts"},
      {"DELETE", "/documents", R"({"ids":["cat","nobody"]})", 404, "nobody"},
      {"DELETE", "/documents", R"({"ids":["a\u0000b"]})", 404, "b\"; nothing was removed"},
      {"DELETE", "/documents", R"({"id":"cat"})", 422, "\"ids\" is missing"},
      {"DELETE", "/documents", R"({"ids":["cat"],"filter":"kind = b"})", 422, "not both"},
      {"DELETE", "/documents", R"({"ids":["cat"],"dry_run":true})", 422, "needs a"},
      {"DELETE", "/documents", R"({"filter":""})", 422, "expected a column"},
      {"DELETE", "/documents", R"({"filter":"knid = a"})", 422, "known: kind"},
      {"PATCH", "/documents", R"({"documents":[{"id":"cat"}]})", 422, "metadata"},
      {"PATCH", "/documents", R"({"documents":[{"id":"cat","metadata":[1]}]})", 422, "an object"},
      {"PATCH", "/documents", R"({"documents":[{"id":"cat","metadata":{"a":{"b":1}}}]})", 422,
       "or a list of these"},
      {"PATCH", "/documents",
       R"({"documents":[{"id":"cat","metadata":{}},{"id":"no","metadata":{}}]})", 404,
       "no document \"no\"; nothing was changed"},
      {"POST", "/search", R"({"query":"a","vector":[1]})", 422, "has 1 numbers; expected 32"},
      {"POST", "/search", R"({"vector":[[1],2]})", 422, "vector[1]"},
      {"POST", "/search", R"({"vector":["a"]})", 422, "vector[0]"},
      {"POST", "/search", R"({"vector":1})", 422, "a list of numbers or a list of such lists"},
      {"POST", "/search", R"({"vector":[]})", 400, "is empty"},
      {"POST", "/search", R"({"query":"a","offset":995,"top_k":6})", 422, "1001 together"},
      {"POST", "/search", R"({"query":"a","offset":-1})", 422, "between 0 and 1000"},
      {"POST", "/search", R"({"query":"a","facets":"knid"})", 422, "known: kind"},
      {"POST", "/search", R"({"query":"a","facets":["kind:2,1"]})", 422, "rising numbers"},
      {"POST", "/search", R"({"query":"a","mode":"lexical","min_similarity":0.1})", 422, "lexical"},
      {"POST", "/search", R"({"like":"cat","explain":true})", 422, "needs a"},
      {"PUT", "/documents", "{}", 405, "takes POST, DELETE"},
      {"POST", "/embed_all", R"({"inputs":[]})", 400, "is empty"},
      {"POST", "/embed_all", R"({"inputs":"a","truncate":0})", 422, "true or false"},
      {"POST", "/embed_all", R"({"inputs":[[-1]]})", 422, "a text or a list of token ids"},
      {"POST", "/embed_sparse", R"({"inputs":[]})", 424, "SPLADE"},
      {"POST", "/rerank", R"({"query":"a","texts":["b",2]})", 422, "texts[1]"},
      {"POST", "/rerank", R"({"query":"a","texts":["b"],"raw_scores":"x"})", 422, "true or false"},
  };
  for (const BadBody& row : table) {
    const Reply reply = call_with(row.method, row.path, row.body);
    EXPECT_EQ(reply.status, row.status) << row.path << row.body << reply.body;
    EXPECT_THAT(json::parse(reply.body)["error"].get<std::string>(), HasSubstr(row.message))
        << row.body;
  }
  EXPECT_EQ(search({{"query", "a"}, {"mode", "vector"}}).size(), 3u);
}

}  // namespace
namespace {

using nlohmann::json;
using testing::HasSubstr;
namespace fs = std::filesystem;

TEST_F(SearchRoutesTest, DocumentsAddedAreSplitAsTheIndexSays) {
  serve(false);
  const std::string text = std::string(kLongText) + " " + kLongText;
  const json done = post("/documents", {{"documents", {{{"id", "new"}, {"text", text}}}}});
  EXPECT_EQ(done["documents"], 4);
  EXPECT_EQ(done["added"], 1);
  for (const json& hit : search({{"query", "boat"}, {"mode", "lexical"}})) {
    if (hit["id"] == "new") {
      EXPECT_GE(hit["passage"]["of"], 4);
    }
  }
  EXPECT_EQ(call("DELETE", "/documents", {{"ids", {"new", "long"}}}).status, 200);
  EXPECT_EQ(search({{"query", "boat"}, {"mode", "vector"}}).size(), 2u);
}

TEST_F(SearchRoutesTest, DocumentsAreGivenAndRemovedByTheirIds) {
  serve(false);
  const json cat = json::parse(call_with("GET", "/documents/cat", "").body);
  EXPECT_EQ(cat, json::parse(R"({"id":"cat","text":"a cat on a mat","metadata":{"kind":"b"}})"));
  const json split = json::parse(call_with("GET", "/documents/long", "").body);
  EXPECT_EQ(split["text"], kLongText);
  EXPECT_GT(split["passages"], 1);
  post("/documents", {{"documents",
                       {{{"id", "a/b"}, {"title", "A"}, {"text", "boat"}},
                        {{"id", "delete"}, {"text", "a dog"}}}}});
  EXPECT_EQ(json::parse(call_with("GET", "/documents/a/b", "").body),
            json::parse(R"({"id":"a/b","title":"A","text":"A boat"})"));
  const json hit = post("/search", {{"query", "boat"}, {"top_k", 1}})["results"][0]["hits"][0];
  EXPECT_EQ(hit["title"], "A");
  EXPECT_EQ(hit["text"], "A boat");
  EXPECT_EQ(call_with("GET", "/documents/delete", "").status, 200);
  EXPECT_EQ(call_with("DELETE", "/documents/a/b", "").body, R"({"deleted":1,"documents":4})");
  EXPECT_EQ(call_with("DELETE", "/documents/a/b", "").status, 404);
  EXPECT_EQ(post("/documents/delete", {{"ids", {"cat", "delete", "cat"}}}),
            json::parse(R"({"deleted":2,"documents":2})"));
  for (const char* method : {"GET", "DELETE"}) {
    const Reply reply = call_with(method, "/documents/cat", "");
    EXPECT_EQ(reply.status, 404);
    EXPECT_THAT(reply.body, HasSubstr("no document"));
    EXPECT_THAT(reply.body, testing::Not(HasSubstr(folder_)));
  }
}

TEST_F(SearchRoutesTest, ManyDocumentsMayBeAddedAtATime) {
  serve(false);
  json documents = json::array();
  for (int i = 0; i < 100; ++i) {
    documents.push_back({{"id", std::to_string(i)}, {"text", "a dog ran"}});
  }
  EXPECT_EQ(post("/documents", {{"documents", documents}})["documents"], 103);
}

TEST_F(SearchRoutesTest, PlacesOfTheServerAreNotTold) {
  serve(false);
  EXPECT_THAT(call("DELETE", "/documents", {{"ids", {"cat", "nobody"}}}).body,
              testing::AllOf(HasSubstr("no document"), testing::Not(HasSubstr(folder_))));
  fs::resize_file(fs::path(folder_) / "documents.sqlite", 100);
  const Reply reply = call("POST", "/search", {{"query", "the sun"}, {"filter", "kind = a"}});
  EXPECT_EQ(reply.status, 424) << reply.body;
  EXPECT_THAT(reply.body,
              testing::AllOf(HasSubstr("its log says why"), testing::Not(HasSubstr(folder_))));
}

TEST_F(SearchRoutesTest, DocumentsAreListedInPages) {
  serve(false);
  const json first = list({{"limit", "2"}});
  EXPECT_EQ(first["documents"][0]["id"], "long");
  EXPECT_GT(first["documents"][0]["passages"], 1);
  EXPECT_EQ(first["documents"][1], json::parse(R"({"id":"cat","metadata":{"kind":"b"}})"));
  const json second = list({{"cursor", first["cursor"]}, {"text", "true"}});
  EXPECT_EQ(second, json::parse(R"({"documents":[{"id":"sun","text":"the sun was red",
                                                  "metadata":{"kind":"a"}}]})"));
  const json counted =
      list({{"filter", "kind = a"}, {"limit", "0"}, {"count", "true"}, {"facets", "kind"}});
  EXPECT_EQ(counted, json::parse(R"({"documents":[],"count":2,"facets":[{"column":"kind",
      "values":[{"value":"a","count":2}],"without":0}]})"));
  const auto refused = [&](const std::string& name, const std::string& value) {
    return list({{name, value}}, 422)["error"].get<std::string>();
  };
  EXPECT_THAT(refused("cursor", "x"), HasSubstr("expected one that an earlier page gave"));
  EXPECT_THAT(refused("cursor", "-1"), HasSubstr("expected one that an earlier page gave"));
  EXPECT_THAT(refused("limit", "1001"), HasSubstr("between 0 and 1000"));
  EXPECT_THAT(refused("limit", ""), HasSubstr("whole number"));
  EXPECT_THAT(refused("text", "yes"), HasSubstr("true or false"));
  EXPECT_THAT(refused("filtre", "a"), HasSubstr("did you mean 'filter'?"));
  EXPECT_THAT(refused("filter", "knid = a"), HasSubstr("known: kind"));
  EXPECT_THAT(refused("filter", "kind ="), HasSubstr("expected a value"));
}

TEST_F(SearchRoutesTest, APageEndsWhereAnAnswerMayHaveNoMoreBytes) {
  ServeLimits limits;
  limits.answer_bytes = 40;
  serve(false, limits);
  std::vector<std::string> ids;
  std::vector<std::pair<std::string, std::string>> query = {{"text", "true"}};
  for (;;) {
    const json page = list(query);
    for (const json& document : page["documents"]) ids.push_back(document["id"]);
    if (!page.contains("cursor")) break;
    query = {{"text", "true"}, {"cursor", page["cursor"]}};
  }
  EXPECT_THAT(ids, testing::ElementsAre("long", "cat", "sun"));
  EXPECT_EQ(list({{"text", "true"}})["documents"].size(), 1u);
}

TEST_F(SearchRoutesTest, MetadataAreChangedAndDocumentsRemovedByThem) {
  serve(false);
  EXPECT_EQ(json::parse(call("PATCH", "/documents",
                             {{"documents",
                               {{{"id", "cat"}, {"metadata", {{"kind", "a"}, {"n", {1, 2}}}}},
                                {{"id", "sun"}, {"metadata", {{"kind", nullptr}}}}}}})
                            .body),
            json::parse(R"({"changed":2,"documents":3})"));
  EXPECT_EQ(list({{"limit", "2"}})["documents"][1],
            json::parse(R"({"id":"cat","metadata":{"kind":"a","n":[1,2]}})"));
  EXPECT_EQ(search({{"query", "cat"}, {"filter", "n = 2"}}).size(), 1u);
  const auto remove = [&](const json& body) {
    return json::parse(call("DELETE", "/documents", body).body);
  };
  EXPECT_EQ(remove({{"filter", "kind = a"}, {"dry_run", true}}),
            json::parse(R"({"deleted":2,"documents":3})"));
  EXPECT_EQ(remove({{"filter", "kind = a"}}), json::parse(R"({"deleted":2,"documents":1})"));
  EXPECT_EQ(list({})["documents"], json::parse(R"([{"id":"sun"}])"));
  post("/documents",
       {{"documents", {{{"id", "bare"}, {"text", "a dog"}, {"metadata", json::object()}}}}});
  EXPECT_EQ(list({})["documents"], json::parse(R"([{"id":"sun"},{"id":"bare"}])"));
}

TEST_F(SearchRoutesTest, MetadataThatWouldBecomeTooLargeAreRefused) {
  serve(false);
  const auto patch = [&](const std::vector<std::string>& columns) {
    json documents = json::array();
    for (const std::string& column : columns) {
      documents.push_back({{"id", "cat"}, {"metadata", {{column, std::string(7000, 'x')}}}});
    }
    return call("PATCH", "/documents", {{"documents", documents}});
  };
  EXPECT_EQ(patch({"a"}).status, 200);
  for (const auto& columns : {std::vector<std::string>{"b", "c"}, {"b", "b", "c"}}) {
    const Reply reply = patch(columns);
    EXPECT_EQ(reply.status, 422);
    EXPECT_EQ(json::parse(reply.body)["error_type"], "Validation");
    EXPECT_THAT(reply.body, HasSubstr("bytes, expected at most 16384; remove or shorten"));
  }
  EXPECT_EQ(patch({"b"}).status, 200);
}

TEST_F(SearchRoutesTest, VectorsThatGiveNoScoreAreRefused) {
  serve(false);
  refuse({{"vector", std::vector<float>(32, 1e38f)}}, 422, "scores would be infinite");
  refuse({{"vector", std::vector<float>(32, 1e19f)}}, 422, "scores would be infinite");
  EXPECT_EQ(search({{"vector", std::vector<float>(32, 1e18f)}}).size(), 3u);
}

TEST_F(SearchRoutesTest, HitsArePagedCountedAndExplained) {
  serve(false);
  const json all = search({{"query", "the sun"}});
  ASSERT_EQ(all.size(), 3u);
  json page = search({{"query", "the sun"}, {"top_k", 1}, {"offset", 1}});
  EXPECT_EQ(page, json::array({all[1]}));
  EXPECT_TRUE(search({{"query", "the sun"}, {"offset", 3}}).empty());
  const json counted = post(
      "/search",
      {{"query", "the sun"}, {"top_k", 1}, {"count", true}, {"mode", "lexical"}})["results"][0];
  EXPECT_EQ(counted["count"], 2);  // share a word with it
  EXPECT_FALSE(counted.contains("facets"));
  const double least = all[1]["vector_score"];
  for (const json& hit : search({{"query", "the sun"}, {"min_similarity", least}})) {
    EXPECT_GE(hit["vector_score"], least);
  }
  for (const json& hit : search({{"query", "the sun"}, {"explain", true}})) {
    const json& explained = hit["explanation"];
    EXPECT_EQ(explained["vector_part"].get<double>() + explained["word_part"].get<double>(),
              hit["score"].get<double>());
  }
  const json vector = post("/embed", {{"inputs", "the sun"}})[0];
  const json by_vector = search({{"vector", vector}, {"explain", true}});
  const json by_text = search({{"query", "the sun"}, {"mode", "vector"}, {"explain", true}});
  ASSERT_EQ(by_vector.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(by_vector[i]["id"], by_text[i]["id"]);
  EXPECT_EQ(post("/search", {{"vector", {vector, vector}}})["results"].size(), 2u);
}

}  // namespace
}  // namespace simile
