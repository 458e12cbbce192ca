// SPDX-License-Identifier: Apache-2.0
#define SIMILE_ISA Isa::kBaseline
#define SIMILE_ISA_NAME "baseline"
#define SIMILE_ISA_TABLE kBaselineVectorKernels
#include "simile/kernel/detail/vector_kernels.inc"
