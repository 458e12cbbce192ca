// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "simile/core/file.h"
#include "simile/serve/request_error.h"
#include "simile/serve/routes.h"

namespace simile {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

std::string source_of(const WebFile& file) {
  const std::string path = file.path;
  const std::string name = path == "/"       ? "index.html"
                           : path == "/docs" ? "docs.html"
                                             : path.substr(std::string("/web/").size());
  return read_file(SIMILE_SOURCE_DIR "/simile/serve/web/" + name);
}

TEST(WebPage, HoldsTheFilesAsTheyAre) {
  std::map<std::string, std::string> types;
  std::set<std::string> tags;
  for (const WebFile& file : web_files()) {
    EXPECT_TRUE(file.bytes == source_of(file)) << file.path;
    EXPECT_THAT(file.etag, testing::MatchesRegex("\"[0-9a-f]+\"")) << file.path;
    types[file.path] = file.content_type;
    tags.insert(file.etag);
  }
  EXPECT_EQ(tags.size(), web_files().size());
  EXPECT_EQ(types["/"], "text/html; charset=utf-8");
  EXPECT_EQ(types["/web/app.css"], "text/css; charset=utf-8");
  EXPECT_EQ(types["/web/app.js"], "text/javascript; charset=utf-8");
  EXPECT_EQ(types["/web/icon.svg"], "image/svg+xml");
}

TEST(WebPage, AsksNobodyElseAndMakesNoHtmlOfData) {
  for (const WebFile& file : web_files()) {
    std::string text(file.bytes);
    const std::string name = "xmlns=\"http://www.w3.org/2000/svg\"";
    if (const size_t at = text.find(name); at != std::string::npos) text.erase(at, name.size());
    for (const char* word : {"http://", "https://", "innerHTML", "outerHTML", "insertAdjacentHTML",
                             "document.write", "eval(", "style=", "onclick=\""}) {
      EXPECT_THAT(text, Not(HasSubstr(word))) << file.path;
    }
  }
}

TEST(WebPage, RepliesTellBrowsersWhatTheyMayDo) {
  const Reply reply = web_reply("/", "");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, StartsWith("<!DOCTYPE html>"));
  EXPECT_EQ(reply.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(reply.headers,
              Contains(Pair("Content-Security-Policy", StartsWith("default-src 'self';"))));
  EXPECT_THAT(reply.headers, Contains(Pair("X-Content-Type-Options", "nosniff")));
  EXPECT_THAT(reply.headers, Contains(Pair("Cache-Control", "no-cache")));
}

TEST(WebPage, WhatABrowserHasIsNotSentAgain) {
  const WebFile& file = web_files().front();
  const std::string etag = file.etag;
  for (const std::string& header : {etag, "W/" + etag, "\"other\", " + etag, std::string("*")}) {
    const Reply reply = web_reply(file.path, header);
    EXPECT_EQ(reply.status, 304) << header;
    EXPECT_EQ(reply.body, "");
    EXPECT_THAT(reply.headers, Contains(Pair("ETag", etag)));
  }
  EXPECT_EQ(web_reply(file.path, "\"other\"").status, 200);
}

TEST(WebPage, OnlyNamesOfTheTableAreFound) {
  for (const char* path : {"/web", "/web/", "/web/index.html", "/web/../app.js", "/web/app.js/",
                           "//web/app.js", "/web/%2e%2e/app.js", "/web/web_page.cpp", "/app.js"}) {
    EXPECT_THROW(find_route("GET", path), RequestError) << path;
  }
  EXPECT_STREQ(find_route("HEAD", "/web/app.js").path, "/web/app.js");
  EXPECT_THROW(find_route("POST", "/web/app.js"), RequestError);
  EXPECT_EQ(allowed_methods("/web/app.js"), "GET, HEAD");
  EXPECT_EQ(allowed_methods("/"), "POST, GET, HEAD");
}

}  // namespace
}  // namespace simile
