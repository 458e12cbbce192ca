// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/vector_kernels.h"

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

}  // namespace simile
