// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/join.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/derive/convert.h"
#include "simile/kernel/sequence_encoders.h"
#include "simile/model/joined_model.h"
#include "simile/model/model_card.h"

namespace simile {
namespace {

std::vector<ModelPart> open_models(const std::vector<ModelToJoin>& models,
                                   const std::string& output, EventSink& events) {
  SIMILE_CHECK(models.size() >= 2, ErrorKind::kUsage, "{} model(s) to join; give at least two",
               models.size());
  for (const ModelToJoin& model : models) {
    SIMILE_CHECK(model.weight > 0 && model.weight < 1e6, ErrorKind::kUsage,
                 "the weight of '{}' is {}; expected a number above 0, such as 0.3", model.model,
                 model.weight);
  }
  std::vector<ModelPart> parts;
  for (const ModelToJoin& model : models) {
    parts.push_back({open_model_folder(model.model, events), model.weight});
    const ModelFolder& folder = parts.back().folder;
    SIMILE_CHECK(!would_replace(folder, output), ErrorKind::kUsage,
                 "the output '{}' is the folder of the model '{}', or one that holds "
                 "it, and would replace it; give another",
                 output, folder.path);
    if (!folder.heads.empty()) {
      events.warning(fmt::format("the task heads of '{}' are left out: they read its own vectors",
                                 folder.path));
    }
  }
  std::stable_partition(parts.begin(), parts.end(), [](const ModelPart& part) {
    return part.folder.settings.encoder.is_static();
  });
  return parts;
}

// The one tokenizer of all.
Tokenizer common_tokenizer(const std::vector<ModelPart>& parts) {
  Tokenizer tokenizer = Tokenizer::load(parts.front().folder.tokenizer_path);
  for (const ModelPart& part : parts) {
    SIMILE_CHECK(Tokenizer::load(part.folder.tokenizer_path).to_json() == tokenizer.to_json(),
                 ErrorKind::kInput,
                 "'{}' and '{}' have different tokenizers, and a joined model reads a text "
                 "once; train one of them with the tokenizer of the other (`tokenizer: FOLDER` "
                 "in its recipe)",
                 parts.front().folder.path, part.folder.path);
  }
  return tokenizer;
}

// What the tokenizer puts around a text.
struct SpecialAround {
  std::vector<int32_t> ids;
  int64_t closing = 0;  // of them behind the text
};

SpecialAround find_special(const Tokenizer& tokenizer) {
  const Encoding text = tokenizer.encode("a");
  SpecialAround around;
  for (size_t i = 0; i < text.ids.size(); ++i) {
    if (text.special[i] == 0) {
      around.closing = 0;
    } else {
      around.ids.push_back(text.ids[i]);
      ++around.closing;
    }
  }
  SIMILE_CHECK(around.ids.size() < text.ids.size(), ErrorKind::kInput,
               "the tokenizer gives the text \"a\" no token of its own");
  return around;
}

// As they will be saved, so that the self test is of just these numbers.
std::vector<float> read_parts(const std::vector<ModelPart>& parts, const EncoderShape& shape,
                              const std::vector<int32_t>& special, ModelToSave& save,
                              EventSink& events) {
  for (const ModelPart& part : parts) {
    check_encoder_weights(part.folder.weights_path, part.folder.settings.encoder);
  }
  const std::vector<int64_t> offsets = part_offsets(shape);
  std::vector<float> flat(static_cast<size_t>(offsets.back()));
  for (size_t i = 0; i < parts.size(); ++i) {
    const ModelFolder& folder = parts[i].folder;
    const EncoderConfig& config = folder.settings.encoder;
    float* const weights = flat.data() + offsets[i];
    read_encoder_weights(folder.weights_path, config, weights, events);
    for (const int32_t id : special) {
      if (!config.is_static() || id >= config.vocabulary) continue;
      std::fill_n(weights + id * config.hidden, config.hidden, 0.0f);
    }
    save.parts.push_back(
        {stored_type(*open_weights(folder.weights_path), config), read_licences(folder)});
    const std::string card = join_path(folder.path, "README.md");
    if (file_exists(card)) save.parts.back().files["README.md"] = read_file(card);
    round_encoder_weights(config, save.parts.back().weight_type, weights);
  }
  return flat;
}

std::string make_joined_card(const std::vector<ModelPart>& parts, const ModelToSave& save,
                             const std::string& output) {
  ModelCard card;
  card.title = folder_name(output);
  card.introduction =
      "Models side by side, made by `simile join`: the vector of a text is that of each, divided "
      "by its length and multiplied by its weight, one behind the other.";
  for (size_t i = 0; i < parts.size(); ++i) {
    card.part_models.push_back(folder_name(parts[i].folder.path));
    card.part_types.push_back(save.parts[i].weight_type);
  }
  card.body = "Cards and licences of the parts are in their folders.\n";
  return make_model_card(card, save.settings);
}

}  // namespace

JoinReport join_models(const std::vector<ModelToJoin>& models, const std::string& output,
                       EventSink& events) {
  const std::vector<ModelPart> parts = open_models(models, output, events);
  const Tokenizer tokenizer = common_tokenizer(parts);
  const bool has_attention = !parts.back().folder.settings.encoder.is_static();
  const SpecialAround special = has_attention ? find_special(tokenizer) : SpecialAround();
  ModelToSave save;
  save.settings = joined_settings(parts, special.closing, "simile join");
  const EncoderShape shape = save.settings.encoder.shape();
  const std::vector<float> flat = read_parts(parts, shape, special.ids, save, events);
  save.weights = flat.data();
  save.tokenizer = read_tokenizer(parts.back().folder);
  save.tokenizer["tokenizer.json"] = tokenizer.to_json();
  save.model_card = make_joined_card(parts, save, output);
  save.self_test = test_weights(save.settings, flat.data(), tokenizer);
  save_model_folder(output, save);

  JoinReport report;
  report.dimensions = save.settings.embedding_size();
  for (size_t i = 0; i < parts.size(); ++i) {
    report.parts.push_back({parts[i].folder.path, fmt::format("{}/{}", kJoinedFolder, i),
                            parts[i].weight, shape.parts[i].size(), save.parts[i].weight_type});
  }
  return report;
}

}  // namespace simile
