// SPDX-License-Identifier: Apache-2.0
// Which kernels of each kind of numbers this processor gets.
#include "simile/kernel/vector_kernels.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdlib>
#include <string>

#include "simile/core/error.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/kernel/byte_kernels.h"

namespace simile {

extern const VectorKernels kVectorKernelsBaseline;
extern const ByteKernels kByteKernelsBaseline;
#ifdef SIMILE_X86
extern const VectorKernels kVectorKernelsAvx2, kVectorKernelsAvx512;
extern const ByteKernels kByteKernelsAvx2, kByteKernelsAvx512;
#endif
#ifdef SIMILE_VNNI
extern const ByteKernels kByteKernelsVnni, kByteKernelsAmx;
#endif
#ifdef SIMILE_BFLOAT
extern const BfloatKernels kBfloatKernelsAvx512, kBfloatKernelsAmx;
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

// Whether this process may use tiles (AMX) for what `feature` names, a bit of CPUID's leaf 7, EDX.
// Linux gives a process the tiles' registers when it asks for them (arch_prctl(2),
// ARCH_REQ_XCOMP_PERM), which is done once; all threads have them then.
[[maybe_unused]] bool has_tiles([[maybe_unused]] unsigned feature) {
#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  constexpr unsigned kTile = 1u << 24;
  static const unsigned features = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 ? 0 : d;
  }();
  static const bool given =
      (features & kTile) != 0 && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return given && (features & feature) != 0;
#else
  return false;
#endif
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

const ByteKernels* byte_kernels_for(ByteIsa isa) {
  if (isa == ByteIsa::kBaseline) return &kByteKernelsBaseline;
#ifdef SIMILE_X86
  if (isa == ByteIsa::kAvx2 && vector_kernels_for(Isa::kAvx2)) return &kByteKernelsAvx2;
  const bool has_avx512 = vector_kernels_for(Isa::kAvx512) != nullptr;
  if (isa == ByteIsa::kAvx512 && has_avx512) return &kByteKernelsAvx512;
#endif
#ifdef SIMILE_VNNI
  constexpr unsigned kTileInt8 = 1u << 25;
  const bool has_vnni = has_avx512 && __builtin_cpu_supports("avx512vnni");
  if (isa == ByteIsa::kVnni && has_vnni) return &kByteKernelsVnni;
  if (isa == ByteIsa::kAmx && has_vnni && has_tiles(kTileInt8)) return &kByteKernelsAmx;
#endif
  return nullptr;
}

const ByteKernels& byte_kernels() {
  const Isa isa = vector_kernels().isa;
  if (isa == Isa::kBaseline) return kByteKernelsBaseline;
  if (isa == Isa::kAvx512) {
    for (const ByteIsa best : {ByteIsa::kAmx, ByteIsa::kVnni, ByteIsa::kAvx512}) {
      if (const ByteKernels* kernels = byte_kernels_for(best)) return *kernels;
    }
  }
  return *byte_kernels_for(ByteIsa::kAvx2);
}

const BfloatKernels* bfloat_kernels_for([[maybe_unused]] BfloatIsa isa) {
#ifdef SIMILE_BFLOAT
  constexpr unsigned kTileBfloat = 1u << 22;
  if (!vector_kernels_for(Isa::kAvx512) || !__builtin_cpu_supports("avx512bf16")) return nullptr;
  if (isa == BfloatIsa::kAvx512) return &kBfloatKernelsAvx512;
  if (has_tiles(kTileBfloat)) return &kBfloatKernelsAmx;
#endif
  return nullptr;
}

const BfloatKernels* bfloat_kernels() {
  if (vector_kernels().isa != Isa::kAvx512) return nullptr;
  const BfloatKernels* tiles = bfloat_kernels_for(BfloatIsa::kAmx);
  return tiles != nullptr ? tiles : bfloat_kernels_for(BfloatIsa::kAvx512);
}

}  // namespace simile
