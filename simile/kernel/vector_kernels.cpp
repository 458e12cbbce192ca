// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/vector_kernels.h"

#include <cstdlib>
#include <string>

#include "simile/core/error.h"

namespace simile {

extern const VectorKernels kBaselineVectorKernels;
#ifdef SIMILE_X86
extern const VectorKernels kAvx2VectorKernels;
extern const VectorKernels kAvx512VectorKernels;
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
  return kBaselineVectorKernels;
}

}  // namespace

const VectorKernels* vector_kernels_for(Isa isa) {
  if (isa == Isa::kBaseline) return &kBaselineVectorKernels;
#ifdef SIMILE_X86
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == Isa::kAvx2 && avx2) return &kAvx2VectorKernels;
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (isa == Isa::kAvx512 && avx512) return &kAvx512VectorKernels;
#endif
  return nullptr;
}

const VectorKernels& vector_kernels() {
  static const VectorKernels& chosen = choose_kernels();
  return chosen;
}

}  // namespace simile
