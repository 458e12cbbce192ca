// SPDX-License-Identifier: Apache-2.0
// A hash of bytes that tells contents apart and finds damage: XXH3 (xxHash, Collet), with 128 bits
// unless the name says otherwise, the same on every machine. It does not protect against somebody
// who makes two contents alike on purpose.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace simile {

// Of all bytes added so far, however they were cut.
class Hash128 {
 public:
  Hash128();
  ~Hash128();
  void add(std::string_view bytes);
  std::string digits() const;  // 32 hexadecimal ones

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The digits of `bytes` alone.
std::string hash_bytes(std::string_view bytes);

// The same as a number, for keys of tables: of a hundred million different contents no two share it
// but by a chance of 1 in 10^22.
struct HashKey {
  uint64_t low = 0, high = 0;

  bool operator==(const HashKey& other) const { return low == other.low && high == other.high; }
};
HashKey hash_key(std::string_view bytes);

// Of 64 bits, where a hit by chance does no harm.
uint64_t hash64(std::string_view bytes);

// Those of a file, which is read in pieces. Errors: see MappedFile.
std::string hash_file(const std::string& path);

}  // namespace simile
