// SPDX-License-Identifier: Apache-2.0
#define SIMILE_BYTE_ISA ByteIsa::kAvx512
#define SIMILE_BYTE_NAME "avx512"
#define SIMILE_BYTE_TABLE kAvx512ByteKernels
#include "simile/kernel/detail/byte_pairs.inc"
