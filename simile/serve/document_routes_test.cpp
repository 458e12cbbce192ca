// SPDX-License-Identifier: Apache-2.0
// /documents of an index with passages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "simile/serve/detail/search_fixture_test.h"

namespace simile {
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

}  // namespace
}  // namespace simile
