// SPDX-License-Identifier: Apache-2.0
// Reading and changing an index through the program and the server: pages, counts, facets, a least
// similarity, given vectors, explanations, filters, removal by a filter, metadata alone.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "server_process.h"
#include "shell.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

// As NumPy writes a matrix of floats.
std::string npy_of(const Json& rows) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows.size(),
                  rows[0].size());
  header += std::string(127 - 10 - header.size(), ' ') + "\n";
  std::string file = std::string("\x93NUMPY\1\0\x76\0", 10) + header;
  for (const Json& row : rows) {
    for (const float number : row.get<std::vector<float>>()) {
      file.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
  }
  return file;
}

class ReadingTest : public ShellTest {
 protected:
  ReadingTest() {
    write("c.jsonl",
          R"({"id":"a","text":"the quick fox","year":2020,"tags":["red","fast"],"day":"2024-05-01"}
{"id":"b","text":"a fox and a dog","year":2021,"tags":["red"],"day":"2024-05-01T22:30:00Z"}
{"id":"c","text":"the world","tags":[],"day":"2024-05-02T00:30:00+02:00"}
{"id":"d","text":"a slow dog","year":1999,"day":"2023-12-31"}
{"id":"e","text":"the end","note":"none"}
)");
    const Outcome built =
        shell("simile index build --quiet --model $M --index i --corpus c.jsonl --metadata '*'");
    EXPECT_EQ(built.code, 0) << built.err;
  }

  Json program(const std::string& command, int code = 0) const {
    const Outcome outcome = shell("simile " + command);
    EXPECT_EQ(outcome.code, code) << command << "\n" << outcome.err;
    return outcome.out.empty() ? Json() : Json::parse(outcome.out);
  }

  static Json answer_of(const httplib::Result& result, int status = 200) {
    if (!result) return Json();
    EXPECT_EQ(result->status, status) << result->body;
    return Json::parse(result->body);
  }

  static std::vector<std::string> ids(const Json& documents) {
    std::vector<std::string> found;
    for (const Json& document : documents) found.push_back(document["id"]);
    return found;
  }

  std::vector<std::string> listed(const std::string& filter) const {
    return ids(program("index list --index i --json --filter \"" + filter + "\"")["documents"]);
  }
};

TEST_F(ReadingTest, ProgramAndServerAnswerASearchAlike) {
  ServerProcess server(
      {"--index", path("i"), "--model", SIMILE_SOURCE_DIR "/tests/golden/tiny-bert"});
  httplib::Client client = server.client();
  const struct {
    const char* flags;
    const char* body;
  } searches[] = {{"--top-k 2 --offset 1", R"({"top_k":2,"offset":1})"},
                  {"--count --facets tags --facets year:2000,2021",
                   R"({"count":true,"facets":["tags","year:2000,2021"]})"},
                  {"--count --mode lexical --facets day --facet-values 1",
                   R"({"count":true,"mode":"lexical","facets":"day","facet_values":1})"},
                  {"--min-similarity 0.5 --count", R"({"min_similarity":0.5,"count":true})"},
                  {"--min-similarity 0.5 --mode vector --count --filter 'tags = red'",
                   R"({"min_similarity":0.5,"mode":"vector","count":true,"filter":"tags = red"})"},
                  {"--explain", R"({"explain":true})"},
                  {"--explain --hybrid-rule rrf --hybrid-weight 0.5",
                   R"({"explain":true,"hybrid_rule":"rrf","hybrid_weight":0.5})"},
                  {"--explain --mode lexical", R"({"explain":true,"mode":"lexical"})"}};
  for (const auto& [flags, body] : searches) {
    Json by_program =
        program(std::string("search --index i --json --quiet --query 'the fox dog' ") + flags);
    Json request = Json::parse(body);
    request["query"] = "the fox dog";
    request["marks"] = true;
    by_program.erase("query");
    by_program.erase("query_id");
    const Json answer = answer_of(client.Post("/search", request.dump(), "application/json"));
    EXPECT_EQ(answer["results"][0], by_program) << flags;
    EXPECT_FALSE(by_program["hits"].empty()) << flags;
  }
  const Json all = program("search --index i --json --quiet --query 'the fox dog' --count");
  EXPECT_EQ(all["count"], 5);
  const Json page =
      program("search --index i --json --quiet --query 'the fox dog' --top-k 2 --offset 1");
  EXPECT_EQ(page["hits"], Json::array({all["hits"][1], all["hits"][2]}));
  EXPECT_EQ(
      program(
          "search --index i --json --quiet --mode lexical --query fox --count --top-k 1")["count"],
      2);
}

