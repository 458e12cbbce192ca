// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/vector_kernels.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdlib>
#include <string>

#include "simile/core/error.h"

namespace simile {

extern const VectorKernels kVectorKernelsBaseline;
#ifdef SIMILE_X86
extern const VectorKernels kVectorKernelsAvx2;
extern const VectorKernels kVectorKernelsAvx512;
#endif

namespace {

const VectorKernels& choose_kernels() {
  if (const char* wanted = std::getenv("SIMILE_ISA")) {
    for (const Isa isa : {Isa::kAvx512, Isa::kAvx2, Isa::kBaseline}) {
      const VectorKernels* kernels = vector_kernels_for(isa);
      if (kernels && wanted == std::string(kernels->name)) return *kernels;
    }
    throw Error(ErrorKind::kUsage, std::string("SIMILE_ISA=") + wanted +
                                       ": expected baseline, avx2 or avx512, and one that this "
                                       "processor has; unset it to let the program choose");
  }
  for (const Isa isa : {Isa::kAvx512, Isa::kAvx2}) {
    if (const VectorKernels* kernels = vector_kernels_for(isa)) return *kernels;
  }
  return kVectorKernelsBaseline;
}

}  // namespace

const VectorKernels* vector_kernels_for(Isa isa) {
  if (isa == Isa::kBaseline) return &kVectorKernelsBaseline;
#ifdef SIMILE_X86
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == Isa::kAvx2 && avx2) return &kVectorKernelsAvx2;
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (isa == Isa::kAvx512 && avx512) return &kVectorKernelsAvx512;
#endif
  return nullptr;
}

const VectorKernels& vector_kernels() {
  static const VectorKernels& chosen = choose_kernels();
  return chosen;
}

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
