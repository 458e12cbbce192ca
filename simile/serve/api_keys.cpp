// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/api_keys.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "simile/core/error.h"
#include "simile/core/file.h"

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

}  // namespace simile
