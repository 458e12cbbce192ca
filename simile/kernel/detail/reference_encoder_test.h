// SPDX-License-Identifier: Apache-2.0
// The encoder written out naively in double precision, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"

namespace simile::reference {

using Numbers = std::vector<double>;

// Factors that dropout multiplies with: 0 or 1 / (1 - p); 1 without dropout.
struct Masks {
  // site 0: embedding; 1 + 2 * layer: attention output; 2 + 2 * layer: feed-forward output.
  std::function<double(int64_t site, int64_t token, int64_t column)> hidden;
  std::function<double(int64_t layer, int64_t head, int64_t query_token, int64_t key)> attention;
  std::function<double(int64_t layer, int64_t sequence, int64_t head)> head;
  std::function<double(int64_t layer, int64_t token, int64_t column)> inner;
};

// y [rows, out] = x [rows, in] w^T + bias, which may be null.
inline Numbers linear(const Numbers& x, const double* w, const double* bias, int64_t in,
                      int64_t out) {
  const int64_t rows = static_cast<int64_t>(x.size()) / in;
  Numbers y(static_cast<size_t>(rows * out));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < out; ++o) {
      double sum = bias ? bias[o] : 0.0;
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
      x[begin + i] =
          (x[begin + i] - mean) / std::sqrt(variance + eps) * weight[i] + (bias ? bias[i] : 0.0);
    }
  }
}

inline double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kGelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

// Bucket of a key `distance` behind the query: half of them for either direction, of each half one
// for each of the nearest distances, the others on a logarithmic scale to 128.
inline int64_t bucket(int64_t distance, int64_t buckets) {
  const int64_t half = buckets / 2, exact = half / 2, n = std::abs(distance);
  const double steps = static_cast<double>(half - exact);
  const double wide = n == 0 ? 0
                             : std::log(n / static_cast<double>(exact)) /
                                   std::log(128.0 / static_cast<double>(exact)) * steps;
  const int64_t near = n < exact ? n : exact + static_cast<int64_t>(wide + 1e-9);
  return (distance > 0 ? half : 0) + std::min(half - 1, near);
}

// Turns query and key by their place in the sequence, angles in single precision.
inline void rotate(const EncoderShape& s, const PackedBatch& batch, double base, Numbers& qkv) {
  const int64_t d = s.head_size(), half = d / 2;
  for (int64_t n = 0; n < batch.size() && base > 0; ++n) {
    for (int64_t t = batch.offsets[n]; t < batch.offsets[n + 1]; ++t) {
      for (int64_t head = 0; head < 2 * s.heads; ++head) {
        for (int64_t j = 0; j < half; ++j) {
          const auto power = static_cast<float>(std::pow(base, 2.0 * j / static_cast<double>(d)));
          const float angle = static_cast<float>(t - batch.offsets[n]) * (1.0f / power);
          const double c = std::cos(double{angle}), sine = std::sin(double{angle});
          double& first = qkv[t * 3 * s.hidden + head * d + j];
          double& second = qkv[t * 3 * s.hidden + head * d + half + j];
          const double turned = first * c - second * sine;
          second = second * c + first * sine;
          first = turned;
        }
      }
    }
  }
}

