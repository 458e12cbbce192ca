// SPDX-License-Identifier: Apache-2.0
#define SIMILE_BYTE_ISA ByteIsa::kAvx2
#define SIMILE_BYTE_NAME "avx2"
#define SIMILE_BYTE_TABLE kAvx2ByteKernels
#include "simile/kernel/detail/byte_pairs.inc"
