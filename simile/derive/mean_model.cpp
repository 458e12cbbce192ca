// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/mean_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/core/text_table.h"
#include "simile/derive/convert.h"
#include "simile/encode/head.h"
#include "simile/model/encoder_family.h"
#include "simile/model/model_card.h"

namespace simile {
namespace {

// Facts that decide what a model's numbers mean, so that a message can name how two models differ.
struct ModelFact {
  std::string name, value;  // "the number of layers", "6"
};

class FactList {
 public:
  template <typename T>
  void add(const std::string& name, const T& value) {
    facts.push_back({name, fmt::format("{}", value)});
  }
  void add_text(const std::string& name, const std::string& value) {
    add(name, value.empty() ? "none" : "'" + value + "'");
  }

  std::vector<ModelFact> facts;
};

void add_encoder(const EncoderConfig& config, FactList& list) {
  list.add("the architecture", config.model_type);
  list.add("the number of layers", config.layers);
  list.add("the hidden size", config.hidden);
  list.add("the number of attention heads", config.heads);
  list.add("the feed-forward's size", config.intermediate);
  list.add("the vocabulary's size", config.vocabulary);
  list.add("the number of positions", config.positions);
  list.add("the number of token types", config.types);
  list.add("the norms' epsilon", config.layer_norm_eps);
  const EncoderVariant& v = config.variant;
  list.add("whether it is a static table", v.averaged);
  list.add("the embeddings' width", v.embedding);
  list.add("whether embeddings are projected", v.projected);
  list.add("the first position", v.position_offset);
  list.add("the base of rotary positions", v.rotary_base);
  list.add("the base of local rotary positions", v.local_rotary_base);
  list.add("the window of local layers", v.local_window);
  list.add("the period of global layers", v.global_every);
  list.add("the number of relative positions", v.relative_buckets);
  list.add("whether norms come first", v.pre_norm);
  list.add("whether layers share weights", v.shared_layers);
  list.add("the activation", activation_name(v.activation));
  list.add("whether the feed-forward is gated", v.gated);
  list.add("whether attention has biases", v.attention_bias);
  list.add("whether the feed-forward's first product has a bias", v.up_bias);
  list.add("whether its second has one", v.down_bias);
  list.add("whether norms have biases", v.norm_bias);
}

// Architecture, pooling, modules and what is done to texts and vectors, heads. Not dropout, trained
// temperatures, weights, nor the tokenizer. Models of equal architectures have the same names.
std::vector<ModelFact> model_facts(const ModelFolder& model) {
  FactList list;
  add_encoder(model.settings.encoder, list);
  const ModelSettings& settings = model.settings;
  list.add_text("the pooling", pooling_name(settings.pooling));
  list.add("whether a prompt is pooled", settings.pooling.include_prompt);
  list.add("the number of modules", settings.modules.size());
  for (const ModuleSettings& m : settings.modules) {
    list.add("a module behind the pooling",
             fmt::format("{} from {} to {} numbers ({}{}{})", module_kind_name(m.kind), m.inputs,
                         m.outputs, m.activation, m.bias ? ", bias" : "",
                         m.residual ? ", residual" : ""));
  }
  list.add("whether vectors are normalised", settings.normalize);
  list.add("the longest text", settings.max_length);
  list.add("whether texts are lower-cased", settings.lower_case);
  list.add("the number of dimensions kept", settings.dimensions);
  list.add("the similarity", settings.similarity);
  list.add_text("the default prompt", settings.default_prompt);
  list.add("the number of prompts", settings.prompts.size());
  for (const auto& [name, prompt] : settings.prompts) list.add_text("prompt " + name, prompt);
  list.add("the number of task heads", model.heads.size());
  for (const SavedHead& head : model.heads) {
    const HeadSettings& h = head.settings;
    list.add(
        "head " + h.name,
        fmt::format(
            "{} of input {} with output {} ({} layers of width {}; classes: {})", h.kind, h.input,
            h.output, h.layers, h.width,
            h.class_names.empty() ? "none" : fmt::format("{}", fmt::join(h.class_names, ", "))));
  }
  return list.facts;
}

std::vector<ModelFolder> open_all(const MeanOptions& options, EventSink& events) {
  const std::vector<std::string>& models = options.models;
  const std::vector<double>& weights = options.weights;
  SIMILE_CHECK(weights.empty() || weights.size() == models.size(), ErrorKind::kUsage,
               "{} models and {} weights; give each model a weight, or none for equal ones",
               models.size(), weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    SIMILE_CHECK(std::isfinite(weights[i]) && weights[i] > 0, ErrorKind::kUsage,
                 "the weight of '{}' is {}; expected a number above 0, such as 0.5", models[i],
                 weights[i]);
  }
  SIMILE_CHECK(models.size() >= 2, ErrorKind::kUsage, "{} model to average; give at least two",
               models.size());
  std::vector<ModelFolder> folders;
  for (const std::string& model : models) {
    folders.push_back(open_model_folder(model, events));
    check_encoder_weights(folders.back().weights_path, folders.back().settings.encoder);
  }
  return folders;
}

// Errors (kInput): the first thing in which `other` differs.
void check_like(const ModelFolder& first, const ModelFolder& other) {
  const std::vector<ModelFact> ours = model_facts(first);
  const std::vector<ModelFact> theirs = model_facts(other);
  const size_t common = std::min(ours.size(), theirs.size());
  for (size_t i = 0; i < common; ++i) {
    if (ours[i].name == theirs[i].name && ours[i].value == theirs[i].value) continue;
    throw_error(ErrorKind::kInput,
                "'{}' and '{}' cannot be averaged: {} is {} in the first and {} in the "
                "second; average runs of one recipe that began with the same model",
                first.path, other.path, ours[i].name, ours[i].value,
                ours[i].name == theirs[i].name ? theirs[i].value : "not there");
  }
  SIMILE_CHECK(ours.size() == theirs.size(), ErrorKind::kInput,
               "'{}' and '{}' cannot be averaged: only one of them has {}", first.path, other.path,
               (ours.size() > common ? ours : theirs)[common].name);
}

// All that is trained of a model.
struct ModelNumbers {
  std::vector<std::vector<float>> arrays;  // encoder, modules and heads, one behind the other
  Temperatures temperatures;
  double weight = 1;  // sum of those that were averaged
};

ModelNumbers read_numbers(const ModelFolder& folder, double weight, EventSink& events) {
  ModelNumbers numbers{{read_whole_encoder(folder, events)}, folder.settings.temperatures, weight};
  for (const ModuleSettings& module : folder.settings.modules) {
    numbers.arrays.push_back(module.weights == nullptr ? std::vector<float>() : *module.weights);
  }
  for (const SavedHead& head : folder.heads) {
    numbers.arrays.push_back(read_head_weights(head, folder.settings.embedding_size()));
  }
  return numbers;
}

void average_floats(std::vector<float>& mean, const std::vector<float>& other, double share) {
  constexpr int64_t kBlock = 1 << 16;
  run_parallel_blocks(static_cast<int64_t>(mean.size()), kBlock, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const double difference = static_cast<double>(other[i]) - mean[i];
      mean[i] = static_cast<float>(mean[i] + share * difference);
    }
  });
}

