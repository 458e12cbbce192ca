// SPDX-License-Identifier: Apache-2.0
#include "simile/train/placement.h"

#include <ATen/Context.h>
#include <fmt/ranges.h>
#include <torch/cuda.h>

#include <algorithm>
#include <cctype>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/kernel/vector_kernels.h"
#include "simile/nn/engines.h"
#include "simile/train/flat_optimizer.h"

namespace simile {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorKind::kRecipe, message); }

// The number in "cuda:N"; 0 for "cuda"; -1 for anything else.
int64_t gpu_number(const std::string& device) {
  if (device == "cuda") return 0;
  constexpr size_t kLongest = 4;
  const std::string digits = device.rfind("cuda:", 0) == 0 ? device.substr(5) : "";
  const bool is_number =
      !digits.empty() && digits.size() <= kLongest &&
      std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); });
  return is_number ? std::stoll(digits) : -1;
}

void check_name(const char* key, const std::string& name, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  refuse(fmt::format("`{}: {}`: expected one of {}", key, name, fmt::join(names, ", ")));
}

}  // namespace

const std::vector<std::string>& engine_names() {
  static const std::vector<std::string> names = {"auto", "fused", "torch"};
  return names;
}

const std::vector<std::string>& compute_names() {
  static const std::vector<std::string> names = {"fp32", "bf16", "tf32"};
  return names;
}

torch::Device choose_device(const std::string& name) {
  if (name == "cpu") return torch::Device(torch::kCPU);
  const int64_t number = gpu_number(name);
  SIMILE_CHECK(number >= 0, ErrorKind::kRecipe,
               "`device: {}`: expected cpu, cuda, or cuda:1 for the second GPU", name);
  SIMILE_CHECK(torch::cuda::is_available(), ErrorKind::kRecipe,
               "`device: {}`: expected a GPU that libtorch can use, found none; set `device: "
               "cpu`, or run where `nvidia-smi` lists a GPU and a driver no older than "
               "libtorch's CUDA asks for, built with a libtorch that has CUDA (docs/gpu.md)",
               name);
  const auto count = static_cast<int64_t>(torch::cuda::device_count());
  SIMILE_CHECK(number < count, ErrorKind::kRecipe,
               "`device: {}`: expected a number below {}, the GPUs of this machine", name, count);
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(number)};
}

Placement choose_placement(const std::string& engine, const std::string& device,
                           const std::string& compute) {
  check_name("engine", engine, engine_names());
  check_name("compute", compute, compute_names());
  SIMILE_CHECK(
      !(engine == "fused" && device != "cpu" && gpu_number(device) >= 0), ErrorKind::kRecipe,
      "`device: {}`: the engine `fused` computes on the CPU; omit `engine`, or set `device: cpu`",
      device);
  Placement placement;
  placement.device = choose_device(device);
  const bool is_fused = engine == "fused" || (engine == "auto" && placement.device.is_cpu());
  placement.engine = is_fused ? Engine::kFused : Engine::kTorch;
  if (compute == "bf16") {
    if (is_fused) check_bfloat_products("`compute: bf16`");
    placement.products = ProductType::kBfloat;
  } else if (compute == "tf32") {
    SIMILE_CHECK(!placement.device.is_cpu(), ErrorKind::kRecipe,
                 "`compute: tf32` is a GPU's way to multiply; leave it out, or set `device: cuda`");
    at::globalContext().setAllowTF32CuBLAS(true);
  }
  return placement;
}

void describe_machine(const Placement& placement, bool is_alone, RecipeInputs& inputs) {
  std::string level = vector_kernels().name;
  if (placement.products == ProductType::kBfloat && placement.engine == Engine::kFused) {
    level += bfloat_kernels()->isa == BfloatIsa::kAmx ? " with amx" : " with bf16";
  }
  inputs["processor level (SIMILE_ISA)"] = level;
  if (is_alone && placement.engine == Engine::kTorch && placement.device.is_cpu()) {
    inputs["number of threads (--threads)"] = std::to_string(thread_count());
  }
}