TEST_F(ReadingTest, FacetsCountValuesAndRangesOfWhatIsFound) {
  const Json found = program(
      "search --index i --json --quiet --query fox --facets tags --facets year:2000,2021 "
      "--filter 'exists day'");
  EXPECT_EQ(found["facets"], Json::parse(R"([
      {"column":"tags","values":[{"value":"red","count":2},{"value":"fast","count":1}],"without":2},
      {"column":"year","values":[{"to":2000.0,"count":1},{"from":2000.0,"to":2021.0,"count":1},
                                 {"from":2021.0,"count":1}],"without":1}])"));
  const Outcome table = shell("simile search --index i --quiet --query fox --facets tags --count");
  EXPECT_THAT(table.out, AllOf(HasSubstr("5 documents found\n"), HasSubstr("2  tags = \"red\"\n"),
                               HasSubstr("3  without tags\n")));
}

TEST_F(ReadingTest, ExplanationsAreShown) {
  const Json hits = program("search --index i --json --quiet --query 'fox dog' --explain")["hits"];
  for (const Json& hit : hits) {
    const Json& explained = hit["explanation"];
    EXPECT_EQ(explained["vector_part"].get<double>() + explained["word_part"].get<double>(),
              hit["score"].get<double>());
    double sum = 0;
    for (const Json& word : explained["words"]) sum += word["score"].get<double>();
    EXPECT_EQ(sum, hit["lexical_score"].get<double>());
  }
  EXPECT_THAT(shell("simile search --index i --quiet --query 'fox dog' --explain").out,
              AllOf(HasSubstr("0.875 * V(similarity) + 0.125 * W(BM25), cosine"),
                    HasSubstr("fox (1 times here, in 2 documents)")));
}

TEST_F(ReadingTest, VectorsMayBeGiven) {
  ServerProcess server(
      {"--index", path("i"), "--model", SIMILE_SOURCE_DIR "/tests/golden/tiny-bert"});
  httplib::Client client = server.client();
  write("t.txt", "a fox\nthe world\n");
  const Json vectors =
      answer_of(client.Post("/embed", R"({"inputs":["a fox","the world"]})", "application/json"));
  write("v.json", vectors.dump());
  write("v.npy", npy_of(vectors));
  const Json by_text =
      program("search --index i --json --quiet --mode vector --queries t.txt --top-k 2");
  const Json by_file = program("search --index i --json --quiet --vector v.npy --top-k 2");
  ASSERT_EQ(by_file.size(), 2u);
  EXPECT_EQ(program("search --index i --json --quiet --vector v.json --top-k 2"), by_file);
  const Json one =
      program("search --index i --json --quiet --top-k 2 --vector '" + vectors[1].dump() + "'");
  const Json answer = answer_of(
      client.Post("/search", Json{{"vector", vectors}, {"top_k", 2}, {"marks", true}}.dump(),
                  "application/json"));
  EXPECT_EQ(answer["mode"], "vector");
  EXPECT_EQ(one["hits"], by_file[1]["hits"]);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(ids(by_file[i]["hits"]), ids(by_text[i]["hits"]));
    EXPECT_EQ(answer["results"][i]["hits"], by_file[i]["hits"]);
  }
  const Json hybrid = program("search --index i --json --quiet --queries t.txt --vector v.npy");
  EXPECT_EQ(ids(hybrid[0]["hits"]),
            ids(program("search --index i --json --quiet --query 'a fox'")["hits"]));
  expect_error("simile search --index i --vector '[1, 2]'", 2,
               "\"vector\" has 2 numbers; expected 32, as the index's vectors have");
  expect_error("simile search --index i --vector v.npy --query x", 2,
               "\"vector\" has 2 vectors; expected one for each query");
  expect_error("simile search --index i --vector v.npy --mode hybrid", 2, "needs a \"query\"");
  expect_error("simile search --index i --vector '[1, x]'", 3, "--vector");
  expect_error("simile search --index i --vector nowhere.npy", 3, "nowhere.npy");
  expect_error("simile search --index i --vector v.npy --like a", 2, "vector");
}

