// SPDX-License-Identifier: Apache-2.0
// One search through every door: the program, the server, the C++ example and the library.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "server_process.h"
#include "shell.h"
#include "simile/index/searcher.h"

namespace simile {
namespace {

using Json = nlohmann::json;

constexpr int kTopK = 3;
const std::vector<std::string> kQueries = {"forgot my password", "how do I get my money back?",
                                           "Where is my parcel"};

// The id of each hit and its score, to the bit.
using Hits = std::vector<std::pair<std::string, double>>;

class DoorsTest : public ShellTest {
 protected:
  DoorsTest() {
    const Outcome built = shell(
        "simile index build --model simile-mini-3-static --corpus $S/examples/faq/corpus.tsv "
        "--index faq");
    EXPECT_EQ(built.code, 0) << built.err;
  }

  static Hits hits_of(const Json& hits) {
    Hits found;
    for (const Json& hit : hits) found.emplace_back(hit["id"], hit["score"]);
    return found;
  }

  Hits by_program(const std::string& query, const std::string& options = "") const {
    const Outcome found =
        shell("simile search --index faq --json --top-k 3 --query '" + query + "' " + options);
    EXPECT_EQ(found.code, 0) << found.err;
    return hits_of(Json::parse(found.out)["hits"]);
  }

  Hits by_library(const SearchRequest& request) const {
    Hits found;
    const SearchReply reply = Searcher::open(path("faq")).search(request);
    for (const FoundDocument& hit : reply.results[0].hits) found.emplace_back(hit.id, hit.score);
    return found;
  }
};

TEST_F(DoorsTest, GiveTheSameHitsAndScoreBitsByDefault) {
  ServerProcess server({"--index", path("faq")});
  httplib::Client client = server.client();
  const Searcher searcher = Searcher::open(path("faq"));
  for (const std::string& query : kQueries) {
    const Hits expected = by_program(query);
    ASSERT_EQ(expected.size(), kTopK);

    const Json body = {{"query", query}, {"top_k", kTopK}};
    const auto answer = client.Post("/search", body.dump(), "application/json");
    ASSERT_TRUE(answer && answer->status == 200);
    EXPECT_EQ(hits_of(Json::parse(answer->body)["results"][0]["hits"]), expected) << query;

    Hits by_call;
    for (const FoundDocument& hit : searcher.search(query, kTopK)) {
      by_call.emplace_back(hit.id, hit.score);
    }
    EXPECT_EQ(by_call, expected) << query;

    // The example makes that call, and prints four digits of its scores.
    const Outcome example = shell(fmt::format("'{}' faq '{}'", SIMILE_EXAMPLE, query));
    EXPECT_EQ(example.code, 0) << example.err;
    std::string printed = fmt::format("? {}\n", query);
    for (const FoundDocument& hit : searcher.search(query, kTopK)) {
      printed += fmt::format("  {:.4f}  {}  {}\n", hit.score, hit.id, *hit.text);
    }
    EXPECT_EQ(example.out, printed);
  }
}

TEST_F(DoorsTest, GiveTheSameHitsForTheSameRequest) {
  ServerProcess server({"--index", path("faq")});
  httplib::Client client = server.client();
  const std::string id = by_program(kQueries[0])[0].first;
  const struct {
    Json body;
    std::string flags;
  } requests[] = {{{{"mode", "vector"}}, "--mode vector"},
                  {{{"mode", "lexical"}}, "--mode lexical"},
                  {{{"hybrid_weight", 0.25}, {"hybrid_rule", "rrf"}},
                   "--hybrid-weight 0.25 --hybrid-rule rrf"}};
  for (const auto& [members, flags] : requests) {
    Json body = {{"query", kQueries[0]}, {"top_k", kTopK}};
    body.update(members);
    SearchRequest request;
    read_json_options(body.dump(), "request", request);
    const Hits expected = by_program(kQueries[0], flags);
    EXPECT_EQ(by_library(request), expected) << flags;
    const auto answer = client.Post("/search", body.dump(), "application/json");
    ASSERT_TRUE(answer && answer->status == 200) << answer->body;
    EXPECT_EQ(hits_of(Json::parse(answer->body)["results"][0]["hits"]), expected) << flags;
  }
  const Outcome like = shell("simile search --index faq --json --top-k 3 --like " + id);
  const Json body = {{"like", id}, {"top_k", kTopK}};
  const auto answer = client.Post("/search", body.dump(), "application/json");
  ASSERT_TRUE(answer && answer->status == 200);
  SearchRequest request;
  read_json_options(body.dump(), "request", request);
  EXPECT_EQ(hits_of(Json::parse(like.out)["hits"]), by_library(request));
  EXPECT_EQ(hits_of(Json::parse(answer->body)["results"][0]["hits"]), by_library(request));
}

TEST_F(DoorsTest, TheExampleIsShort) {
  const std::string source = read_file(SIMILE_SOURCE_DIR "/examples/cpp/search.cpp");
  EXPECT_LE(std::count(source.begin(), source.end(), '\n'), 25);
}

}  // namespace
}  // namespace simile
