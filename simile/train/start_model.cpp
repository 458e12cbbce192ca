// SPDX-License-Identifier: Apache-2.0
#include "simile/train/start_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/half.h"
#include "simile/derive/convert.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/model/encoder_reader.h"
#include "simile/model/encoder_tensors.h"
#include "simile/model/model_card.h"
#include "simile/model/model_folder.h"
#include "simile/model/model_writer.h"

namespace simile {
namespace {

constexpr int64_t kDefaultMaxLength = 90;  // BSC section 5.2
constexpr const char* kArchitecture = "the recipe's `architecture`";

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
    if (by_name[head.name] == nullptr) start.new_heads.push_back(head.name);
    const std::vector<float> weights =
        head_weights(head, by_name[head.name], start.settings.embedding_size(),
                     static_cast<uint64_t>(options.seed));
    start.weights.insert(start.weights.end(), weights.begin(), weights.end());
  }
}

// Training has its own code for the modules after the encoder: pooling, heads and Normalize.
void check_trainable(const ModelFolder& model) {
  const ModelSettings& settings = model.settings;
  SIMILE_CHECK(settings.modules.empty(), ErrorKind::kRecipe,
               "the model '{}' has the module {} after pooling, which training does not support; "
               "start from its encoder alone (its folder without modules.json)",
               model.path, module_kind_name(settings.modules[0].kind));
  SIMILE_CHECK(!settings.lower_case, ErrorKind::kRecipe,
               "the model '{}' lower-cases texts before its tokenizer (\"do_lower_case\"), which "
               "training does not support; set it to false and lower-case the data",
               model.path);
}

std::vector<KeptTensor> read_pooler(const ModelFolder& folder) {
  const EncoderConfig& config = folder.settings.encoder;
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
      options.tokenizer.empty() ? folder.tokenizer_path : find_tokenizer(options.tokenizer);
  const std::filesystem::path path = tokenizer;
  StartModel start{options.tokenizer.empty() ? load_tokenizer(folder, events)
                                             : Tokenizer::load(tokenizer, events),
                   read_tokenizer_files(folder_exists(tokenizer) ? path : path.parent_path()),
                   folder.settings,
                   {},
                   {}};
  check_encoder_weights(folder.weights_path, folder.settings.encoder);
  if (!options.pooling.empty()) {
    SIMILE_CHECK(!folder.settings.encoder.is_static(), ErrorKind::kRecipe,
                 "`pooling: {}`: the model '{}' is static, and takes the mean of its tokens",
                 options.pooling, options.model);
    start.settings.pooling = parse_pooling_mode(options.pooling);
  }
  start.weights.resize(
      static_cast<size_t>(encoder_parameter_count(folder.settings.encoder.shape())));
  read_encoder_weights(folder.weights_path, folder.settings.encoder, start.weights.data(), events);
  add_heads(options, folder.heads, start);
  start.pooler = read_pooler(folder);
  return start;
}

// The table [V, H] of a static encoder before its first step: random directions. Rows of tokens that
// are no part of a word are zero and stay so (simile/kernel/sequence_encoders.h), unless
// `punctuation` keeps them; those of special tokens always are.
std::vector<float> static_start(const ArchitectureOptions& architecture, const Tokenizer& tokenizer,
                                uint64_t seed) {
  const int64_t V = tokenizer.vocabulary_size(), H = architecture.hidden;
  std::vector<float> table(static_cast<size_t>(V * H));
  initialise_encoder_weights(static_encoder_config(V, H, kArchitecture), seed, table.data());
  const std::vector<uint8_t> words = find_word_pieces(tokenizer);
  for (int64_t id = 0; id < V; ++id) {
    const bool is_kept = architecture.punctuation ? !tokenizer.is_special(static_cast<int32_t>(id))
                                                  : words[static_cast<size_t>(id)] != 0;
    if (!is_kept) std::fill_n(table.data() + id * H, H, 0.0f);
  }
  return table;
}

// Gives the tokens of an encoder [V, H] the vectors of a static model, so that at the first step
// its mean over a text is already near that model's: the layers hardly move it, since they add to
// their input. Rows of zeros (tokens that are no part of a word) stay random.
void take_embeddings(const std::string& model, const EncoderConfig& config,
                     const Tokenizer& tokenizer, float* flat) {
  constexpr float kDeviation = 0.1f;  // so that positions, with 0.02, do not hide what tokens mean
  const ModelFolder folder = open_model_folder(model, silent_events());
  const EncoderConfig& table = folder.settings.encoder;
  const Tokenizer tokens = Tokenizer::load(folder.tokenizer_path);
  bool fits =
      table.is_static() && table.vocabulary == config.vocabulary && table.hidden >= config.hidden;
  for (int32_t id = 0; fits && id < config.vocabulary; ++id) {
    fits = tokens.token(id) == tokenizer.token(id);
  }
  SIMILE_CHECK(fits, ErrorKind::kRecipe,
               "`architecture.embeddings: {}` has to be a static model with the tokens of "
               "`tokenizer` and at least {} numbers for each; found {} tokens and {} numbers",
               model, config.hidden, table.vocabulary, table.hidden);
  std::vector<float> rows(static_cast<size_t>(table.vocabulary * table.hidden));
  read_encoder_weights(folder.weights_path, table, rows.data(), silent_events());
  const auto row = [&](int64_t id) { return rows.data() + id * table.hidden; };
  const auto squares = [&](int64_t id) {
    return std::inner_product(row(id), row(id) + config.hidden, row(id), 0.0);
  };
  double sum = 0;
  int64_t words = 0;
  for (int64_t id = 0; id < table.vocabulary; ++id) {
    sum += squares(id);
    words += squares(id) > 0 ? 1 : 0;
  }
  const double numbers = static_cast<double>(words * config.hidden);
  const auto scale = static_cast<float>(kDeviation / std::sqrt(std::max(sum, 1e-30) / numbers));
  for (int64_t id = 0; id < table.vocabulary; ++id) {
    if (squares(id) == 0) continue;
    std::transform(row(id), row(id) + config.hidden, flat + id * config.hidden,
                   [scale](float value) { return value * scale; });
  }
}