TEST_F(ReadingTest, OptionsWithoutEffectAreRefused) {
  write("t.txt", "a fox\n");
  const std::pair<const char*, const char*> cases[] = {
      {"search --query fox --id x --text y --delimiter ';' --on-error skip",
       "--id, --text, --delimiter, --on-error do nothing without a table of --queries; remove "
       "them"},
      {"search --queries t.txt --id x --text y --delimiter ';' --on-error skip",
       "--id, --text, --delimiter, --on-error do nothing without a table of --queries; remove "
       "them"},
      {"search --query fox --encoding windows-1252", "--encoding does nothing without --queries"},
      {"search --query fox --format trec --count --facets tags --explain",
       "--count, --facets, --explain do nothing in a TREC run"},
      {"search --query fox --facet-values 3",
       "--facet-values does nothing without --facets; remove it"},
      {"search --query fox --mode lexical --hybrid-weight 0.3",
       "--hybrid-weight does nothing in mode lexical, which is no hybrid; remove it"},
      {"search --query fox --mode vector --hybrid-rule rrf",
       "--hybrid-rule does nothing in mode vector, which is no hybrid; remove it"},
      {"search --like a --dimensions 8", "--dimensions does nothing where no text is embedded"},
      {"search --query fox --mode lexical --prompt query",
       "--prompt does nothing where no text is embedded"},
      {"search --query fox --dimensions 8",
       "--dimensions 8: the vectors of the index have 32 numbers; leave the option out"},
      {"index add --corpus c.jsonl --dimensions 8",
       "--dimensions 8: the vectors of the index have 32 numbers; leave the option out"},
      {"index list --facet-values 3", "--facet-values does nothing without --facets; remove it"}};
  for (const auto& [command, message] : cases) {
    expect_error(fmt::format("simile {} --index i", command), 2, message);
  }
  // What each of them needs is enough.
  EXPECT_EQ(shell("simile search --index i --queries t.txt --encoding windows-1252").code, 0);
  EXPECT_EQ(shell("simile search --index i --query fox --dimensions 32").code, 0);
}

