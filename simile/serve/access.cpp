// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/access.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/serve/request_error.h"

namespace simile {
namespace {

constexpr std::string_view kScheme = "bearer ";

bool has_scheme(std::string_view authorization) {
  return authorization.size() >= kScheme.size() &&
         std::equal(kScheme.begin(), kScheme.end(), authorization.begin(), [](char a, char b) {
           return a == std::tolower(static_cast<unsigned char>(b));
         });
}

std::string_view trim_key(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

constexpr size_t kLongestShown = 100;

}  // namespace

ApiKeys::Digest ApiKeys::digest(std::string_view key) {
  Digest digest{};
  const int done =
      EVP_Digest(key.data(), key.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  SIMILE_CHECK(done == 1, ErrorKind::kFailed, "OpenSSL cannot compute SHA-256");
  return digest;
}

ApiKeys ApiKeys::load(const std::string& path) {
  ApiKeys keys;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    const std::string_view key = trim_key(line);
    if (!key.empty()) keys.digests_.push_back(digest(key));
  }
  SIMILE_CHECK(!keys.empty(), ErrorKind::kInput,
               fmt::format("{}: no API key in it; expected one a line", path));
  return keys;
}

bool ApiKeys::accepts(std::string_view authorization) const {
  if (empty()) return true;
  if (!has_scheme(authorization)) return false;
  const Digest given = digest(trim_key(authorization.substr(kScheme.size())));
  bool found = false;
  for (const Digest& known : digests_) {
    found |= CRYPTO_memcmp(given.data(), known.data(), known.size()) == 0;
  }
  return found;
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

bool AllowedHosts::allows(const std::string& name) const {
  return is_loopback(name) || std::find(names_.begin(), names_.end(), name) != names_.end();
}

void AllowedHosts::check(const std::string& host, const std::string& origin) const {
  if (!looks_) return;
  for (const auto& [header, value] : {std::pair("Host", host), std::pair("Origin", origin)}) {
    const std::string name = host_name(value);
    if (value.empty() || allows(name)) continue;
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