StartModel make_model(const TrainOptions& options, EventSink& events) {
  const ArchitectureOptions& sizes = options.architecture;
  const auto seed = static_cast<uint64_t>(options.seed);
  StartModel start{Tokenizer::load(find_tokenizer(options.tokenizer), events), {}, {}, {}, {}};
  ModelSettings& settings = start.settings;
  EncoderConfig& config = settings.encoder;
  const int64_t vocabulary = start.tokenizer.vocabulary_size();
  if (sizes.is_static()) config = static_encoder_config(vocabulary, sizes.hidden, kArchitecture);
  config.pad_token_id = std::max(start.tokenizer.special_tokens().pad, 0);
  if (sizes.is_static()) {
    settings.pooling.modes.clear();
    settings.max_length = config.shape().longest_sequence();
    start.weights = static_start(sizes, start.tokenizer, seed);
  } else {
    config.layers = sizes.layers;
    config.hidden = sizes.hidden;
    config.heads = sizes.heads;
    config.intermediate = sizes.intermediate;
    config.positions = sizes.positions;
    config.vocabulary = vocabulary;
    check_encoder_config(config, kArchitecture);
    settings.pooling = parse_pooling_mode(sizes.pooling);
    settings.max_length = std::min(kDefaultMaxLength, config.positions);
    start.weights.resize(static_cast<size_t>(encoder_parameter_count(config.shape())));
    initialise_encoder_weights(config, seed, start.weights.data());
    if (!sizes.embeddings.empty()) {
      take_embeddings(sizes.embeddings, config, start.tokenizer, start.weights.data());
    }
  }
  add_heads(options, {}, start);
  return start;
}

constexpr double kHeadRate = 1e-3;

// docs/results/rates.md has the measurements. Adam moves every weight by about the rate, so narrow
// matrices and few layers bear a higher one.
double default_rate(const EncoderConfig& config, bool is_random) {
  if (config.is_static()) return 5e-3;
  if (is_random) return 1e-3;
  if (config.hidden <= 256) return 2e-4;
  if (config.hidden <= 512) return config.layers <= 4 ? 1e-4 : 5e-5;
  return 2e-5;
}

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
    SIMILE_CHECK(options.attention_dropout <= 0 && options.drop_head <= 0, ErrorKind::kRecipe,
                 "`{}` is set, but a static encoder averages the vectors of a text's tokens and "
                 "has no attention; leave it out (`hidden_dropout` drops numbers of vectors)",
                 options.drop_head > 0 ? "drop_head" : "attention_dropout");
    start.tokenizer.set_special_tokens(false);
  }
  for (const HeadSettings& head : start.heads) {
    SIMILE_CHECK(!config.is_static() || head.input != "joint", ErrorKind::kRecipe,
                 "the head '{}' reads two texts as one sequence (input: joint), but a static "
                 "encoder cannot; give it `input: pair`, or start from a transformer",
                 head.name);
  }
  int64_t& max_length = start.settings.max_length;
  if (options.max_length > 0) max_length = options.max_length;
  const int64_t longest = config.shape().longest_sequence();
  SIMILE_CHECK(max_length <= longest, ErrorKind::kRecipe,
               "max_length is {}, but the model has positions for {} tokens only", max_length,
               longest);
  if (options.normalize != "auto") start.settings.normalize = options.normalize == "true";
  start.tokenizer.set_max_length(max_length);
  start.tokenizer_files["tokenizer.json"] = start.tokenizer.to_json();
  if (options.hidden_dropout >= 0) {
    config.hidden_dropout = options.hidden_dropout;
    config.embedding_dropout = -1;  // the same
  }
  if (options.attention_dropout >= 0) config.attention_dropout = options.attention_dropout;
  return start;
}

void choose_learning_rates(const EncoderConfig& config, TrainOptions& options, EventSink& events) {
  const double rate = default_rate(config, options.model.empty());
  for (StageOptions& stage : options.stages) {
    if (stage.learning_rate > 0) continue;
    stage.learning_rate = stage.frozen ? kHeadRate : rate;
    std::string line =
        fmt::format("stage '{}': learning_rate {:g}", stage.name, stage.learning_rate);
    if (stage.has_head() && !stage.frozen) {
      if (stage.head_learning_rate == 0) stage.head_learning_rate = kHeadRate;
      line += fmt::format(", head_learning_rate {:g}", stage.head_learning_rate);
    }
    events.info(line + " (by the kind of model; the recipe gives none)");
  }
}

void keep_no_random_heads(const std::vector<std::string>& new_heads, TrainOptions& options) {
  std::vector<std::set<std::string>> left;  // random ones, after each stage
  for (StageOptions& stage : options.stages) {
    const bool goes_on = stage.from == "previous";
    const int64_t before = goes_on ? static_cast<int64_t>(left.size()) - 1
                                   : find_stage(options, stage.from, left.size());
    std::set<std::string> random(new_heads.begin(), new_heads.end());
    if (before >= 0) random = left[static_cast<size_t>(before)];
    for (const ObjectiveOptions& objective : stage.objectives) {
      if (random.erase(objective.head) > 0) stage.selection.has_new_head = true;
    }
    left.push_back(std::move(random));
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
