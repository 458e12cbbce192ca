// SPDX-License-Identifier: Apache-2.0
// Cross-encoders of transformers and sentence-transformers: an encoder that reads two texts
// together, and a classifier with one label. Families and their heads; h is the encoder's states:
//
//   bert, albert                          w tanh(W h_1 + b) + c   (W the pooler)
//   roberta, xlm-roberta, camembert, mpnet   the same             (W in the classifier)
//   distilbert, electra                   the same with relu, gelu in place of tanh
//   modernbert                            w LayerNorm(gelu(W h)) + c, h the first or the mean state
//
// As simile's own parts these are a pooling, modules (model_settings.h) and a head with input
// joint. Its score is the logit, or its sigmoid where "activation_fn" of
// config_sentence_transformers.json or of "sentence_transformers" in config.json, or
// "sbert_ce_default_activation_function" there, is Sigmoid or missing.

#include <algorithm>
#include <cmath>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/model/encoder_family.h"
#include "simile/model/model_folder.h"
#include "simile/model/tensor_source.h"

namespace simile {
namespace {

using detail::Json;
using detail::JsonObject;

struct ClassifierRow {
  const char* model_type;
  const char* dense;       // names of tensors; one of the encoder may have its prefix before it
  const char* activation;  // of dense_activations()
  const char* norm;        // empty: none
  const char* output;
};

constexpr ClassifierRow kClassifiers[] = {
    {"bert", "pooler.dense", "Tanh", "", "classifier"},
    {"albert", "pooler", "Tanh", "", "classifier"},
    {"roberta", "classifier.dense", "Tanh", "", "classifier.out_proj"},
    {"xlm-roberta", "classifier.dense", "Tanh", "", "classifier.out_proj"},
    {"camembert", "classifier.dense", "Tanh", "", "classifier.out_proj"},
    {"mpnet", "classifier.dense", "Tanh", "", "classifier.out_proj"},
    {"electra", "classifier.dense", "GELU", "", "classifier.out_proj"},
    {"distilbert", "pre_classifier", "ReLU", "", "classifier"},
    {"modernbert", "head.dense", "GELU", "head.norm", "classifier"}};

// Reads the classifier's tensors of a weights file.
class ClassifierReader {
 public:
  ClassifierReader(const std::string& weights, const EncoderConfig& config)
      : file_(open_weights(weights)), prefix_(find_encoder_family(config.model_type)->prefix) {}

  bool has(const std::string& name) const { return find(name) != nullptr; }

  // Appends a tensor of that shape.
  void read(const std::string& name, const std::vector<int64_t>& shape,
            std::vector<float>& values) const {
    const TensorInfo* tensor = find(name);
    SIMILE_CHECK(tensor != nullptr && tensor->shape == shape, ErrorKind::kInput,
                 "{}: a cross-encoder of this family needs the tensor '{}' of shape {}, but it {}",
                 file_->path(), name, shape_text(shape),
                 tensor == nullptr ? "is missing" : "has shape " + shape_text(tensor->shape));
    const size_t begin = values.size();
    values.resize(begin + static_cast<size_t>(tensor->size));
    file_->read_floats(*tensor, 0, tensor->size, values.data() + begin);
    SIMILE_CHECK(std::all_of(values.begin() + static_cast<std::ptrdiff_t>(begin), values.end(),
                             [](float x) { return std::isfinite(x); }),
                 ErrorKind::kInput,
                 "{}: tensor '{}' holds a number that is not finite: it is damaged", file_->path(),
                 name);
  }

 private:
  const TensorInfo* find(const std::string& name) const {
    const TensorInfo* tensor = file_->find(name);
    return tensor != nullptr ? tensor : file_->find(prefix_ + name);
  }

