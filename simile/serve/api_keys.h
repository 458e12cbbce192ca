// SPDX-License-Identifier: Apache-2.0
// The keys of those who may use the server. Held and compared as SHA-256 digests, in a time that
// does not depend on which key, or how much of one, was right.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace simile {

class ApiKeys {
 public:
  ApiKeys() = default;  // none: everybody may

  // One key a line; blank lines, and spaces around a key, do not count. Errors (kInput): a file
  // that cannot be read or has no key.
  static ApiKeys load(const std::string& path);

  // Whether `authorization`, that header of a request, is "Bearer ", in whatever letters, and one
  // of the keys; true where there are none.
  bool accepts(std::string_view authorization) const;
  bool empty() const { return digests_.empty(); }

 private:
  using Digest = std::array<unsigned char, 32>;
  static Digest digest(std::string_view key);

  std::vector<Digest> digests_;
};

}  // namespace simile
