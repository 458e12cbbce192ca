// SPDX-License-Identifier: Apache-2.0
// The numbers of one step of Adam or AdamW (see optimizer_update.h).
#pragma once

namespace simile {

// A recipe has its own defaults for them (simile/train/optimizer_rule.h).
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

}  // namespace simile