// Takes `other` into the mean `numbers`, by the weights of both.
void average_into(ModelNumbers& numbers, const ModelNumbers& other) {
  numbers.weight += other.weight;
  const double share = other.weight / numbers.weight;
  for (size_t i = 0; i < numbers.arrays.size(); ++i) {
    average_floats(numbers.arrays[i], other.arrays[i], share);
  }
  for (auto each = numbers.temperatures.begin(); each != numbers.temperatures.end();) {
    const auto theirs = other.temperatures.find(each->first);
    if (theirs == other.temperatures.end()) {
      each = numbers.temperatures.erase(each);
      continue;
    }
    each->second += share * (theirs->second - each->second);
    ++each;
  }
}

Tokenizer common_tokenizer(const std::vector<ModelFolder>& folders) {
  Tokenizer first = load_tokenizer(folders.front());
  const std::string json = first.to_json();
  for (const ModelFolder& folder : folders) {
    check_like(folders.front(), folder);
    SIMILE_CHECK(load_tokenizer(folder).to_json() == json, ErrorKind::kInput,
                 "'{}' and '{}' cannot be averaged: their tokenizers, and so their words, differ",
                 folders.front().path, folder.path);
  }
  return first;
}

std::string make_card(const std::vector<MeanPart>& parts, const std::string& output,
                      const ModelSettings& settings) {
  ModelCard card;
  card.title = folder_name(output);
  card.introduction = fmt::format(
      "The mean of the weights of {} models of one architecture, made by `simile fuse`.",
      parts.size());
  TableRows rows = {{"model", "share", "fingerprint"}};
  for (const MeanPart& part : parts) {
    card.part_models.push_back(part.model);
    rows.push_back({part.model, fmt::format("{:.4g}", part.share), part.fingerprint});
  }
  card.body = "## Parts\n\n" + markdown_table(rows);
  return make_model_card(card, settings);
}

// The first model's folder, with its numbers replaced by the mean.
void save_mean(const ModelFolder& first, const ModelNumbers& mean, const Tokenizer& tokenizer,
               const std::vector<MeanPart>& parts, const std::string& output, EventSink& events) {
  ModelToSave save;
  save.settings = first.settings;
  auto array = mean.arrays.begin();
  save.weights = (array++)->data();
  for (ModuleSettings& module : save.settings.modules) {
    if (module.weights != nullptr) {
      module.weights = std::make_shared<const std::vector<float>>(*array);
    }
    ++array;
  }
  save.settings.temperatures = mean.temperatures;
  save.tokenizer = read_tokenizer(first);
  save.tokenizer.merge(read_licences(first));
  save.model_card = make_card(parts, output, save.settings);
  save.self_test = test_weights(save.settings, save.weights, tokenizer);
  for (const SavedHead& head : first.heads) {
    save.heads.push_back({head.settings, (array++)->data()});
    if (!load_head(first, head.settings.name).scope) continue;
    events.warning(fmt::format(
        "the head '{}' will give every text a class: the bound below which a text belongs "
        "to none is of the vectors of '{}', and the mean has others",
        head.settings.name, first.path));
  }
  save_model_folder(output, save);
}

}  // namespace

std::vector<MeanPart> average_models(const MeanOptions& options, EventSink& events) {
  const std::vector<ModelFolder> folders = open_all(options, events);
  const Tokenizer tokenizer = common_tokenizer(folders);
  for (const ModelFolder& folder : folders) check_not_read(options.output, folder.path);
  std::vector<MeanPart> parts;
  ModelNumbers mean;
  for (size_t i = 0; i < folders.size(); ++i) {
    const double weight = options.weights.empty() ? 1 : options.weights[i];
    parts.push_back({options.models[i], model_fingerprint(folders[i]), weight});
    if (i == 0) {
      mean = read_numbers(folders[i], weight, events);
    } else {
      average_into(mean, read_numbers(folders[i], weight, silent_events()));
    }
  }
  for (MeanPart& part : parts) part.share /= mean.weight;
  save_mean(folders.front(), mean, tokenizer, parts, options.output, events);
  return parts;
}

}  // namespace simile
