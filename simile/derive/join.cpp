// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/join.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/derive/detail/derived_folder.h"
#include "simile/kernel/joined_encoder.h"
#include "simile/model/joined_model.h"
#include "simile/model/model_card.h"

namespace simile {
namespace {

void check_inputs(const std::vector<ModelToJoin>& models) {
  SIMILE_CHECK(models.size() >= 2, ErrorKind::kUsage,
               fmt::format("{} model(s) to join; give at least two", models.size()));
  for (const ModelToJoin& model : models) {
    SIMILE_CHECK(model.weight > 0 && model.weight < 1e6, ErrorKind::kUsage,
                 fmt::format("the weight of '{}' is {}; expected a number above 0, such as 0.3",
                             model.model, model.weight));
  }
}

void check_joined_output(const std::vector<ModelPart>& parts, const std::string& output) {
  for (const ModelPart& part : parts) {
    SIMILE_CHECK(!detail::would_replace(part.folder, output), ErrorKind::kUsage,
                 fmt::format("the output '{}' is the folder of the model '{}', or one that holds "
                             "it, and would replace it; give another",
                             output, part.folder.path));
  }
}

std::vector<ModelPart> open_models(const std::vector<ModelToJoin>& models, EventSink& events) {
  std::vector<ModelPart> parts;
  for (const ModelToJoin& model : models) {
    parts.push_back({open_model_folder(model.model, events), model.weight});
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
    SIMILE_CHECK(
        Tokenizer::load(part.folder.tokenizer_path).to_json() == tokenizer.to_json(),
        ErrorKind::kInput,
        fmt::format("'{}' and '{}' have different tokenizers, and a joined model reads a text "
                    "once; train one of them with the tokenizer of the other (`tokenizer: FOLDER` "
                    "in its recipe)",
                    parts.front().folder.path, part.folder.path));
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

bool has_attention(const std::vector<ModelPart>& parts) {
  return !parts.back().folder.settings.encoder.is_static();
}

void zero_rows(const EncoderShape& shape, const std::vector<int32_t>& ids, float* table) {
  for (const int32_t id : ids) {
    if (id < shape.vocabulary) std::fill_n(table + id * shape.hidden, shape.hidden, 0.0f);
  }
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
    if (config.is_static()) zero_rows(shape.parts[i].shape, special, weights);
    save.parts.push_back({detail::stored_type(*open_weights(folder.weights_path), config), {}});
    round_encoder_weights(config, save.parts.back().weight_type, weights);
  }
  return flat;
}

void add_part_files(const std::vector<ModelPart>& parts, ModelToSave& save) {
  for (size_t i = 0; i < parts.size(); ++i) {
    save.parts[i].files = detail::read_licences(parts[i].folder);
    const std::string card = join_path(parts[i].folder.path, "README.md");
    if (file_exists(card)) save.parts[i].files["README.md"] = read_file(card);
  }
}

void warn_about_left_out(const std::vector<ModelPart>& parts, EventSink& events) {
  for (const ModelPart& part : parts) {
    if (part.folder.heads.empty()) continue;
    events.warning(fmt::format("the task heads of '{}' are left out: they read its own vectors",
                               part.folder.path));
  }
}

std::string make_joined_card(const std::vector<ModelPart>& parts, const ModelToSave& save,
                             const std::string& output) {
  ModelCard card;
  card.title = detail::folder_name(output);
  card.introduction =
      "Models side by side, made by `simile join`: the vector of a text is that of each, divided "
      "by its length and multiplied by its weight, one behind the other.";
  for (size_t i = 0; i < parts.size(); ++i) {
    card.part_models.push_back(detail::folder_name(parts[i].folder.path));
    card.part_types.push_back(save.parts[i].weight_type);
  }
  card.body = "Cards and licences of the parts are in their folders.\n";
  return make_model_card(card, save.settings);
}

}  // namespace

JoinReport join_models(const std::vector<ModelToJoin>& models, const std::string& output,
                       EventSink& events) {
  check_inputs(models);
  const std::vector<ModelPart> parts = open_models(models, events);
  check_joined_output(parts, output);
  const Tokenizer tokenizer = common_tokenizer(parts);
  const SpecialAround special = has_attention(parts) ? find_special(tokenizer) : SpecialAround();
  ModelToSave save;
  save.settings = joined_settings(parts, special.closing, "simile join");
  const EncoderShape shape = save.settings.encoder.shape();
  const std::vector<float> flat = read_parts(parts, shape, special.ids, save, events);
  warn_about_left_out(parts, events);
  save.weights = flat.data();
  save.tokenizer = detail::read_tokenizer(parts.back().folder);
  save.tokenizer["tokenizer.json"] = tokenizer.to_json();
  add_part_files(parts, save);
  save.model_card = make_joined_card(parts, save, output);
  save.self_test = detail::test_weights(save.settings, flat.data(), tokenizer);
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
