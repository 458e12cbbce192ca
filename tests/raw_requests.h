// SPDX-License-Identifier: Apache-2.0
// Requests as bytes, and what the real server has to answer to them.
#pragma once

#include <string>
#include <vector>

#include "tests/server_process.h"
#include "tests/shell.h"

namespace simile {

struct Hostile {
  std::string bytes;
  int status;
  std::string message;  // in the answer's body
};

// A request whose head is these lines, with the length of its body.
inline std::string request(const std::string& head, const std::string& body) {
  return fmt::format("{}\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}", head, body.size(),
                     body);
}

inline std::string post(const std::string& path, const std::string& body,
                        const std::string& headers = "Content-Type: application/json") {
  return request(fmt::format("POST {} HTTP/1.1\r\n{}", path, headers), body);
}

inline const std::string kHead =
    "POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

class RawRequestsTest : public ShellTest {
 protected:
  static std::vector<std::string> options(std::vector<std::string> more = {}) {
    const std::vector<std::string> model = {"--model", SIMILE_SOURCE_DIR "/tests/golden/tiny-bert"};
    more.insert(more.end(), model.begin(), model.end());
    return more;
  }

  // The rows in turn, and whether the server still does its work.
  static void expect_answers(const ServerProcess& server, const std::vector<Hostile>& rows) {
    ASSERT_GT(server.port(), 0);
    for (const Hostile& row : rows) {
      const std::string answer = raw_answer(server.port(), row.bytes);
      EXPECT_THAT(answer, ::testing::StartsWith(fmt::format("HTTP/1.1 {}", row.status)))
          << row.bytes.substr(0, 300);
      EXPECT_THAT(unescaped(answer), ::testing::HasSubstr(unescaped(row.message)))
          << row.bytes.substr(0, 300);
    }
    EXPECT_EQ(server.client().Get("/health")->status, 200);
  }

 private:
  // Quotation marks in JSON texts as they were.
  static std::string unescaped(std::string text) {
    for (size_t at; (at = text.find("\\\"")) != std::string::npos;) text.erase(at, 1);
    return text;
  }
};

}  // namespace simile
