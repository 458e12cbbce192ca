// SPDX-License-Identifier: Apache-2.0
#include "simile/train/start_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/half.h"
#include "simile/core/matrix.h"
#include "simile/data/line_reader.h"
#include "simile/data/text_list.h"
#include "simile/derive/ppmi_start.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/model/encoder_reader.h"
#include "simile/model/encoder_tensors.h"
#include "simile/model/model_card.h"
#include "simile/model/model_folder.h"
#include "simile/model/model_writer.h"

namespace simile {
namespace {

constexpr int64_t kDefaultMaxLength = 90;  // BSC section 5.2

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

// The weights of `saved`, or random ones where it is null.
std::vector<float> head_weights(const HeadSettings& head, const SavedHead* saved, int64_t hidden,
                                uint64_t seed) {
  if (saved == nullptr) {
    std::vector<float> weights(static_cast<size_t>(head_parameter_count(head, hidden)));
    initialise_head_weights(head, hidden, seed, weights.data());
    return weights;
  }
  SIMILE_CHECK(options_to_json(head) == options_to_json(saved->settings), ErrorKind::kRecipe,
               "the model has a head '{}' with other settings than the recipe's; leave it out of "
               "the recipe to go on with the model's, or call yours otherwise",
               head.name);
  return read_head_weights(*saved, hidden);
}

void add_heads(const TrainOptions& options, const std::vector<SavedHead>& saved,
               StartModel& start) {
  start.heads = options.heads;
  std::map<std::string, const SavedHead*> by_name;
  for (const SavedHead& head : saved) by_name[head.settings.name] = &head;
  for (const HeadSettings& head : options.heads) by_name.emplace(head.name, nullptr);
  for (const SavedHead& head : saved) {
    const auto& name = head.settings.name;
    const bool is_listed =
        std::any_of(options.heads.begin(), options.heads.end(),
                    [&](const HeadSettings& listed) { return listed.name == name; });
    if (!is_listed) start.heads.push_back(head.settings);
  }
  for (const HeadSettings& head : start.heads) {
    const std::vector<float> weights =
        head_weights(head, by_name[head.name], start.settings.embedding_size(),
                     static_cast<uint64_t>(options.seed));
    start.weights.insert(start.weights.end(), weights.begin(), weights.end());
  }
}

// Training computes what follows the encoder anew, and knows pooling, heads and Normalize.
void check_trainable(const ModelFolder& model) {
  const ModelSettings& settings = model.settings;
  SIMILE_CHECK(settings.modules.empty(), ErrorKind::kRecipe,
               "the model '{}' has the module {} after pooling, which training does not support; "
               "start from its encoder alone (a folder with config.json, weights and tokenizer, "
               "but without modules.json)",
               model.path, module_kind_name(settings.modules[0].kind));
  SIMILE_CHECK(!settings.lower_case, ErrorKind::kRecipe,
               "the model '{}' lower-cases texts before its tokenizer (\"do_lower_case\"), which "
               "training does not support; set it to false and lower-case the data",
               model.path);
}

std::vector<KeptTensor> read_pooler(const ModelFolder& folder) {
  const EncoderConfig& config = folder.settings.encoder;
  if (config.is_joined()) return {};
  const std::unique_ptr<TensorSource> source = open_weights(folder.weights_path);
  std::vector<std::string> copied;
  std::vector<KeptTensor> pooler;
  for (const TensorView& tensor : other_tensors(*source, config, copied)) {
    if (!starts_with(tensor.name, "pooler.")) continue;
    size_t bytes = tensor_type_width(tensor.type);
    for (const int64_t side : tensor.shape) bytes *= static_cast<size_t>(side);
    pooler.push_back({tensor.name, tensor.shape, tensor.type,
                      std::string(static_cast<const char*>(tensor.values), bytes)});
  }
  return pooler;
}

StartModel load_model(const TrainOptions& options, EventSink& events) {
  const ModelFolder folder = open_model_folder(options.model, events);
  check_trainable(folder);
  const std::string tokenizer =
      options.tokenizer.empty() ? folder.tokenizer_path : options.tokenizer;
  const std::string beside = folder_exists(tokenizer) ? tokenizer : folder_of(tokenizer);
  StartModel start{
      Tokenizer::load(tokenizer), read_tokenizer_files(beside), folder.settings, {}, {}};
  check_encoder_weights(folder.weights_path, folder.settings.encoder);
  start.weights.resize(
      static_cast<size_t>(encoder_parameter_count(folder.settings.encoder.shape())));
  read_encoder_weights(folder.weights_path, folder.settings.encoder, start.weights.data(), events);
  add_heads(options, folder.heads, start);
  start.pooler = read_pooler(folder);
  return start;
}

constexpr size_t kLinesTokenised = 16384;

// Every line of the files that is not blank is a sequence.
PieceCorpus read_pieces(const std::vector<std::string>& paths, const Tokenizer& tokenizer,
                        std::vector<uint8_t> kept, int64_t max_tokens) {
  PieceCorpus corpus(std::move(kept), max_tokens);
  TextListReader reader(expand_paths(paths), {true});
  std::vector<std::string> texts;
  const auto add_texts = [&] {
    for (const auto& ids : tokenizer.encode_ids_batch(texts)) corpus.add(ids);
    texts.clear();
  };
  for (TextItem item; reader.next(item);) {
    texts.push_back(std::move(item.text));
    if (texts.size() == kLinesTokenised) add_texts();
  }
  add_texts();
  return corpus;
}

// The table [V, H] of a static encoder before its first step, as the recipe's `architecture` says.
//
//   random  random directions
//   ppmi    directions in which tokens of the same neighbourhood are near each other
//           (simile/derive/ppmi_start.h)
//
// With a corpus the length of a row is its token's idf there over the mean, so that rare words
// decide from the first step; ppmi needs one. Rows of tokens that are no part of a word are zero
// and stay so (simile/kernel/sequence_encoders.h), unless `punctuation` keeps them; those of special
// tokens always are. Errors: kRecipe for ppmi without a corpus; kInput for
// a corpus that cannot be read or is too small.
std::vector<float> static_start(const ArchitectureOptions& architecture, const Tokenizer& tokenizer,
                                uint64_t seed, EventSink& events) {
  const int64_t V = tokenizer.vocabulary_size(), H = architecture.hidden;
  std::vector<uint8_t> kept = find_word_pieces(tokenizer);  // tokens with a row of their own
  for (size_t id = 0; architecture.punctuation && id < kept.size(); ++id) {
    kept[id] = tokenizer.is_special(static_cast<int32_t>(id)) ? 0 : 1;
  }
  if (architecture.corpus.empty()) {
    SIMILE_CHECK(architecture.start == "random", ErrorKind::kRecipe,
                 "`architecture.start: ppmi` counts which tokens stand together; give "
                 "`architecture.corpus`, files with one text a line, or `start: random`");
    std::vector<float> table(static_cast<size_t>(V * H));
    const EncoderConfig config = static_encoder_config(V, H, "the recipe's `architecture`");
    initialise_encoder_weights(config, seed, table.data());
    scale_rows(std::vector<float>(static_cast<size_t>(V), 1.0f), kept, table.data(), H);
    return table;
  }
  Tokenizer bare = tokenizer;
  bare.set_special_tokens(false);
  const PieceCorpus corpus =
      read_pieces(architecture.corpus, bare, kept, architecture.ppmi.max_tokens);
  if (architecture.start == "ppmi") {
    PpmiOptions options = architecture.ppmi;
    options.seed = static_cast<int64_t>(seed);
    return ppmi_start(corpus, H, options, events).values;
  }
  return random_start(corpus, H, seed).values;
}

StartModel make_static_model(const TrainOptions& options, EventSink& events) {
  StartModel start{Tokenizer::load(options.tokenizer), {}, {}, {}, {}};
  ModelSettings& settings = start.settings;
  settings.encoder =
      static_encoder_config(start.tokenizer.vocabulary_size(), options.architecture.hidden,
                            "the recipe's `architecture`");
  settings.encoder.pad_token_id = std::max(start.tokenizer.special_tokens().pad, 0);
  settings.encoder.variant.saturation = static_cast<float>(options.architecture.saturation);
  settings.encoder.variant.half_position = static_cast<float>(options.architecture.half_position);
  settings.pooling.modes.clear();
  settings.max_length = settings.encoder.shape().longest_sequence();
  start.weights = static_start(options.architecture, start.tokenizer,
                               static_cast<uint64_t>(options.seed), events);
  add_heads(options, {}, start);
  return start;
}

StartModel make_model(const TrainOptions& options, EventSink& events) {
  const ArchitectureOptions& sizes = options.architecture;
  if (sizes.is_static()) return make_static_model(options, events);
  StartModel start{Tokenizer::load(options.tokenizer), {}, {}, {}, {}};
  EncoderConfig& config = start.settings.encoder;
  config.layers = sizes.layers;
  config.hidden = sizes.hidden;
  config.heads = sizes.heads;
  config.intermediate = sizes.intermediate;
  config.positions = sizes.positions;
  config.vocabulary = start.tokenizer.vocabulary_size();
  config.pad_token_id = std::max(start.tokenizer.special_tokens().pad, 0);
  check_encoder_config(config, "the recipe's `architecture`");
  start.settings.pooling = parse_pooling_mode(sizes.pooling);
  start.settings.max_length = std::min(kDefaultMaxLength, config.positions);
  start.weights.resize(static_cast<size_t>(encoder_parameter_count(config.shape())));
  initialise_encoder_weights(config, static_cast<uint64_t>(options.seed), start.weights.data());
  add_heads(options, {}, start);
  return start;
}

// What a static encoder has no place for.
void check_static(const TrainOptions& options) {
  const auto refuse = [](const std::string& what, const std::string& instead) {
    throw_error(
        ErrorKind::kRecipe,
        "{}, but a static encoder averages the vectors of a text's tokens and has no attention; {}",
        what, instead);
  };
  if (options.attention_dropout > 0) {
    refuse("`attention_dropout` is set", "leave it out; `hidden_dropout` drops numbers of vectors");
  }
  if (options.drop_head > 0) refuse("`drop_head` is set", "leave it out");
}

bool has_static_part(const EncoderConfig& config) {
  return std::any_of(config.parts.begin(), config.parts.end(),
                     [](const PartConfig& part) { return part.encoder.is_static(); });
}

// A learning rate for static parts needs such parts.
void check_static_learning_rate(const TrainOptions& options, const EncoderConfig& config) {
  for (const StageOptions& stage : options.stages) {
    SIMILE_CHECK(stage.static_learning_rate == 0 || has_static_part(config), ErrorKind::kRecipe,
                 "stage '{}': `static_learning_rate` is for the static parts of a joined model, "
                 "and this one has none; set `learning_rate`",
                 stage.name);
  }
}

// Adam moves every weight by about the rate, so narrow matrices bear a higher one.
double transformer_rate(int64_t hidden, bool is_random) {
  if (is_random) return 1e-3;
  return hidden <= 256 ? 2e-4 : hidden <= 512 ? 5e-5 : 2e-5;
}

constexpr double kStaticRate = 2e-3, kHeadRate = 1e-3;

std::string make_card(const TrainOptions& options, const ModelToSave& model,
                      const std::vector<Report>& reports) {
  RunCard card{"A sentence encoder trained with Simile.", {}, reports, options_to_json(options)};
  for (const StageOptions& stage : options.stages) {
    for (const ObjectiveOptions& objective : stage.objectives) {
      card.data.push_back(fmt::format("{}: {} with the loss `{}`", stage.name,
                                      objective.data.file(), objective.loss.name));
    }
  }
  return make_run_card(options, card, model.settings, model.weight_type);
}

}  // namespace

StartModel load_start_model(const TrainOptions& options, EventSink& events) {
  StartModel start =
      options.model.empty() ? make_model(options, events) : load_model(options, events);
  EncoderConfig& config = start.settings.encoder;
  start.tokenizer.fit(config.vocabulary);
  if (config.is_static()) {
    check_static(options);
    start.tokenizer.set_special_tokens(false);
  }
  // Static and joined encoders give a text one state.
  const bool has_states = !start.settings.pooling.modes.empty();
  for (const HeadSettings& head : start.heads) {
    SIMILE_CHECK(has_states || head.input != "joint", ErrorKind::kRecipe,
                 "the head '{}' reads two texts as one sequence (input: joint), but a {} encoder "
                 "cannot; give it `input: pair`, or start from a transformer",
                 head.name, config.model_type);
  }
  check_static_learning_rate(options, config);
  int64_t& max_length = start.settings.max_length;
  if (options.max_length > 0) max_length = options.max_length;
  const int64_t longest = config.shape().longest_sequence();
  SIMILE_CHECK(max_length <= longest, ErrorKind::kRecipe,
               "max_length is {}, but the model has positions for {} tokens only", max_length,
               longest);
  if (options.normalize != "auto") start.settings.normalize = options.normalize == "true";
  start.tokenizer.set_max_length(max_length);
  start.tokenizer_files["tokenizer.json"] = start.tokenizer.to_json();
  if (options.hidden_dropout >= 0) set_hidden_dropout(config, options.hidden_dropout);
  if (options.attention_dropout >= 0) set_attention_dropout(config, options.attention_dropout);
  return start;
}

void choose_learning_rates(const EncoderConfig& config, TrainOptions& options, EventSink& events) {
  int64_t hidden = config.is_joined() ? 0 : config.hidden;  // of the widest transformer
  for (const PartConfig& part : config.parts) {
    if (!part.encoder.is_static()) hidden = std::max(hidden, part.encoder.hidden);
  }
  const double rate =
      config.is_static() ? kStaticRate : transformer_rate(hidden, options.model.empty());
  for (StageOptions& stage : options.stages) {
    if (stage.learning_rate > 0) continue;
    stage.learning_rate = stage.frozen ? kHeadRate : rate;
    std::string line =
        fmt::format("stage '{}': learning_rate {:g}", stage.name, stage.learning_rate);
    const auto choose_other = [&](bool applies, const char* name, double& value, double usual) {
      if (!applies || stage.frozen) return;
      if (value == 0) value = usual;
      line += fmt::format(", {} {:g}", name, value);
    };
    choose_other(has_static_part(config), "static_learning_rate", stage.static_learning_rate,
                 kStaticRate);
    choose_other(stage.has_head(), "head_learning_rate", stage.head_learning_rate, kHeadRate);
    events.info(line + " (by the kind of model; the recipe gives none)");
  }
}

void round_to_precision(const TrainOptions& options, TrainableEncoder& encoder) {
  if (options.precision != "fp16") return;
  std::vector<float> weights = encoder.to_host();
  round_to_halves(weights.data(), encoder.parameter_count());
  encoder.from_host(weights.data());
}

void save_trained_model(const std::string& path, const TrainOptions& options,
                        const StartModel& start, ModelWeights& weights,
                        const Temperatures& temperatures, const std::vector<Report>& reports) {
  const std::vector<float> all = weights.copy();
  ModelToSave model;
  model.settings = start.settings;
  model.settings.temperatures = temperatures;
  const float* next = model.weights = all.data();
  next += weights.encoder().parameter_count();
  if (options.precision == "fp16") model.weight_type = TensorType::kF16;
  for (const HeadModule& head : weights.heads()) {
    model.heads.push_back({head.settings(), next});
    next += head.parameter_count();
  }
  for (const KeptTensor& kept : start.pooler) {
    model.other_tensors.push_back({kept.name, kept.shape, kept.bytes.data(), kept.type, true});
  }
  model.tokenizer = start.tokenizer_files;
  model.model_card = make_card(options, model, reports);
  model.self_test = make_self_test(
      SentenceEncoder(weights.encoder().host_inference(), start.settings, start.tokenizer));
  save_model_folder(path, model);
}

std::string make_run_card(const StartOptions& start, const RunCard& run,
                          const ModelSettings& settings, TensorType type) {
  ModelCard card;
  card.title = start.name;
  card.base_model = std::filesystem::path(start.model).filename().string();
  card.introduction = run.introduction;
  card.body = "## Training data\n\n";
  for (const std::string& line : run.data) card.body += fmt::format("- {}\n", line);
  card.body += "\n## Results\n\n| set | metric | value |\n| --- | --- | --- |\n";
  for (const Report& report : run.reports) {
    for (const auto& [name, value] : report.metrics) {
      card.body += fmt::format("| {} | {} | {:.4f} |\n", report.name, name, value);
    }
  }
  card.body += fmt::format("\n## Recipe\n\n```json\n{}\n```\n", run.recipe);
  return make_model_card(card, settings, type);
}

}  // namespace simile
