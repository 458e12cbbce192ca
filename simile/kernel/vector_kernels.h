// SPDX-License-Identifier: Apache-2.0
// The inner loops of the encoder, compiled once per instruction set and chosen at run time.
//
// vector_kernels() is a table of plain functions: single-threaded, without allocation, on raw
// floats that need no alignment. Every output number is a sum in an order fixed by the data alone,
// so rows are independent. All matrices are row-major; "ld" is the distance of rows in floats.
//
// The environment variable SIMILE_ISA=baseline|avx2|avx512 overrides the choice (for tests); a
// level this processor or build does not have is ErrorKind::kUsage.
#pragma once

#include <cstdint>

namespace simile {

struct BfloatKernels;

// The functions between the two products of a feed-forward network.
enum class Activation {
  kGelu,      // x Phi(x), Phi the normal distribution function (Hendrycks and Gimpel 2016)
  kGeluTanh,  // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, its approximation
  kRelu,      // max(x, 0)
  kSilu,      // x / (1 + exp(-x))
};

// The numbers of one step of Adam or AdamW (optimizer_update.h).
struct AdamUpdate {
  float learning_rate = 0.0f;
  float beta1 = 0.0f;
  float beta2 = 0.0f;
  float eps = 0.0f;
  float decay = 0.0f;              // decoupled weight decay
  float l2 = 0.0f;                 // coupled weight decay
  float first_correction = 1.0f;   // 1 - beta1^step, or 1 without bias correction
  float second_correction = 1.0f;  // 1 - beta2^step, or 1 without
  float gradient_scale = 1.0f;     // factor on the gradient, for clipping and accumulation
};

enum class Isa { kBaseline, kAvx2, kAvx512 };

// C [m, n] = A [m, k] * B [k, n] (+ bias, or + C), B as panels of pack_rows or pack_columns.
struct MatmulCall {
  int64_t m, n, k;
  const float* a;  // [m, k]
  int64_t lda;
  const float* panels;
  float* c;  // [m, n]
  int64_t ldc;
  const float* bias = nullptr;  // [n] or null
  bool accumulate = false;      // add to what C holds (then no bias)
  bool gelu = false;            // C = gelu(A B + bias), as Activation::kGelu
};

// Dropout bits that are made where they are used: those of fill_mask() from byte `first` on.
struct MaskStream {
  uint64_t key = 0;
  uint32_t site = 0;
  uint32_t threshold = 0;  // 0: no dropout
  uint64_t first = 0;
  float scale = 1;  // 1 / (1 - p), of what is kept
};

// Softmax attention of one sequence, all heads. Rows of qkv are tokens: H floats of query, H of
// key, H of value; head h owns floats h * head_size .. of each.
struct AttentionCall {
  int64_t length, heads, head_size;
  const float* qkv;  // [length, 3H]
  int64_t ld_qkv;
  float* context;  // [length, H]; backward: as forward left it
  int64_t ld_context;
  MaskStream dropout;       // of the probabilities: bits [heads, length, mask_bytes(length)]
  const float* head_scale;  // [heads] factor on each head's context, or null
  float* statistics;        // [heads, length, 2]: row maximum, 1 / row sum; null: not kept
  float* scratch;           // attention_scratch_floats(length, head_size) floats
  // Added to the scaled score of query i and key j of head h: shift[h * ld_shift + j - i], or null.
  // Readable from -(length - 1) to length + 15.
  const float* shift = nullptr;
  int64_t ld_shift = 0;
  int64_t window = 0;  // query i sees keys i - window .. i + window; 0: all
  // Not null: products of scores and of values are of numbers rounded to bfloat16, as these kernels
  // do them. Without window and dropout only, and `statistics` is not kept.
  const BfloatKernels* rounded = nullptr;
};

// Gradients for AttentionCall.
struct AttentionGradients {
  const float* context;  // [length, H], gradient of the context
  int64_t ld_context;
  float* qkv;  // [length, 3H], written
  int64_t ld_qkv;
  float* shift = nullptr;  // laid out as AttentionCall's, added to; null: not wanted
};

// Rotary positions (Su et al. 2021): of each head of query and key, numbers j and j + head_size / 2
// as a point of the plane, turned by the angle of row and j; backward turns back.
struct RotationCall {
  int64_t rows, heads, head_size;
  float* qkv;  // [rows, 3H], as AttentionCall's; values stay
  int64_t ld_qkv;
  const float* cosines;  // [rows, head_size / 2]
  const float* sines;
  bool backward;
};

// y = act(x), or gated: x [rows, 2 * width] is a gate g and a value v, y = act(g) * v.
struct ActivationCall {
  Activation activation;
  bool gated;
  int64_t rows, width;
  const float* x;  // [rows, width], gated: [rows, 2 * width]
  float* y;        // [rows, width]; may be x
};

// Gradients for ActivationCall.
struct ActivationGradients {
  const float* y;  // [rows, width] gradient of y
  float* x;        // gradient of x, written; may be y if not gated
  float* sums;     // its column sums, added to
};

// y = norm(dropout(x) + residual), with the values that backward needs.
struct NormCall {
  int64_t rows, width;
  const float* x;         // [rows, width]
  const float* residual;  // [rows, width] or null
  const uint8_t* keep;    // dropout bits on x [rows, mask_bytes(width)] or null
  float keep_scale;
  const float* weight;  // [width]
  const float* bias;    // [width] or null
  float eps;
  float* y;                  // [rows, width]; may be x or residual
  float* normalized;         // [rows, width] (z - mean) * inverse deviation, or null
  float* inverse_deviation;  // [rows] or null
};

struct NormGradients {
  int64_t rows, width;
  const float* y;  // [rows, width] gradient of y
  const float* normalized;
  const float* inverse_deviation;
  const float* weight;
  const uint8_t* keep;
  float keep_scale;
  float* residual;  // [rows, width] gradient of the residual, written; may be y
  float* x;  // [rows, width] gradient of x (through dropout), written; null when keep is null and
             // x's gradient is the residual's
  float* weight_sum;  // [width], added to
  float* bias_sum;    // [width], added to
  float* x_sum;       // [width] column sums of x's gradient, added to; or null
};

// One step of Adam or AdamW on n numbers (see optimizer_update.h).
struct AdamCall : AdamUpdate {
  int64_t n;
  float* weight;
  float* first;
  float* second;
  const float* gradient;
};

// y [width] = sum of weights[k] * x[rows[k]] over k < count: a sparse row times a dense matrix.
struct WeightedRowsCall {
  int64_t count;
  const int32_t* rows;
  const float* weights;
  const float* x;  // rows of `width` floats, ldx apart
  int64_t ldx, width;
  float* y;
};

// sum = factor * sum_i shares[i] * weights[which[i]] * row which[i] of a table [, width], in order.
struct RowSumCall {
  int64_t width, count;
  const int32_t* which;  // [count]
  const float* weights;  // of each row of the table; null: all 1
  float factor;
  bool accumulate;  // add to what `sum` holds
  float* sum;       // [width]
};

// y = x / |x| of each row, and 0 where |x| is at most kLeastLength.
struct UnitRowsCall {
  int64_t rows, width;
  const float* x;  // [rows, width]; backward does not look at it
  float* y;        // [rows, width]; may be x
  float* inverse;  // [rows] 1 / |x|, or 0
};
constexpr float kLeastLength = 1e-12f;

// Scores s = scale * x of a part of a matrix.
struct SoftmaxCall {
  int64_t rows, width;
  float scale;
  const float* x;
  int64_t ldx;
};

// Log sums and gradients of the terms s_ii - log sum_j e^s_ij of rows and columns; null without.
struct SoftmaxGradients {
  const float* row_log_sum;   // [rows]
  const float* row_gradient;  // [rows]
  int64_t columns;            // the first so many columns have terms; 0: none
  const float* column_log_sum;
  const float* column_gradient;
};

struct VectorKernels {
  Isa isa;
  const char* name;     // "avx2"
  int64_t panel_width;  // columns of a panel of B

