// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/bfloat_kernels.h"

#include "simile/core/error.h"
#include "simile/kernel/detail/tiles.h"
#include "simile/kernel/vector_kernels.h"

#ifdef SIMILE_BFLOAT
#include <cpuid.h>
#endif

namespace simile {

#ifdef SIMILE_BFLOAT
extern const BfloatKernels kAvx512BfloatKernels;
extern const BfloatKernels kAmxBfloatKernels;

namespace {

struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Leaf read_leaf(unsigned sub) {
  Leaf leaf;
  if (__get_cpuid_count(7, sub, &leaf.a, &leaf.b, &leaf.c, &leaf.d) == 0) return {};
  return leaf;
}

bool has_vectors() {
  constexpr unsigned kAvx512Bf16 = 1u << 5;
  return vector_kernels_for(Isa::kAvx512) != nullptr && (read_leaf(1).a & kAvx512Bf16) != 0;
}

}  // namespace

const BfloatKernels* bfloat_kernels_for(BfloatIsa isa) {
  if (isa == BfloatIsa::kAmx && !has_tiles(TileNumbers::kBfloat)) return nullptr;
  if (!has_vectors()) return nullptr;
  return isa == BfloatIsa::kAmx ? &kAmxBfloatKernels : &kAvx512BfloatKernels;
}
#else
const BfloatKernels* bfloat_kernels_for(BfloatIsa) { return nullptr; }
#endif

const BfloatKernels* bfloat_kernels() {
  if (vector_kernels().isa != Isa::kAvx512) return nullptr;
  const BfloatKernels* tiles = bfloat_kernels_for(BfloatIsa::kAmx);
  return tiles != nullptr ? tiles : bfloat_kernels_for(BfloatIsa::kAvx512);
}

const BfloatKernels& require_bfloat_kernels() {
  const BfloatKernels* kernels = bfloat_kernels();
  SIMILE_CHECK(kernels != nullptr, ErrorKind::kFailed,
               "a product of bfloat16 numbers on a processor without instructions for it");
  return *kernels;
}

}  // namespace simile
