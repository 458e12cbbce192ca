// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include <algorithm>
#include <cstring>

#include "simile/kernel/detail/encoder_tape.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

template <typename T>
T* shifted(T* pointer, int64_t by) {
  return pointer == nullptr ? nullptr : pointer + by;
}

// Where the results of one chunk go; rows count from the chunk's first.
struct ChunkPlaces {
  float* embedded;  // [rows, E], before the embeddings' norm
  NormTape embedding;
  float* projected;  // [rows, H]
  float* stream;     // [rows, H], with pre_norm
  NormTape final;
  float* sum;       // [rows, H], what attention and feed-forward give, before the residual
  float* inner;     // [rows, I], behind the activation
  float* scratch;   // of attention
  LayerTape layer;  // without a tape: of every layer
};

// Floats of work space for one chunk.
int64_t count_wide(const EncoderShape& s) {  // a token
  return std::max({4 * s.hidden, s.up_size(), s.embedding_size()});
}
int64_t count_work(const ForwardPass& pass) {
  const EncoderShape& s = pass.shape;
  const int64_t row = pass.tape == nullptr
                          ? 2 * s.hidden + count_wide(s)
                          : std::max(s.hidden, s.embedding_size()) + s.intermediate;
  const int64_t floats =
      pass.plan.largest_chunk * row + attention_scratch_floats(pass.plan.longest, s.head_size());
  return (floats + 15) / 16 * 16;
}

constexpr int64_t kLeastRounded = 64;  // tokens: attention to fewer is no faster in bfloat16

NormTape only(float* output) { return {output, nullptr, nullptr, nullptr}; }

// Hidden states [rows, H], what is added to them [rows, H], and a wide part that holds query, key,
// value and context, or the feed-forward's inside, or the embedding that is projected.
ChunkPlaces places_in_cache(const EncoderShape& s, int64_t rows, float* work) {
  float* const x = work;
  float* const sum = x + rows * s.hidden;
  float* const wide = sum + rows * s.hidden;
  ChunkPlaces p{};
  p.embedded = s.projected ? wide : x;
  p.embedding = only(p.embedded);
  p.projected = p.stream = x;
  p.final = only(x);
  p.sum = sum;
  p.inner = wide;
  p.scratch = wide + rows * count_wide(s);
  p.layer.qkv = p.layer.up = wide;
  p.layer.context = wide + 3 * rows * s.hidden;
  p.layer.attention = p.layer.output = only(s.pre_norm ? sum : x);
  return p;
}

NormTape shifted(const NormTape& tape, int64_t rows, int64_t width) {
  return {shifted(tape.output, rows * width), shifted(tape.normalized, rows * width),
          shifted(tape.inverse_deviation, rows), shifted(tape.keep, rows * mask_bytes(width))};
}

LayerTape shifted(const EncoderShape& s, const LayerTape& tape, int64_t rows) {
  LayerTape layer = tape;  // attention's bits and the heads' factors are found by sequence
  layer.qkv += rows * 3 * s.hidden;
  layer.statistics += rows * s.heads * 2;
  layer.context += rows * s.hidden;
  layer.attention = shifted(tape.attention, rows, s.hidden);
  layer.up += rows * s.up_size();
  layer.output = shifted(tape.output, rows, s.hidden);
  layer.inner_keep = shifted(tape.inner_keep, rows * mask_bytes(s.intermediate));
  return layer;
}

ChunkPlaces places_on_tape(const EncoderShape& s, const TapeContents& tape,
                           const PlannedChunk& chunk, float* work) {
  const int64_t row = chunk.row, E = s.embedding_size();
  ChunkPlaces p{};
  p.embedded = p.sum = work;
  p.inner = work + chunk.rows * std::max(s.hidden, E);
  p.scratch = p.inner + chunk.rows * s.intermediate;
  p.embedding = shifted(tape.embedding, row, E);
  p.projected = shifted(tape.projected, row * s.hidden);
  p.stream = shifted(tape.stream, row * s.hidden);
  p.final = shifted(tape.final, row, s.hidden);
  return p;
}

class ChunkForward {
 public:
  ChunkForward(const ForwardPass& pass, const PlannedChunk& chunk, float* work)
      : pass_(pass),
        shape_(pass.shape),
        weights_(pass.weights),
        chunk_(chunk),
        places_(pass.tape == nullptr ? places_in_cache(shape_, chunk.rows, work)
                                     : places_on_tape(shape_, *pass.tape, chunk, work)) {}