  // B [k, n] of a matrix product as panels [ceil(n / panel_width), k, panel_width], zero-padded:
  // from w [n, k] (B = w transposed), or from b [k, n].
  void (*pack_rows)(const float* w, int64_t n, int64_t k, int64_t ldw, float* panels);
  void (*pack_columns)(const float* b, int64_t n, int64_t k, int64_t ldb, float* panels);
  void (*matmul)(const MatmulCall& call);
  // The same with A given transposed: call.a is [k, m] with rows lda apart. No bias, no gelu.
  void (*matmul_transposed)(const MatmulCall& call);
  // to [columns, rows] = from [rows, columns] transposed.
  void (*transpose)(const float* from, int64_t ld_from, int64_t rows, int64_t columns, float* to,
                    int64_t ld_to);

  void (*attention)(const AttentionCall& call);
  void (*attention_backward)(const AttentionCall& call, const AttentionGradients& gradients);
  void (*rotate)(const RotationCall& call);

  void (*norm)(const NormCall& call);
  void (*norm_backward)(const NormGradients& call);

  // Absolute errors: gelu below 4e-7 * max(1, |x|), the others below 5e-7 * max(1, |x|).
  void (*activate)(const ActivationCall& call);
  // Makes y again, with the same bits, and from its gradient that of x.
  void (*activate_backward)(const ActivationCall& call, const ActivationGradients& gradients);

