// SPDX-License-Identifier: Apache-2.0
#define SIMILE_BYTE_ISA ByteIsa::kBaseline
#define SIMILE_BYTE_NAME "baseline"
#define SIMILE_BYTE_TABLE kBaselineByteKernels
#include "simile/kernel/detail/byte_pairs.inc"
