// SPDX-License-Identifier: Apache-2.0
// Long documents split into passages, and what a search does with hits, as a user runs them.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/shell.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

class PassagesTest : public ShellTest {
 protected:
  void SetUp() override {
    write(
        "c.jsonl",
        R"({"id":"long","text":"The quick brown fox ran over the hill. A lazy dog saw the sun and slept.  Nobody went to the sea, é, but the boat was there."}
{"id":"short","text":"the sun was red"}
{"id":"other","text":"a cat sat on the mat and a dog ran to the cat, then all of them went home to eat"}
)");
    write("q.tsv", "id\ttext\nq1\tthe boat at sea\nq2\tred sun\n");
  }

  void build(const std::string& index, const std::string& options) const {
    const Outcome outcome = shell(fmt::format(
        "simile index build --quiet --overwrite --model $M --index {} --corpus c.jsonl {}", index,
        options));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }

  Json run(const std::string& command) const {
    const Outcome outcome = shell(command + " --quiet --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? Json::parse(outcome.out) : Json();
  }

  // The vector of a text, as `simile encode` prints it of a model that gives vectors of length 1.
  std::string vector_of(const std::string& text) const {
    write("one.txt", text + "\n");
    const Outcome outcome =
        shell("simile encode --quiet --model simile-mini-3-static --input one.txt");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const size_t at = outcome.out.find("[");
    return outcome.out.substr(at, outcome.out.find("]") - at + 1);
  }
};

TEST_F(PassagesTest, HitsAreTheBestPassagesOfDocuments) {
  build("i", "--passage-tokens 12 --passage-overlap 4 --passage-whole 0");
  const Json info = run("simile index info --index i");
  EXPECT_EQ(info["documents"], 3);
  EXPECT_GT(info["passages"], 5);
  EXPECT_EQ(info["passage_tokens"], 12);
  EXPECT_EQ(info["passage_overlap"], 4);
  for (const char* mode : {"vector", "lexical", "hybrid"}) {
    const Json hits = run(
        fmt::format("simile search --index i --query 'the boat at sea' --mode {}", mode))["hits"];
    ASSERT_LE(hits.size(), 3u);
    const Json& hit = hits[0]["id"] == "long" ? hits[0] : hits[1];
    ASSERT_EQ(hit["id"], "long") << mode;
    const Json& passage = hit["passage"];
    EXPECT_EQ(passage["end"].get<int>() - passage["begin"].get<int>(),
              static_cast<int>(hit["text"].get<std::string>().size()) -
                  (hit["text"].get<std::string>().find("é") == std::string::npos ? 0 : 1));
    EXPECT_GT(passage["of"], passage["number"]);
  }
  const Json hits = run("simile search --index i --query 'boats' --mode lexical")["hits"];
  EXPECT_THAT(hits, IsEmpty());
}

TEST_F(PassagesTest, VectorsAreThoseOfThePassagesTexts) {
  const Outcome built = shell(
      "simile index build --quiet --model simile-mini-3-static --index i --corpus c.jsonl "
      "--passage-tokens 12 --passage-overlap 4 --passage-whole 0");
  ASSERT_EQ(built.code, 0) << built.err;
  const Outcome outcome = shell("simile export --index i --to qdrant-jsonl --output -");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  int passages = 0;
  for (std::string line; std::getline(lines, line); ++passages) {
    const Json point = Json::parse(line);
    const size_t at = line.find("\"vector\":") + 9;
    EXPECT_EQ(line.substr(at, line.find("]", at) - at + 1),
              vector_of(point["payload"]["text"].get<std::string>()))
        << line;
  }
  EXPECT_EQ(passages, run("simile index info --index i")["passages"]);
}

TEST_F(PassagesTest, AddAndDeleteDoWholeDocuments) {
  build("i", "--passage-tokens 12 --passage-overlap 4 --passage-whole 0");
  write("more.tsv",
        "id\ttext\nlong\tjust a fox\nnew\tthe sun and the dog and the cat and the fox "
        "and the hill and the sea\n");
  ASSERT_EQ(shell("simile index add --quiet --index i --corpus more.tsv").code, 0);
  EXPECT_EQ(run("simile index info --index i")["documents"], 4);
  const Json found = run("simile search --index i --query fox")["hits"];
  for (const Json& hit : found) {
    if (hit["id"] == "long") {
      EXPECT_EQ(hit["text"], "just a fox");
    } else if (hit["id"] == "new") {
      EXPECT_EQ(hit["passage"]["of"], 2);
    }
  }
  ASSERT_EQ(shell("simile index delete --quiet --index i new other").code, 0);
  EXPECT_EQ(run("simile index info --index i")["passages"], 2);
  EXPECT_EQ(shell("simile check --index i").code, 0);
}

TEST_F(PassagesTest, WordsOfTheQueryAreMarked) {
  build("i", "");
  const Json hit = run("simile search --index i --query 'lazy boat' --mode lexical")["hits"][0];
  EXPECT_EQ(hit["id"], "long");
  EXPECT_EQ(hit["marks"], Json::parse("[[41,45],[109,113]]"));
  EXPECT_FALSE(hit.contains("passage"));
  const Outcome table = shell("simile search --quiet --index i --query 'boat' --mode lexical");
  EXPECT_THAT(table.out, HasSubstr("...sea, é, but the boat was there."));
}

TEST_F(PassagesTest, ATableHasNoControlCharacters) {
  write("c.jsonl",
        R"({"id":"\u001b[31mred\u0007\n","text":"the \u009b31m boat\tand \u007f\u001b]0;x\u0007 é"}
)");
  build("i", "");
  const std::string search = "simile search --quiet --index i --mode lexical ";
  EXPECT_THAT(
      shell(search + "--query boat").out,
      HasSubstr("  \uFFFD[31mred\uFFFD   the \uFFFD31m boat and \uFFFD\uFFFD]0;x\uFFFD é\n"));
  write("q.tsv", "id\ttext\nq1\tthe \x1b[1mboat\nq2\tboat\n");
  EXPECT_THAT(shell(search + "--queries q.tsv").out, StartsWith("? the \uFFFD[1mboat\n"));
  EXPECT_EQ(run(search + "--query boat")["hits"][0]["id"], "\x1b[31mred\a\n");
}

TEST_F(PassagesTest, DocumentsLikeOneAreFoundWithoutIt) {
  build("i", "");
  const Json like = run("simile search --index i --like short --mode vector");
  EXPECT_EQ(like["query_id"], "short");
  ASSERT_EQ(like["hits"].size(), 2u);
  // The document's own text asks for the same, where the model has no prompts.
  const Json asked = run("simile search --index i --query 'the sun was red' --mode vector")["hits"];
  EXPECT_EQ(asked[0]["id"], "short");
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(like["hits"][i]["id"], asked[i + 1]["id"]);
    EXPECT_EQ(like["hits"][i]["score"], asked[i + 1]["score"]);
  }
  expect_error("simile search --index i --like nobody", 3, "has no document \"nobody\"");
  expect_error("simile search --index i --like short --query x", 2, "give one of --query");
  expect_error("simile search --index i --like short --rerank $M", 2, "--rerank needs");
}