TEST_F(ReadingTest, DocumentsAreListedInPagesAlikeByBoth) {
  ServerProcess server(
      {"--index", path("i"), "--model", SIMILE_SOURCE_DIR "/tests/golden/tiny-bert"});
  httplib::Client client = server.client();
  std::string cursor;
  std::vector<std::string> all;
  for (int page = 0; page < 3; ++page) {
    const Json by_program = program("index list --index i --json --limit 2 --text --count" +
                                    (cursor.empty() ? "" : " --cursor " + cursor));
    const Json by_server = answer_of(client.Get("/documents?limit=2&text=true&count=true" +
                                                (cursor.empty() ? "" : "&cursor=" + cursor)));
    EXPECT_EQ(by_server, by_program);
    EXPECT_EQ(by_program["count"], 5);
    for (const std::string& id : ids(by_program["documents"])) all.push_back(id);
    EXPECT_EQ(by_program.contains("cursor"), page < 2);
    cursor = by_program.value("cursor", "");
  }
  EXPECT_THAT(all, ElementsAre("a", "b", "c", "d", "e"));
  const Json counted = answer_of(
      client.Get("/documents?limit=0&facets=tags&facets=year:2000&filter=tags%20%3D%20red"));
  EXPECT_EQ(counted, program("index list --index i --json --limit 0 --facets tags --facets "
                             "year:2000 --filter 'tags = red'"));
  EXPECT_EQ(counted["facets"][0]["values"][0]["count"], 2);
  const Outcome table = shell("simile index list --index i --limit 1");
  EXPECT_EQ(table.out, "a\t{\"year\":2020,\"tags\":[\"red\",\"fast\"],\"day\":\"2024-05-01\"}\n");
  EXPECT_THAT(table.err, HasSubstr("continue with --cursor 1"));
  EXPECT_EQ(answer_of(client.Get("/documents?limit=x"), 422)["error"],
            "'limit' should be a whole number between 0 and 1000, found 'x'");
  expect_error("simile index list --index i --cursor x", 2,
               "expected one that an earlier page gave");
}

TEST_F(ReadingTest, ADocumentIsShownWithAllItsText) {
  EXPECT_EQ(shell("simile index show --index i e d").out,
            "e\nthe end\n{\"note\":\"none\"}\n\n"
            "d\na slow dog\n{\"year\":1999,\"day\":\"2023-12-31\"}\n");
  EXPECT_EQ(program("index show --index i d --json")["documents"][0]["text"], "a slow dog");
  expect_error("simile index show --index i d x", 3, "i: there is no document 'x'");
}

TEST_F(ReadingTest, FiltersKnowListsDatesBeginningsAndExistence) {
  EXPECT_THAT(listed("tags = red"), ElementsAre("a", "b"));
  EXPECT_THAT(listed("tags = fast"), ElementsAre("a"));
  EXPECT_THAT(listed("tags != fast"), ElementsAre("b"));
  EXPECT_THAT(listed("tags in (fast, slow)"), ElementsAre("a"));
  EXPECT_THAT(listed("tags contains as"), ElementsAre("a"));
  EXPECT_THAT(listed("exists tags"), ElementsAre("a", "b"));
  EXPECT_THAT(listed("not exists year"), ElementsAre("c", "e"));
  EXPECT_THAT(listed("note starts with no"), ElementsAre("e"));
  EXPECT_THAT(listed("note not starts with no"), IsEmpty());
  EXPECT_THAT(listed("year starts with 20"), ElementsAre("a", "b"));
  EXPECT_THAT(listed("day = 2024-05-01"), ElementsAre("a", "b", "c"));  // 22:30 in UTC
  EXPECT_THAT(listed("day > 2024-05-01"), IsEmpty());
  EXPECT_THAT(listed("day >= '2024-05-01T22:30+00:00'"), ElementsAre("b", "c"));
  EXPECT_THAT(listed("day < 2024-01-01"), ElementsAre("d"));
  EXPECT_THAT(listed("day contains 05"), ElementsAre("a", "b", "c"));
  expect_error("simile index list --index i --filter 'dya = 1'", 2,
               "no document has 'dya' in its metadata; known: day, note, tags, year (did you mean "
               "'day'?)");
  expect_error("simile search --index i --query x --filter 'yaer = 1'", 2, "known: day, note");
  expect_error("simile search --index i --query x --facets yaer", 2, "did you mean 'year'?");
  expect_error("simile index list --index i --filter 'day starts 2024'", 2,
               "expected with behind starts");
}