ProductType choose_inference_products(const std::string& precision, torch::Device device) {
  if (device.is_cpu()) return choose_precision(precision);
  const ProductType products = parse_precision(precision);
  check_torch_products(products);
  return products;
}

std::unique_ptr<TrainableEncoder> place_encoder(const EncoderShape& shape,
                                                const Placement& placement) {
  const EncoderMemory memory = allocate_encoder_memory(shape, placement.device);
  if (placement.engine == Engine::kTorch) {
    return make_torch_encoder(shape, memory, placement.products);
  }
  return make_fused_encoder(shape, memory, placement.products);
}

HeadModule place_head(const HeadSettings& settings, int64_t H, const Placement& placement) {
  return HeadModule(settings, H, torch::TensorOptions(torch::kFloat).device(placement.device));
}

std::unique_ptr<MaskedLmModule> place_masked_lm(const EncoderShape& shape,
                                                const Placement& placement) {
  if (placement.engine == Engine::kFused) return make_fused_masked_lm(shape, placement.products);
  return make_torch_masked_lm(shape, placement.device, placement.products);
}

std::unique_ptr<Optimizer> place_optimizer(const OptimizerOptions& options,
                                           TrainableEncoder* encoder,
                                           const std::vector<TrainedTensor>& extras,
                                           const Placement& placement,
                                           EmbeddingGradient embedding) {
  const bool defers = encoder != nullptr && embedding == EmbeddingGradient::kRows;
  std::vector<ParameterSlot> slots;
  torch::Tensor parameters, gradients;
  if (encoder != nullptr) {
    slots = encoder_layout(encoder->shape());
    parameters = encoder->parameters();
    gradients = encoder->gradients();
  }
  if (placement.engine == Engine::kTorch) {
    return std::make_unique<TensorOptimizer>(options, slots, parameters, gradients, extras,
                                             defers ? slots.front().shape[0] : 0);
  }
  return std::make_unique<FlatOptimizer>(options, slots, parameters, gradients,
                                         defers ? deferred_table(slots.front()) : DeferredTable(),
                                         extras);
}

void place_batch(LossInput& input) {
  const auto move = [&](torch::Tensor& tensor) {
    if (tensor.defined()) tensor = tensor.to(input.left.device());
  };
  for (auto* tensor : {&input.target, &input.classes, &input.left_group, &input.right_group}) {
    move(*tensor);
  }
  for (auto* teachers : {&input.left_teachers, &input.right_teachers}) {
    for (torch::Tensor& teacher : *teachers) move(teacher);
  }
}

ModelWeights::ModelWeights(const ModelSettings& settings, const std::vector<HeadSettings>& heads,
                           const Placement& placement)
    : placement_(placement),
      encoder_(place_encoder(settings.encoder.shape(), placement)),
      head_settings_(heads) {
  for (const HeadSettings& head : heads) {
    heads_.push_back(place_head(head, settings.embedding_size(), placement));
  }
  share_layers(heads_);
}

int64_t ModelWeights::count() const {
  int64_t count = encoder_->parameter_count();
  for (const HeadModule& head : heads_) count += head.parameter_count();
  return count;
}

std::vector<float> ModelWeights::copy() const {
  std::vector<float> all = encoder_->to_host();
  all.reserve(static_cast<size_t>(count()));
  for (const HeadModule& head : heads_) {
    const std::vector<float> weights = head.to_host();
    all.insert(all.end(), weights.begin(), weights.end());
  }
  return all;
}

void ModelWeights::assign(const std::vector<float>& weights) {
  SIMILE_CHECK(static_cast<int64_t>(weights.size()) == count(), ErrorKind::kInput,
               "there are {} weights, the model with its heads has {}", weights.size(), count());
  const float* next = weights.data();
  encoder_->from_host(next);
  next += encoder_->parameter_count();
  for (HeadModule& head : heads_) {
    head.from_host(next);
    next += head.parameter_count();
  }
}

}  // namespace simile
