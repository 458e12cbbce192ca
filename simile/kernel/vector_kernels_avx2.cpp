// SPDX-License-Identifier: Apache-2.0
#define SIMILE_ISA Isa::kAvx2
#define SIMILE_ISA_NAME "avx2"
#define SIMILE_ISA_TABLE kAvx2VectorKernels
#include "simile/kernel/detail/vector_kernels.inc"
