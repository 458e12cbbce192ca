// SPDX-License-Identifier: Apache-2.0
// The settings of a sentence-transformers folder besides the weights: how tokens become one vector.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simile/kernel/encoder_parameters.h"
#include "simile/model/encoder_config.h"

namespace simile {

// The modules after the pooling of a sentence-transformers model; each maps a vector x:
//
//   Dense      f(W x + b) (+ R x, or + x where the sizes are equal)   W, R [outputs, inputs]
//   LayerNorm  (x - mean) / sqrt(variance + 1e-5) * w + b             over the vector's numbers
//   Normalize  x / max(|x|, 1e-12)
//
// f is one of dense_activations(); + R x with use_residual only.
enum class ModuleKind { kDense, kLayerNorm, kNormalize };

const char* module_kind_name(ModuleKind kind);  // "Dense": the last part of the type

constexpr float kModuleNormEps = 1e-5f;

struct ModuleSettings {
  ModuleKind kind = ModuleKind::kNormalize;
  int64_t inputs = 0, outputs = 0;      // equal but for Dense
  std::string activation = "Identity";  // Dense: a name of dense_activations()
  bool bias = true;                     // Dense
  bool residual = false;                // Dense
  // The tensors of module_layout() one behind the other; null for Normalize.
  std::shared_ptr<const std::vector<float>> weights;
};

// linear.weight, linear.bias, residual.weight of Dense; norm.weight, norm.bias of LayerNorm: those
// the module has, under the names and in the shapes sentence-transformers saves.
std::vector<ParameterSlot> module_layout(const ModuleSettings& module);

struct DenseActivation {
  const char* name;        // "Tanh"
  const char* torch_name;  // "torch.nn.modules.activation.Tanh": activation_function
  const char* formula;
  double (*apply)(double);
};

const std::vector<DenseActivation>& dense_activations();

// The activation of that name. It must be one of dense_activations().
const DenseActivation& find_dense_activation(const std::string& name);

struct PoolingModeRow {
  PoolingMode mode;
  const char* name;     // of the newer schema: "mean_sqrt_len_tokens"
  const char* flag;     // of the older schema: "pooling_mode_mean_sqrt_len_tokens"
  const char* formula;  // over a sequence's hidden states h_1 ... h_n
};

const std::vector<PoolingModeRow>& pooling_modes();
std::vector<std::string> pooling_mode_names();

std::string pooling_mode_name(PoolingMode mode);          // "cls", "mean", "max" ...
PoolingMode parse_pooling_mode(const std::string& name);  // ErrorKind::kRecipe names the choices

// Several vectors, one behind the other, of the tokens that are not left out. No modes: the encoder
// gives one state a sequence (EncoderVariant::averaged), which is the vector.
struct Pooling {
  Pooling() = default;
  Pooling(PoolingMode mode) : modes{mode} {}  // one mode is a pooling  NOLINT
  bool operator==(const Pooling& other) const {
    return modes == other.modes && include_prompt == other.include_prompt;
  }

  std::vector<PoolingMode> modes = {PoolingMode::kMean};
  bool include_prompt = true;  // false: a prompt's tokens count in attention only
};

std::string pooling_name(const Pooling& pooling);  // "cls+mean"

// Trained temperatures by the name of their loss and its normalisation ("bsc l2").
using Temperatures = std::map<std::string, double>;

struct ModelSettings {
  EncoderConfig encoder;
  Pooling pooling;
  std::vector<ModuleSettings> modules;  // after pooling, but for Normalize at the end
  bool normalize = true;                // at the end each vector is divided by its L2 norm
  int64_t max_length = 512;             // tokens per text, special tokens included
  bool lower_case = false;              // texts are lower-cased before the tokenizer sees them
  std::map<std::string, std::string> prompts;  // name -> text put before the input
  std::string default_prompt;                  // a name in `prompts`, or empty
  std::string similarity = "cosine";           // cosine, dot, euclidean or manhattan
  Temperatures temperatures;
  bool cross_encoder = false;  // scores pairs by its head; its vectors mean nothing
  bool token_types = true;     // the second text of a pair has the type 1, where the encoder has it
  int64_t dimensions = 0;      // leading dimensions kept; 0 keeps all

  int64_t pooled_size() const;     // numbers in what pooling gives
  int64_t embedding_size() const;  // numbers in a vector after the modules, before `dimensions`
  int64_t vector_size() const { return dimensions > 0 ? dimensions : embedding_size(); }
};

}  // namespace simile
