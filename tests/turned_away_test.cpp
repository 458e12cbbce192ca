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

// A connection whose request has begun: the server invited its body.
int begin_body(const ServerProcess& server) {
  const std::string bytes = kHead + "Expect: 100-continue\r\nContent-Length: 100\r\n\r\n";
  const int socket = connect_to(server.port());
  ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  char answer[25] = "";
  EXPECT_EQ(recv(socket, answer, sizeof(answer), MSG_WAITALL), 25);
  EXPECT_THAT(std::string(answer, 12), StartsWith("HTTP/1.1 100"));
  return socket;
}

TEST_F(TurnedAwayTest, ConnectionsThatAreTooManyAreCountedAndHaveAnId) {
  ServerProcess server(options({"--connections", "2", "--request-seconds", "600"}));
  ASSERT_GT(server.port(), 0);
  const int busy[] = {begin_body(server), begin_body(server)};
  const std::string answer = raw_answer(server.port(), "GET /health HTTP/1.1\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 429"));
  EXPECT_THAT(answer, HasSubstr("X-Request-Id: "));
  EXPECT_THAT(answer, HasSubstr("Retry-After: 1"));
  for (const int socket : busy) close(socket);
  for (int i = 0; i < 1000; ++i) {  // until the server has seen that
    const auto metrics = server.client().Get("/metrics");
    if (metrics && metrics->status == 200) {
      EXPECT_THAT(metrics->body, HasSubstr("te_request_failure{err=\"overloaded\"} "));
      EXPECT_THAT(metrics->body, HasSubstr("\nsimile_connections_refused_total "));
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(server.stop(), 0);
}

// Whether the server has closed the connection.
bool is_closed(int socket) {
  char byte = 0;
  return recv(socket, &byte, 1, MSG_DONTWAIT) == 0;
}

TEST_F(TurnedAwayTest, TheConnectionThatIsIdleLongestMakesRoom) {
  ServerProcess server(options({"--connections", "3", "--keep-alive-seconds", "600"}));
  ASSERT_GT(server.port(), 0);
  const std::string ask = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  std::vector<int> idle;
  for (int i = 0; i < 3; ++i) {
    idle.push_back(connect_to(server.port()));
    ::send(idle[i], ask.data(), ask.size(), MSG_NOSIGNAL);
    char answer[15] = "";
    recv(idle[i], answer, sizeof(answer), MSG_WAITALL);
    EXPECT_THAT(std::string(answer, 12), StartsWith("HTTP/1.1 200"));
    recv(idle[i], answer, 1, 0);
  }
  const std::string last = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  EXPECT_THAT(raw_answer(server.port(), last), HasSubstr("simile_connections_evicted_total 1\n"));
  pollfd first = {idle[0], POLLIN, 0};
  while (!is_closed(idle[0])) ASSERT_EQ(poll(&first, 1, 30000), 1);
  EXPECT_FALSE(is_closed(idle[2]));
  for (const int socket : idle) close(socket);
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(TurnedAwayTest, AnAddressHasAsManyConnectionsAsItMay) {
  ServerProcess server(options({"--connections-per-address", "1", "--request-seconds", "600"}));
  ASSERT_GT(server.port(), 0);
  const int busy = begin_body(server);
  EXPECT_THAT(raw_answer(server.port(), "GET /health HTTP/1.1\r\n"), StartsWith("HTTP/1.1 429"));
  close(busy);
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(TurnedAwayTest, IdleAndSlowConnectionsHoldUpNobody) {
  ServerProcess server(options(
      {"--keep-alive-seconds", "600", "--header-seconds", "600", "--request-seconds", "600"}));
  ASSERT_GT(server.port(), 0);
  std::vector<int> others;
  for (const std::string& bytes : {std::string(), std::string("GET /health HTTP/1.1\r\nX: "),
                                   kHead + "Content-Length: 9\r\n\r\n{"}) {
    for (int i = 0; i < 150; ++i) {
      others.push_back(connect_to(server.port()));
      ASSERT_GE(others.back(), 0);
      ::send(others.back(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
  }
  for (int i = 0; i < 10; ++i) {
    const auto answer =
        server.client().Post("/embed", R"({"inputs":"the cat"})", "application/json");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
  }
  EXPECT_EQ(server.client().Get("/ready")->status, 200);
  for (const int socket : others) close(socket);
  EXPECT_EQ(server.stop(), 0);
}

}  // namespace
}  // namespace simile
