// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/detail/model_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace simile::detail {
namespace {

class FactList {
 public:
  template <typename T>
  void add(const std::string& name, const T& value) {
    facts.push_back({name + suffix, fmt::format("{}", value)});
  }
  void add_text(const std::string& name, const std::string& value) {
    add(name, value.empty() ? "none" : "'" + value + "'");
  }

  std::string suffix;
  std::vector<ModelFact> facts;
};

void add_variant(const EncoderVariant& v, FactList& list) {
  list.add("whether it is a static table", v.averaged);
  list.add("`saturation`", v.saturation);
  list.add("`half_position`", v.half_position);
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
  list.add("the activation", static_cast<int>(v.activation));
  list.add("whether the feed-forward is gated", v.gated);
  list.add("whether attention has biases", v.attention_bias);
  list.add("whether the feed-forward's first product has a bias", v.up_bias);
  list.add("whether its second has one", v.down_bias);
  list.add("whether norms have biases", v.norm_bias);
}

void add_encoder(const EncoderConfig& config, FactList& list) {
  list.add("the architecture", config.model_type);
  list.add("the number of parts", config.parts.size());
  list.add("the number of layers", config.layers);
  list.add("the hidden size", config.hidden);
  list.add("the number of attention heads", config.heads);
  list.add("the feed-forward's size", config.intermediate);
  list.add("the vocabulary's size", config.vocabulary);
  list.add("the number of positions", config.positions);
  list.add("the number of token types", config.types);
  list.add("the norms' epsilon", config.layer_norm_eps);
  add_variant(config.variant, list);
  for (size_t i = 0; i < config.parts.size(); ++i) {
    const PartConfig& part = config.parts[i];
    list.suffix = fmt::format(" of part {}", i);
    list.add("the weight", part.weight);
    list.add("the longest text", part.max_length);
    std::vector<std::string> modes;
    for (const PoolingMode mode : part.pooling) modes.push_back(pooling_mode_name(mode));
    list.add_text("the pooling", fmt::format("{}", fmt::join(modes, "+")));
    add_encoder(part.encoder, list);
    list.suffix.clear();
  }
}

void add_settings(const ModelSettings& settings, FactList& list) {
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
}

void add_heads(const std::vector<SavedHead>& heads, FactList& list) {
  list.add("the number of task heads", heads.size());
  for (const SavedHead& head : heads) {
    const HeadSettings& h = head.settings;
    list.add(
        "head " + h.name,
        fmt::format(
            "{} of input {} with output {} ({} layers of width {}; classes: {})", h.kind, h.input,
            h.output, h.layers, h.width,
            h.class_names.empty() ? "none" : fmt::format("{}", fmt::join(h.class_names, ", "))));
  }
}

}  // namespace

std::vector<ModelFact> model_facts(const ModelFolder& model) {
  FactList list;
  add_encoder(model.settings.encoder, list);
  add_settings(model.settings, list);
  add_heads(model.heads, list);
  return list.facts;
}

}  // namespace simile::detail
