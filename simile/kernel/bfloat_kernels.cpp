// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/bfloat_kernels.h"

#include "simile/core/error.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {

#ifdef SIMILE_BFLOAT
extern const BfloatKernels kAvx512BfloatKernels;
extern const BfloatKernels kAmxBfloatKernels;

namespace {

bool has_vectors() {
  return vector_kernels_for(Isa::kAvx512) != nullptr && __builtin_cpu_supports("avx512bf16");
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
