// SPDX-License-Identifier: Apache-2.0
// Valid and invalid requests by RFC 9112, in one piece and byte by byte.
#include "simile/serve/detail/request_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/serve/detail/serve_fixture_test.h"

namespace simile::detail {
namespace {

using testing::HasSubstr;

// Feeds `step` bytes at a time, as a connection does.
std::unique_ptr<RequestReader> read(const std::string& bytes, size_t step,
                                    const ServeLimits& limits) {
  auto reader = std::make_unique<RequestReader>(limits);
  std::string held;
  for (size_t at = 0; at < bytes.size() && !(reader->has_head() && reader->is_whole());) {
    held += bytes.substr(at, step);
    at += step;
    size_t taken = 1;
    while (taken > 0 && !held.empty() && !(reader->has_head() && reader->is_whole())) {
      taken = reader->take(held);
      held.erase(0, taken);
      if (reader->has_head() && !reader->is_whole()) reader->take_body();
    }
  }
  return reader;
}

ServeLimits small() {
  ServeLimits limits;
  limits.body_bytes = 100;
  limits.header_bytes = 10000;
  return limits;
}

const std::string kGet = "GET /health HTTP/1.1\r\nHost: localhost\r\n";
const std::string kPost = "POST /embed HTTP/1.1\r\nHost: a\r\n";
const std::string kChunked = kPost + "Transfer-Encoding: chunked\r\n\r\n";

TEST(RequestReader, ReadsWhatTheRfcAllows) {
  const ServeLimits limits = small();
  struct Row {
    std::string bytes, path, host, body;
  };
  const Row table[] = {
      {kGet + "\r\n", "/health", "localhost", ""},
      {"\r\n" + kGet + "\r\n", "/health", "localhost", ""},
      {"GET / HTTP/1.0\r\n\r\n", "/", "", ""},
      {"GET http://b.example:80/info?x=1 HTTP/1.1\r\nHost: a\r\n\r\n", "/info", "b.example:80", ""},
      {"GET HTTPS://b.example HTTP/1.1\r\nHost: a\r\n\r\n", "/", "b.example", ""},
      {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "*", "a", ""},
      {"GET /documents/a%0Ab%2f%c3%a9+ HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "/documents/a\nb/é+",
       "[::1]:80", ""},
      {"GET /a HTTP/1.1\r\nhost:  b\t\r\nX:\r\n\r\n", "/a", "b", ""},
      {kPost + "Content-Length: 2\r\n\r\n{}", "/embed", "a", "{}"},
      {kPost + "Content-Length: 0\r\n\r\n", "/embed", "a", ""},
      {kPost + "Transfer-Encoding: Chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "/embed", "a", "{}"},
      {kChunked + "1;a=\"b;c\"\r\n{\r\n001\r\n}\r\n0\r\n\r\n", "/embed", "a", "{}"},
      {kChunked + "2\r\n{}\r\n0\r\nX-Request-Id: hidden\r\nHost: b\r\n\r\n", "/embed", "a", "{}"},
      {kChunked + "a\r\n0\r\n\r\n\n \n\t.\r\n0\r\n\r\n", "/embed", "a", "0\r\n\r\n\n \n\t."},
  };
  for (const Row& row : table) {
    for (const size_t step : {size_t{1}, size_t{3}, row.bytes.size()}) {
      const auto reader = read(row.bytes, step, limits);
      ASSERT_TRUE(reader->has_head() && reader->is_whole()) << row.bytes << step;
      EXPECT_EQ(reader->call.path, row.path) << row.bytes;
      EXPECT_EQ(reader->call.host, row.host) << row.bytes;
      EXPECT_EQ(reader->call.body, row.body) << row.bytes;
      EXPECT_EQ(reader->call.request_id, "") << row.bytes;
    }
  }
}

TEST(RequestReader, RefusesWhatIsNoRequestOrCouldBeReadAsTwo) {
  const ServeLimits limits = small();
  struct Row {
    std::string bytes;
    Refusal refusal;
    const char* message;
  };
  const std::string no_end = "where the body ends", no_http = "no HTTP request",
                    broken = "not complete";
  const auto chunk = [](const std::string& bytes) { return kChunked + bytes; };
  std::vector<Row> table;
  for (const std::string& line :
       {std::string("\r\n\r\n\r\n"), std::string("nonsense\r\n\r\n"), std::string("GET\r\n\r\n"),
        std::string("GET /health\r\n\r\n"), std::string("GET /a HTTP/2.0\r\n\r\n"),
        std::string("GET /a HTTP/1.1\nHost: a\n\n"),
        std::string("GET a:1 HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("GET ftp://a/b HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("GET http:///b HTTP/1.1\r\nHost: a\r\n\r\n"), kGet + "X: a\r\n folded\r\n\r\n",
        kGet + "X:\r\n\tfolded\r\n\r\n", kGet + std::string("X: a\0b\r\n\r\n", 10),
        kGet + "X: a\nY: b\r\n\r\n", kGet + "foo\r\n\r\n", kGet + "foo bar: 1\r\n\r\n",
        kGet + "Transfer-Encoding : chunked\r\n\r\n", kGet + ": a\r\n\r\n",
        std::string("\x16\x03\x01\x02\x00\x01", 6)}) {
    table.push_back({line, Refusal::kMalformed, "no HTTP request"});
  }
  for (const char* headers :
       {"Content-Length: 2\r\nContent-Length: 2", "Content-Length: 2, 2", "Content-Length: +2",
        "Content-Length: 0x2", "Content-Length: -1", "Content-Length: ",
        "Content-Length: 99999999999999999999", "Content-Length: 2\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 2", "Transfer-Encoding: gzip",
        "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"}) {
    table.push_back({kPost + headers + "\r\n\r\n{}", Refusal::kMalformed, "where the body ends"});
  }
  table.push_back({"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", Refusal::kMalformed,
                   "where the body ends"});
  for (const char* body :
       {"zz\r\n{}", "\r\n", "-1\r\n", "0x2\r\n{}\r\n0\r\n\r\n", "+2\r\n{}", " 2\r\n{}",
        "2\n{}\n0\n\n", "2\r\n{}XX0\r\n\r\n", "2\r\n{}0\r\n\r\n", "2;\"\r\n{}\r\n"}) {
    table.push_back({kChunked + body, Refusal::kMalformed, "not complete"});
  }
  for (const char* host :
       {"", "Host: a\r\nHost: a\r\n", "Host: [::1].evil.example\r\n", "Host: [::1]evil\r\n",
        "Host: x://localhost\r\n", "Host: a@b\r\n", "Host: a:80:80\r\n", "Host: a#b\r\n",
        "Host: [a]\r\n", "Host: [::1\r\n"}) {
    table.push_back(
        {std::string("GET / HTTP/1.1\r\n") + host + "\r\n", Refusal::kMalformed, "Host"});
  }
  table.push_back({"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::kMalformed, "two hexadecimal"});
  table.push_back({"GET /%4 HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::kMalformed, "two hexadecimal"});
  table.push_back({kPost + "Expect: 200-ok\r\n\r\n", Refusal::kExpects, "100-continue"});
  table.push_back({"GET /" + std::string(8000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n",
                   Refusal::kTargetTooLong, "8000 bytes"});
  table.push_back({"GET /" + std::string(100000, 'a'), Refusal::kTargetTooLong, "8000 bytes"});
  table.push_back({kGet + "X: " + std::string(10000, 'a'), Refusal::kHeadersTooLarge, "10000"});
  std::string many = kGet;
  while (many.size() < 11000) many += "A: b\r\n";
  table.push_back({many, Refusal::kHeadersTooLarge, "10000"});
  table.push_back({chunk("65\r\n"), Refusal::kTooLarge, "more than 100 bytes"});
  table.push_back({chunk("7FFFFFFFFFFFFFFF\r\n"), Refusal::kTooLarge, "more than 100 bytes"});
  table.push_back({chunk("2;" + std::string(5000, 'a')), Refusal::kTooLarge, "between"});
  table.push_back({chunk("0\r\nX: " + std::string(5000, 'a')), Refusal::kTooLarge, "between"});
  table.push_back({chunk("2;" + std::string(5000, 'a') + "\r\n{}\r\n0\r\n\r\n"), Refusal::kTooLarge,
                   "between"});
  std::string sparse = kChunked;
  for (int i = 0; i < 90; ++i) sparse += std::string(4000, '0') + "1\r\n \r\n";
  table.push_back({sparse, Refusal::kTooLarge, "between"});
  for (const Row& row : table) {
    for (const size_t step : {size_t{1}, size_t{1000}, row.bytes.size()}) {
      if (step == 1 && row.bytes.size() > 20000) continue;
      const std::string said = refusal_of(row.refusal, [&] { read(row.bytes, step, limits); });
      EXPECT_THAT(said, HasSubstr(row.message)) << row.bytes.substr(0, 200) << " by " << step;
    }
  }
}

TEST(RequestReader, KnowsWhetherTheConnectionGoesOn) {
  const ServeLimits limits = small();
  const auto goes_on = [&](const std::string& bytes) {
    return read(bytes, bytes.size(), limits)->may_continue();
  };
  EXPECT_TRUE(goes_on(kGet + "\r\n"));
  EXPECT_FALSE(goes_on(kGet + "Connection: Close\r\n\r\n"));
  EXPECT_FALSE(goes_on("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(goes_on("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  EXPECT_TRUE(read(kPost + "Expect: 100-Continue\r\n\r\n", 7, limits)->expects_continue());
}

TEST(RequestReader, TheQueryIsNamesAndValues) {
  const auto reader = read("GET /d?a=1&b=x+y%26&&c&=d HTTP/1.1\r\nHost: a\r\n\r\n", 5, small());
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"a", "1"}, {"b", "x y&"}, {"c", ""}, {"", "d"}};
  EXPECT_EQ(reader->call.query, expected);
}

}  // namespace
}  // namespace simile::detail
