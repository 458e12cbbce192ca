// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/detail/tiles.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace simile {

#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
namespace {

// Linux gives a process the tiles' registers when it asks for them (arch_prctl(2),
// ARCH_REQ_XCOMP_PERM).
bool ask_for_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// Leaf 7 of CPUID, register EDX.
unsigned read_features() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 ? 0 : d;
}

}  // namespace

bool has_tiles(TileNumbers numbers) {
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25;
  static const unsigned features = read_features();
  static const bool given = (features & kTile) != 0 && ask_for_tiles();
  return given && (features & (numbers == TileNumbers::kByte ? kInt8 : kBf16)) != 0;
}
#else
bool has_tiles(TileNumbers) { return false; }
#endif

}  // namespace simile
