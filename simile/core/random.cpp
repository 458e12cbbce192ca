// SPDX-License-Identifier: Apache-2.0
#include "simile/core/random.h"

#include <cmath>

namespace simile {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  constexpr uint32_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
  constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(kMultiplier0) * c[0];
    const uint64_t p1 = static_cast<uint64_t>(kMultiplier1) * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k[0] += kWeyl0;
    k[1] += kWeyl1;
  }
  return c;
}

uint64_t stream_key(uint64_t seed, std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325ull;  // FNV-1a over the name, then mixed with the seed
  for (const char character : name) {
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001B3ull;
  }
  uint64_t mixed = hash ^ (seed + 0x9E3779B97F4A7C15ull);
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;  // splitmix64's finaliser
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
  return mixed ^ (mixed >> 31);
}

RandomStream::RandomStream(uint64_t seed, std::string_view name, uint64_t substream)
    : key_(stream_key(seed, name)), substream_(substream) {}

uint32_t RandomStream::next() {
  if (position_ % 4 == 0) {
    const uint64_t block = position_ / 4;
    block_ = philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                     static_cast<uint32_t>(substream_), static_cast<uint32_t>(substream_ >> 32)},
                    {static_cast<uint32_t>(key_), static_cast<uint32_t>(key_ >> 32)});
  }
  return block_[position_++ % 4];
}

void RandomStream::seek(uint64_t position) {
  position_ = position - position % 4;
  for (uint64_t skipped = position % 4; skipped > 0; --skipped) next();
}

double RandomStream::uniform() {
  const uint64_t high = next() >> 5, low = next() >> 6;
  return static_cast<double>((high << 26) | low) * 0x1p-53;
}

double RandomStream::normal() {
  const double u = 1.0 - uniform(), v = uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * 3.14159265358979323846 * v);
}

uint64_t RandomStream::below(uint64_t bound) {
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  for (;;) {
    const uint64_t high = next();
    const uint64_t value = (high << 32) | next();
    if (value < limit) return value % bound;
  }
}

}  // namespace simile
