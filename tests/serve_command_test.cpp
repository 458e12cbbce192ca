// SPDX-License-Identifier: Apache-2.0
// The real server, driven over sockets as its users drive it.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/server_process.h"
#include "tests/shell.h"

namespace simile {
namespace {

using nlohmann::json;

constexpr const char* kJson = "application/json";

class ServeCommandTest : public ShellTest {
 protected:
  const std::string model_ = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";

  // The rows of `simile encode` for the texts.
  std::vector<std::vector<float>> encode(const std::vector<std::string>& texts) const {
    std::string lines;
    for (const std::string& text : texts) lines += text + "\n";
    write("texts.txt", lines);
    EXPECT_EQ(shell("simile encode --model $M --input texts.txt --output v.npy").code, 0);
    const std::string npy = read_file(path("v.npy"));
    const size_t header = 128, width = (npy.size() - header) / texts.size();
    std::vector<std::vector<float>> rows;
    for (size_t i = 0; i < texts.size(); ++i) {
      rows.emplace_back(width / sizeof(float));
      std::memcpy(rows.back().data(), npy.data() + header + i * width, width);
    }
    return rows;
  }
};

using Rows = std::vector<std::vector<float>>;

// Whether the server's metrics have the line within seconds.
template <typename Client>
bool comes_to(Client& client, const std::string& line) {
  for (int i = 0; i < 3000; ++i) {
    const auto reply = client.Get("/metrics");
    if (reply && reply->body.find("\n" + line + "\n") != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::string embed_body(const std::vector<std::string>& texts) {
  return json{{"inputs", texts}, {"normalize", false}}.dump();
}

std::vector<std::string> some_texts(int count) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) {
    std::string text = "the cat";
    for (int j = 0; j < i % 9; ++j) text += (i + j) % 2 == 0 ? " sat" : " ran";
    texts.push_back(text);
  }
  return texts;
}

TEST_F(ServeCommandTest, EmbedHasTheBitsOfEncodeOverOneConnection) {
  ServerProcess server({"--model", model_});
  ASSERT_GT(server.port(), 0);
  httplib::Client client = server.client();
  const std::vector<std::string> texts = some_texts(12);
  const Rows expected = encode(texts);
  for (int i = 0; i < 3; ++i) {
    const auto reply = client.Post("/embed", embed_body(texts), kJson);
    ASSERT_TRUE(reply);
    ASSERT_EQ(reply->status, 200) << reply->body;
    EXPECT_EQ(json::parse(reply->body).get<Rows>(), expected);
    EXPECT_TRUE(reply->has_header("X-Request-Id"));
  }
  EXPECT_EQ(client.Get("/health")->status, 200);
  EXPECT_EQ(client.Get("/info")->status, 200);
  EXPECT_EQ(client.Head("/metrics")->status, 200);
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(ServeCommandTest, SearchFindsWhatTheCommandFinds) {
  write("corpus.tsv", "id\ttext\na\tthe cat sat\nb\ta dog ran\nc\tit was red\n");
  ASSERT_EQ(shell("simile index build --model $M --index ix --corpus corpus.tsv").code, 0);
  ServerProcess server({"--index", path("ix")});
  ASSERT_GT(server.port(), 0);
  for (const std::string mode : {"", "vector", "lexical", "hybrid"}) {
    json body = {{"query", "the dog sat"}, {"top_k", 2}, {"marks", true}};
    if (!mode.empty()) body["mode"] = mode;
    const auto reply = server.client().Post("/search", body.dump(), kJson);
    ASSERT_TRUE(reply);
    ASSERT_EQ(reply->status, 200) << reply->body;
    const Outcome found = shell("simile search --index ix --query 'the dog sat' --top-k 2 --json" +
                                (mode.empty() ? "" : " --mode " + mode));
    const json answer = json::parse(reply->body);
    EXPECT_EQ(answer["results"][0]["hits"], json::parse(found.out)["hits"]) << mode;
    EXPECT_EQ(answer["mode"], mode.empty() ? "hybrid" : mode);
  }
  EXPECT_EQ(json::parse(server.client().Get("/info")->body)["search_modes"],
            json({"hybrid", "vector", "lexical"}));
}

TEST_F(ServeCommandTest, TwentyClientsAtOnceGetTheirOwnVectors) {
  ServerProcess server({"--model", model_});
  ASSERT_GT(server.port(), 0);
  const std::vector<std::string> texts = some_texts(20);
  const Rows expected = encode(texts);
  std::vector<std::future<int>> wrong;
  for (size_t i = 0; i < texts.size(); ++i) {
    wrong.push_back(std::async(std::launch::async, [&, i] {
      httplib::Client client = server.client();
      int count = 0;
      for (int round = 0; round < 20; ++round) {
        const auto reply = client.Post("/embed", embed_body({texts[i]}), kJson);
        count += !reply || reply->status != 200 ||
                 json::parse(reply->body).get<Rows>() != Rows{expected[i]};
      }
      return count;
    }));
  }
  for (auto& count : wrong) EXPECT_EQ(count.get(), 0);
  EXPECT_EQ(server.stop(SIGINT), 0);
}

TEST_F(ServeCommandTest, AFullQueueSaysSoAndWhenToComeBack) {
  ServerProcess server({"--model", model_, "--queue-texts", "1"});
  ASSERT_GT(server.port(), 0);
  const std::vector<std::string> texts = some_texts(32);
  const Rows expected = encode(texts);
  std::atomic<int> refused{0}, wrong{0};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto ask = [&] {
    httplib::Client client = server.client();
    while (refused == 0 && std::chrono::steady_clock::now() < end) {
      const auto reply = client.Post("/embed", embed_body(texts), kJson);
      if (reply && reply->status == 429 && reply->has_header("Retry-After")) {
        ++refused;
      } else if (!reply || reply->status != 200 ||
                 json::parse(reply->body).get<Rows>() != expected) {
        ++wrong;
      }
    }
  };
  std::vector<std::thread> clients;
  for (int i = 0; i < 16; ++i) clients.emplace_back(ask);
  for (std::thread& client : clients) client.join();
  EXPECT_GT(refused, 0);
  EXPECT_EQ(wrong, 0);
}

TEST_F(ServeCommandTest, StoppingAnswersTheRequestThatIsOnItsWay) {
  ServerProcess server({"--model", model_});
  ASSERT_GT(server.port(), 0);
  httplib::Client client = server.client();
  const std::string body = embed_body({"the cat"});
  const auto reply = client.Post(
      "/embed", body.size(),
      [&](size_t offset, size_t length, httplib::DataSink& sink) {
        const size_t half = std::min(length, body.size() / 2 + 1);
        sink.write(body.data() + offset, half);
        if (offset == 0) {
          server.send(SIGTERM);
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
        }
        return true;
      },
      kJson);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200) << reply->body;
  EXPECT_EQ(json::parse(reply->body).get<Rows>(), encode({"the cat"}));
  EXPECT_EQ(server.stop(0), 0);
}

TEST_F(ServeCommandTest, DocumentsAreAddedFoundReplacedAndDeleted) {
  write("corpus.tsv", "id\ttext\na\tthe cat sat\nb\ta dog ran\n");
  ASSERT_EQ(shell("simile index build --model $M --index ix --corpus corpus.tsv").code, 0);
  ServerProcess server({"--index", path("ix"), "--allow-changes"});
  ASSERT_GT(server.port(), 0);
  httplib::Client client = server.client();
  const auto added = client.Post(
      "/documents",
      R"({"documents":[{"id":"c","title":"it","text":"was red"},{"id":"a","text":"the sun"}]})",
      kJson);
  ASSERT_TRUE(added);
  EXPECT_EQ(json::parse(added->body),
            json::parse(R"({"added":2,"replaced":1,"truncated":0,"documents":3})"));
  const auto found = client.Post("/search", R"({"query":"it was red","top_k":1})", kJson);
  EXPECT_EQ(json::parse(found->body)["results"][0]["hits"][0]["id"], "c") << found->body;
  EXPECT_EQ(json::parse(client.Get("/documents/c")->body)["text"], "it was red");
  const auto deleted = client.Delete("/documents", R"({"ids":["b","c","b"]})", kJson);
  ASSERT_TRUE(deleted);
  EXPECT_EQ(json::parse(deleted->body), json::parse(R"({"deleted":2,"documents":1})"));
  EXPECT_EQ(client.Delete("/documents", R"({"ids":["a","b"]})", kJson)->status, 404);
  EXPECT_EQ(server.stop(), 0);
  const Outcome after = shell("simile search --index ix --query 'the sun' --json");
  ASSERT_EQ(json::parse(after.out)["hits"].size(), 1u) << after.out;
  EXPECT_EQ(json::parse(after.out)["hits"][0]["text"], "the sun");
}

TEST_F(ServeCommandTest, FiltersFindDocumentsByTheirMetadata) {
  write("corpus.tsv", "id\ttext\tyear\na\tthe cat sat\t1990\nb\tthe cat ran\t2020\n");
  ASSERT_EQ(
      shell("simile index build --model $M --index ix --corpus corpus.tsv --metadata year").code,
      0);
  ServerProcess server({"--index", path("ix"), "--allow-changes"});
  ASSERT_GT(server.port(), 0);
  httplib::Client client = server.client();
  const auto found = [&](const std::string& filter) {
    const json body = {{"query", "the cat sat"}, {"filter", filter}, {"marks", true}};
    const auto reply = client.Post("/search", body.dump(), kJson);
    EXPECT_EQ(reply->status, 200) << reply->body;
    return json::parse(reply->body)["results"][0]["hits"];
  };
  EXPECT_EQ(found("").size(), 2u);
  ASSERT_EQ(found("year > 2000").size(), 1u);
  EXPECT_EQ(found("year > 2000")[0]["id"], "b");
  EXPECT_EQ(found("year > 2000")[0]["metadata"], json({{"year", 2020}}));
  EXPECT_EQ(found("year > 2000"),
            json::parse(shell("simile search --index ix --query 'the cat sat' --filter "
                              "'year > 2000' --json")
                            .out)["hits"]);
  const auto added = client.Post(
      "/documents",
      R"({"documents":[{"id":"a","text":"the cat","metadata":{"year":2024,"new":true}}]})", kJson);
  EXPECT_EQ(added->status, 200) << added->body;
  EXPECT_EQ(found("new = true and year > 2020")[0]["id"], "a");
  EXPECT_EQ(server.stop(), 0);
}

json map_of(httplib::Client& client, const json& body) {
  const auto reply = client.Post("/map", body.dump(), kJson);
  EXPECT_TRUE(reply && reply->status == 200) << (reply ? reply->body : "no answer");
  return reply ? json::parse(reply->body) : json();
}

TEST_F(ServeCommandTest, TheMapHasTheDocumentsAndAQueryAmongThem) {
  write("corpus.tsv",
        "id\ttext\na\tthe cat sat\nb\ta dog ran\nc\tit was red\nd\tthe sun was on the mat\n");
  ASSERT_EQ(shell("simile index build --model $M --index ix --corpus corpus.tsv").code, 0);
  ServerProcess server({"--index", path("ix"), "--allow-changes"});
  ASSERT_GT(server.port(), 0);
  httplib::Client client = server.client();
  const json map = map_of(client, json::object());
  EXPECT_EQ(map["documents"], 4);
  ASSERT_EQ(map["sample"].size(), 4u);
  EXPECT_EQ(map["sample"][1]["id"], "b");
  EXPECT_EQ(map["sample"][1]["text"], "a dog ran");
  EXPECT_GE(map["variance"][0], map["variance"][1]);
  EXPECT_FALSE(map.contains("query"));
  EXPECT_EQ(map_of(client, json::object()), map);
  for (const std::string mode : {"vector", "lexical", "hybrid"}) {
    const json asked =
        map_of(client, {{"query", "the cat sat"}, {"mode", mode}, {"sample", false}});
    EXPECT_FALSE(asked.contains("sample"));
    const json& query = asked["query"];
    EXPECT_EQ(query["mode"], mode);
    EXPECT_EQ(query["hits"][0]["id"], "a");
    for (const char* axis : {"x", "y"}) {
      EXPECT_NEAR(query[axis], map["sample"][0][axis], 1e-5);  // of the same text
      EXPECT_EQ(query["hits"][0][axis], map["sample"][0][axis]);
    }
    const auto found =
        client.Post("/search", json{{"query", "the cat sat"}, {"mode", mode}}.dump(), kJson);
    const json hits = json::parse(found->body)["results"][0]["hits"];
    ASSERT_EQ(query["hits"].size(), hits.size());
    for (size_t i = 0; i < hits.size(); ++i) EXPECT_EQ(query["hits"][i]["score"], hits[i]["score"]);
  }
  client.Post("/documents", R"({"documents":[{"id":"e","text":"the dog sat"}]})", kJson);
  const json later = map_of(client, json::object());
  EXPECT_GT(later["generation"], map["generation"]);
  EXPECT_EQ(later["sample"].size(), 5u);
  EXPECT_EQ(server.stop(), 0);
}

// Vectors of documents beyond the sample are computed again, as the index stores them.
TEST_F(ServeCommandTest, TheMapOfManyDocumentsPlacesHitsBeyondItsSample) {
  std::string corpus = "id\ttext\n";
  for (int i = 0; i < 40000; ++i) corpus += "d" + std::to_string(i) + "\tthe cat sat\n";
  for (const char* id : {"odd", "even"}) corpus += std::string(id) + "\tit was red\n";
  write("corpus.tsv", corpus);
  ASSERT_EQ(shell("simile index build --model $M --index ix --corpus corpus.tsv").code, 0);
  ServerProcess server({"--index", path("ix")});
  ASSERT_GT(server.port(), 0);
  httplib::Client client = server.client();
  const json map = map_of(client, {{"query", "it was red"}});
  EXPECT_EQ(map["documents"], 40002);
  EXPECT_EQ(map["sample"].size(), 20000u);
  const json &hits = map["query"]["hits"], &last = map["sample"].back();
  EXPECT_EQ(last["id"], "even");
  ASSERT_EQ(hits.size(), 10u);
  EXPECT_EQ(json({hits[0]["id"], hits[1]["id"]}), json({"odd", "even"}));
  for (const char* axis : {"x", "y"}) EXPECT_NEAR(hits[0][axis], last[axis], 1e-5);
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(ServeCommandTest, SearchesGoOnWhileDocumentsChange) {
  write("corpus.tsv", "id\ttext\na\tthe cat sat\n");
  ASSERT_EQ(shell("simile index build --model $M --index ix --corpus corpus.tsv").code, 0);
  ServerProcess server({"--index", path("ix"), "--allow-changes"});
  ASSERT_GT(server.port(), 0);
  std::atomic<bool> ending{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> searching;
  for (const std::string mode : {"vector", "lexical", "hybrid"}) {
    searching.emplace_back([&, mode] {
      httplib::Client client = server.client();
      const std::string body = json{{"query", "the cat sat"}, {"top_k", 1}, {"mode", mode}}.dump();
      while (!ending) {
        const auto reply = client.Post("/search", body, kJson);
        wrong += !reply || reply->status != 200 ||
                 json::parse(reply->body)["results"][0]["hits"][0]["id"] != "a";
      }
    });
  }
  searching.emplace_back([&] {
    httplib::Client client = server.client();
    while (!ending) {
      const auto reply = client.Post("/map", R"({"query":"the cat sat"})", kJson);
      wrong += !reply || reply->status != 200;
    }
  });
  httplib::Client client = server.client();
  for (int i = 0; i < 30; ++i) {
    const auto added =
        client.Post("/documents", R"({"documents":[{"id":"b","text":"a dog ran"}]})", kJson);
    EXPECT_TRUE(added && added->status == 200);
    if (i % 3 != 2) continue;
    const auto deleted = client.Delete("/documents", R"({"ids":"b"})", kJson);
    EXPECT_TRUE(deleted && deleted->status == 200);
  }
  ending = true;
  for (std::thread& thread : searching) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(ServeCommandTest, ReloadingTakesUpAnotherIndexAndDropsNoRequest) {
  write("corpus.tsv", "id\ttext\na\tthe cat sat\n");
  ASSERT_EQ(shell("simile index build --model $M --index ix --corpus corpus.tsv").code, 0);
  ServerProcess server({"--index", path("ix")});
  ASSERT_GT(server.port(), 0);
  const Rows expected = encode({"the dog"});
  std::atomic<bool> ending{false};
  std::atomic<int> wrong{0}, right{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      httplib::Client client = server.client();
      while (!ending) {
        const auto reply = client.Post("/embed", embed_body({"the dog"}), kJson);
        ++(reply && reply->status == 200 && json::parse(reply->body).get<Rows>() == expected
               ? right
               : wrong);
      }
    });
  }
  const auto documents = [&] {
    return json::parse(server.client().Get("/info")->body)["documents"].get<int>();
  };
  const auto await_documents = [&](int count) {
    for (int i = 0; i < 500 && documents() != count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return documents();
  };
  write("more.tsv", "id\ttext\na\tthe cat\nb\ta dog\nc\tthe sun\n");
  const std::string build = "simile index build --model $M --index ix --overwrite --corpus ";
  ASSERT_EQ(shell(build + "more.tsv").code, 0);
  server.send(SIGHUP);
  EXPECT_EQ(await_documents(3), 3);
  // An index that cannot be read does not replace the old one.
  std::filesystem::rename(path("ix"), path("elsewhere"));
  server.send(SIGHUP);
  httplib::Client client = server.client();
  EXPECT_TRUE(comes_to(client, "te_reload_failure 1"));
  EXPECT_EQ(documents(), 3);
  ending = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(right, 0);
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(ServeCommandTest, WithACertificateItSpeaksHttps) {
  if (!has_program("openssl")) GTEST_SKIP() << "no openssl to make a certificate with";
  ASSERT_EQ(shell("openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out own.pem -days 2 "
                  "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1")
                .code,
            0);
  ServerProcess server(
      {"--model", model_, "--tls-certificate", path("own.pem"), "--tls-key", path("key.pem")});
  ASSERT_GT(server.port(), 0);
  httplib::SSLClient client("127.0.0.1", server.port());
  client.set_ca_cert_path(path("own.pem").c_str());
  client.enable_server_certificate_verification(true);
  client.set_keep_alive(true);
  const std::vector<std::string> texts = some_texts(30);
  const Rows expected = encode(texts);
  for (int i = 0; i < 3; ++i) {
    const auto reply = client.Post("/embed", embed_body(texts), kJson);
    ASSERT_TRUE(reply) << httplib::to_string(reply.error());
    EXPECT_EQ(json::parse(reply->body).get<Rows>(), expected);
  }
  EXPECT_EQ(raw_answer(server.port(), "GET /health HTTP/1.1\r\n\r\n").find("200"),
            std::string::npos);
  EXPECT_EQ(client.Get("/health")->status, 200);
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(ServeCommandTest, TlsHasForwardSecrecyAndAKeyThatCanBeRead) {
  if (!has_program("openssl")) GTEST_SKIP() << "no openssl to make a certificate with";
  ASSERT_EQ(
      shell(
          "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out own.pem -days 2 "
          "-subj /CN=localhost && openssl rsa -aes256 -passout pass:x -in key.pem -out locked.pem")
          .code,
      0);
  expect_error("simile serve --model $M --port 0 --tls-certificate own.pem --tls-key locked.pem", 3,
               "encrypted");
  ServerProcess server(
      {"--model", model_, "--tls-certificate", path("own.pem"), "--tls-key", path("key.pem")});
  ASSERT_GT(server.port(), 0);
  const std::string connect = fmt::format(
      "openssl s_client -connect 127.0.0.1:{} -tls1_2 </dev/null -cipher ", server.port());
  EXPECT_EQ(shell(connect + "ECDHE-RSA-AES128-GCM-SHA256").code, 0);
  EXPECT_NE(shell(connect + "AES128-SHA").code, 0);
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(ServeCommandTest, AnIndexThatIsGoneMakesTheServerUnready) {
  write("corpus.tsv", "id\ttext\na\tthe cat sat\n");
  ASSERT_EQ(shell("simile index build --model $M --index ix --corpus corpus.tsv").code, 0);
  ServerProcess server({"--index", path("ix")});
  ASSERT_GT(server.port(), 0);
  const auto comes = [&](int status) {
    for (int i = 0; i < 3000 && server.client().Get("/ready")->status != status; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return server.client().Get("/ready")->status == status;
  };
  EXPECT_TRUE(comes(200));
  std::filesystem::rename(path("ix"), path("elsewhere"));
  EXPECT_TRUE(comes(503));
  EXPECT_EQ(server.client().Get("/health")->status, 200);
  std::filesystem::rename(path("elsewhere"), path("ix"));
  EXPECT_TRUE(comes(200));
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(ServeCommandTest, ACertificateIsReadAgainAndABrokenOneIsNot) {
  if (!has_program("openssl")) GTEST_SKIP() << "no openssl to make a certificate with";
  const std::string make =
      "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out own.pem -days 2 "
      "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1";
  ASSERT_EQ(shell(make + " && cp own.pem first.pem").code, 0);
  ServerProcess server(
      {"--model", model_, "--tls-certificate", path("own.pem"), "--tls-key", path("key.pem")});
  ASSERT_GT(server.port(), 0);
  const auto is_known_by = [&](const std::string& certificate) {
    httplib::SSLClient client("127.0.0.1", server.port());
    client.set_ca_cert_path(path(certificate).c_str());
    client.enable_server_certificate_verification(true);
    const auto reply = client.Get("/health");
    return reply && reply->status == 200;
  };
  httplib::SSLClient anyone("127.0.0.1", server.port());
  anyone.enable_server_certificate_verification(false);
  EXPECT_TRUE(is_known_by("first.pem"));
  write("own.pem", "no certificate\n");
  server.send(SIGHUP);
  EXPECT_TRUE(comes_to(anyone, "te_reload_failure 1"));
  EXPECT_EQ(anyone.Get("/metrics")->body.find("\nte_reload_success 1"), std::string::npos);
  EXPECT_TRUE(is_known_by("first.pem"));
  ASSERT_EQ(shell(make + " && cp own.pem second.pem").code, 0);
  server.send(SIGHUP);
  EXPECT_TRUE(comes_to(anyone, "te_reload_success 1"));
  EXPECT_NE(anyone.Get("/metrics")->body.find("\nte_reload_failure 1\n"), std::string::npos);
  EXPECT_TRUE(is_known_by("second.pem"));
  EXPECT_FALSE(is_known_by("first.pem"));
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(ServeCommandTest, TheLogTellsWhatWasReadAgain) {
  if (!has_program("openssl")) GTEST_SKIP() << "no openssl to make a certificate with";
  const Outcome outcome = shell(R"sh(
    await() { for i in $(seq 3000); do [ $(grep -c "$1" log) -ge $2 ] && return; sleep 0.01; done; }
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out own.pem -days 2 -subj /CN=localhost
    "$P" serve --port 0 --model $M --tls-certificate own.pem --tls-key key.pem >told 2>log &
    for i in $(seq 3000); do [ -s told ] && break; sleep 0.01; done
    kill -HUP $!; await 'keys were read again' 1
    echo none >own.pem
    kill -HUP $!; await 'keys were read again' 2
    kill $!; wait $!; ended=$?
    grep -o '"event".*' log; exit $ended)sh");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string model = "\"message\":\"model, index and keys were read again\"}\n";
  const std::string certificate = "\"message\":\"the certificate was read again\"}\n";
  const std::string read = "\"event\":\"reload\",";
  EXPECT_THAT(outcome.out, ::testing::StartsWith(read + certificate + read + model +
                                                 "\"event\":\"reload failed\","));
  EXPECT_THAT(outcome.out, ::testing::EndsWith("\n" + read + model +
                                               "\"event\":\"stop\",\"message\":\"answers "
                                               "accepted requests, then exits\"}\n"));
  EXPECT_THAT(outcome.out, ::testing::HasSubstr("own.pem"));
}

TEST_F(ServeCommandTest, KeysAndAddressesAreLookedAtBeforeAnythingIsServed) {
  write("keys", "sesame\n");
  expect_error("simile serve --model $M --host 0.0.0.0 --port 0", 2, "--api-key-file");
  expect_error("simile serve --model $M --api-key-file nowhere", 3, "nowhere");
  expect_error("simile serve --port 0", 2, "--model");
  ServerProcess server({"--model", model_, "--api-key-file", path("keys")});
  ASSERT_GT(server.port(), 0);
  expect_error(fmt::format("simile serve --model $M --port {}", server.port()), 1,
               "cannot listen on");
  httplib::Client client = server.client();
  EXPECT_EQ(client.Get("/info")->status, 401);
  EXPECT_EQ(client.Get("/info", {{"Authorization", "Bearer sesame"}})->status, 200);
  write("keys", "open\n");
  server.send(SIGHUP);
  const auto reloaded = [&] {
    return client.Get("/info", {{"Authorization", "Bearer open"}})->status == 200;
  };
  for (int i = 0; i < 500 && !reloaded(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(reloaded());
  EXPECT_EQ(client.Get("/info", {{"Authorization", "Bearer sesame"}})->status, 401);
}

TEST_F(ServeCommandTest, OneServerHasSeveralIndexesAndModels) {
  for (const auto& [name, text] : {std::pair("cats", "the cat sat"), {"dogs", "a dog ran"}}) {
    write("corpus.tsv", fmt::format("id\ttext\n{}\t{}\n", name, text));
    const Outcome built =
        shell(fmt::format("simile index build --model $M --index {} --corpus corpus.tsv", name));
    ASSERT_EQ(built.code, 0) << built.err;
  }
  ServerProcess server({"--index", path("cats"), "--allow-changes", "--also",
                        "dogs=" + path("dogs"), "--also", "tiny=" + model_});
  ASSERT_GT(server.port(), 0);
  httplib::Client client = server.client();
  const auto found = [&](const std::string& at) {
    const auto reply = client.Post(at + "/search", R"({"query":"the dog","top_k":1})", kJson);
    return reply->status != 200 ? reply->body
                                : json::parse(reply->body)["results"][0]["hits"][0]["id"].dump();
  };
  EXPECT_EQ(found(""), "\"cats\"");
  EXPECT_EQ(found("/at/dogs"), "\"dogs\"");
  EXPECT_THAT(found("/at/tiny"), ::testing::HasSubstr("index"));
  EXPECT_THAT(found("/at/birds"), ::testing::HasSubstr("there is /at/dogs; there is /at/tiny"));
  const std::string more = R"({"documents":[{"id":"new","text":"the dog"}]})";
  EXPECT_EQ(client.Post("/at/dogs/documents", more, kJson)->status, 200);
  EXPECT_EQ(found("/at/dogs"), "\"new\"");
  EXPECT_EQ(found(""), "\"cats\"");
  EXPECT_EQ(client.Post("/at/tiny/v1/embeddings", R"({"input":"a"})", kJson)->status, 200);
  EXPECT_EQ(client.Get("/at/dogs/ready")->status, 200);
  EXPECT_TRUE(comes_to(client, R"(te_index_documents{at="dogs"} 2)"));
  server.send(SIGHUP);
  EXPECT_TRUE(comes_to(client, "te_reload_success 1"));
  EXPECT_EQ(found("/at/dogs"), "\"new\"");
  EXPECT_EQ(server.stop(), 0);
  for (const std::string wrong : {"dogs", "=dogs", "a/b=dogs", "dogs="}) {
    expect_error("simile serve --index cats --also " + wrong, 2, "expected NAME=FOLDER");
  }
  expect_error("simile serve --index cats --also a=dogs --also a=cats", 2, "given twice");
  expect_error("simile serve --index cats --also a=nowhere", 3, "nowhere");
}

TEST_F(ServeCommandTest, AModelOfARunHasTheRunsName) {
  shell("mkdir -p runs/faq; ln -s $M runs/faq/model; echo '{}' >runs/faq/run.json");
  ServerProcess server({"--model", path("runs/faq/model/")});
  ASSERT_GT(server.port(), 0);
  httplib::Client client = server.client();
  EXPECT_EQ(json::parse(client.Get("/info")->body)["served_model_name"], "faq");
}

TEST_F(ServeCommandTest, OptionsStandInTheEnvironmentToo) {
  const std::vector<std::pair<const char*, const char*>> variables = {
      {"SIMILE_MODEL", model_.c_str()},     {"SIMILE_SERVED_MODEL_NAME", "tiny,other"},
      {"SIMILE_STRICT_MODEL_NAME", "true"}, {"SIMILE_LOG_TEXTS", "false"},
      {"SIMILE_REQUEST_TEXTS", "3"},        {"SIMILE_BATCH_TOKENS", "77"}};
  for (const auto& [name, value] : variables) setenv(name, value, 1);
  ServerProcess server({"--request-texts", "5"});
  for (const auto& [name, value] : variables) unsetenv(name);
  ASSERT_GT(server.port(), 0);
  httplib::Client client = server.client();
  const json info = json::parse(client.Get("/info")->body);
  EXPECT_EQ(info["served_model_name"], "tiny");
  EXPECT_EQ(info["max_batch_tokens"], 77);
  EXPECT_EQ(info["max_client_batch_size"], 5);
  EXPECT_EQ(client.Post("/v1/embeddings", R"({"input":"a","model":"other"})", kJson)->status, 200);
  EXPECT_EQ(client.Post("/v1/embeddings", R"({"input":"a","model":"gpt"})", kJson)->status, 404);
  expect_error("SIMILE_PORT=99999 simile serve --model $M", 2, "SIMILE_PORT=99999");
  expect_error("SIMILE_PORT=x simile serve --model $M", 2, "SIMILE_PORT=x");
  const std::string open = "SIMILE_HOST=0.0.0.0 simile serve --model $M";
  expect_error(open, 2, "--host 0.0.0.0");
  expect_error("SIMILE_PROT=1 " + open, 2, "SIMILE_PROT");
  expect_error("SIMILE_PROT=1 " + open, 2, "did you mean 'SIMILE_PORT'?");
  const std::string known = "SIMILE_MODELS=. SIMILE_ARGUMENTS=x SIMILE_THREADS=1 ";
  EXPECT_EQ(shell(known + open).err.find("SIMILE_"), std::string::npos);
}

TEST_F(ServeCommandTest, AnAdministratorCopiesTheIndexAndReloads) {
  write("corpus.tsv", "id\ttext\na\tthe cat sat\n");
  write("keys", "{key: root, role: admin}\nuser\n");
  ASSERT_EQ(shell("simile index build --model $M --index ix --corpus corpus.tsv").code, 0);
  ASSERT_EQ(shell("simile index snapshot --index ix --output docs").code, 0);
  ServerProcess server({"--index", path("ix"), "--allow-changes", "--api-key-file", path("keys"),
                        "--snapshots", path("copies"), "--also", "docs=" + path("docs")});
  ASSERT_GT(server.port(), 0);
  httplib::Client client = server.client();
  const httplib::Headers root = {{"Authorization", "Bearer root"}},
                         user = {{"Authorization", "Bearer user"}};
  const auto copy = [&](const httplib::Headers& as, const std::string& name,
                        const std::string& at = "") {
    return client.Post(at + "/snapshot", as, json{{"name", name}}.dump(), kJson)->status;
  };
  EXPECT_EQ(copy(user, "one"), 403);
  EXPECT_EQ(copy(root, "one"), 200);
  EXPECT_EQ(copy(root, "docs"), 422);  // has the snapshots of the other index
  EXPECT_EQ(copy(root, "one", "/at/docs"), 200);
  EXPECT_EQ(shell("simile check --index copies/docs/one").code, 0);
  const std::string more = R"({"documents":[{"id":"b","text":"a dog ran"}]})";
  EXPECT_EQ(client.Post("/documents", user, more, kJson)->status, 200);
  EXPECT_EQ(copy(root, "two"), 200);
  for (const auto& [name, count] : {std::pair("one", 1), {"two", 2}}) {
    const Outcome check = shell(fmt::format("simile check --json --index copies/{}", name));
    EXPECT_EQ(check.code, 0) << check.err;
    EXPECT_EQ(json::parse(check.out)["documents"], count);
  }
  ASSERT_EQ(shell("simile index snapshot --index ix --output copies/three").code, 0);
  EXPECT_EQ(shell("simile check --index copies/three").code, 0);
  expect_error("simile index snapshot --index ix --output copies/three", 2, "is there already");
  EXPECT_EQ(client.Post("/reload", user, "", kJson)->status, 403);
  EXPECT_EQ(client.Post("/reload", root, "", kJson)->status, 200);
  write("keys", "{key: root, role: owner}\n");
  EXPECT_EQ(client.Post("/reload", root, "", kJson)->status, 424);
  EXPECT_TRUE(comes_to(client, "te_reload_failure 1"));
  EXPECT_TRUE(comes_to(client, "te_reload_success 1"));
  write("keys", "{key: new, role: admin}\n");
  EXPECT_EQ(client.Post("/reload", root, "", kJson)->status, 200);
  EXPECT_EQ(client.Post("/reload", root, "", kJson)->status, 401);
  EXPECT_EQ(server.stop(), 0);
}

}  // namespace
}  // namespace simile