  std::unique_ptr<TensorSource> file_;
  std::string prefix_;
};

// The path of a torch activation, where a file names one.
std::string read_activation(const Json& config, const std::string& config_path,
                            const std::string& folder) {
  const JsonObject json(config, config_path);
  const std::string path = join_path(folder, "config_sentence_transformers.json");
  if (file_exists(path)) {
    const Json parsed = detail::read_json(path);
    const JsonObject sentence(parsed, path);
    SIMILE_CHECK(
        !sentence.has("default_prompt_name"), ErrorKind::kInput,
        "{}: \"default_prompt_name\" is set, but prompts of cross-encoders are not supported",
        path);
    if (sentence.has("activation_fn")) return sentence.text("activation_fn");
  }
  if (json.has("sentence_transformers")) {
    const JsonObject inner(json.at("sentence_transformers"), config_path);
    if (inner.has("activation_fn")) return inner.text("activation_fn");
  }
  return json.text_or("sbert_ce_default_activation_function",
                      find_dense_activation("Sigmoid").torch_name);
}

}  // namespace

bool is_cross_encoder(const std::string& config_path) {
  const Json config = detail::read_json(config_path);
  const auto names = config.find("architectures"), labels = config.find("id2label");
  return names != config.end() && names->is_array() && !names->empty() && (*names)[0].is_string() &&
         labels != config.end() && labels->is_object() && labels->size() == 1 &&
         ends_with((*names)[0].get<std::string>(), "ForSequenceClassification");
}

void read_cross_encoder(const std::string& folder, ModelFolder& model) {
  ModelSettings& settings = model.settings;
  const std::string path = join_path(folder, "config.json");
  const Json config = detail::read_json(path);
  const JsonObject json(config, path);
  const auto* const row = std::find_if(
      std::begin(kClassifiers), std::end(kClassifiers),
      [&](const ClassifierRow& known) { return known.model_type == settings.encoder.model_type; });
  SIMILE_CHECK(row != std::end(kClassifiers), ErrorKind::kInput,
               "{}: a cross-encoder of model_type \"{}\" is not supported", path,
               settings.encoder.model_type);
  const std::string pooling = json.text_or("classifier_pooling", "cls");
  SIMILE_CHECK(pooling == "cls" || pooling == "mean", ErrorKind::kInput,
               "{}: \"classifier_pooling\" is \"{}\"; known: cls, mean", path, pooling);
  const std::string name = json.text_or("classifier_activation", "gelu");
  SIMILE_CHECK(name == "gelu", ErrorKind::kInput,
               "{}: \"classifier_activation\" is \"{}\"; only \"gelu\" is supported", path, name);
  settings.pooling = parse_pooling_mode(pooling);
  settings.normalize = false;
  settings.cross_encoder = true;

  verify_checksum(model.weights_path);
  const ClassifierReader reader(model.weights_path, settings.encoder);
  const int64_t H = settings.encoder.hidden;
  const auto dense_name = [&](const char* part) { return fmt::format("{}.{}", row->dense, part); };
  ModuleSettings dense;
  dense.kind = ModuleKind::kDense;
  dense.inputs = dense.outputs = H;
  dense.activation = row->activation;
  dense.bias = reader.has(dense_name("bias"));
  std::vector<float> weights;
  reader.read(dense_name("weight"), {H, H}, weights);
  if (dense.bias) reader.read(dense_name("bias"), {H}, weights);
  dense.weights = std::make_shared<const std::vector<float>>(std::move(weights));
  settings.modules = {dense};
  if (*row->norm != '\0') {
    const double eps = json.number_or("norm_eps", kModuleNormEps, 0, 1);
    SIMILE_CHECK(std::abs(eps - kModuleNormEps) < 1e-9, ErrorKind::kInput,
                 "{}: \"norm_eps\" is {}; of a cross-encoder only {} is supported", path, eps,
                 kModuleNormEps);
    ModuleSettings norm;
    norm.kind = ModuleKind::kLayerNorm;
    norm.inputs = norm.outputs = H;
    std::vector<float> scale;
    reader.read(fmt::format("{}.weight", row->norm), {H}, scale);
    const std::string bias = fmt::format("{}.bias", row->norm);
    if (reader.has(bias)) {
      reader.read(bias, {H}, scale);
    } else {
      scale.resize(static_cast<size_t>(2 * H));
    }
    norm.weights = std::make_shared<const std::vector<float>>(std::move(scale));
    settings.modules.push_back(norm);
  }

  const std::string activation = read_activation(config, path, model.path);
  const bool is_logit = activation == find_dense_activation("Identity").torch_name;
  SIMILE_CHECK(is_logit || activation == find_dense_activation("Sigmoid").torch_name,
               ErrorKind::kInput, "{}: the scores' activation is \"{}\"; known: {}, {}", path,
               activation, find_dense_activation("Identity").torch_name,
               find_dense_activation("Sigmoid").torch_name);
  HeadSettings head;
  head.name = "classifier";
  head.input = "joint";
  head.output = is_logit ? "score" : "probability";
  std::vector<float> output;
  reader.read(fmt::format("{}.weight", row->output), {1, H}, output);
  reader.read(fmt::format("{}.bias", row->output), {1}, output);
  model.heads = {
      {head, model.weights_path, std::make_shared<const std::vector<float>>(std::move(output))}};
}

}  // namespace simile
