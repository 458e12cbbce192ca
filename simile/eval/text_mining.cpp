// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/text_mining.h"

#include <fmt/ranges.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "simile/core/check.h"
#include "simile/eval/predictions.h"
#include "simile/text/words.h"

namespace simile {
namespace {

// Numbers texts so that equal comparison keys have equal numbers.
class TextKeys {
 public:
  std::vector<int32_t> add(const std::vector<std::string>& texts) {
    std::vector<int32_t> keys;
    keys.reserve(texts.size());
    for (const std::string& text : texts) {
      const auto [found, is_new] =
          keys_.emplace(comparison_key(text), static_cast<int32_t>(texts_.size()));
      if (is_new) texts_.push_back(&text);
      keys.push_back(found->second);
    }
    return keys;
  }
  const std::string& text(int32_t key) const { return *texts_[static_cast<size_t>(key)]; }

 private:
  std::unordered_map<std::string, int32_t> keys_;
  std::vector<const std::string*> texts_;
};

std::vector<std::string> columns_of(MinedForm form, int64_t count) {
  if (form == MinedForm::kLabelledPair) return {"anchor", "text", "score"};
  if (form == MinedForm::kTriplet) return {"anchor", "positive", "negative"};
  std::vector<std::string> columns = {"anchor", "positive"};
  for (int64_t i = 1; i <= count; ++i) columns.push_back(fmt::format("negative_{}", i));
  return columns;
}

}  // namespace

TextMiningPlan plan_text_mining(const TextMining& mining) {
  TextKeys keys;
  MiningPairs pairs;
  pairs.candidates = keys.add(mining.candidates);
  pairs.left = keys.add(mining.left);
  pairs.right = keys.add(mining.right);
  pairs.is_positive.assign(pairs.left.size(), true);
  TextMiningPlan plan{plan_mining(pairs), {}};
  for (const int32_t key : plan.plan.texts) plan.texts.push_back(keys.text(key));
  return plan;
}

MiningScores score_by_scorer(Scorer& scorer, const TextMiningPlan& plan) {
  const MiningPlan& rows = plan.plan;
  const std::vector<std::string> candidates(plan.texts.begin(),
                                            plan.texts.begin() + rows.candidates);
  // Positives that are no candidates are scored beside them: what a scorer counts in its
  // collection stays as in the rankings.
  std::vector<std::string> anchors, collection = candidates;
  std::vector<std::vector<int64_t>> positives;
  for (size_t a = 0; a < rows.anchors.size(); ++a) {
    anchors.push_back(plan.texts[static_cast<size_t>(rows.anchors[a])]);
    positives.emplace_back();
    for (const int32_t row : rows.positives[a]) {
      const bool is_candidate = row < rows.candidates;
      positives.back().push_back(is_candidate ? row : static_cast<int64_t>(collection.size()));
      if (!is_candidate) collection.push_back(plan.texts[static_cast<size_t>(row)]);
    }
  }
  MiningScores scores;
  for (const Ranking& ranking : scorer.rank(anchors, collection, positives, 0)) {
    scores.lowest_positive.push_back(ranking.empty() ? std::numeric_limits<double>::quiet_NaN()
                                                     : ranking.back().score);
  }
  scores.rank = [&scorer, anchors, candidates](int64_t begin, int64_t end, int64_t depth) {
    std::vector<std::vector<Hit>> rankings;
    for (const Ranking& ranking :
         scorer.rank({anchors.begin() + begin, anchors.begin() + end}, candidates, {}, depth)) {
      rankings.emplace_back();
      for (const RankedDocument& found : ranking) {
        rankings.back().push_back({found.document, static_cast<float>(found.score)});
      }
    }
    return rankings;
  };
  return scores;
}

MinedForm parse_mined_form(const std::string& name) {
  if (name == "triplet") return MinedForm::kTriplet;
  if (name == "n-tuple") return MinedForm::kNTuple;
  SIMILE_CHECK(name == "labelled-pair", ErrorKind::kUsage,
               "format: expected triplet, n-tuple or labelled-pair, found '{}'", name);
  return MinedForm::kLabelledPair;
}

MinedRows write_mined(const TextMining& mining, const TextMiningPlan& plan,
                      const MinedNegatives& mined, const MiningOptions& options, MinedForm form,
                      bool jsonl, const std::function<void(std::string_view)>& write) {
  const int64_t count = options.wanted();
  SIMILE_CHECK(form != MinedForm::kNTuple || count > 0, ErrorKind::kUsage,
               "n-tuples have one number of negatives; give count with the method ranks");
  const std::vector<std::string> columns = columns_of(form, count);
  if (!jsonl) write(fmt::format("{}\n", fmt::join(columns, "\t")));
  // `score` is the last column of labelled pairs.
  const auto write_row = [&](const std::vector<const std::string*>& texts, int score = 0) {
    if (jsonl) {
      nlohmann::ordered_json object;
      for (size_t i = 0; i < texts.size(); ++i) object[columns[i]] = *texts[i];
      if (form == MinedForm::kLabelledPair) object[columns.back()] = score;
      write(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
      return;
    }
    std::vector<std::string> fields;
    for (const std::string* text : texts) fields.push_back(clean_field(*text));
    if (form == MinedForm::kLabelledPair) fields.push_back(std::to_string(score));
    write(fmt::format("{}\n", fmt::join(fields, "\t")));
  };
  MinedRows rows;
  const auto pairs = static_cast<int64_t>(mining.left.size());
  rows.repeats = positive_repeats(pairs, mined.counts.negatives, options.oversample);
  std::vector<bool> is_written(plan.plan.anchors.size());
  for (size_t i = 0; i < mining.left.size(); ++i) {
    const auto anchor = static_cast<size_t>(plan.plan.anchor_of_pair[i]);
    const std::vector<const std::string*> pair = {&mining.left[i], &mining.right[i]};
    std::vector<const std::string*> negatives;
    for (const Hit& hit : mined.negatives[anchor]) {
      negatives.push_back(&plan.texts[static_cast<size_t>(hit.id)]);
    }
    if (form == MinedForm::kNTuple) {
      if (static_cast<int64_t>(negatives.size()) < count) {
        ++rows.pairs_left_out;
        continue;
      }
      std::vector<const std::string*> tuple = pair;
      tuple.insert(tuple.end(), negatives.begin(), negatives.begin() + count);
      write_row(tuple);
      ++rows.rows;
      continue;
    }
    const bool is_labelled = form == MinedForm::kLabelledPair;
    for (int64_t r = 0; is_labelled && r < rows.repeats; ++r) {
      write_row(pair, 1);
      ++rows.positives;
    }
    if (is_labelled && is_written[anchor]) continue;
    for (const std::string* negative : negatives) {
      if (is_labelled) {
        write_row({pair[0], negative}, 0);
      } else {
        write_row({pair[0], pair[1], negative});
      }
      ++rows.negatives;
    }
    is_written[anchor] = true;
  }
  if (form != MinedForm::kNTuple) rows.rows = rows.positives + rows.negatives;
  return rows;
}

}  // namespace simile
