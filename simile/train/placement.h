// SPDX-License-Identifier: Apache-2.0
// The engine and device of a run. Only this file decides on which device encoder, heads, losses'
// parameters, optimiser's moments and a batch's tensors are. Also the run's weights.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simile/kernel/matrix_product.h"
#include "simile/loss/loss_input.h"
#include "simile/model/head_settings.h"
#include "simile/model/model_settings.h"
#include "simile/nn/head.h"
#include "simile/nn/masked_lm_module.h"
#include "simile/nn/trainable_encoder.h"
#include "simile/train/optimizer.h"
#include "simile/train/train_state.h"

namespace simile {

enum class Engine {
  kFused,  // make_fused_encoder() and flat_optimizer.h
  kTorch   // make_torch_encoder() and optimizer.h
};

struct Placement {
  Engine engine = Engine::kFused;
  torch::Device device = torch::Device(torch::kCPU);
  // The number type of the encoder's large matrix products, see nn/engines.h.
  ProductType products = ProductType::kFloat;

  // The product type for losses, see LossInput: only the CPU's kernels have this option.
  ProductType loss_products() const {
    return engine == Engine::kFused ? products : ProductType::kFloat;
  }
};

// As recipes call them.
const std::vector<std::string>& engine_names();

// cpu, cuda or cuda:N. Errors (kRecipe): another name, or a GPU that does not exist.
torch::Device choose_device(const std::string& name);

// As recipes call the types of product.
const std::vector<std::string>& compute_names();

// Chooses by a recipe's `engine`, `device` and `compute`. Engine auto is fused on the CPU and torch
// on any other device. `tf32` lets a GPU round the operands of fp32 products to 11 bits, in all of
// the process. Errors (kRecipe): an unknown name; a GPU for the fused engine, or one that is not
// there; bf16 for the fused engine on a processor without it; tf32 on the CPU.
Placement choose_placement(const std::string& engine, const std::string& device,
                           const std::string& compute);

// Adds the processor level, and for the engine `torch` on the CPU, if the process trains alone, the
// number of threads: each decides the bits of a run.
void describe_machine(const Placement& placement, bool is_alone, RecipeInputs& inputs);

// The products of an option `precision`, for TrainableEncoder::inference() on `device`. Errors
// (kRecipe): an unknown name, or products that the device does not have.
ProductType choose_inference_products(const std::string& precision, torch::Device device);

std::unique_ptr<TrainableEncoder> place_encoder(const EncoderShape& shape,
                                                const Placement& placement);

HeadModule place_head(const HeadSettings& settings, int64_t H, const Placement& placement);

std::unique_ptr<MaskedLmModule> place_masked_lm(const EncoderShape& shape,
                                                const Placement& placement);

// Which rows of the word embedding a step gives a gradient: those of the ids it read, or every one
// (where it is the output matrix too).
enum class EmbeddingGradient { kRows, kDense };

// The optimiser of the encoder, null when it is frozen, and of tensors on the same device. Rows of
// its first tensor, a table by token ids, are updated when they are used, where the engine does so.
std::unique_ptr<Optimizer> place_optimizer(const OptimizerOptions& options,
                                           TrainableEncoder* encoder,
                                           const std::vector<TrainedTensor>& extras,
                                           const Placement& placement,
                                           EmbeddingGradient embedding = EmbeddingGradient::kRows);

// All that comes with a batch goes where its embeddings are.
void place_batch(LossInput& input);

// All that a run trains and a model folder keeps: the encoder's weights and those of its heads.
class ModelWeights {
 public:
  ModelWeights(const ModelSettings& settings, const std::vector<HeadSettings>& heads,
               const Placement& placement = {});

  const Placement& placement() const { return placement_; }
  TrainableEncoder& encoder() { return *encoder_; }
  std::vector<HeadModule>& heads() { return heads_; }

  const std::vector<HeadSettings>& head_settings() const { return head_settings_; }

  // All weights in one list, as start models, states and kept weights hold them: the encoder's,
  // then each head's. assign() errors (kInput): another number of weights.
  int64_t count() const;
  std::vector<float> copy() const;
  void assign(const std::vector<float>& weights);

 private:
  Placement placement_;
  std::unique_ptr<TrainableEncoder> encoder_;
  std::vector<HeadSettings> head_settings_;
  std::vector<HeadModule> heads_;
};

}  // namespace simile
