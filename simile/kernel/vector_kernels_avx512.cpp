// SPDX-License-Identifier: Apache-2.0
#define SIMILE_ISA Isa::kAvx512
#define SIMILE_ISA_NAME "avx512"
#define SIMILE_ISA_TABLE kAvx512VectorKernels
#include "simile/kernel/detail/vector_kernels.inc"
