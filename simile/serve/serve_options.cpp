// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/serve_options.h"

#include <arpa/inet.h>
#include <fmt/ranges.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/text_table.h"
#include "simile/serve/request_error.h"
#include "simile/text/words.h"

namespace simile {
namespace {

constexpr int64_t kMostConnections = 65536;
constexpr int64_t kMostRequests = 10000;
constexpr int64_t kMost = int64_t{1} << 30;

constexpr std::string_view kScheme = "bearer ";
const std::vector<std::string> kRoles = {"read", "write", "admin"};

std::string_view trim_key(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

constexpr size_t kLongestShown = 100;

}  // namespace

bool is_loopback(const std::string& host) {
  in_addr four = {};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six = {};
  return host == "localhost" ||
         (inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six));
}

void ServeLimits::visit(OptionVisitor& v) {
  v.field("batch_tokens", batch_tokens,
          {"most tokens of several requests that are encoded together", "tokens", 1, kMost});
  v.field("queue_texts", queue_texts,
          {"texts that may wait; a request beyond is refused with status 429", "texts", 1, kMost});
  v.field(
      "queue_tokens", queue_tokens,
      {"tokens that may wait; a request beyond is refused with status 429", "tokens", 1, kMost});
  v.field("request_texts", request_texts, {"most texts of one request", "texts", 1, 100000});
  v.field("bulk_texts", bulk_texts,
          {"most texts of one request to /v1/embeddings, and documents or ids of one to "
           "/documents; they are computed request_texts at a time",
           "texts", 1, 100000});
  v.field("text_bytes", text_bytes, {"longest text", "bytes", 1, kMost});
  v.field("body_bytes", body_bytes, {"largest body of a request", "bytes", 1, kMost});
  v.field("answer_bytes", answer_bytes,
          {"most bytes of the hits of one search, their titles, texts and metadata; more are "
           "refused with status 413",
           "bytes", 1, kMost});
  v.field("request_seconds", request_seconds,
          {"time limit of a request: for its arrival, and until it is computed (status 503)",
           "seconds", 1, 86400});
  v.field("requests", requests,
          {"requests that are answered at a time, each by a thread; one beyond is refused with "
           "status 429",
           "", 1, kMostRequests});
  v.field("header_bytes", header_bytes,
          {"largest headers of a request (status 431)", "bytes", 256, kMost});
  v.field("header_seconds", header_seconds,
          {"time limit for the headers of a request (status 408)", "seconds", 1, 86400});
  v.field("cors_allow_origin", cors_allow_origin,
          {"origin (https://app.example) whose pages in a browser may use the server; may be given "
           "several times, * lets in all"});
  v.field("log_texts", log_texts, {"log the bodies of requests, texts included"});
  v.field("strict_model_name", strict_model_name,
          {"refuse requests that ask for another model than served_model_name (status 404); by "
           "default they are answered, and the log warns once for each name"});
}

void ServeOptions::visit(OptionVisitor& v) {
  v.field("host", host,
          {"address to listen on; one that other machines reach needs an API key or allow_open"});
  v.field("port", port, {"port to listen on; 0 takes one that is free", "", 0, 65535});
  v.field("api_key_file", api_key_file,
          path_info("file of API keys, one a line, each with an optional name, role and limits. "
                    "Every request must then have one of the keys"));
  v.field("tls_certificate", tls_certificate,
          path_info("PEM certificate chain; the server then accepts HTTPS only"));
  v.field("tls_key", tls_key, path_info("PEM file with the private key of tls_certificate"));
  v.field("runs", runs,
          path_info("folder of training runs, whose curves, results and worst errors are shown"));
  v.field("snapshots", snapshots,
          path_info("folder that POST /snapshot (role admin) writes copies of the index to"));
  v.field("allow_open", allow_open, {"serve other machines without an API key"});
  v.field("allow_changes", allow_changes,
          {"let clients add and delete documents of the index (/documents)"});
  v.field("allow_host", allow_host,
          {"accept this name in Host and Origin beside those of this machine, such as a reverse "
           "proxy's. Other names get status 403 if any name is given, and on loopback without API "
           "keys. May be given several times; * accepts all"});
  v.field("served_model_name", served_model_name,
          {"name of the model for clients, which may be given several times. By default the last "
           "part of --model, or the name of the run that trained it"});
  v.field("connections", connections,
          {"open connections; for one more the connection that has been idle longest is closed", "",
           1, kMostConnections});
  v.field("connections_per_address", connections_per_address,
          {"open connections of one client address (0: no limit, as behind a reverse proxy)", "", 0,
           kMostConnections});
  v.field("handshake_seconds", handshake_seconds,
          {"time limit for the TLS handshake", "seconds", 1, 86400});
  v.field("keep_alive_seconds", keep_alive_seconds,
          {"how long a connection stays open without a request", "seconds", 1, 86400});
  ServeLimits::visit(v);
}

void check_exposure(const ServeOptions& options) {
  SIMILE_CHECK(is_loopback(options.host) || !options.api_key_file.empty() || options.allow_open,
               ErrorKind::kUsage,
               "--host {} lets other machines in: give --api-key-file FILE, or --allow-open to "
               "serve anybody",
               options.host);
  SIMILE_CHECK(options.tls_certificate.empty() == options.tls_key.empty(), ErrorKind::kUsage,
               "give both --tls-certificate FILE and --tls-key FILE, or neither");
}

ApiKeys::Digest ApiKeys::digest(std::string_view key) {
  Digest digest{};
  const int done =
      EVP_Digest(key.data(), key.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  SIMILE_CHECK(done == 1, ErrorKind::kFailed, "OpenSSL cannot compute SHA-256");
  return digest;
}

void ApiKey::visit(OptionVisitor& v) {
  v.field("key", key, OptionInfo{"the key"}.required());
  v.field("name", name, {"its name in the log; by default the number of its line"});
  v.field("role", role,
          choice_info("read: all that changes nothing; write: changes of documents too, where the "
                      "server has --allow-changes; admin: /snapshot and /reload too",
                      kRoles));
  v.field(
      "requests_per_minute", requests_per_minute,
      {"requests that it may send, more are refused with status 429 (0: no limit)", "", 0, kMost});
  v.field("tokens_per_minute", tokens_per_minute,
          {"tokens that may be computed for it; the request that goes beyond is answered, those "
           "after it are refused (0: no limit)",
           "", 0, kMost});
}

bool ApiKey::may(const std::string& needed) const {
  return std::find(kRoles.begin(), kRoles.end(), needed) <=
         std::find(kRoles.begin(), kRoles.end(), role);
}

void ApiKey::begin_request(Time now) {
  const std::lock_guard<std::mutex> lock(balance_->mutex);
  const double minutes = std::chrono::duration<double>(now - balance_->last).count() / 60;
  balance_->last = now;
  const auto refill = [&](int64_t limit, double& left) {
    const auto each = static_cast<double>(limit);
    left = std::min(each, left + each * minutes);
  };
  const auto ask = [&](const char* what, int64_t limit, double left) {
    SIMILE_REQUEST_CHECK(
        limit == 0 || left >= 1, Refusal::kOverloaded,
        fmt::format("the API key \"{}\" has used up its {} of this minute", name, what), "",
        static_cast<int>(std::ceil((1 - left) / static_cast<double>(limit) * 60)));
  };
  // Both, so that a refusal by one does not lose what the other has gained.
  refill(tokens_per_minute, balance_->tokens_left);
  refill(requests_per_minute, balance_->requests_left);
  ask("tokens", tokens_per_minute, balance_->tokens_left);
  ask("requests", requests_per_minute, balance_->requests_left);
  --balance_->requests_left;
}

void ApiKey::take_tokens(int64_t count) {
  const std::lock_guard<std::mutex> lock(balance_->mutex);
  balance_->tokens_left -= static_cast<double>(count);
}

void ApiKey::share_balance(const ApiKey& other) {
  if (requests_per_minute == other.requests_per_minute &&
      tokens_per_minute == other.tokens_per_minute) {
    balance_ = other.balance_;
  }
}

ApiKeys ApiKeys::load(const std::string& path) {
  ApiKeys keys;
  std::istringstream lines(read_file(path));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto key = std::make_shared<ApiKey>();
    key->key = trim_key(line);
    key->name = fmt::format("line {}", number);
    if (key->key.empty() || key->key[0] == '#') continue;
    try {
      const std::string where = fmt::format("{}:{}", path, number);
      if (key->key[0] == '{') {
        read_options(parse_config(key->key, where), *key);
      } else {
        SIMILE_CHECK(key->key.find_first_of(" \t\"'{},") == std::string::npos, ErrorKind::kInput,
                     "{}: spaces, quotes, commas and braces are no part of a key without braces; "
                     "expected one word, or {{\"key\": \"...\", \"role\": \"read\"}}",
                     where);
      }
      SIMILE_CHECK(!trim_key(key->key).empty(), ErrorKind::kInput, "{}: `key` is empty", where);
    } catch (const Error& error) {
      throw Error(ErrorKind::kInput, error.what());
    }
    const Digest own = digest(trim_key(key->key));
    for (const auto& [known, other] : keys.keys_) {
      SIMILE_CHECK(known != own, ErrorKind::kInput,
                   "{}:{}: this key is that of '{}' above; expected each key once", path, number,
                   other->name);
    }
    keys.keys_.emplace_back(own, key);
    key->key.clear();
  }
  SIMILE_CHECK(!keys.empty(), ErrorKind::kInput, "{}: no API key in it; expected one a line", path);
  return keys;
}

std::string ApiKeys::describe() const {
  std::vector<std::string> names;
  for (const auto& [digest, key] : keys_) {
    names.push_back(fmt::format("{} ({})", key->name, key->role));
  }
  return fmt::format("{}: {}", counted(static_cast<int64_t>(names.size()), "key"),
                     fmt::join(names, ", "));
}

std::shared_ptr<ApiKey> ApiKeys::find(std::string_view authorization) const {
  const std::string scheme(authorization.substr(0, kScheme.size()));
  if (lower_text(scheme) != kScheme) return nullptr;
  const Digest given = digest(trim_key(authorization.substr(kScheme.size())));
  std::shared_ptr<ApiKey> found;
  for (const auto& [known, key] : keys_) {
    if (CRYPTO_memcmp(given.data(), known.data(), known.size()) == 0) found = key;
  }
  return found;
}

void ApiKeys::keep_balances(const ApiKeys& before) {
  for (const auto& [digest, key] : keys_) {
    for (const auto& [known, old] : before.keys_) {
      if (known == digest) key->share_balance(*old);
    }
  }
}

std::string host_name(const std::string& written) {
  const size_t scheme = written.find("://");
  std::string name = scheme == std::string::npos ? written : written.substr(scheme + 3);
  if (!name.empty() && name[0] == '[') {
    name = name.substr(1, name.find(']') - 1);
  } else if (std::count(name.begin(), name.end(), ':') == 1) {
    name.resize(name.find(':'));
  }
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

AllowedHosts::AllowedHosts(const ServeOptions& options)
    : looks_(!options.allow_host.empty() ||
             (is_loopback(options.host) && options.api_key_file.empty())) {
  for (const std::string& name : options.allow_host) names_.push_back(host_name(name));
  if (std::find(names_.begin(), names_.end(), "*") != names_.end()) looks_ = false;
}

void AllowedHosts::check(const std::string& host, const std::string& origin) const {
  if (!looks_) return;
  for (const auto& [header, value] : {std::pair("Host", host), std::pair("Origin", origin)}) {
    const std::string name = host_name(value);
    const bool is_known = std::find(names_.begin(), names_.end(), name) != names_.end();
    if (value.empty() || is_loopback(name) || is_known) continue;
    const std::string shown = name.substr(0, kLongestShown);
    throw RequestError(
        Refusal::kForbidden,
        fmt::format("the header {} names \"{}\", and this server answers {}; if that is its name, "
                    "start it with --allow-host {}",
                    header, shown,
                    names_.empty() ? "this machine alone"
                                   : "only to this machine's names and those it was given",
                    shown));
  }
}

}  // namespace simile
