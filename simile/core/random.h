// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine and for every number of threads.
//
// philox() is the counter-based generator Philox4x32-10 (Salmon et al., "Parallel Random Numbers:
// As Easy as 1, 2, 3", SC 2011): block n of a stream is a pure function of (key, n), so work can be
// cut in any way. RandomStream walks one named stream in order; its position is one number, which a
// checkpoint stores.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace simile {

// Ten rounds of Philox4x32 on `counter` under `key`.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// The key of the stream called `name` under `seed` (a mixed 64-bit hash): different names give
// unrelated streams.
uint64_t stream_key(uint64_t seed, std::string_view name);

class RandomStream {
 public:
  // `substream` separates the epochs (or steps) of one named stream.
  RandomStream(uint64_t seed, std::string_view name, uint64_t substream = 0);

  uint32_t next();                 // uniform 32 bits
  double uniform();                // in [0, 1), 53 random bits
  double normal();                 // mean 0, standard deviation 1 (Box-Muller, one value per call)
  uint64_t below(uint64_t bound);  // uniform in [0, bound), without bias; bound > 0

  // Numbers drawn so far; seek() continues from there.
  uint64_t position() const { return position_; }
  void seek(uint64_t position);

 private:
  uint64_t key_;
  uint64_t substream_;
  uint64_t position_ = 0;
  std::array<uint32_t, 4> block_{};
};

// Fisher-Yates shuffle driven by `stream`.
template <typename T>
void shuffle(std::vector<T>& items, RandomStream& stream) {
  for (size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[static_cast<size_t>(stream.below(i))]);
  }
}

}  // namespace simile
