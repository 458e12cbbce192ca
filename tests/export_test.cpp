// SPDX-License-Identifier: Apache-2.0
// Reads the output of `simile export` as the programs that it is for do. tests/pgvector.sh loads it
// into a real PostgreSQL.
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "simile/core/error.h"
#include "simile/index/index_builder.h"
#include "simile/index/search_index.h"
#include "simile/model/embedding_store.h"
#include "tests/shell.h"

namespace simile {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

class ExportTest : public ShellTest {
 protected:
  // Four documents, of which one is replaced and one removed.
  ExportTest() {
    build(VectorMetric::kInnerProduct);
    SearchIndex index = SearchIndex::open_without_model(path("index"), SearchIndex::Access::kWrite);
    index.add({{"b", kOdd}}, row(0.1f));
    index.remove({"c"});
  }

  void build(VectorMetric metric) const {
    IndexBuilder builder(path("index"), {"fingerprint", "model", 3, metric});
    Matrix<float> vectors(4, 3, 0.25f);
    for (int64_t i = 0; i < 4; ++i) vectors.at(i, 0) = static_cast<float>(i + 1) / 3;
    builder.add({{"a", "one"}, {"b", "old"}, {"c", "gone"}, {"d \"\\", "four"}}, vectors);
    builder.commit();
  }

  static Matrix<float> row(float value) { return Matrix<float>(1, 3, value); }

  std::vector<Json> lines(const std::string& name) const {
    std::vector<Json> all;
    std::istringstream file(read_file(path(name)));
    for (std::string line; std::getline(file, line);) all.push_back(Json::parse(line));
    return all;
  }

