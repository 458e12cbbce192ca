// SPDX-License-Identifier: Apache-2.0
#include "simile/train/mined_negatives.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/core/random.h"
#include "simile/data/text_list.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/matrix_product.h"
#include "simile/train/shared_training.h"

namespace simile {
namespace {

using Json = nlohmann::json;

bool is_positive(const ObjectiveMiningOptions& options, const TrainingSet& set, size_t example) {
  return set.target[example] > options.positive_above;
}

}  // namespace

void check_mining_data(const ObjectiveMiningOptions& options, const TrainingSet& set) {
  if (!options.is_on()) return;
  const auto check = [&](bool good, const char* message) {
    SIMILE_CHECK(good, ErrorKind::kRecipe, "{}: `mine`: {}", set.file, message);
  };
  check(set.second.empty(),
        "a joint head reads both texts as one, and no text has a vector to rank by; remove it");
  check(!set.right.empty(), "single texts have no positives to tell negatives from");
  check(!options.as_pairs() || set.classes.empty(),
        "mined pairs would have no class; take `as: columns`");
  SIMILE_CHECK(options.corpus.empty() || file_exists(options.corpus), ErrorKind::kInput,
               "mine.corpus: cannot read '{}'", options.corpus);
}

LossData mined_offer(const ObjectiveMiningOptions& options, LossData offer) {
  if (!options.is_on()) return offer;
  if (options.as_pairs()) {
    offer.has_target = true;
    offer.target_minimum = std::min(offer.target_minimum, 0.0);
  } else {
    offer.negatives += options.wanted();
  }
  return offer;
}

// The texts of an objective from which negatives are mined. Keys are numbers of texts in the set;
// those from set.texts.size() on are texts of the corpus.
class NegativeMiner::Pool {
 public:
  Pool(const ObjectiveOptions& objective, std::shared_ptr<const TrainingSet> set,
       const StartModel& start, EventSink& events)
      : options_(objective.mine), set_(std::move(set)) {
    if (!options_.corpus.empty()) {
      corpus_ = read_candidate_texts(options_.corpus, events);
      const ColumnPrompts prompts = find_column_prompts(objective.prompts, start.settings, nullptr);
      corpus_ids_ = tokenise_as({objective.data, objective.max_length, nullptr,
                                 start.settings.encoder.types, start.tokenizer, prompts, false},
                                corpus_);
      if (set_->originals.empty()) corpus_ = {};  // only for teachers with another tokenizer
    }
    std::string hashes = options_to_json(options_) + fingerprint_examples(*set_);
    for (const auto& ids : corpus_ids_) hashes += hash_bytes(bytes_of(ids));
    fingerprint_ = hash_bytes(hashes);
    plan_ = plan_mining(key_pairs());
  }

  const MiningPlan& plan() const { return plan_; }
  const std::string& fingerprint() const { return fingerprint_; }

  std::vector<std::vector<int32_t>> sequences() const {
    std::vector<std::vector<int32_t>> sequences;
    sequences.reserve(plan_.texts.size());
    for (const int32_t key : plan_.texts) sequences.push_back(ids(key));
    return sequences;
  }

  TrainingSet with_columns(const Negatives& negatives) const {
    TrainingSet set = *set_;
    TextNumbers numbers;
    const auto columns = static_cast<size_t>(options_.wanted());
    for (size_t c = 0; c < columns; ++c) {
      std::vector<int32_t>& column = set.negatives.emplace_back();
      for (const int32_t anchor : plan_.anchor_of_pair) {
        column.push_back(number_of(negatives[static_cast<size_t>(anchor)][c], set, numbers));
      }
    }
    set.offer = mined_offer(options_, set.offer);
    return set;
  }

  TrainingSet with_pairs(const Negatives& negatives) const {
    TrainingSet set = *set_;
    TextNumbers numbers;
    set.left.clear();
    set.right.clear();
    set.target.clear();
    const auto add = [&set](int32_t left, int32_t right, float target) {
      set.left.push_back(left);
      set.right.push_back(right);
      set.target.push_back(target);
    };
    const int64_t repeats = count_repeats(negatives);
    std::vector<bool> is_done(plan_.anchors.size());
    for (size_t i = 0; i < set_->left.size(); ++i) {
      const int64_t times = is_positive(options_, *set_, i) ? repeats : 1;
      for (int64_t t = 0; t < times; ++t) add(set_->left[i], set_->right[i], set_->target[i]);
      const auto anchor = static_cast<size_t>(plan_.anchor_of_pair[i]);
      if (is_done[anchor]) continue;
      is_done[anchor] = true;
      for (const int32_t row : negatives[anchor])
        add(set_->left[i], number_of(row, set, numbers), 0);
    }
    set.offer = mined_offer(options_, set.offer);
    return set;
  }