// Context [tokens, H] of one layer from qkv [tokens, 3H].
inline Numbers attend(const EncoderShape& s, const PackedBatch& batch, const Numbers& qkv,
                      const double* relative, int64_t layer, const Masks& masks) {
  const int64_t H = s.hidden, d = s.head_size();
  Numbers context(static_cast<size_t>(batch.tokens() * H));
  for (int64_t n = 0; n < batch.size(); ++n) {
    const int64_t begin = batch.offsets[n], end = batch.offsets[n + 1];
    for (int64_t head = 0; head < s.heads; ++head) {
      for (int64_t q = begin; q < end; ++q) {
        Numbers p;
        double sum = 0;
        for (int64_t k = begin; k < end; ++k) {
          p.push_back(0.0);
          if (s.is_local(layer) && std::abs(k - q) > s.local_window) continue;
          double score = 0;
          for (int64_t c = 0; c < d; ++c) {
            score += qkv[q * 3 * H + head * d + c] * qkv[k * 3 * H + H + head * d + c];
          }
          score /= std::sqrt(static_cast<double>(d));
          if (relative)
            score +=
                relative[bucket(k - q, std::min<int64_t>(s.relative_buckets, 32)) * s.heads + head];
          p.back() = std::exp(score);
          sum += p.back();
        }
        for (int64_t k = begin; k < end; ++k) {
          if (p[k - begin] == 0) continue;
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

inline void add(Numbers& x, const Numbers& y) {
  for (size_t i = 0; i < y.size(); ++i) x[i] += y[i];
}

// The input of the first layer.
inline Numbers embed(const EncoderShape& s, const EncoderPointers<const double>& w,
                     const PackedBatch& batch, const Masks& masks, const Numbers& perturbation) {
  const int64_t E = s.embedding_size();
  Numbers x;
  for (int64_t n = 0; n < batch.size(); ++n) {
    const int64_t padding = s.position_offset > 0 ? s.position_offset - 1 : -1;
    int64_t counted = 0;
    for (int64_t t = batch.offsets[n]; t < batch.offsets[n + 1]; ++t) {
      const int64_t type = batch.type_ids.empty() ? 0 : batch.type_ids[t];
      const bool is_padding = batch.ids[t] == padding;
      const int64_t place = is_padding ? padding : s.position_offset + counted;
      if (!is_padding) ++counted;
      for (int64_t i = 0; i < E; ++i) {
        x.push_back(w.word[batch.ids[t] * E + i] + (w.position ? w.position[place * E + i] : 0.0) +
                    (w.type ? w.type[type * E + i] : 0.0));
      }
    }
  }
  norm(x, w.norm_weight, w.norm_bias, E, s.layer_norm_eps);
  if (!s.projected) add(x, perturbation);
  drop(x, E, 0, masks);
  if (!s.projected) return x;
  x = linear(x, w.projection_weight, w.projection_bias, E, s.hidden);
  add(x, perturbation);
  return x;
}

inline Numbers attention(const EncoderShape& s, const EncoderPointers<const double>& w,
                         const PackedBatch& batch, const Numbers& x, int64_t l,
                         const Masks& masks) {
  const int64_t H = s.hidden;
  const LayerPointers<const double>& layer = w.layers[l];
  Numbers qkv = linear(x, layer.qkv_weight, layer.qkv_bias, H, 3 * H);
  rotate(s, batch, s.is_local(l) ? s.local_rotary_base : s.rotary_base, qkv);
  Numbers a = linear(attend(s, batch, qkv, w.relative, l, masks), layer.attention_weight,
                     layer.attention_bias, H, H);
  if (s.attended_dropout) drop(a, H, 1 + 2 * l, masks);
  return a;
}

inline Numbers feed_forward(const EncoderShape& s, const LayerPointers<const double>& layer,
                            const Numbers& x, int64_t l, const Masks& masks) {
  const int64_t H = s.hidden, I = s.intermediate, U = s.up_size();
  const Numbers up = linear(x, layer.up_weight, layer.up_bias, H, U);
  Numbers inner;
  for (int64_t t = 0; t < static_cast<int64_t>(x.size()) / H; ++t) {
    for (int64_t i = 0; i < I; ++i) {
      double v = activate(s.activation, up[t * U + i]);
      if (s.gated) v *= up[t * U + I + i];
      if (s.inner_dropout && masks.inner) v *= masks.inner(l, t, i);
      inner.push_back(v);
    }
  }
  Numbers y = linear(inner, layer.down_weight, layer.down_bias, I, H);
  if (s.output_dropout) drop(y, H, 2 + 2 * l, masks);
  return y;
}

// Hidden states [tokens, H] from a flat array laid out by encoder_layout(); perturbation is empty
// or [tokens, H].
inline Numbers encode(const EncoderShape& s, const EncoderPointers<const double>& w,
                      const PackedBatch& batch, const Masks& masks = {},
                      const Numbers& perturbation = {}) {
  const int64_t H = s.hidden;
  const auto normed = [&](Numbers x, const double* weight, const double* bias) {
    if (weight) norm(x, weight, bias, H, s.layer_norm_eps);
    return x;
  };
  Numbers x = embed(s, w, batch, masks, perturbation);
  for (int64_t l = 0; l < s.layers; ++l) {
    const LayerPointers<const double>& layer = w.layers[l];
    const double *weight1 = layer.attention_norm_weight, *bias1 = layer.attention_norm_bias;
    const double *weight2 = layer.output_norm_weight, *bias2 = layer.output_norm_bias;
    if (s.pre_norm) {
      add(x, attention(s, w, batch, normed(x, weight1, bias1), l, masks));
      add(x, feed_forward(s, layer, normed(x, weight2, bias2), l, masks));
    } else {
      add(x, attention(s, w, batch, x, l, masks));
      x = normed(x, weight1, bias1);
      add(x, feed_forward(s, layer, x, l, masks));
      x = normed(x, weight2, bias2);
    }
  }
  return s.pre_norm ? normed(x, w.final_norm_weight, w.final_norm_bias) : x;
}

}  // namespace simile::reference
