// SPDX-License-Identifier: Apache-2.0
#include "simile/train/run_data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>

#include "simile/batch/order_table.h"
#include "simile/core/check.h"
#include "simile/core/hash.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/kernel/matrix_product.h"
#include "simile/model/model_card.h"
#include "simile/model/model_folder.h"
#include "simile/train/mined_negatives.h"
#include "simile/train/teacher_vectors.h"

namespace simile {
namespace {

// Whether a loss, or each of those it is made of, sets texts against teachers' vectors alone.
bool compares_teachers(const LossOptions& loss) {
  if (loss.of.empty()) return find_loss(loss.name).needs(loss).compares == Compares::kTeachers;
  return std::all_of(loss.of.begin(), loss.of.end(),
                     [](const LossTerm& term) { return compares_teachers(term); });
}

// Reads each set once, however many objectives take it.
class Reader {
 public:
  Reader(const TrainOptions& options, const StartModel& start, EventSink& events)
      : options_(options), start_(start), events_(events) {}

  ObjectiveData read(size_t stage, const ObjectiveOptions& objective) {
    ObjectiveData data;
    data.train.examples = read_set(stage, objective, objective.data);
    check_objective(stage, objective, *data.train.examples);
    if (objective.dev.is_set()) {
      data.dev.examples = read_set(stage, objective, objective.dev_data());
      check_loss_data(objective.loss, offer_of(objective, *data.dev.examples));
    }
    return data;
  }

 private:
  const HeadSettings* head_of(const ObjectiveOptions& objective) const {
    if (objective.head.empty()) return nullptr;
    return &start_.heads[find_head(start_.heads, objective.head)];
  }

  std::shared_ptr<const TrainingSet> read_set(size_t stage, const ObjectiveOptions& objective,
                                              const PairDataOptions& data) {
    const bool keep_originals =
        find_order(objective.order.name).find_words != nullptr ||
        std::any_of(objective.teachers.begin(), objective.teachers.end(),
                    [&](const std::string& name) { return find_stage(options_, name, stage) < 0; });
    const bool is_once = is_same_twice(objective, data);
    const std::string key =
        fmt::format("{} {} {} {} {} {}", options_to_json(data), options_to_json(objective.prompts),
                    objective.max_length, objective.head, keep_originals, is_once);
    std::shared_ptr<const TrainingSet>& set = sets_[key];
    if (!set) {
      const HeadSettings* head = head_of(objective);
      const ColumnPrompts prompts = find_column_prompts(objective.prompts, start_.settings, head);
      TrainingSet read =
          read_training_set({data, objective.max_length, head, start_.settings.encoder.types,
                             start_.tokenizer, prompts, keep_originals},
                            events_);
      if (is_once) {
        read.right.clear();
        read.offer.has_right = false;
      }
      set = std::make_shared<const TrainingSet>(std::move(read));
    }
    return set;
  }

  bool has_dropout() const {
    const EncoderConfig& config = start_.settings.encoder;
    return config.hidden_dropout > 0 || config.attention_dropout > 0 || options_.drop_head > 0;
  }

  // Whether both sides of every pair have the same vectors, so that the loss is the same of one.
  bool is_same_twice(const ObjectiveOptions& objective, const PairDataOptions& data) const {
    return compares_teachers(objective.loss) && data.format == "texts" && data.keep_words == 1 &&
           data.mismatched == 0 && objective.prompts.left == objective.prompts.right &&
           !has_dropout();
  }

  LossData offer_of(const ObjectiveOptions& objective, const TrainingSet& set) const {
    LossData offer = set.offer;
    offer.teachers = static_cast<int64_t>(objective.teachers.size());
    if (objective.teacher_dimensions > 0) offer.teachers = std::min<int64_t>(offer.teachers, 1);
    if (const HeadSettings* head = head_of(objective)) {
      offer.head_outputs = head_widths(*head, start_.settings.embedding_size()).back();
      offer.head_is_probability = head->output == "probability";
    }
    return offer;
  }

  void check_objective(size_t stage, const ObjectiveOptions& objective, const TrainingSet& set) {
    check_mining_data(objective.mine, set);
    const LossData offer = mined_offer(objective.mine, offer_of(objective, set));
    const auto warn = [&](const std::vector<std::string>& warnings) {
      for (const std::string& warning : warnings) events_.warning(warning);
    };
    warn(loss_option_warnings(objective.loss));
    warn(check_loss_data(objective.loss, offer));
    warn(check_order_data(objective, set));
    const std::vector<int64_t> sizes = teacher_sizes(stage, objective, set);
    try_loss(objective.loss, offer, start_.settings.embedding_size(), sizes);
    if (set.left == set.right && !has_dropout()) {
      events_.warning(
          fmt::format("stage '{}': both sides of every pair are the same text and the model has no "
                      "dropout, so nothing tells them apart; set hidden_dropout: 0.1",
                      options_.stages[stage].name));
    }
    for (const std::string& prompt : {objective.prompts.left, objective.prompts.right}) {
      if (prompt.empty() || start_.settings.prompts.count(prompt) > 0) continue;
      events_.warning(fmt::format(
          "stage '{}': the prompt '{}' is a text and not one of the model's prompts, so "
          "evaluations and the saved model do not put it before texts",
          options_.stages[stage].name, prompt));
    }
    // Evaluations and searches put prompts before texts.
    std::vector<std::string> names;
    for (const auto& [name, prompt] : start_.settings.prompts) {
      if (!prompt.empty()) names.push_back(name);
    }
    if (names.empty() || objective.prompts.is_set() || !set.second.empty()) return;
    events_.warning(fmt::format(
        "stage '{}': the model has prompts ({}), which evaluations and searches put before texts, "
        "and training puts none; say which with `prompts: {{left: NAME, right: NAME}}`",
        options_.stages[stage].name, fmt::join(names, ", ")));
  }