 private:
  using TextNumbers = std::unordered_map<int32_t, int32_t>;  // in a set, by key

  // The number of a row's text in the set, into which a text of the corpus is brought.
  int32_t number_of(int32_t row, TrainingSet& set, TextNumbers& numbers) const {
    const int32_t key = plan_.texts[static_cast<size_t>(row)];
    const auto own = static_cast<int32_t>(set_->texts.size());
    if (key < own) return key;
    const auto [found, is_new] = numbers.emplace(key, static_cast<int32_t>(set.texts.size()));
    if (is_new) {
      set.texts.push_back(ids(key));
      if (!set.originals.empty()) set.originals.push_back(corpus_[static_cast<size_t>(key - own)]);
    }
    return found->second;
  }

  const std::vector<int32_t>& ids(int32_t key) const {
    const size_t own = set_->texts.size(), number = static_cast<size_t>(key);
    return number < own ? set_->texts[number] : corpus_ids_[number - own];
  }

  // Equal ids get the number of the first text that has them.
  MiningPairs key_pairs() const {
    std::unordered_map<std::string_view, int32_t> first;
    std::vector<int32_t> keys;
    for (const auto* texts : {&set_->texts, &corpus_ids_}) {
      for (const auto& text : *texts) {
        keys.push_back(
            first.emplace(bytes_of(text), static_cast<int32_t>(keys.size())).first->second);
      }
    }
    const auto key_all = [&keys](const std::vector<int32_t>& texts) {
      std::vector<int32_t> keyed;
      for (const int32_t text : texts) keyed.push_back(keys[static_cast<size_t>(text)]);
      return keyed;
    };
    MiningPairs pairs{key_all(set_->left), key_all(set_->right), {}, {}};
    for (size_t i = 0; i < pairs.left.size(); ++i) {
      pairs.is_positive.push_back(is_positive(options_, *set_, i));
    }
    pairs.candidates = pairs.right;
    if (!corpus_ids_.empty()) {
      pairs.candidates.assign(keys.begin() + static_cast<std::ptrdiff_t>(set_->texts.size()),
                              keys.end());
    }
    return pairs;
  }

  int64_t count_repeats(const Negatives& negatives) const {
    int64_t positives = 0, others = 0;
    for (size_t i = 0; i < set_->left.size(); ++i) {
      ++(is_positive(options_, *set_, i) ? positives : others);
    }
    for (const auto& rows : negatives) others += static_cast<int64_t>(rows.size());
    return positive_repeats(positives, others, options_.oversample);
  }