  void run(const std::string& options) const {
    const Outcome outcome = shell("simile export --index index " + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }

  static std::vector<float> floats(const Json& json) { return json.get<std::vector<float>>(); }

  const std::string kOdd = "tab\t, \"quotes\", back\\slash\nand a line, é";
  const std::vector<float> kFirst = {1.0f / 3, 0.25f, 0.25f}, kLast = {0.1f, 0.1f, 0.1f};
};

TEST_F(ExportTest, AMatrixAndTheDocumentsOfItsRows) {
  run("--to npy --output out.npy");
  const EmbeddingStore store(path("out.npy"));
  EXPECT_TRUE(store.is_verified());
  ASSERT_EQ(store.rows(), 3);
  ASSERT_EQ(store.dimension(), 3);
  std::vector<float> vector(3);
  store.row(0, vector.data());
  EXPECT_EQ(vector, kFirst);
  store.row(2, vector.data());
  EXPECT_EQ(vector, kLast);
  const std::vector<Json> documents = lines("out.jsonl");
  ASSERT_EQ(documents.size(), 3u);
  EXPECT_EQ(documents[0], Json({{"id", "a"}, {"text", "one"}}));
  EXPECT_EQ(documents[1]["id"], "d \"\\");
  EXPECT_EQ(documents[2], Json({{"id", "b"}, {"text", kOdd}}));
}

TEST_F(ExportTest, AFileThatNoExportWroteIsKept) {
  write("faq.jsonl", "{\"my\": \"own\"}\n");
  expect_error("simile export --index index --to npy --output faq.npy", 2,
               "'faq.jsonl', which no earlier export wrote (there is no 'faq.npy.index.json'), "
               "would be replaced");
  EXPECT_EQ(read_file(path("faq.jsonl")), "{\"my\": \"own\"}\n");
  EXPECT_FALSE(file_exists(path("faq.npy")));
  for (int i = 0; i < 2; ++i) run("--to npy --output out.npy");
}

TEST_F(ExportTest, PointsOfQdrant) {
  run("--to qdrant-jsonl --output points.jsonl");
  const std::vector<Json> points = lines("points.jsonl");
  ASSERT_EQ(points.size(), 3u);
  std::set<std::string> ids;
  for (const Json& point : points) {
    EXPECT_EQ(point.size(), 3u);
    const auto id = point["id"].get<std::string>();
    EXPECT_THAT(id, ::testing::MatchesRegex(
                        "[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_EQ(floats(points[0]["vector"]), kFirst);
  EXPECT_EQ(points[2]["payload"], Json({{"id", "b"}, {"text", kOdd}}));
  EXPECT_EQ(Json::parse(read_file(path("points.jsonl.settings.json"))),
            Json::parse(R"({"vectors": {"size": 3, "distance": "Dot"}})"));
  EXPECT_EQ(shell("simile export --index index --to qdrant-jsonl --output -").out,
            read_file(path("points.jsonl")));
}

TEST_F(ExportTest, LinesOfBulkOfOpenSearch) {
  run("--to opensearch --output bulk.ndjson");
  const std::vector<Json> found = lines("bulk.ndjson");
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(found[0], Json::parse(R"({"index": {"_id": "a"}})"));
  EXPECT_EQ(found[1]["text"], "one");
  EXPECT_EQ(floats(found[1]["embedding"]), kFirst);
  EXPECT_EQ(found[4], Json::parse(R"({"index": {"_id": "b"}})"));
  EXPECT_EQ(found[5]["text"], kOdd);
  const Json settings = Json::parse(read_file(path("bulk.ndjson.settings.json")));
  EXPECT_EQ(settings["settings"]["index"]["knn"], true);
  const Json& field = settings["mappings"]["properties"]["embedding"];
  EXPECT_EQ(field["type"], "knn_vector");
  EXPECT_EQ(field["dimension"], 3);
  EXPECT_EQ(field["method"]["space_type"], "innerproduct");
}

TEST_F(ExportTest, AScriptForPsql) {
  run("--to pgvector --output rows.sql --table answers");
  const std::string script = read_file(path("rows.sql"));
  EXPECT_THAT(script, HasSubstr("ORDER BY embedding <#> '[...]'"));
  EXPECT_THAT(script, HasSubstr("CREATE TABLE \"answers\" (id text PRIMARY KEY, text text NOT "
                                "NULL, metadata jsonb, embedding vector(3) NOT NULL);\n"));
  EXPECT_THAT(script,
              HasSubstr("FROM stdin;\na\tone\t\\N\t[0.33333334,0.25,0.25]\nd \"\\\\\tfour\t"));
  EXPECT_THAT(script,
              HasSubstr("\nb\ttab\\t, \"quotes\", back\\\\slash\\nand a line, é\t\\N\t[0.1,0.1,"
                        "0.1]\n\\.\nCOMMIT;\n"));
}

TEST_F(ExportTest, TitlesStandBesideTheText) {
  SearchIndex::open_without_model(path("index"), SearchIndex::Access::kWrite)
      .add({{"t", "A boat at sea", "", {}, "A boat"}}, row(1));
  run("--to npy --output out.npy");
  run("--to qdrant-jsonl --output points.jsonl");
  const Json expected = {{"id", "t"}, {"text", "A boat at sea"}, {"title", "A boat"}};
  EXPECT_EQ(lines("out.jsonl").back(), expected);
  EXPECT_EQ(lines("points.jsonl").back()["payload"], expected);
  const Outcome found = shell("simile search --index index --mode lexical --query boat --json");
  EXPECT_EQ(Json::parse(found.out)["hits"][0]["title"], "A boat") << found.err;
  const Outcome like = shell("simile search --index index --mode vector --like t --json");
  EXPECT_FALSE(Json::parse(like.out)["hits"][0].contains("title")) << like.err;
}

TEST_F(ExportTest, MetadataAreJsonOfPostgresql) {
  const auto add = [&](const Document& document) {
    SearchIndex::open_without_model(path("index"), SearchIndex::Access::kWrite)
        .add({document}, row(1));
  };
  add({"m", "five", R"({"year":2020,"who":"a\\b"})"});
  run("--to pgvector --output rows.sql");
  EXPECT_THAT(read_file(path("rows.sql")), HasSubstr("\nm\tfive\t"
                                                     R"({"year":2020,"who":"a\\\\b"})"
                                                     "\t[1,1,1]\n"));
  for (const char* metadata : {R"({"who":"\u0000"})", R"({"who":["a","\u0000"]})"}) {
    add({"zero", "six", metadata});
    expect_error("simile export --index index --output x --to pgvector", 3,
                 "document \"zero\" cannot be exported: it has a byte 0");
  }
}

// Each id of a passage could be that of a document that is not split.
TEST_F(ExportTest, NoTwoRowsOfAnIndexWithPassagesShareAnId) {
  IndexedModel model{"fingerprint", "model", 3, VectorMetric::kInnerProduct};
  model.passages = {8, 2};
  const std::vector<std::string> ids = {"a",    "a#1", "a#1#",  "a#1##", "a#0#1", "#1", "#",
                                        "a#x1", "##",  "a#1#2", "1",     "#1#",   "b#"};
  std::vector<Document> documents;
  for (const std::string& id : ids) documents.push_back({id, "text of it"});
  for (const size_t split : {0, 9, 12}) documents[split].passages = {{0, 4}, {2, 7}, {5, 10}};
  const size_t count = ids.size() + 6;
  IndexBuilder builder(path("index"), model);
  builder.add(documents, Matrix<float>(static_cast<int64_t>(count), 3, 0.5f));
  builder.commit();
  run("--to pgvector --output rows.sql");
  run("--to qdrant-jsonl --output points.jsonl");
  run("--to opensearch --output bulk.ndjson");
  std::set<std::string> uuids, names, rows;
  for (const Json& point : lines("points.jsonl")) uuids.insert(point["id"].get<std::string>());
  for (const Json& line : lines("bulk.ndjson")) {
    if (line.contains("index")) names.insert(line["index"]["_id"].get<std::string>());
  }
  std::istringstream script(read_file(path("rows.sql")));
  for (std::string line; std::getline(script, line);) {
    if (line.find("\t[") != std::string::npos) rows.insert(line.substr(0, line.find('\t')));
  }
  EXPECT_EQ(uuids.size(), count);
  EXPECT_EQ(names.size(), count);
  EXPECT_EQ(rows, names);
  EXPECT_EQ(names.count("a#1"), 1u);
  EXPECT_EQ(names.count("a#x1") + names.count("##") + names.count("1"), 3u);
}

TEST_F(ExportTest, WhatAFormCannotHoldIsNamed) {
  const std::string command = "simile export --index index --output ";
  expect_error(command + "x --to excel", 2, "excel not in {npy,pgvector,qdrant-jsonl,opensearch}");
  expect_error(command + "x --to npy", 2, "expected a name that ends in .npy");
  expect_error(command + "x --to qdrant-jsonl --table t", 2, "--table names the table");
  expect_error(command + "x --to pgvector --table 'a\"b'", 2, "expected up to 63 of a to z");
  expect_error("simile export --index nowhere --output x --to pgvector", 3, "not an index folder");
  {
    SearchIndex index = SearchIndex::open_without_model(path("index"), SearchIndex::Access::kWrite);
    index.add({{"zero", std::string("a\0b", 3)}, {std::string(600, 'x'), "long"}},
              Matrix<float>(2, 3, 1.0f));
  }
  expect_error(command + "x --to pgvector", 3, "document \"zero\" cannot be exported: it has a");
  expect_error(command + "x --to opensearch", 3, "takes ids of 1 to 512 bytes");
  EXPECT_FALSE(file_exists(path("x")));
  run("--to qdrant-jsonl --output y");
  SearchIndex::open_without_model(path("index"), SearchIndex::Access::kWrite)
      .add({{"broken", "\xff"}}, row(1));
  expect_error(command + "x --to qdrant-jsonl", 3, "document \"broken\" cannot be exported");
  shell("rm -r index");
  build(VectorMetric::kAbsoluteDistance);
  expect_error(command + "x --to opensearch", 2, "compared by manhattan");
  run("--to pgvector --output z");
  EXPECT_THAT(read_file(path("z")), HasSubstr("embedding <+> "));
}

}  // namespace
}  // namespace simile
