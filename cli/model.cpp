// SPDX-License-Identifier: Apache-2.0
#include "cli/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "simile/core/check.h"
#include "simile/core/unused_options.h"
#include "simile/encode/head.h"
#include "simile/encode/word_vectors.h"
#include "simile/eval/embedding_scorer.h"
#include "simile/eval/hybrid_scorer.h"
#include "simile/eval/lexical_baseline.h"
#include "simile/index/search_settings.h"
#include "simile/kernel/matrix_product.h"

namespace simile::cli {
namespace {

constexpr const char* kWordsPrefix = "words:";

LoadOnDevice device_loader = nullptr;

bool is_encoder(const std::string& name) {
  return make_lexical_scorer(name) == nullptr && name.rfind(kWordsPrefix, 0) != 0;
}

}  // namespace

void set_device_loader(LoadOnDevice load) { device_loader = load; }

void ModelOptions::visit(OptionVisitor& v) {
  EncodeOptions::visit(v);
  visit_arithmetic(v);
}

void ModelOptions::visit_arithmetic(OptionVisitor& v) {
  const std::string help =
      "Number type of a transformer's matrix products: fp32, bf16 (needs AMX or AVX-512-BF16), or "
      "int8 (a scale for each row of a matrix and each token). All else is fp32";
  v.field("precision", precision,
          choice_info(precision.empty() ? help + ". Default: that of the index" : help,
                      precision_names()));
  v.field("device", device,
          {"what computes the encoder: cpu, or, of a build with a libtorch that has CUDA, cuda, or "
           "cuda:1 for the second GPU (docs/gpu.md)"});
}

ModelOptions index_model_options() {
  ModelOptions options;
  options.precision.clear();
  return options;
}

SentenceEncoder load_encoder(const std::string& model, EventSink& events,
                             const ModelOptions& options) {
  SIMILE_CHECK(options.device == "cpu" || device_loader != nullptr, ErrorKind::kUsage,
               "--device {}: the program simile-training, which computes on devices, is not beside "
               "simile; build with -DSIMILE_TRAINING=ON (needs libtorch), or leave --device out",
               options.device);
  SentenceEncoder encoder =
      options.device == "cpu"
          ? SentenceEncoder::load(model, events, choose_precision(options.precision))
          : device_loader(model, options.device, options.precision, events);
  if (options.precision != "fp32" && encoder.settings().encoder.is_static()) {
    events.warning("a static encoder has no matrix products: --precision " + options.precision +
                   " changes nothing");
  }
  return encoder;
}

LoadEncoder loader_for(const ModelOptions& options) {
  return [device = options.device](const std::string& model, const std::string& precision,
                                   EventSink& events) {
    ModelOptions arithmetic;
    arithmetic.precision = precision;
    arithmetic.device = device;
    return load_encoder(model, events, arithmetic);
  };
}

IndexModelOptions for_index(const std::string& model, const ModelOptions& options) {
  return {model, options.precision, options, loader_for(options)};
}

void check_model_options(const std::vector<std::string>& models, const ModelOptions& options) {
  // Whether one of them, or that of a hybrid beside BM25, is a whole encoder.
  const bool has_encoder = std::any_of(models.begin(), models.end(), [](const std::string& model) {
    const std::string vectors = hybrid_model(model);
    return is_encoder(vectors.empty() ? model : vectors);
  });
  const std::vector<IdleOptions> idle = find_idle_options(
      options,
      {{!has_encoder, {"batch_tokens", "prompt", "dimensions", "precision", "device"}, ""}});
  if (idle.empty()) return;
  std::string flag = idle[0].names[0];
  std::replace(flag.begin(), flag.end(), '_', '-');
  throw_error(ErrorKind::kUsage, "--{} is for encoders and does nothing with {}; remove it", flag,
              fmt::join(models, ", "));
}

std::unique_ptr<Scorer> make_scorer(const std::string& model, const ModelOptions& options,
                                    Terminal& terminal, const std::string& language) {
  if (std::unique_ptr<Scorer> lexical = make_lexical_scorer(model, language)) return lexical;
  const bool words_only = model.rfind(kWordsPrefix, 0) == 0;
  const std::string name = words_only ? model.substr(std::strlen(kWordsPrefix)) : model;
  if (words_only) return std::make_unique<EmbeddingScorer>(model, load_word_means(name, terminal));
  auto encoder = std::make_shared<const SentenceEncoder>(load_encoder(name, terminal, options));
  return make_encoder_scorer(model, encoder, load_heads(open_model_folder(name, silent_events())),
                             options, terminal, [encoder, &terminal](const EncodeCounts& counts) {
                               warn_of_cut_texts(counts, *encoder, terminal);
                             });
}

std::shared_ptr<Scorer> make_set_scorer(const std::string& model,
                                        const std::shared_ptr<Scorer>& vectors,
                                        const GivenOptions<FusionOptions>& fusion,
                                        const std::string& language) {
  const std::string name = hybrid_model(model);
  if (name.empty()) return vectors;
  FusionOptions of_model;
  if (is_encoder(name)) of_model = read_model_search_settings(resolve_model(name)).fusion;
  return std::make_shared<HybridScorer>(model, std::make_shared<Bm25Scorer>(language), vectors,
                                        fusion.over(of_model));
}

}  // namespace simile::cli
