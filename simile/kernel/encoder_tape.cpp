// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/detail/encoder_tape.h"

#include "simile/kernel/encoder_training.h"

namespace simile {
namespace {

NormTape carve_norm(Carver& carver, int64_t rows, int64_t width) {
  NormTape tape{};
  tape.output = carver.floats(rows * width);
  tape.normalized = carver.floats(rows * width);
  tape.inverse_deviation = carver.floats(rows);
  return tape;
}

LayerTape carve_layer(const EncoderShape& s, const EncoderDropout& dropout, const BatchPlan& plan,
                      bool attention_norm, Carver& carver) {
  const int64_t rows = plan.rows, H = s.hidden;
  const auto active = [&](DropoutPlace place) { return DropoutMask(dropout, place, 0).active(); };
  const auto keep = [&](bool has, DropoutPlace place, int64_t bytes) {
    return has && active(place) ? carver.bytes(bytes) : nullptr;
  };
  LayerTape layer{};
  layer.qkv = carver.floats(rows * 3 * H);
  layer.statistics = carver.floats(rows * s.heads * 2);
  layer.context = carver.floats(rows * H);
  if (attention_norm) layer.attention = carve_norm(carver, rows, H);
  layer.attention.keep =
      keep(s.attended_dropout, DropoutPlace::kAttentionOutput, rows * mask_bytes(H));
  layer.up = carver.floats(rows * s.up_size());
  layer.output = carve_norm(carver, rows, H);
  layer.output.keep = keep(s.output_dropout, DropoutPlace::kOutput, rows * mask_bytes(H));
  layer.inner_keep = keep(s.inner_dropout, DropoutPlace::kInner, rows * mask_bytes(s.intermediate));
  const int64_t factors = static_cast<int64_t>(plan.sequences.size()) * s.heads;
  layer.head_factors = active(DropoutPlace::kHead) ? carver.floats(factors) : nullptr;
  return layer;
}

}  // namespace

int64_t carve_tape(const EncoderShape& s, const EncoderDropout& dropout, TapeContents& tape,
                   float* base) {
  Carver carver(base);
  const int64_t rows = tape.plan.rows, H = s.hidden, E = s.embedding_size();
  tape.embedding = carve_norm(carver, rows, E);
  if (DropoutMask(dropout, DropoutPlace::kEmbedding, 0).active()) {
    tape.embedding.keep = carver.bytes(rows * mask_bytes(E));
  }
  tape.projected = s.projected ? carver.floats(rows * H) : nullptr;
  tape.stream = s.pre_norm ? carver.floats(rows * H) : nullptr;
  tape.final = s.pre_norm ? carve_norm(carver, rows, H) : NormTape{};
  tape.layers.resize(static_cast<size_t>(s.layers));
  for (size_t i = 0; i < tape.layers.size(); ++i) {
    tape.layers[i] = carve_layer(s, dropout, tape.plan, !s.pre_norm || i > 0, carver);
  }
  return carver.used();
}

EncoderTape::EncoderTape(ProductType type) : contents_(std::make_unique<TapeContents>(type)) {}
EncoderTape::EncoderTape(EncoderTape&&) noexcept = default;
EncoderTape& EncoderTape::operator=(EncoderTape&&) noexcept = default;
EncoderTape::~EncoderTape() = default;

int64_t EncoderTape::bytes() const {
  return 4 * (contents_->activations.size() + contents_->gradients.size() + contents_->work.size() +
              contents_->panels.size());
}

}  // namespace simile
