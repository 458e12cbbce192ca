// SPDX-License-Identifier: Apache-2.0
// The encoder written out naively in double precision, for tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/packed.h"

namespace simile::reference {

using Numbers = std::vector<double>;

// Factors that dropout multiplies with: 0 or 1 / (1 - p); 1 without dropout.
struct Masks {
  // site 0: embedding; 1 + 2 * layer: attention output; 2 + 2 * layer: feed-forward output.
  std::function<double(int64_t site, int64_t token, int64_t column)> hidden;
  std::function<double(int64_t layer, int64_t head, int64_t query_token, int64_t key)> attention;
  std::function<double(int64_t layer, int64_t sequence, int64_t head)> head;
};

// y [rows, out] = x [rows, in] w^T + bias.
inline Numbers linear(const Numbers& x, const double* w, const double* bias, int64_t in,
                      int64_t out) {
  const int64_t rows = static_cast<int64_t>(x.size()) / in;
  Numbers y(static_cast<size_t>(rows * out));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < out; ++o) {
      double sum = bias[o];
      for (int64_t i = 0; i < in; ++i) sum += x[r * in + i] * w[o * in + i];
      y[r * out + o] = sum;
    }
  }
  return y;
}

inline void norm(Numbers& x, const double* weight, const double* bias, int64_t width, double eps) {
  for (size_t begin = 0; begin < x.size(); begin += width) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < width; ++i) mean += x[begin + i] / width;
    for (int64_t i = 0; i < width; ++i) variance += std::pow(x[begin + i] - mean, 2) / width;
    for (int64_t i = 0; i < width; ++i) {
      x[begin + i] = (x[begin + i] - mean) / std::sqrt(variance + eps) * weight[i] + bias[i];
    }
  }
}

inline double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }

// Context [tokens, H] of one layer from qkv [tokens, 3H].
inline Numbers attend(const EncoderShape& s, const PackedBatch& batch, const Numbers& qkv,
                      int64_t layer, const Masks& masks) {
  const int64_t H = s.hidden, d = s.head_size();
  Numbers context(static_cast<size_t>(batch.tokens() * H));
  for (int64_t n = 0; n < batch.size(); ++n) {
    const int64_t begin = batch.offsets[n], end = batch.offsets[n + 1];
    for (int64_t head = 0; head < s.heads; ++head) {
      for (int64_t q = begin; q < end; ++q) {
        Numbers p;
        double sum = 0;
        for (int64_t k = begin; k < end; ++k) {
          double score = 0;
          for (int64_t c = 0; c < d; ++c) {
            score += qkv[q * 3 * H + head * d + c] * qkv[k * 3 * H + H + head * d + c];
          }
          p.push_back(std::exp(score / std::sqrt(static_cast<double>(d))));
          sum += p.back();
        }
        for (int64_t k = begin; k < end; ++k) {
          double weight = p[k - begin] / sum;
          if (masks.attention) weight *= masks.attention(layer, head, q, k - begin);
          if (masks.head) weight *= masks.head(layer, n, head);
          for (int64_t c = 0; c < d; ++c) {
            context[q * H + head * d + c] += weight * qkv[k * 3 * H + 2 * H + head * d + c];
          }
        }
      }
    }
  }
  return context;
}

inline void drop(Numbers& x, int64_t width, int64_t site, const Masks& masks) {
  if (!masks.hidden) return;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] *= masks.hidden(site, static_cast<int64_t>(i) / width, static_cast<int64_t>(i) % width);
  }
}

// Hidden states [tokens, H] from a flat array laid out by encoder_layout(); perturbation is empty
// or [tokens, H].
inline Numbers encode(const EncoderShape& s, const EncoderPointers<const double>& w,
                      const PackedBatch& batch, const Masks& masks = {},
                      const Numbers& perturbation = {}) {
  const int64_t H = s.hidden;
  Numbers x;
  for (int64_t n = 0; n < batch.size(); ++n) {
    for (int64_t t = batch.offsets[n]; t < batch.offsets[n + 1]; ++t) {
      const int64_t type = batch.type_ids.empty() ? 0 : batch.type_ids[t];
      for (int64_t i = 0; i < H; ++i) {
        x.push_back(w.word[batch.ids[t] * H + i] + w.position[(t - batch.offsets[n]) * H + i] +
                    (s.types > 0 ? w.type[type * H + i] : 0.0));
      }
    }
  }
  norm(x, w.norm_weight, w.norm_bias, H, s.layer_norm_eps);
  for (size_t i = 0; i < perturbation.size(); ++i) x[i] += perturbation[i];
  drop(x, H, 0, masks);
  for (int64_t l = 0; l < s.layers; ++l) {
    const LayerPointers<const double>& layer = w.layers[l];
    const Numbers qkv = linear(x, layer.qkv_weight, layer.qkv_bias, H, 3 * H);
    Numbers a =
        linear(attend(s, batch, qkv, l, masks), layer.attention_weight, layer.attention_bias, H, H);
    drop(a, H, 1 + 2 * l, masks);
    for (size_t i = 0; i < x.size(); ++i) a[i] += x[i];
    norm(a, layer.attention_norm_weight, layer.attention_norm_bias, H, s.layer_norm_eps);
    Numbers up = linear(a, layer.up_weight, layer.up_bias, H, s.intermediate);
    for (double& v : up) v = gelu(v);
    x = linear(up, layer.down_weight, layer.down_bias, s.intermediate, H);
    drop(x, H, 2 + 2 * l, masks);
    for (size_t i = 0; i < x.size(); ++i) x[i] += a[i];
    norm(x, layer.output_norm_weight, layer.output_norm_bias, H, s.layer_norm_eps);
  }
  return x;
}

// Pointers into a flat array of doubles with the layout of `flat`.
inline EncoderPointers<const double> pointers(const EncoderShape& shape, const double* flat) {
  const std::vector<ParameterSlot> slots = encoder_layout(shape);
  size_t next = 0;
  const auto take = [&] { return flat + slots[next++].offset; };
  EncoderPointers<const double> p;
  p.word = take();
  p.position = take();
  p.type = take();
  p.norm_weight = take();
  p.norm_bias = take();
  for (int64_t i = 0; i < shape.layers; ++i) {
    LayerPointers<const double> layer;
    layer.qkv_weight = take();
    next += 2;
    layer.qkv_bias = take();
    next += 2;
    layer.attention_weight = take();
    layer.attention_bias = take();
    layer.attention_norm_weight = take();
    layer.attention_norm_bias = take();
    layer.up_weight = take();
    layer.up_bias = take();
    layer.down_weight = take();
    layer.down_bias = take();
    layer.output_norm_weight = take();
    layer.output_norm_bias = take();
    p.layers.push_back(layer);
  }
  return p;
}

}  // namespace simile::reference