TEST_F(ReadingTest, DocumentsAreRemovedByAFilter) {
  const std::string remove = "simile index delete --index i ";
  expect_error(remove, 2, "give ids, or --filter");
  expect_error(remove + "a --filter 'year > 1'", 2, "give ids, or --filter");
  expect_error(remove + "a --dry-run", 2, "give ids, or --filter");
  expect_error(remove + "--filter ''", 2, "expected a column");
  expect_error(remove + "--filter 'yaer = 1'", 2, "did you mean 'year'?");
  EXPECT_THAT(shell(remove + "--filter 'tags = red' --dry-run").err,
              HasSubstr("2 documents would be removed from i"));
  EXPECT_EQ(program("index list --index i --json --count --limit 0")["count"], 5);
  EXPECT_THAT(shell(remove + "--filter 'tags = red'").err, HasSubstr("2 documents removed from i"));
  ServerProcess server({"--index", path("i"), "--allow-changes", "--model",
                        SIMILE_SOURCE_DIR "/tests/golden/tiny-bert"});
  httplib::Client client = server.client();
  EXPECT_EQ(answer_of(client.Delete("/documents", R"({"filter":"not exists day","dry_run":true})",
                                    "application/json")),
            Json::parse(R"({"deleted":1,"documents":3})"));
  EXPECT_EQ(answer_of(client.Post("/documents/delete", R"({"filter":"not exists day"})",
                                  "application/json")),
            Json::parse(R"({"deleted":1,"documents":2})"));
  EXPECT_THAT(ids(program("index list --index i --json")["documents"]), ElementsAre("c", "d"));
  EXPECT_EQ(shell("simile check --index i").code, 0);
}

TEST_F(ReadingTest, MetadataChangeWithoutTheModel) {
  ServerProcess server({"--index", path("i"), "--allow-changes", "--model",
                        SIMILE_SOURCE_DIR "/tests/golden/tiny-bert"});
  httplib::Client client = server.client();
  const auto found = [&](const std::string& filter) {
    return ids(answer_of(client.Post(
        "/search", Json{{"query", "fox"}, {"mode", "vector"}, {"filter", filter}}.dump(),
        "application/json"))["results"][0]["hits"]);
  };
  EXPECT_EQ(found("year = 2020").size(), 1u);
  write("m.tsv", "id\tyear\tnote\ttext\nb\t2020\t\tignored\ne\t\tnew\t\n");
  const std::string update = "simile index update-metadata --index i --corpus ";
  EXPECT_THAT(shell(update + "m.tsv").err, HasSubstr("i: metadata of 2 documents changed"));
  EXPECT_EQ(found("year = 2020").size(), 2u);  // the server sees it
  EXPECT_THAT(shell(update + "m.tsv --metadata note,year").err,
              HasSubstr("metadata of 0 documents changed"));
  write("n.jsonl", "{\"id\":\"a\",\"tags\":[\"slow\",1]}\n{\"id\":\"d\",\"year\":5}\n");
  ASSERT_EQ(shell(update + "n.jsonl --metadata year,tags").code, 0);
  const Json a = program("index list --index i --json --limit 1")["documents"][0];
  EXPECT_EQ(a["metadata"], Json::parse(R"({"day":"2024-05-01","tags":["slow",1]})"));
  EXPECT_THAT(listed("exists year"), ElementsAre("b", "d"));
  EXPECT_EQ(answer_of(client.Patch("/documents",
                                   R"({"documents":[{"id":"c","metadata":{"year":7,"day":null}}]})",
                                   "application/json")),
            Json::parse(R"({"changed":1,"documents":5})"));
  EXPECT_THAT(listed("year = 7 and not exists day"), ElementsAre("c"));
  EXPECT_EQ(found("year = 7"), std::vector<std::string>{"c"});
  EXPECT_EQ(shell("simile check --index i").code, 0);
  write("x.tsv", "id\tyear\nb\t1\nnobody\t2\n");
  expect_error(update + "x.tsv", 3,
               "there is no document \"nobody\"; nothing was changed; leave it out, or add it");
  expect_error(update + "x.tsv --metadata yaer", 3, "did you mean 'year'?");
  EXPECT_THAT(listed("year = 1"), IsEmpty());
}

}  // namespace
}  // namespace simile