  void (*add_rows)(int64_t n, const float* a, const float* b, const float* c,
                   float* y);                           // c or null; y may be a
  void (*add_to)(int64_t n, const float* x, float* y);  // y += x
  void (*column_sums)(int64_t rows, int64_t width, const float* x, int64_t ldx, float* sums);  // +=
  // y = x * keep * scale over rows of bits as in NormCall.
  void (*apply_mask)(int64_t rows, int64_t width, const float* x, const uint8_t* keep, float scale,
                     float* y);
  // Byte i of the mask is made of Philox block (first + i, site): see dropout.h.
  void (*fill_mask)(uint64_t key, uint32_t site, uint32_t threshold, uint64_t first, int64_t bytes,
                    uint8_t* mask);

  void (*sum_float_rows)(const RowSumCall& call, const float* table);
  void (*sum_half_rows)(const RowSumCall& call, const uint16_t* table);  // IEEE half precision
  void (*sum_byte_rows)(const RowSumCall& call, const int8_t* table);
  void (*unit_rows)(const UnitRowsCall& call);
  void (*unit_rows_backward)(const UnitRowsCall& call, const float* gradient, float* x_gradient);

  // The largest s of each row or column, and sum e^(s - largest).
  void (*row_softmax)(const SoftmaxCall& call, float* maxima, float* sums);
  void (*column_softmax)(const SoftmaxCall& call, float* maxima, float* sums);
  // The terms' gradient with respect to s, without their s_ii: y, laid out like x; y may be x.
  void (*softmax_gradient)(const SoftmaxCall& call, const SoftmaxGradients& of_terms, float* y);

  void (*exponential)(int64_t n, const float* x, float* y);  // x <= 0; relative error below 3e-7
  void (*adam)(const AdamCall& call);
  double (*sum_of_squares)(const float* x, int64_t n);
  void (*weighted_rows)(const WeightedRowsCall& call);
};

// The table for this processor.
const VectorKernels& vector_kernels();

// The table of one level, or null when this processor or build does not have it.
const VectorKernels* vector_kernels_for(Isa isa);

// Bytes of dropout bits for a row of `width` decisions: one bit each, rows padded to 16.
constexpr int64_t mask_bytes(int64_t width) { return (width + 15) / 16 * 2; }

// Floats that panels of B [k, n] take.
inline int64_t panel_floats(const VectorKernels& kernels, int64_t n, int64_t k) {
  return (n + kernels.panel_width - 1) / kernels.panel_width * kernels.panel_width * k;
}

// Floats of scratch an AttentionCall needs (the same for every instruction set).
constexpr int64_t attention_scratch_floats(int64_t length, int64_t head_size) {
  const int64_t padded_length = (length + 15) / 16 * 16, padded_size = (head_size + 15) / 16 * 16;
  return 12 * padded_length * padded_size + 3 * 32 * padded_length + 64 * padded_size + 256 +
         32 * mask_bytes(length) / 4;
}

}  // namespace simile
