// SPDX-License-Identifier: Apache-2.0
// Whom the server turns away before it looks at what is asked: pages of others in a browser, and
// connections that are too many. They are counted, and so is what cannot be read.
#include <poll.h>

#include <chrono>
#include <thread>

#include "tests/raw_requests.h"

namespace simile {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class TurnedAwayTest : public RawRequestsTest {};

TEST_F(TurnedAwayTest, PagesOfOthersCannotUseTheServerThroughABrowser) {
  write("corpus.tsv", "id\ttext\na\tthe cat sat\nb\ta dog ran\n");
  ASSERT_EQ(shell("simile index build --model $M --index ix --corpus corpus.tsv").code, 0);
  const std::string body = R"({"documents":[{"id":"csrf","text":"x"}]})";
  const auto add = [&](const std::string& headers) {
    return fmt::format("POST /documents HTTP/1.1\r\n{}\r\nContent-Length: {}\r\n\r\n{}", headers,
                       body.size(), body);
  };
  const std::string json_type = "\r\nContent-Type: application/json";
  const std::vector<Hostile> rows = {
      {add("Host: evil.example\r\nOrigin: http://evil.example"), 403, "--allow-host evil.example"},
      {add("Host: evil.example" + json_type), 403, "the header Host"},
      {add("Host: localhost\r\nOrigin: http://evil.example" + json_type), 403, "the header Origin"},
      {add("Host: localhost\r\nOrigin: null" + json_type), 403, "the header Origin"},
      {add("Host: localhost"), 415, "application/json"},
      {add("Host: localhost\r\nContent-Type: text/plain"), 415, "application/json"},
      {"GET /documents/a HTTP/1.1\r\nHost: evil.example:80\r\nConnection: close\r\n\r\n", 403,
       "the header Host"},
      {"GET /info HTTP/1.1\r\nHost: own.example\r\nConnection: close\r\n\r\n", 200,
       "\"documents\":2"},
      {"GET /info HTTP/1.1\r\nHost: [::1]:80\r\nOrigin: https://own.example\r\nConnection: "
       "close\r\n\r\n",
       200, "\"documents\":2"}};
  ServerProcess server({"--index", path("ix"), "--allow-changes", "--allow-host", "own.example"});
  expect_answers(server, rows);
  EXPECT_EQ(server.stop(), 0);
  // Names that were given are held to wherever it listens, keys or not.
  write("keys", "sesame\n");
  ServerProcess guarded(options(
      {"--host", "0.0.0.0", "--api-key-file", path("keys"), "--allow-host", "own.example"}));
  expect_answers(
      guarded,
      {{"GET /health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 403,
        "only to this machine's names and those it was given; if that is its name"},
       {"GET /health HTTP/1.1\r\nHost: own.example\r\nConnection: close\r\n\r\n", 200, ""}});
  EXPECT_EQ(guarded.stop(), 0);
}

TEST_F(TurnedAwayTest, WhatCannotBeReadIsCountedAndHasAnId) {
  ServerProcess server(options());
  ASSERT_GT(server.port(), 0);
  for (const std::string& bytes :
       {std::string("nonsense\r\n\r\n"), kHead + "Content-Length: -1\r\n\r\n{}"}) {
    EXPECT_THAT(raw_answer(server.port(), bytes), HasSubstr("X-Request-Id: "));
  }
  EXPECT_THAT(server.client().Get("/metrics")->body,
              HasSubstr("te_request_failure{err=\"validation\"} 2\n"));
  EXPECT_EQ(server.stop(), 0);
}

// The first of the sockets that has something to read within seconds; -1: none.
int await_answer(const std::vector<int>& sockets) {
  std::vector<pollfd> watched;
  for (const int socket : sockets) watched.push_back({socket, POLLIN, 0});
  poll(watched.data(), watched.size(), 30000);
  for (const pollfd& one : watched) {
    if (one.revents != 0) return one.fd;
  }
  return -1;
}

// The metrics, asked for again while connections that have closed still wait before it.
std::string await_metrics(const ServerProcess& server) {
  for (int i = 0; i < 1000; ++i) {
    const auto answer = server.client().Get("/metrics");
    if (answer && answer->status == 200) return answer->body;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return "";
}

TEST_F(TurnedAwayTest, ConnectionsThatAreTooManyAreCountedAndHaveAnId) {
  ServerProcess server(options({"--connections", "1", "--keep-alive-seconds", "600"}));
  ASSERT_GT(server.port(), 0);
  std::vector<int> waiting;
  for (int i = 0; i < 520; ++i) waiting.push_back(connect_to(server.port()));  // 513 may
  const int turned_away = await_answer(waiting);
  const std::string answer = turned_away < 0 ? "" : take_answer(turned_away);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 429"));
  EXPECT_THAT(answer, HasSubstr("X-Request-Id: "));
  EXPECT_THAT(answer, HasSubstr("Retry-After: 1"));
  for (const int socket : waiting) close(socket);
  EXPECT_THAT(await_metrics(server), HasSubstr("te_request_failure{err=\"overloaded\"}"));
  EXPECT_EQ(server.stop(), 0);
}

}  // namespace
}  // namespace simile
