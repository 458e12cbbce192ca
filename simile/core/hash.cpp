// SPDX-License-Identifier: Apache-2.0
#include "simile/core/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstddef>
#include <new>

#include "simile/core/file.h"

namespace simile {
namespace {

constexpr size_t kPiece = size_t{1} << 20;  // bytes of a file that are resident at a time

std::string to_digits(const XXH128_hash_t& hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

struct Hash128::State {
  State() : hash(XXH3_createState()) {
    if (hash == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(hash);
  }
  ~State() { XXH3_freeState(hash); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  XXH3_state_t* hash;
};

Hash128::Hash128() : state_(std::make_unique<State>()) {}
Hash128::~Hash128() = default;

void Hash128::add(std::string_view bytes) {
  if (!bytes.empty()) XXH3_128bits_update(state_->hash, bytes.data(), bytes.size());
}

std::string Hash128::digits() const { return to_digits(XXH3_128bits_digest(state_->hash)); }

std::string hash_bytes(std::string_view bytes) {
  return to_digits(XXH3_128bits(bytes.data(), bytes.size()));
}

HashKey hash_key(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

uint64_t hash64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string hash_file(const std::string& path) {
  const MappedFile file(path);
  Hash128 hash;
  for (size_t at = 0; at < file.bytes().size(); at += kPiece) {
    const std::string_view piece = file.bytes().substr(at, kPiece);
    hash.add(piece);
    file.release(at, piece.size());
  }
  return hash.digits();
}

}  // namespace simile
