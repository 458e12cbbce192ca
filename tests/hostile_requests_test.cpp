// SPDX-License-Identifier: Apache-2.0
// Hostile requests to the server: each row with its status and a part of the answer. Afterwards the
// server still answers correctly, and exits with 0.
#include <sys/time.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/raw_requests.h"

namespace simile {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::string embed(const std::string& body) { return post("/embed", body); }

// A body in pieces, as `pieces` has them.
std::string chunked(const std::string& pieces) {
  return "POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         "Transfer-Encoding: chunked\r\n\r\n" +
         pieces;
}

const std::string kLong(5000, 'x');

std::string nested(size_t depth) {
  return "{\"inputs\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
}

std::vector<Hostile> of_the_protocol() {
  return {
      {"nonsense\r\n\r\n", 400, "no HTTP request"},
      {"\r\n\r\n\r\n", 400, "no HTTP request"},
      {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 9) + "\r\n\r\n", 400, "no HTTP request"},
      {"GET\r\n\r\n", 400, "no HTTP request"},
      {"GET /health\r\n\r\n", 400, "no HTTP request"},
      {"GET /health HTTP/9.9\r\n\r\n", 400, "no HTTP request"},
      {"BREW /pot HTTP/1.1\r\nHost: localhost\r\n\r\n", 404, "no route /pot"},
      {"TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "takes POST, GET, HEAD, not TRACE"},
      {"TRACE /embed HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "Allow: POST\r\n"},
      {"GET /" + std::string(4000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 404,
       "no route /aaaa"},
      {"GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 414,
       "more than 8000 bytes"},
      {"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(40000, 'a') + "\r\n\r\n", 431,
       "more than 32768 bytes"},
      {"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(20000, 'a') +
           "\r\nConnection: close\r\n\r\n",
       200, ""},
      {"GET /health HTTP/1.1\r\n\r\n", 400, "one header Host"},
      {"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400, "header Host"},
      {"GET http://localhost/info HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 200,
       "model_id"},
      {"GET http://evil.example/info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 403,
       "--allow-host"},
      {"GET /documents/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "two hexadecimal digits"},
      {kHead + "Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}", 417, "100-continue"},
      {"GET /..%2f..%2fetc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404,
       "no route"},
      {"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404,
       "no route"},
      {kHead + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", 400, "where the body ends"},
      {kHead + "Content-Length: -1\r\n\r\n{}", 400, "where the body ends"},
      {kHead + "Content-Length: 2x\r\n\r\n{}", 400, "where the body ends"},
      {kHead + "Content-Length: 0x2\r\n\r\n{}", 400, "where the body ends"},
      {kHead + "Content-Length: 99999999999999999999\r\n\r\n{}", 400, "where the body ends"},
      {kHead + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", 400,
       "where the body ends"},
      {kHead + "Transfer-Encoding: gzip, chunked\r\n\r\n{}", 400, "where the body ends"},
      {kHead + "Content-Length: 100\r\n\r\n{\"inputs\":", 400, "not complete"},
      {chunked("zz\r\n{}\r\n0\r\n\r\n"), 400, "not complete"},
      {chunked("ffffffffffffffff\r\n{}"), 413, "more than 1500 bytes"},
      {chunked("2;" + kLong + "\r\n{}\r\n0\r\n\r\n"), 413, "the lines between"},
      {chunked("12\r\n{\"inputs\":\"hello\"}\r\n0\r\nX-Request-Id: a\r\n\r\n"), 200, "[["},
      {chunked("5\r\n{\"inp"), 400, "not complete"},
      {chunked("1388\r\n" + kLong + "\r\n0\r\n\r\n"), 413, "more than 1500 bytes"},
      {embed(kLong), 413, "has 5000 bytes; it may have 1500"},
      {kHead + "Content-Length: 1000000000\r\n\r\n{", 413, "it may have 1500"},
      {request("POST /embed HTTP/1.1\r\nContent-Type: application/json\r\nContent-Encoding: gzip",
               "{}"),
       415, "not compressed"},
      {post("/embed", "{}", "Content-Type: multipart/form-data; boundary=a"), 415,
       "application/json"},
      {post("/embed", R"({"inputs":"a"})", "Content-Type: text/plain"), 415, "application/json"},
      {post("/embed", "inputs=a", "Content-Type: application/x-www-form-urlencoded"), 415,
       "application/json"},
  };
}

std::vector<Hostile> of_routes() {
  return {
      {post("/nowhere", "{}"), 404, "no route"},
      {post("/Embed", "{}"), 404, "did you mean '/embed'?"},
      {post("/embed/", "{}"), 404, "did you mean '/embed'?"},
      {post("//embed", "{}"), 404, "did you mean '/embed'?"},
      {post("/v1/embedding", "{}"), 404, "did you mean '/v1/embeddings'?"},
      {"GET /embed HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 405, "takes POST"},
      {request("PUT /embed HTTP/1.1", "{}"), 405, "takes POST"},
      {request("DELETE /embed HTTP/1.1", "{}"), 405, "takes POST"},
      {post("/health", "{}"), 405, "takes GET, HEAD"},
      {post("/documents", R"({"documents":[{"id":"a","text":"b"}]})"), 424, "no index"},
      {request("DELETE /documents HTTP/1.1\r\nContent-Type: application/json", R"({"ids":"a"})"),
       424, "no index"},
      {post("/search", R"({"query":"a"})"), 424, "no index"},
      {post("/map", "{}"), 424, "no index"},
      {post("/maps", "{}"), 404, "did you mean '/map'?"},
  };
}

std::vector<Hostile> of_bodies() {
  const std::string text(300, 'y');
  return {
      {embed(""), 400, "the body"},
      {embed("{"), 400, "the body"},
      {embed("{\"inputs\":\"a\"}}"), 400, "the body"},
      {embed("{'inputs':'a'}"), 400, "the body"},
      {embed("{\"inputs\":\"a\",}"), 400, "the body"},
      {embed("[\"a\"]"), 400, "must be a JSON object"},
      {embed("null"), 400, "must be a JSON object"},
      {embed("\"a\""), 400, "must be a JSON object"},
      {embed(std::string("{\"inputs\":\"a\0b\"}", 16)), 400, "the body"},
      {embed("{\"inputs\":\"\xff\xfe\"}"), 400, "the body"},
      {embed("{\"inputs\":\"\\ud800\"}"), 400, "the body"},
      {embed("{\"inputs\":\"a\",\"inputs\":\"b\"}"), 400, "the body"},
      {embed("{\"inputs\":\"a\",\"dimensions\":1e999}"), 400, "the body"},
      {embed("{\"inputs\":\"a\",\"dimensions\":NaN}"), 400, "the body"},
      {embed(nested(200)), 400, "the body"},
      {embed(nested(700)), 400, "the body"},
      {embed(nested(50)), 422, "must be a text or a list of token ids"},
      {embed("{}"), 422, "\"inputs\" is missing"},
      {embed(R"({"inputs":null})"), 422, "\"inputs\" is missing"},
      {embed(R"({"input":"a"})"), 422, "meant to be it?"},
      {embed(R"({"inputs":[]})"), 400, "\"inputs\" is empty"},
      {embed(R"({"inputs":true})"), 422, "\"inputs\" must be"},
      {embed(R"({"inputs":{"a":"b"}})"), 422, "\"inputs\" must be"},
      {embed(R"({"inputs":["a",{}]})"), 422, "\"inputs[1]\" must be"},
      {embed(R"({"inputs":["a","b","c","d","e"]})"), 422, "has 5 texts; a request may have 4"},
      {embed(R"({"inputs":")" + text + "\"}"), 422, "has 300 bytes; a text may have 200"},
      {embed(R"({"inputs":[[1,2,99999999]]})"), 422, "token id 99999999 is outside"},
      {embed(R"({"inputs":[[-1]]})"), 422, "must be a text or a list of token ids"},
      {embed(R"({"inputs":[[4294967296]]})"), 422, "must be a text or a list of token ids"},
      {embed(R"({"inputs":[[2,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,3]]})"), 422,
       "25 token ids"},
      {embed(R"({"inputs":"a","truncate":"yes"})"), 422, "\"truncate\" must be true or false"},
      {embed(R"({"inputs":"a","normalize":0})"), 422, "\"normalize\" must be true or false"},
      {embed(R"({"inputs":"a","dimensions":0})"), 422, "between 1 and 32"},
      {embed(R"({"inputs":"a","dimensions":-9223372036854775808})"), 422, "between 1 and 32"},
      {embed(R"({"inputs":"a","dimensions":18446744073709551616})"), 422, "between 1 and 32"},
      {embed(R"({"inputs":"a","dimensions":"8"})"), 422, "between 1 and 32"},
      {embed(R"({"inputs":"a","prompt_name":"../../etc/passwd"})"), 422, "no prompt"},
      {embed(R"({"inputs":"a","prompt_name":7})"), 422, "\"prompt_name\" must be a text"},
      {embed(R"({"inputs":"a","truncation_direction":"Up"})"), 422, "one of Right"},
      {post("/similarity", R"({"inputs":["a","b"]})"), 422, "\"inputs\" must be an object"},
      {post("/similarity", R"({"inputs":{"source_sentence":"a","sentences":[]}})"), 400,
       "is empty"},
      {post("/rerank", R"({"query":["a"],"texts":["b"]})"), 422, "\"query\" must be a text"},
      {post("/rerank", R"({"query":"a","texts":[1]})"), 422, "\"texts[0]\" must be a text"},
      {post("/tokenize", R"({"inputs":"a","add_special_tokens":"no"})"), 422,
       "must be true or false"},
      {post("/v1/embeddings", R"({"input":""})"), 400, "empty text"},
      {post("/v1/embeddings", R"({"input":[[5,7]],"model":"text-embedding-9"})"), 400,
       "token ids that do not begin with 2"},
      {post("/v1/rerank", R"({"query":"a","documents":[7]})"), 400, "must be a text"},
      {post("/predict", R"({"inputs":"a"})"), 424, "no heads"},
      {post("/reload", ""), 403, "needs an API key of the role admin"},
      {post("/v1/embeddings", R"({"input":"a","encoding_format":"int8"})"), 400,
       "one of float, base64"},
      {post("/v1/embeddings", R"({"input":"a","model":["x"]})"), 400,
       "\\\"model\\\" must be a text"},
  };
}

class HostileRequestsTest : public RawRequestsTest {};

TEST_F(HostileRequestsTest, EachIsToldWhatIsWrong) {
  ServerProcess server(options({"--body-bytes", "1500", "--text-bytes", "200", "--request-texts",
                                "4", "--request-seconds", "2"}));
  expect_answers(server, of_the_protocol());
  expect_answers(server, of_routes());
  expect_answers(server, of_bodies());
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(HostileRequestsTest, StrangersLearnNothingWithoutAKey) {
  write("keys", "sesame\n");
  ServerProcess server(options({"--api-key-file", path("keys")}));
  std::vector<Hostile> rows;
  for (const std::string key :
       {"", "Authorization: Bearer \r\n", "Authorization: Bearer sesam\r\n",
        "Authorization: Bearer sesame2\r\n", "Authorization: Basic sesame\r\n",
        "Authorization: sesame\r\n", "authorization: bearer-sesame\r\n", "Api-Key: sesame\r\n"}) {
    rows.push_back({request("POST /embed HTTP/1.1\r\n" + key + "Content-Type: application/json",
                            R"({"inputs":"a"})"),
                    401, "no valid API key"});
  }
  for (const std::string path : {"/info", "/v1/models"}) {
    rows.push_back({"GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                    401, "no valid API key"});
  }
  expect_answers(server, rows);
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(HostileRequestsTest, AnIndexIsChangedAsAllowedOrNotAtAll) {
  write("corpus.tsv", "id\ttext\na\tthe cat sat\nb\ta dog ran\n");
  ASSERT_EQ(shell("simile index build --model $M --index ix --corpus corpus.tsv").code, 0);
  const auto documents = [](const std::string& body) { return post("/documents", body); };
  const auto removal = [](const std::string& body) {
    return request("DELETE /documents HTTP/1.1\r\nContent-Type: application/json", body);
  };
  ServerProcess reading({"--index", path("ix")});
  expect_answers(reading,
                 {{documents(R"({"documents":[{"id":"c","text":"x"}]})"), 403, "--allow-changes"},
                  {removal(R"({"ids":["a"]})"), 403, "--allow-changes"}});
  EXPECT_EQ(reading.stop(), 0);
  ServerProcess changing({"--index", path("ix"), "--allow-changes"});
  expect_answers(
      changing,
      {{documents("{}"), 422, "\"documents\" is missing"},
       {documents(R"({"documents":[]})"), 400, "is empty"},
       {documents(R"({"documents":{"id":"c","text":"x"}})"), 422, "a list of objects"},
       {documents(R"({"documents":["x"]})"), 422, "\"documents[0]\" must be an object"},
       {documents(R"({"documents":[{"text":"x"}]})"), 422, "\"documents[0].id\" is missing"},
       {documents(R"({"documents":[{"id":"","text":"x"}]})"), 422, "1 to 1000 bytes"},
       {documents(R"({"documents":[{"id":7,"text":"x"}]})"), 422, "\"documents[0].id\" must be"},
       {documents(R"({"documents":[{"id":"c"}]})"), 422, "\"documents[0].text\" is missing"},
       {documents(R"({"documents":[{"id":"c","text":""}]})"), 400,
        "\"documents[0].text\" is an empty text"},
       {documents(R"({"documents":[{"id":"c","text":"x"},{"id":"c","text":"y"}]})"), 422,
        "stands twice"},
       {removal(R"({"ids":[]})"), 400, "is empty"},
       {removal(R"({"ids":["z","z"]})"), 404, "no document"},
       {post("/documents/delete", R"({"ids":["a","z"]})"), 404, "nothing was removed"},
       {request("DELETE /documents/z HTTP/1.1", ""), 404, "no document"},
       {"GET /documents/z HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404,
        "no document"},
       {"GET /documents/a%00b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404,
        R"(no document "a\u0000b")"},
       {removal(R"({"ids":["a","z"]})"), 404, "no document \"z\"; nothing was removed"},
       {post("/search", R"({"query":"a","top_k":0})"), 422, "between 1 and 1000"},
       {post("/search", R"({"query":"a","top_k":1e9})"), 422, "between 1 and 1000"},
       {post("/search", R"({"query":"a","mode":"magic"})"), 422, "one of hybrid, vector, lexical"},
       {post("/search", R"({"query":"a","filter":"year >"})"), 422, "filter"},
       {post("/search", R"({"query":"a","filter":{"year":2020}})"), 422, "a text"},
       {documents(R"({"documents":[{"id":"a","text":"b","metadata":[1]}]})"), 422, "an object"},
       {documents(R"({"documents":[{"id":"a","text":"b","metadata":{"c":[[1]]}}]})"), 422,
        "documents[0].metadata.c"},
       {documents(R"({"documents":[{"id":"a","text":"b","metadata":{"c":")" +
                  std::string(17000, 'x') + R"("}}]})"),
        422, "a document's metadata may have"},
       {post("/search", R"({"query":{"text":"a"}})"), 422, "a text or a list of texts"}});
  const auto map = [](const std::string& body) { return post("/map", body); };
  expect_answers(changing, {{map(""), 400, "the body"},
                            {map("[]"), 400, "must be a JSON object"},
                            {map(R"({"query":["a"]})"), 422, "\"query\" must be"},
                            {map(R"({"query":7})"), 422, "\"query\" must be"},
                            {map("{\"query\":\"\xff\"}"), 400, "the body"},
                            {map(R"({"query":"a","mode":"magic"})"), 422, "one of hybrid"},
                            {map(R"({"query":"a","prompt_name":"q"})"), 422, "no prompt"},
                            {map(R"({"sample":1})"), 422, "\"sample\" must be"},
                            {request("GET /map HTTP/1.1", ""), 405, "takes POST"}});
  // An id may hold what ends a line.
  EXPECT_EQ(changing.client()
                .Post("/documents", R"({"documents":[{"id":"new\nline\r","text":"x"}]})",
                      "application/json")
                ->status,
            200);
  EXPECT_EQ(changing.client().Get("/documents/new%0Aline%0D")->status, 200);
  EXPECT_EQ(changing.client().Delete("/documents/new%0Aline%0D")->status, 200);
  const json info = json::parse(changing.client().Get("/info")->body);
  EXPECT_EQ(info["documents"], 2);
  EXPECT_EQ(changing.stop(), 0);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST_F(HostileRequestsTest, ClientsThatAreSlowAreCutOffAndHoldUpNobody) {
  ServerProcess server(options({"--request-seconds", "1"}));
  ASSERT_GT(server.port(), 0);
  std::atomic<bool> ending{false};
  std::vector<std::thread> slow;
  std::atomic<int> cut_off{0};
  for (const std::string& bytes : {std::string("GET /health HTTP/1.1\r\nX: "), kHead,
                                   kHead + "Content-Length: 1000\r\n\r\n{"}) {
    slow.emplace_back([&, bytes] {
      const int socket = connect_to(server.port());
      const auto begin = std::chrono::steady_clock::now();
      ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      while (seconds_since(begin) < 10) {  // byte after byte, never all of it
        char byte = 'a';
        if (::send(socket, &byte, 1, MSG_NOSIGNAL) != 1 ||
            recv(socket, &byte, 1, MSG_DONTWAIT) == 0) {
          break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      cut_off += seconds_since(begin) < 8;
      close(socket);
    });
  }
  httplib::Client client = server.client();
  for (int i = 0; i < 20; ++i) {
    const auto reply = client.Post("/embed", R"({"inputs":"the cat"})", "application/json");
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 200);
  }
  for (std::thread& thread : slow) thread.join();
  EXPECT_EQ(cut_off, 3);
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(HostileRequestsTest, UploadsThatAreRefusedGetTheirAnswer) {
  write("keys", "sesame\n");
  ServerProcess server(options({"--api-key-file", path("keys")}));
  ASSERT_GT(server.port(), 0);
  std::string pieces;
  for (int i = 0; i < 4; ++i) pieces += "ffff\r\n" + std::string(65535, ' ') + "\r\n";
  const std::string whole = std::string(300000, ' ');
  for (const std::string& bytes : {chunked(pieces + "0\r\n\r\n"), embed(whole)}) {
    for (int i = 0; i < 20; ++i) {
      const int socket = connect_to(server.port());
      ASSERT_EQ(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(bytes.size()));
      EXPECT_THAT(take_answer(socket), ::testing::StartsWith("HTTP/1.1 401"));
      close(socket);
    }
  }
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(HostileRequestsTest, ABodyIsInvitedAfterKeyAndSizeWereLookedAt) {
  write("keys", "sesame\n");
  ServerProcess server(options({"--api-key-file", path("keys"), "--body-bytes", "1000"}));
  ASSERT_GT(server.port(), 0);
  const std::string key = "Authorization: Bearer sesame\r\n", asks = "Expect: 100-continue\r\n";
  const auto first = [&](const std::string& headers) {
    const std::string bytes = kHead + asks + headers + "\r\n";
    const int socket = connect_to(server.port());
    ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    char answer[12] = "";
    recv(socket, answer, sizeof(answer), MSG_WAITALL);
    close(socket);
    return std::string(answer + 9, 3);
  };
  EXPECT_EQ(first("Content-Length: 100\r\n"), "401");
  EXPECT_EQ(first(key + "Content-Length: 1001\r\n"), "413");
  EXPECT_EQ(first(key + "Content-Length: 1000\r\n"), "100");
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(HostileRequestsTest, WhatItsClientHasLeftIsNotComputed) {
  const std::string model = SIMILE_SOURCE_DIR "/models/simile-mini-3";
  // On a busy machine the work of a second takes a minute.
  ServerProcess server(
      {"--model", model, "--threads", "1", "--request-texts", "4096", "--request-seconds", "600"});
  ASSERT_GT(server.port(), 0);
  std::string long_text;
  for (int i = 0; i < 200; ++i) long_text += "the cat sat on the mat ";
  // More tokens than a batch: each of these requests is a batch of its own.
  const std::string many = json{{"inputs", std::vector<std::string>(12, long_text)}}.dump();
  // Six more clients than teams, so that what comes meanwhile waits for three of their batches.
  std::atomic<bool> ending{false};
  std::atomic<int> answers{0};
  const auto keep_busy = [&] {
    httplib::Client client = server.client();
    client.set_read_timeout(600);
    while (!ending) {
      const auto reply = client.Post("/embed", many, "application/json");
      ASSERT_TRUE(reply);
      EXPECT_EQ(reply->status, 200);
      ++answers;
    }
  };
  std::vector<std::thread> busy;
  for (int i = 0; i < 8; ++i) busy.emplace_back(keep_busy);
  const auto metrics = [&] { return server.client().Get("/metrics")->body; };
  const auto await = [&](const std::string& line) {
    const auto begin = std::chrono::steady_clock::now();
    std::string text = metrics();
    while (text.find(line) == std::string::npos && seconds_since(begin) < 100) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      text = metrics();
    }
    EXPECT_THAT(text, HasSubstr(line));
  };
  await("te_queue_size 6\n");
  const std::string short_one = embed(R"({"inputs":"the cat"})");
  const int leaves = connect_to(server.port());
  ::send(leaves, short_one.data(), short_one.size(), MSG_NOSIGNAL);
  await("te_queue_size 7\n");  // one that ends its side before may wait for its answer
  close(leaves);
  // A client that announces no further request has not left.
  const std::string last = post("/embed", R"({"inputs":"the cat"})",
                                "Content-Type: application/json\r\nConnection: close");
  const std::string answer = raw_answer(server.port(), last);
  EXPECT_THAT(answer, HasSubstr("200 OK"));
  await("te_request_failure{err=\"dropped\"} 1\n");
  ending = true;
  for (std::thread& thread : busy) thread.join();
  EXPECT_THAT(metrics(), HasSubstr(fmt::format("te_batch_next_size_count {}\n", answers + 1)));
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(HostileRequestsTest, ClientsThatGoAwayHarmNobody) {
  ServerProcess server(options());
  ASSERT_GT(server.port(), 0);
  for (const std::string& bytes :
       {std::string(), std::string("P"), kHead, kHead + "Content-Length: 1000\r\n\r\n{",
        embed(R"({"inputs":["the cat","a dog"]})"), embed(std::string(3000000, 'x'))}) {
    for (int i = 0; i < 10; ++i) {
      const int socket = connect_to(server.port());
      ASSERT_GE(socket, 0);
      const timeval limit = {1, 0};
      setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
      ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      const linger now = {1, 0};  // closed with an error for the other side
      setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
      close(socket);
    }
  }
  EXPECT_EQ(server.client().Get("/health")->status, 200);
  EXPECT_EQ(server.stop(), 0);
}

}  // namespace
}  // namespace simile
