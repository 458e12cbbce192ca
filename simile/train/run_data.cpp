// SPDX-License-Identifier: Apache-2.0
#include "simile/train/run_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "simile/batch/order_table.h"
#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/model/model_card.h"
#include "simile/model/model_folder.h"
#include "simile/train/mined_negatives.h"

namespace simile {
namespace {

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
                                              PairDataOptions data) {
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

  // Whether both sides of every pair have the same vectors, the student's and the teacher's, so
  // that the loss is the same of one.
  bool is_same_twice(const ObjectiveOptions& objective, const PairDataOptions& data) const {
    const LossNeeds needs = find_loss(objective.loss.name).needs(objective.loss);
    return needs.compares == Compares::kTeachers && data.format == "texts" &&
           data.keep_words == 1 && objective.prompts.left == objective.prompts.right &&
           !has_dropout();
  }

  LossData offer_of(const ObjectiveOptions& objective, const TrainingSet& set) const {
    LossData offer = set.offer;
    offer.teachers = static_cast<int64_t>(objective.teachers.size());
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
                 "{}: teachers give vectors of single texts, and a joint head reads "
                 "pairs; remove the head or the teachers",
                 set.file);
    std::vector<int64_t> sizes;
    for (const std::string& name : objective.teachers) {
      const bool is_stage = find_stage(options_, name, stage) >= 0;
      const ModelSettings settings =
          is_stage ? start_.settings : open_model_folder(name, silent_events()).settings;
      sizes.push_back(settings.dimensions > 0 ? settings.dimensions : settings.embedding_size());
    }
    return sizes;
  }

  const TrainOptions& options_;
  const StartModel& start_;
  EventSink& events_;
  std::map<std::string, std::shared_ptr<const TrainingSet>> sets_;
};

constexpr int64_t kBlock = 4096;  // texts

struct Teacher {
  std::string fingerprint;  // of all that its vectors depend on beside the texts
  int64_t dimension = 0;
  // Vectors of texts begin .. end - 1 of a set, [end - begin, dimension].
  std::function<Matrix<float>(const TrainingSet& set, int64_t begin, int64_t end)> embed;
};

// The encoder that an earlier stage kept: it has the run's tokenizer, so it reads token ids.
Teacher stage_teacher(std::vector<float> flat, const ModelSettings& settings,
                      const Tokenizer& tokenizer, EventSink& events) {
  auto weights = std::make_shared<const std::vector<float>>(std::move(flat));
  auto encoder = std::make_shared<const SentenceEncoder>(
      make_encoder(settings.encoder.shape(), weights->data()), settings, tokenizer);
  Teacher teacher;
  const EncoderConfig& config = settings.encoder;
  teacher.fingerprint = hash_bytes(
      fmt::format("{} {} {}{}", hash_bytes(bytes_of(*weights)), pooling_name(settings.pooling),
                  settings.normalize, config.is_joined() ? encoder_config_to_json(config) : ""));
  teacher.dimension = encoder->dimension();
  teacher.embed = [weights, encoder, &events](const TrainingSet& set, int64_t begin, int64_t end) {
    return encoder->encode_ids({set.texts.begin() + begin, set.texts.begin() + end}, {}, events);
  };
  return teacher;
}

// A model folder or built-in model: it reads the set's originals.
Teacher model_teacher(const std::string& model, EventSink& events) {
  auto encoder = std::make_shared<const SentenceEncoder>(SentenceEncoder::load(model, events));
  Teacher teacher;
  teacher.fingerprint = model_fingerprint(open_model_folder(model, silent_events()));
  teacher.dimension = encoder->dimension();
  teacher.embed = [encoder, &events](const TrainingSet& set, int64_t begin, int64_t end) {
    return encoder->encode({set.originals.begin() + begin, set.originals.begin() + end}, {},
                           events);
  };
  return teacher;
}

// The store of this teacher's vectors for `set` in `folder`, made where it is not there yet for the
// same teacher and texts.
EmbeddingStore store_teacher_vectors(const std::string& folder, const TrainingSet& set,
                                     const Teacher& teacher, const std::string& precision,
                                     EventSink& events) {
  make_folders(folder);
  const std::string fingerprint =
      hash_bytes(fmt::format("{} {} {}", teacher.fingerprint, fingerprint_texts(set), precision));
  const std::string path = join_path(folder, fingerprint + ".npy");
  if (std::optional<EmbeddingStore> store = EmbeddingStore::open_current(path, fingerprint)) {
    return std::move(*store);
  }
  const auto texts = static_cast<int64_t>(set.texts.size());
  EmbeddingStoreWriter writer(path, texts, teacher.dimension,
                              precision == "fp16" ? NpyNumber::kHalf : NpyNumber::kFloat);
  for (int64_t begin = 0; begin < texts; begin += kBlock) {
    writer.append(teacher.embed(set, begin, std::min(texts, begin + kBlock)));
  }
  writer.finish(fingerprint);
  events.info(fmt::format("{}: {} vectors of a teacher stored", set.file, texts));
  return EmbeddingStore(path);
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
    for (const std::string& name : objective.teachers) {
      Teacher teacher;
      if (find_stage(options, name, stage) < 0) {
        teacher = model_teacher(name, events);
      } else {
        std::vector<float> weights = folder.read_stage(name).weights;
        weights.resize(
            static_cast<size_t>(encoder_parameter_count(start.settings.encoder.shape())));
        teacher = stage_teacher(std::move(weights), start.settings, start.tokenizer, events);
      }
      for (ExampleSet* set : {&data[i].train, &data[i].dev}) {
        if (set->size() == 0) continue;
        set->teachers.push_back(store_teacher_vectors(
            folder.teachers_path(), *set->examples, teacher, objective.teacher_precision, events));
      }
    }
  }
}

}  // namespace simile