TEST_F(PassagesTest, EachPassageAsksForDocumentsLikeItsOwn) {
  build("i", "--passage-tokens 12 --passage-overlap 4 --passage-whole 0");
  std::map<std::string, double> best;
  std::istringstream lines(shell("simile export --index i --to qdrant-jsonl --output -").out);
  for (std::string line; std::getline(lines, line);) {
    const Json payload = Json::parse(line)["payload"];
    if (payload["id"] != "long") continue;
    const Json found = run(fmt::format("simile search --index i --mode hybrid --query '{}'",
                                       payload["text"].get<std::string>()));
    for (const Json& hit : found["hits"]) {
      double& score = best.emplace(hit["id"], hit["score"]).first->second;
      score = std::max(score, hit["score"].get<double>());
    }
  }
  const Json hits = run("simile search --index i --like long")["hits"];
  ASSERT_EQ(hits.size(), 2u);
  for (const Json& hit : hits) EXPECT_EQ(hit["score"], best.at(hit["id"]));
}

TEST_F(PassagesTest, QueriesOfAFileBecomeARunThatEvaluateReads) {
  build("i", "");
  write("q.txt", "the boat at sea\n\nred sun\n");
  const Outcome run = shell("simile search --quiet --index i --queries q.txt --format trec");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(StartsWith("1 Q0 "), HasSubstr("\n3 Q0 ")));
  EXPECT_EQ(shell("simile search --quiet --index i --queries - --format trec <q.txt").out, run.out);
  ASSERT_EQ(shell("simile search --quiet --index i --queries q.tsv --output run.trec").code, 0);
  EXPECT_EQ(shell("simile search --quiet --index i --queries q.tsv --format trec --output x && "
                  "cmp x run.trec")
                .code,
            0);
  write("qrels.tsv", "query_id\tdoc_id\trelevance\nq1\tlong\t1\nq2\tshort\t1\n");
  const Outcome evaluated = shell(
      "simile evaluate --quiet --run run.trec "
      "--qrels qrels.tsv --json");
  EXPECT_EQ(evaluated.code, 0) << evaluated.err;
  expect_error("simile search --index i --query x --format xml", 2, "--format");
  write("empty.txt", "\n\n");
  expect_error("simile search --index i --queries empty.txt", 3, "no text was found");
}

