// SPDX-License-Identifier: Apache-2.0
#include "simile/train/epoch_planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "simile/batch/class_batches.h"
#include "simile/batch/distinct_batches.h"
#include "simile/batch/word_order.h"
#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/loss/loss_table.h"
#include "simile/neighbours/clusters.h"
#include "simile/neighbours/neighbours.h"

namespace simile {
namespace {

constexpr double kWorthTelling = 1.0;    // seconds
constexpr double kUsualThreshold = 0.5;  // of losses that have one

// That of the loss, or of the first that has one of those it is made of; null: none has.
const double* find_threshold(const LossOptions& loss) {
  if (const double* own = find_loss(loss.name).parts(loss).threshold) return own;
  for (const LossTerm& term : loss.of) {
    if (const double* threshold = find_threshold(term)) return threshold;
  }
  return nullptr;
}

std::vector<char> find_positives(const ObjectiveOptions& objective, const TrainingSet& set) {
  double threshold = objective.order.positive_above;
  if (threshold < 0) {
    const double* of_loss = find_threshold(objective.loss);
    threshold = of_loss != nullptr ? *of_loss : kUsualThreshold;
  }
  std::vector<char> is_positive;
  for (const float target : set.target) is_positive.push_back(target > threshold ? 1 : 0);
  return is_positive;
}

LabelledNegatives find_negatives(const ObjectiveOptions& objective, const TrainingSet& set) {
  if (objective.order.labelled_negatives == 0) return {};
  return find_labelled_negatives(set.left, find_positives(objective, set));
}

void check_classes(const ObjectiveOptions& objective, const TrainingSet& set) {
  SIMILE_CHECK(!set.classes.empty(), ErrorKind::kRecipe,
               fmt::format("{}: order `classes` needs the class of each example, and the data has "
                           "none; read it with `format: classes`, or choose another order",
                           set.file));
  SIMILE_CHECK(objective.batch_size >= 2 * objective.order.group_size, ErrorKind::kRecipe,
               fmt::format("{}: order `classes` with batch_size {} and order.group_size {} puts "
                           "one class into a batch; a batch needs two, so set group_size to {} at "
                           "most, or a larger batch_size",
                           set.file, objective.batch_size, objective.order.group_size,
                           std::max<int64_t>(1, objective.batch_size / 2)));
}

}  // namespace

uint64_t order_seed(uint64_t run_seed, const StageOptions& stage, size_t objective) {
  const std::string suffix = objective == 0 ? "" : fmt::format("/objective {}", objective);
  return stream_key(run_seed, "order/" + stage.name + suffix);
}

Matrix<float> embed_for_order(const SentenceEncoder& encoder,
                              const std::vector<std::vector<int32_t>>& texts, EventSink& events) {
  EncodeOptions options;
  options.normalize = false;
  return encoder.encode_ids(texts, options, events);
}

std::vector<std::string> check_order_data(const ObjectiveOptions& objective,
                                          const TrainingSet& set) {
  const OrderOptions& order = objective.order;
  if (order.name == "classes") check_classes(objective, set);
  if (!order.needs_texts()) return {};
  const std::string name =
      order.labelled_negatives > 0 ? "order.labelled_negatives" : "order `" + order.name + "`";
  SIMILE_CHECK(set.second.empty(), ErrorKind::kRecipe,
               fmt::format("{}: {} looks at single texts, and a joint head reads both as one "
                           "sequence; choose another order",
                           set.file, name));
  SIMILE_CHECK(order.side == "left" || !set.right.empty(), ErrorKind::kRecipe,
               fmt::format("{}: single texts have no right side; set order.side: left", set.file));
  if (order.labelled_negatives == 0) return {};
  if (objective.mine.is_on() && objective.mine.as_pairs()) return {};  // negatives will come
  SIMILE_CHECK(set.offer.has_target, ErrorKind::kRecipe,
               fmt::format("{}: the data has no scores, so no pair is labelled negative; remove "
                           "order.labelled_negatives, or map a score",
                           set.file));
  if (find_negatives(objective, set).attached() > 0) return {};
  return {
      fmt::format("{}: no left text of a positive pair stands in a negative one too, so "
                  "order.labelled_negatives does nothing",
                  set.file)};
}

EpochPlanner::EpochPlanner(const ObjectiveOptions& objective, const ExampleSet& set, uint64_t seed)
    : options_(objective.order),
      batch_size_(objective.batch_size),
      set_(set),
      seed_(seed),
      negatives_(find_negatives(objective, *set.examples)) {
  find_shingles();
  batches_ = count_batches();
}

void EpochPlanner::find_shingles() {
  if (options_.name != "words") return;
  shingles_.resize(set_->texts.size());
  const TextShingler shingler(options_.shingle, options_.stop_words);
  for (const int32_t text : side()) {
    const auto number = static_cast<size_t>(text);
    if (shingles_[number].empty()) shingler.append(set_->originals[number], shingles_[number]);
  }
}

int64_t EpochPlanner::count_batches() const {
  if (options_.name == "no_duplicates") {
    return count_distinct_batches(text_columns(true), batch_size_);
  }
  if (options_.name == "classes") {
    return count_class_batches(set_->classes, options_.group_size, batch_size_);
  }
  if (options_.labelled_negatives > 0) {
    return count_filled_batches(negatives_, options_.labelled_negatives, batch_size_);
  }
  return (set_.size() + batch_size_ - 1) / batch_size_;
}

Batches EpochPlanner::plan(int64_t epoch, const Embed& embed, EventSink& events) const {
  const auto begin = std::chrono::steady_clock::now();
  const auto number = static_cast<uint64_t>(epoch);
  Batches batches;
  if (options_.name == "no_duplicates") {
    batches = plan_distinct_batches(text_columns(true), batch_size_, batches_, seed_, number);
  } else if (options_.name == "classes") {
    batches = plan_class_batches(set_->classes, options_.group_size, batch_size_, seed_, number);
  } else if (options_.labelled_negatives > 0) {
    FilledBatches filled = fill_batches(negatives_, order_examples(number, embed, events),
                                        options_.labelled_negatives, batch_size_, seed_, number);
    events.info(fmt::format(
        "{}: epoch {}: {} of {} labelled negatives stand beside their anchor, "
        "the others wait for another epoch",
        set_->file, epoch + 1, negatives_.attached() - filled.left_out, negatives_.attached()));
    batches = std::move(filled.batches);
  } else {
    batches = cut_batches(order_examples(number, embed, events), batch_size_);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  if (elapsed.count() > kWorthTelling) {
    events.info(fmt::format("{}: epoch {}: the order `{}` took {:.1f} s", set_->file, epoch + 1,
                            options_.name, elapsed.count()));
  }
  return batches;
}

int64_t EpochPlanner::ordered() const {
  return options_.labelled_negatives > 0 ? static_cast<int64_t>(negatives_.placed.size())
                                         : set_.size();
}

// The numbers of the examples that the order places, in its order.
ExampleOrder EpochPlanner::order_examples(uint64_t epoch, const Embed& embed,
                                          EventSink& events) const {
  ExampleOrder order;
  if (options_.name == "sequential") {
    order = order_sequential(ordered());
  } else if (options_.name == "random") {
    order = order_random(ordered(), seed_, epoch);
  } else if (options_.name == "length_bucketed") {
    order = order_length_bucketed(lengths(), batch_size_, options_.pool_batches, seed_, epoch);
  } else if (options_.name == "neighbours") {
    order = order_by_neighbours(epoch, embed, events);
  } else {
    order = order_by_words(epoch, embed, events);
  }
  if (options_.labelled_negatives == 0) return order;
  for (int32_t& example : order) example = negatives_.placed[static_cast<size_t>(example)];
  return order;
}

ExampleOrder EpochPlanner::order_by_neighbours(uint64_t epoch, const Embed& embed,
                                               EventSink& events) const {
  const NeighbourSearch search(embed_side(embed), std::min(options_.neighbours, ordered() - 1));
  tell_recall(search.report(), events);
  return order_neighbours(
      ordered(), [&search](const auto& examples) { return search.find(examples); },
      text_columns(false), options_, seed_, epoch);
}

ExampleOrder EpochPlanner::order_by_words(uint64_t epoch, const Embed& embed,
                                          EventSink& events) const {
  WordsOf words_of;
  const std::vector<int32_t> texts = side();
  std::vector<int32_t> clusters;
  Matrix<int32_t> neighbours;
  if (options_.name == "words") {
    words_of = [&](int64_t example, std::vector<uint64_t>& words) {
      const auto& own = shingles_[static_cast<size_t>(texts[static_cast<size_t>(example)])];
      words.insert(words.end(), own.begin(), own.end());
    };
  } else if (options_.name == "clusters") {
    clusters = cluster_vectors(embed_side(embed), std::min(options_.clusters, ordered()),
                               stream_key(seed_, fmt::format("clusters/{}", epoch)));
    words_of = [&](int64_t example, std::vector<uint64_t>& words) {
      words.push_back(static_cast<uint64_t>(clusters[static_cast<size_t>(example)]));
    };
  } else {
    neighbours = find_neighbours(options_.top_words, embed, events);
    words_of = [&](int64_t example, std::vector<uint64_t>& words) {
      const int32_t* own = neighbours.row(example);
      words.insert(words.end(), own, own + neighbours.cols);
    };
  }
  return order_words(ordered(), words_of, options_.group_size, seed_, epoch);
}

Matrix<int32_t> EpochPlanner::find_neighbours(int64_t count, const Embed& embed,
                                              EventSink& events) const {
  NeighbourReport report;
  Matrix<int32_t> neighbours =
      nearest_neighbours(embed_side(embed), std::min(count, ordered() - 1), &report);
  tell_recall(report, events);
  return neighbours;
}

void EpochPlanner::tell_recall(const NeighbourReport& report, EventSink& events) const {
  if (report.recall >= 1) return;
  events.info(fmt::format("{}: neighbours by {}, which finds {:.1f} % of the nearest", set_->file,
                          report.method, 100 * report.recall));
}

// Embeddings [ordered, D] of one side; every distinct text is embedded once.
Matrix<float> EpochPlanner::embed_side(const Embed& embed) const {
  const std::vector<int32_t> texts = side();
  std::vector<int32_t> distinct = texts;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<std::vector<int32_t>> sequences;
  std::vector<int64_t> row_of_text(set_->texts.size());
  for (const int32_t text : distinct) {
    row_of_text[static_cast<size_t>(text)] = static_cast<int64_t>(sequences.size());
    sequences.push_back(set_->texts[static_cast<size_t>(text)]);
  }
  const Matrix<float> rows = embed(sequences);
  Matrix<float> embeddings(ordered(), rows.cols);
  for (int64_t i = 0; i < ordered(); ++i) {
    const auto text = static_cast<size_t>(texts[static_cast<size_t>(i)]);
    std::copy_n(rows.row(row_of_text[text]), rows.cols, embeddings.row(i));
  }
  return embeddings;
}

// Tokens of all texts of each example.
std::vector<int64_t> EpochPlanner::lengths() const {
  std::vector<int64_t> lengths(static_cast<size_t>(set_.size()), 0);
  for (const auto& column : text_columns(true)) {
    for (size_t i = 0; i < column.size(); ++i) {
      lengths[i] += static_cast<int64_t>(set_->texts[static_cast<size_t>(column[i])].size());
    }
  }
  return lengths;
}

TextColumns EpochPlanner::text_columns(bool with_negatives) const {
  TextColumns columns = {pick_ordered(set_->left)};
  if (!set_->right.empty()) columns.push_back(pick_ordered(set_->right));
  if (!with_negatives) return columns;
  for (const auto& negatives : set_->negatives) columns.push_back(pick_ordered(negatives));
  return columns;
}

std::vector<int32_t> EpochPlanner::side() const {
  return pick_ordered(options_.side == "left" ? set_->left : set_->right);
}

// A column of the examples that the order places.
std::vector<int32_t> EpochPlanner::pick_ordered(const std::vector<int32_t>& column) const {
  if (options_.labelled_negatives == 0) return column;
  std::vector<int32_t> picked;
  for (const int32_t example : negatives_.placed) {
    picked.push_back(column[static_cast<size_t>(example)]);
  }
  return picked;
}

}  // namespace simile