  std::vector<int64_t> teacher_sizes(size_t stage, const ObjectiveOptions& objective,
                                     const TrainingSet& set) {
    SIMILE_CHECK(objective.teachers.empty() || set.second.empty(), ErrorKind::kRecipe,
                 "{}: teachers give vectors of texts, a joint head reads pairs; remove one of them",
                 set.file);
    std::vector<int64_t> sizes;
    for (const std::string& name : objective.teachers) {
      const bool is_stage = find_stage(options_, name, stage) >= 0;
      sizes.push_back(is_stage ? start_.settings.vector_size()
                               : open_model_folder(name, silent_events()).settings.vector_size());
    }
    const int64_t reduced = objective.teacher_dimensions;
    if (sizes.empty() || reduced == 0) return sizes;
    const int64_t all = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
    SIMILE_CHECK(reduced <= all, ErrorKind::kRecipe,
                 "stage '{}': teacher_dimensions is {}, and the teachers' vectors have {} numbers; "
                 "give at most as many",
                 options_.stages[stage].name, reduced, all);
    return {reduced};
  }

  const TrainOptions& options_;
  const StartModel& start_;
  EventSink& events_;
  std::map<std::string, std::shared_ptr<const TrainingSet>> sets_;
};

template <typename T>
std::vector<T> pick_texts(const std::vector<T>& values, const std::vector<int32_t>& texts) {
  std::vector<T> picked;
  for (const int32_t text : texts) picked.push_back(values[static_cast<size_t>(text)]);
  return picked;
}

// The encoder that an earlier stage kept: it has the run's tokenizer, so it reads token ids.
Teacher stage_teacher(const std::string& name, std::vector<float> flat,
                      const ModelSettings& settings, const Tokenizer& tokenizer) {
  auto weights = std::make_shared<const std::vector<float>>(std::move(flat));
  auto encoder = std::make_shared<const SentenceEncoder>(
      make_encoder(settings.encoder.shape(), weights->data()), settings, tokenizer);
  Teacher teacher;
  teacher.name = name;
  teacher.fingerprint = hash_bytes(fmt::format("{} {} {}", hash_bytes(bytes_of(*weights)),
                                               pooling_name(settings.pooling), settings.normalize));
  teacher.dimension = encoder->dimension();
  teacher.reads_ids = true;
  teacher.embed = [weights, encoder](const TrainingSet& set, const std::vector<int32_t>& texts,
                                     EventSink& events) {
    return encoder->encode_ids(pick_texts(set.texts, texts), {}, events);
  };
  return teacher;
}

// A model folder or built-in model: it reads the set's originals, and is loaded for the first text.
Teacher model_teacher(const std::string& model, const std::string& precision, EventSink& events) {
  Teacher teacher;
  teacher.name = std::filesystem::path(model).filename().string();
  const ModelFolder folder = open_model_folder(model, silent_events());
  teacher.fingerprint = fmt::format("{} {}", model_fingerprint(folder), precision);
  teacher.dimension = folder.settings.vector_size();
  teacher.embed = [model, products = choose_precision(precision),
                   encoder = std::shared_ptr<const SentenceEncoder>(),
                   &events](const TrainingSet& set, const std::vector<int32_t>& texts,
                            EventSink& progress) mutable {
    if (!encoder) {
      encoder = std::make_shared<SentenceEncoder>(SentenceEncoder::load(model, events, products));
    }
    return encoder->encode(pick_texts(set.originals, texts), {}, progress);
  };
  return teacher;
}

}  // namespace

std::vector<std::vector<ObjectiveData>> read_run_data(const TrainOptions& options,
                                                      const StartModel& start, EventSink& events) {
  Reader reader(options, start, events);
  std::vector<std::vector<ObjectiveData>> data;
  for (size_t stage = 0; stage < options.stages.size(); ++stage) {
    data.emplace_back();
    for (const ObjectiveOptions& objective : options.stages[stage].objectives) {
      data.back().push_back(reader.read(stage, objective));
    }
  }
  return data;
}

void open_teachers(const TrainOptions& options, size_t stage, const StartModel& start,
                   const RunFolder& folder, std::vector<ObjectiveData>& data, EventSink& events) {
  for (size_t i = 0; i < data.size(); ++i) {
    const ObjectiveOptions& objective = options.stages[stage].objectives[i];
    if (objective.teachers.empty()) continue;
    std::vector<Teacher> teachers;
    for (const std::string& name : objective.teachers) {
      if (find_stage(options, name, stage) < 0) {
        teachers.push_back(model_teacher(name, objective.teacher_precision, events));
        continue;
      }
      std::vector<float> weights = folder.read_stage(name).weights;
      weights.resize(static_cast<size_t>(encoder_parameter_count(start.settings.encoder.shape())));
      teachers.push_back(stage_teacher(name, std::move(weights), start.settings, start.tokenizer));
    }
    const std::string& shared = objective.teacher_vectors;
    TeacherFolder vectors(shared.empty() ? folder.teachers_path() : shared, objective, events);
    for (ExampleSet* set : {&data[i].train, &data[i].dev}) {
      if (set->size() > 0) set->teachers = vectors.open(teachers, *set->examples);
    }
  }
}

}  // namespace simile