  void run() {
    const int64_t H = shape_.hidden;
    const float* x = embed();
    if (shape_.pre_norm && x != places_.stream) {
      std::memcpy(places_.stream, x, static_cast<size_t>(chunk_.rows * H) * sizeof(float));
    }
    for (int64_t i = 0; i < shape_.layers; ++i) {
      const LayerTape at = layer_places(i);
      if (shape_.pre_norm) {
        pre_norm_layer(i, at, x);
      } else {
        layer(i, at, x);
        x = at.output.output;
      }
    }
    if (shape_.pre_norm) {
      norm(places_.final, 1.0f, places_.stream, nullptr, H, weights_.final_norm_weight,
           weights_.final_norm_bias);
      x = places_.final.output;
    }
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence; ++i) {
      const PlannedSequence& s = pass_.plan.sequences[i];
      std::memcpy(pass_.hidden + s.token * H, x + (s.row - chunk_.row) * H,
                  static_cast<size_t>(s.length * H) * sizeof(float));
    }
  }

 private:
  LayerTape layer_places(int64_t i) const {
    if (pass_.tape == nullptr) return places_.layer;
    return shifted(shape_, pass_.tape->layers[static_cast<size_t>(i)], chunk_.row);
  }

  // The input of the first layer.
  const float* embed() {
    const int64_t E = shape_.embedding_size();
    const NormTape& at = places_.embedding;
    sum_embeddings(places_.embedded);
    fill(DropoutPlace::kEmbedding, 0, E, at.keep);
    plain_norm(at, places_.embedded, E, weights_.norm_weight, weights_.norm_bias);
    if (!shape_.projected) perturb(at.output);
    drop(DropoutPlace::kEmbedding, E, at.keep, at.output);
    if (!shape_.projected) return at.output;
    multiply(at.output, E, pass_.panels.projection(), weights_.projection_bias, places_.projected,
             shape_.hidden, false);
    perturb(places_.projected);
    return places_.projected;
  }

  // The sum of word, position and type embedding of each token.
  void sum_embeddings(float* sum) {
    const int64_t E = shape_.embedding_size();
    const PackedBatch& batch = pass_.batch;
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence; ++i) {
      const PlannedSequence& s = pass_.plan.sequences[i];
      PositionRows position_row(shape_.position_offset);
      for (int64_t token = s.token; token < s.token + s.length; ++token, sum += E) {
        const int64_t type = batch.type_ids.empty() ? 0 : batch.type_ids[token];
        const float* const word = word_row(weights_, E, batch.ids[token], sum);
        const float* const of_type = weights_.type ? weights_.type + type * E : nullptr;
        if (weights_.position) {
          const float* const place = weights_.position + position_row(batch.ids[token]) * E;
          kernels_.add_rows(E, word, place, of_type, sum);
        } else if (of_type) {
          kernels_.add_rows(E, word, of_type, nullptr, sum);
        } else if (word != sum) {
          std::memcpy(sum, word, static_cast<size_t>(E) * sizeof(float));
        }
      }
    }
  }

  void perturb(float* x) {
    const int64_t H = shape_.hidden;
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence && pass_.perturbation; ++i) {
      const PlannedSequence& s = pass_.plan.sequences[i];
      kernels_.add_to(s.length * H, pass_.perturbation + s.token * H, x + (s.row - chunk_.row) * H);
    }
  }

  void layer(int64_t i, const LayerTape& at, const float* x) {
    const int64_t H = shape_.hidden;
    const LayerPointers<const float>& w = weights_.layers[i];
    attend(i, at, x);
    fill(DropoutPlace::kAttentionOutput, i, H, at.attention.keep);
    norm(at.attention, scale(DropoutPlace::kAttentionOutput), places_.sum, x, H,
         w.attention_norm_weight, w.attention_norm_bias);
    feed_forward(i, at, at.attention.output);
    fill(DropoutPlace::kOutput, i, H, at.output.keep);
    norm(at.output, scale(DropoutPlace::kOutput), places_.sum, at.attention.output, H,
         w.output_norm_weight, w.output_norm_bias);
  }

  // `first` is what entered the first layer, whose attention has no norm before it.
  void pre_norm_layer(int64_t i, const LayerTape& at, const float* first) {
    const int64_t H = shape_.hidden;
    const LayerPointers<const float>& w = weights_.layers[i];
    if (w.attention_norm_weight) {
      plain_norm(at.attention, places_.stream, H, w.attention_norm_weight, w.attention_norm_bias);
    }
    attend(i, at, w.attention_norm_weight ? at.attention.output : first);
    add_to_stream(DropoutPlace::kAttentionOutput, i, at.attention.keep);
    plain_norm(at.output, places_.stream, H, w.output_norm_weight, w.output_norm_bias);
    feed_forward(i, at, at.output.output);
    add_to_stream(DropoutPlace::kOutput, i, at.output.keep);
  }

  void add_to_stream(DropoutPlace place, int64_t layer, uint8_t* keep) {
    const int64_t H = shape_.hidden;
    fill(place, layer, H, keep);
    drop(place, H, keep, places_.sum);
    kernels_.add_to(chunk_.rows * H, places_.sum, places_.stream);
  }

  // sum = attention of x, which may be sum
  void attend(int64_t i, const LayerTape& at, const float* x) {
    const int64_t H = shape_.hidden;
    const LayerPointers<const float>& w = weights_.layers[i];
    const LayerPanels& panels = pass_.panels.layer(i);
    multiply(x, H, panels.qkv, w.qkv_bias, at.qkv, 3 * H, false);
    attend_sequences(i, at);
    multiply(at.context, H, panels.attention, w.attention_bias, places_.sum, H, false);
  }

  // sum = feed-forward of x, which may be sum
  void feed_forward(int64_t i, const LayerTape& at, const float* x) {
    const int64_t H = shape_.hidden, I = shape_.intermediate;
    const LayerPointers<const float>& w = weights_.layers[i];
    const LayerPanels& panels = pass_.panels.layer(i);
    float* const inner = places_.inner;
    const bool at_once = at.up == inner && shape_.activation == Activation::kGelu && !shape_.gated;
    multiply(x, H, panels.up, w.up_bias, at.up, shape_.up_size(), at_once);
    if (!at_once) {
      kernels_.activate({shape_.activation, shape_.gated, chunk_.rows, I, at.up, inner});
    }
    fill(DropoutPlace::kInner, i, I, at.inner_keep);
    drop(DropoutPlace::kInner, I, at.inner_keep, inner);
    multiply(inner, I, panels.down, w.down_bias, places_.sum, H, false);
  }

  void multiply(const float* a, int64_t k, const float* panels, const float* bias, float* c,
                int64_t n, bool gelu) {
    pass_.panels.products().multiply({chunk_.rows, n, k, a, k, panels, c, n, bias, false, gelu});
  }

  void norm(const NormTape& at, float scale, const float* x, const float* residual, int64_t width,
            const float* weight, const float* bias) {
    kernels_.norm({chunk_.rows, width, x, residual, at.keep, scale, weight, bias,
                   shape_.layer_norm_eps, at.output, at.normalized, at.inverse_deviation});
  }

  // The norm alone: no dropout, no residual.
  void plain_norm(NormTape at, const float* x, int64_t width, const float* weight,
                  const float* bias) {
    at.keep = nullptr;
    norm(at, 1.0f, x, nullptr, width, weight, bias);
  }

  float scale(DropoutPlace place) const { return DropoutMask(pass_.dropout, place, 0).scale(); }

  // The bits of this chunk's tokens for one place.
  void fill(DropoutPlace place, int64_t layer, int64_t width, uint8_t* keep) {
    if (!keep) return;
    const int64_t bytes = mask_bytes(width);
    const DropoutMask mask(pass_.dropout, place, layer);
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence; ++i) {
      const PlannedSequence& s = pass_.plan.sequences[i];
      mask.fill((pass_.dropout.origin.token + s.token) * bytes, s.length * bytes,
                keep + (s.row - chunk_.row) * bytes);
    }
  }

  // x [chunk's rows, width] under the bits of `keep`, if there are any.
  void drop(DropoutPlace place, int64_t width, const uint8_t* keep, float* x) {
    if (keep) kernels_.apply_mask(chunk_.rows, width, x, keep, scale(place), x);
  }

  void attend_sequences(int64_t layer, const LayerTape& at) {
    const int64_t H = shape_.hidden, heads = shape_.heads;
    const bool local = shape_.is_local(layer);
    const PositionTables& tables = pass_.tables;
    const DropoutMask mask(pass_.dropout, DropoutPlace::kAttention, layer);
    const DropoutMask head_mask(pass_.dropout, DropoutPlace::kHead, layer);
    const DropoutOrigin& origin = pass_.dropout.origin;
    for (int64_t i = chunk_.first_sequence; i < chunk_.end_sequence; ++i) {
      const PlannedSequence& s = pass_.plan.sequences[i];
      const int64_t row = s.row - chunk_.row;
      float* const factors = shifted(at.head_factors, s.index * heads);
      if (factors) head_mask.fill_heads(origin.sequence + s.index, heads, factors);
      float* const qkv = at.qkv + row * 3 * H;
      rotate_sequence(shape_, tables, local, s.length, qkv);
      const bool rounds = pass_.tape == nullptr && s.length >= kLeastRounded && !local;
      kernels_.attention({s.length, heads, shape_.head_size(), qkv, 3 * H, at.context + row * H, H,
                          mask.stream(origin.attention_byte + s.mask), factors,
                          shifted(at.statistics, row * heads * 2), places_.scratch, tables.shift(),
                          tables.ld_shift(), local ? shape_.local_window : 0,
                          rounds ? pass_.panels.products().rounded() : nullptr});
    }
  }

  const VectorKernels& kernels_ = vector_kernels();
  const ForwardPass& pass_;
  const EncoderShape& shape_;
  const EncoderWeights& weights_;
  const PlannedChunk& chunk_;
  const ChunkPlaces places_;
};

}  // namespace

void run_forward(const ForwardPass& pass, int64_t threads, FloatBuffer& memory) {
  const std::vector<PlannedChunk>& chunks = pass.plan.chunks;
  if (chunks.empty()) return;
  const int64_t used = std::min<int64_t>(threads, static_cast<int64_t>(chunks.size()));
  const int64_t floats = count_work(pass);
  float* const work = memory.reserve(floats * used);
#pragma omp parallel for schedule(dynamic, 1) num_threads(used) if (used > 1)
  for (size_t i = 0; i < chunks.size(); ++i) {
    ChunkForward(pass, chunks[i], work + omp_get_thread_num() * floats).run();
  }
}

}  // namespace simile