  ObjectiveMiningOptions options_;
  std::shared_ptr<const TrainingSet> set_;
  std::vector<std::string> corpus_;
  std::vector<std::vector<int32_t>> corpus_ids_;
  std::string fingerprint_;
  MiningPlan plan_;
};

NegativeMiner::NegativeMiner(const TrainOptions& options, size_t stage, const StartModel& start,
                             ModelWeights& weights, const RunFolder& folder,
                             std::vector<ObjectiveData>& data, EventSink& events,
                             ProcessGroup* processes)
    : run_(options),
      options_(options.stages[stage]),
      start_(start),
      weights_(weights),
      folder_(folder),
      data_(data),
      events_(events),
      processes_(processes),
      pools_(data.size()) {}

NegativeMiner::~NegativeMiner() = default;

void NegativeMiner::begin_stage(const TrainState& state) {
  for (size_t i = 0; i < data_.size(); ++i) {
    const ObjectiveMiningOptions& mine_options = options_.objectives[i].mine;
    if (!mine_options.is_on()) continue;
    if (state.step == 0) {
      mine(i, 0);
    } else {
      const int64_t epoch = std::max<int64_t>(0, state.objectives[i].epoch - 1);
      const int64_t every = mine_options.every_epochs;
      use(i, read(i, every > 0 ? epoch - epoch % every : 0));
    }
  }
}

bool NegativeMiner::is_due(size_t objective, int64_t epoch) const {
  const ObjectiveMiningOptions& mine = options_.objectives[objective].mine;
  return mine.is_on() && mine.every_epochs > 0 && epoch > 0 && epoch % mine.every_epochs == 0;
}

void NegativeMiner::mine(size_t objective, int64_t epoch) {
  const Negatives negatives = choose(objective, epoch);
  make_folders(folder_.mined_path());
  Json json = {{"fingerprint", pool(objective).fingerprint()}, {"negatives", negatives}};
  json[detail::kSeal] = detail::seal_of(json);
  write_file_atomic(file(objective, epoch), json.dump() + "\n");
  use(objective, negatives);
}

NegativeMiner::Pool& NegativeMiner::pool(size_t objective) {
  if (!pools_[objective]) {
    pools_[objective] = std::make_unique<Pool>(options_.objectives[objective],
                                               data_[objective].train.examples, start_, events_);
  }
  return *pools_[objective];
}

NegativeMiner::Negatives NegativeMiner::choose(size_t objective, int64_t epoch) {
  const ObjectiveMiningOptions& options = options_.objectives[objective].mine;
  const MiningPlan& plan = pool(objective).plan();
  const std::string& similarity = start_.settings.similarity;
  EncodeOptions encode;
  if (similarity == "cosine") encode.normalize = true;
  const SentenceEncoder encoder(weights_.encoder().inference(choose_inference_products(
                                    options.precision, weights_.placement().device)),
                                start_.settings, start_.tokenizer);
  const auto embed = [&](const auto& texts) { return encoder.encode_ids(texts, encode, events_); };
  const auto sequences = pool(objective).sequences();
  const Matrix<float> vectors =
      processes_ == nullptr ? embed(sequences) : embed_in_shares(*processes_, sequences, embed);
  const uint64_t seed =
      stream_key(static_cast<uint64_t>(run_.seed),
                 fmt::format("mine/{}/objective {}/{}", options_.name, objective, epoch));
  const MinedNegatives mined = mine_negatives(
      plan, score_by_vectors(vectors, plan, mining_metric(similarity)), options, seed);
  SIMILE_CHECK(mined.counts.negatives > 0 || !options.as_pairs(), ErrorKind::kInput,
               "stage '{}', objective {}: `mine` found no negative for any of {} anchors among {} "
               "texts; widen its range or its limits, or leave `mine` out",
               options_.name, options_.objective_name(objective), mined.counts.anchors,
               plan.candidates);
  Negatives negatives;
  for (const auto& hits : mined.negatives) {
    negatives.emplace_back();
    for (const Hit& hit : hits) negatives.back().push_back(static_cast<int32_t>(hit.id));
  }
  const int64_t drawn =
      options.as_pairs() ? 0 : fill_negatives(plan, options.wanted(), seed, negatives);
  std::string told = fmt::format(
      "stage '{}', objective {}: {} negatives mined for {} anchors among {} texts, {} "
      "more drawn at random",
      options_.name, options_.objective_name(objective), mined.counts.negatives,
      mined.counts.anchors, plan.candidates, drawn);
  if (mined.counts.negatives > 0) {
    told += fmt::format("; mean score of positives {:.4f}, of negatives {:.4f}",
                        mined.counts.positive_mean, mined.counts.negative_mean);
  }
  if (drawn > mined.counts.negatives) {
    events_.warning(told + ", so that most are easy; widen the range or the limits of `mine`");
  } else {
    events_.info(told);
  }
  return negatives;
}

std::string NegativeMiner::file(size_t objective, int64_t epoch) const {
  return join_path(folder_.mined_path(),
                   fmt::format("{}.{}.{}.json", options_.name, objective, epoch));
}

NegativeMiner::Negatives NegativeMiner::read(size_t objective, int64_t epoch) {
  const std::string path = file(objective, epoch);
  const Json json = detail::read_json(path);
  const detail::JsonObject object(json, path);
  const Pool& texts = pool(objective);
  const ObjectiveMiningOptions& mine = options_.objectives[objective].mine;
  SIMILE_CHECK(object.text("fingerprint") == texts.fingerprint(), ErrorKind::kInput,
               "'{}' was mined for other data than {} has now; run again with --overwrite", path,
               data_[objective].train->file);
  detail::check_seal(json, path, "run again with --overwrite");
  const auto rows = static_cast<int32_t>(texts.plan().texts.size());
  Negatives negatives;
  bool is_good = object.at("negatives").size() == texts.plan().anchors.size();
  for (const Json& of_anchor : object.at("negatives")) {
    is_good =
        is_good && (mine.as_pairs() || static_cast<int64_t>(of_anchor.size()) == mine.wanted());
    negatives.emplace_back();
    for (const Json& row : of_anchor) {
      is_good = is_good && row.is_number_integer() && row >= 0 && row < rows;
      if (is_good) negatives.back().push_back(row);
    }
  }
  SIMILE_CHECK(is_good, ErrorKind::kInput, "'{}' is damaged; run again with --overwrite", path);
  return negatives;
}

void NegativeMiner::use(size_t objective, const Negatives& negatives) {
  const ObjectiveMiningOptions& options = options_.objectives[objective].mine;
  const Pool& texts = pool(objective);
  data_[objective].train.examples = std::make_shared<const TrainingSet>(
      options.as_pairs() ? texts.with_pairs(negatives) : texts.with_columns(negatives));
  if (options.every_epochs == 0) pools_[objective].reset();
}

}  // namespace simile