TEST_F(PassagesTest, WhatWasExportedIsImportedWithTheSameHits) {
  write("m.jsonl",
        R"({"id":"a","title":"Of foxes","text":"the quick fox","year":2020,"lang":"en"}
{"id":"b","text":"a fox and a dog\nran over the hill and slept in the sun; nobody saw them go","lang":"de"}
{"id":"b#1","text":"the sun","lang":"de"}
)");
  for (const char* passages : {"", "--passage-tokens 12 --passage-overlap 4 --passage-whole 0"}) {
    ASSERT_EQ(
        shell(fmt::format("simile index build --quiet --overwrite --model $M --index i --corpus "
                          "m.jsonl --metadata '*' --hybrid-weight 0.75 --hybrid-rule rrf {}",
                          passages))
            .code,
        0);
    for (const char* target : {"npy --output x.npy", "qdrant-jsonl --output x.jsonl"}) {
      const std::string file = std::string(target).substr(std::string(target).rfind(' ') + 1);
      const Outcome done = shell(fmt::format(
          "simile export --index i --to {} && simile index import --overwrite --index j --from {}",
          target, file));
      ASSERT_EQ(done.code, 0) << done.err;
      EXPECT_EQ(shell("simile check --index j").code, 0);
      const Json first = run("simile search --index j --mode lexical --query foxes")["hits"][0];
      EXPECT_EQ(first["title"], "Of foxes");
      EXPECT_EQ(first["text"], "Of foxes the quick fox");
      for (const char* mode : {"vector", "lexical", "hybrid"}) {
        const std::string search = fmt::format(" --quiet --json --query 'fox sun' --mode {}", mode);
        EXPECT_EQ(shell("simile search --index j" + search).out,
                  shell("simile search --index i" + search).out);
      }
      EXPECT_EQ(shell("simile index info --index j --json | sed 's/.generation.:[0-9]*//'").out,
                shell("simile index info --index i --json | sed 's/.generation.:[0-9]*//'").out);
    }
  }
}

TEST_F(PassagesTest, WhatCannotBeImportedIsNamed) {
  const std::string import = "simile index import --index j --model $M --from ";
  const auto refuse = [&](const std::string& lines, const std::string& message) {
    write("v.jsonl", lines);
    expect_error(import + "v.jsonl", 3, message);
  };
  std::string vector = "[0";
  for (int i = 1; i < 32; ++i) vector += ",0.5";
  vector += "]";
  const std::string good = R"({"id":"a","text":"x","vector":)" + vector + "}\n";
  refuse("", "there is no document");
  refuse(good + good, "v.jsonl:2: the id \"a\" stands in line 1 already");
  refuse(good + R"({"id":"b","text":"x","vector":[1,2]})" + "\n",
         "v.jsonl:2: a vector of 2 numbers; those before have 32");
  refuse(R"({"id":"b","text":"x","vector":[1,0]})",
         "v.jsonl: vectors of 2 numbers, expected 32 of the model");
  expect_error(import + "v.jsonl --dimensions 3", 3, "vectors of 2 numbers, expected 3");
  expect_error(import + "v.jsonl --dimensions 33", 2, "have 32 numbers");
  EXPECT_EQ(shell("simile index import --index cut --model $M --from v.jsonl --dimensions 2").code,
            0);
  refuse(R"({"id":"b","text":"x","vector":[1,"2"]})", "something other than numbers");
  refuse(R"({"id":"b","text":"x","vector":[1e39]})", "no finite float");
  refuse(R"({"id":"b","text":"x"})", "is no list of numbers");
  refuse(R"({"id":"b","vector":[1]})", "\"text\" is missing");
  refuse("[1]", "expected a JSON object");
  refuse("{", "v.jsonl:1");
  refuse(R"({"id":"b","text":"x","whole":"xx","passage":{"number":1,"of":2,"begin":0,"end":1},)"
         R"("vector":[1]})",
         "expected passage 0 of document \"b\"");
  expect_error("simile index import --index j --from v.jsonl", 2, "give --model");
  expect_error(import + "v.tsv", 2, ".npy or .jsonl");
  build("i", "");
  ASSERT_EQ(shell("simile export --index i --to npy --output x.npy").code, 0);
  expect_error("simile index import --index j --model simile-mini-3-static --from x.npy", 3,
               "are of the model");
  expect_error("simile index import --index i --from x.npy", 2, "--overwrite");
  ASSERT_EQ(shell("sed -i 's/red/rot/' x.jsonl").code, 0);
  expect_error("simile index import --index j --from x.npy", 3, "was not written for this model");
  ASSERT_EQ(shell("head -n 2 x.jsonl >y && mv y x.jsonl").code, 0);
  expect_error("simile index import --index j --from x.npy", 3, "has 2 documents, but");
  EXPECT_FALSE(fs::exists(path("j")));
}

TEST_F(PassagesTest, WrongPassagesAreRefused) {
  const std::string build =
      "simile index build --overwrite --model $M --index x --corpus c.jsonl --passage-tokens ";
  expect_error(build + "8 --passage-overlap 5", 2, "passage_overlap: 5 of passages of 8 tokens");
  expect_error(build + "100000", 2, "passage_tokens: 100000, but the model reads");
  expect_error(build + "-1", 2, "--passage-tokens");
  EXPECT_FALSE(fs::exists(path("x")));
}

}  // namespace
}  // namespace simile
