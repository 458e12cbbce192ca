// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/mining.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "simile/core/check.h"
#include "simile/core/random.h"
#include "simile/core/unused_options.h"

namespace simile {
namespace {

constexpr int64_t kHitsAtOnce = int64_t{1} << 22;  // 64 MB
constexpr int64_t kDrawsPerWish = 10;              // ranks looked at for each negative wanted

// Gives each key a row, in order of appearance.
class Rows {
 public:
  explicit Rows(std::vector<int32_t>& keys) : keys_(keys) {}
  int32_t add(int32_t key) {
    const auto [found, is_new] = rows_.emplace(key, static_cast<int32_t>(keys_.size()));
    if (is_new) keys_.push_back(key);
    return found->second;
  }

 private:
  std::vector<int32_t>& keys_;
  std::unordered_map<int32_t, int32_t> rows_;
};

void sort_once(std::vector<int32_t>& rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
}

bool holds(const std::vector<int32_t>& sorted, int64_t row) {
  return std::binary_search(sorted.begin(), sorted.end(), static_cast<int32_t>(row));
}

int64_t range_end(const MiningOptions& options) {
  return options.range_max > 0 ? options.range_max
                               : options.range_min + kDrawsPerWish * options.wanted();
}

// Candidates to rank so that every rank that can be chosen is there.
int64_t depth_of(const MiningOptions& options, int64_t own, int64_t candidates) {
  int64_t ranks = candidates;
  if (options.method != "ranks") {
    ranks = range_end(options);
  } else if (options.count > 0 && options.count < 32) {
    ranks = options.rank_base + (int64_t{1} << (options.count - 1));
  }
  return std::min(candidates, ranks + own);
}

// The choice for one anchor from its ranking.
class Selection {
 public:
  Selection(const MiningOptions& options, const std::vector<int32_t>& own, double positive,
            MiningCounts& counts)
      : options_(options), own_(own), positive_(positive), counts_(counts) {}

  std::vector<Hit> operator()(const std::vector<Hit>& ranking, uint64_t seed, uint64_t anchor) {
    if (options_.method == "ranks") return at_ranks(ranking);
    const bool is_top = options_.method == "top";
    std::vector<Hit> hits = eligible(ranking, is_top);
    if (is_top) return hits;
    const auto count = static_cast<size_t>(options_.wanted());
    if (hits.size() <= count) return hits;
    std::vector<size_t> places(hits.size());
    std::iota(places.begin(), places.end(), size_t{0});
    RandomStream stream(seed, "mining", anchor);
    shuffle(places, stream);
    places.resize(count);
    std::sort(places.begin(), places.end());
    std::vector<Hit> drawn;
    for (const size_t place : places) drawn.push_back(hits[place]);
    return drawn;
  }

 private:
  std::vector<Hit> at_ranks(const std::vector<Hit>& ranking) {
    std::vector<Hit> chosen;
    int64_t position = 0, step = 1, ranks = 0;
    for (const Hit& hit : ranking) {
      if (is_own(hit)) continue;
      if (++position != options_.rank_base + step) continue;
      if (is_within_limits(hit)) chosen.push_back(hit);
      if (++ranks == options_.count) break;  // never, where count is 0
      step *= 2;
    }
    return chosen;
  }

  std::vector<Hit> eligible(const std::vector<Hit>& ranking, bool only_wanted) {
    std::vector<Hit> hits;
    const int64_t end = range_end(options_);
    int64_t rank = -1;
    for (const Hit& hit : ranking) {
      if (is_own(hit)) continue;
      if (++rank >= end) break;
      if (rank < options_.range_min) {
        ++counts_.before_range;
      } else if (is_within_limits(hit)) {
        hits.push_back(hit);
        if (only_wanted && static_cast<int64_t>(hits.size()) == options_.wanted()) break;
      }
    }
    return hits;
  }

  bool is_own(const Hit& hit) {
    const bool found = holds(own_, hit.id);
    counts_.own += found ? 1 : 0;
    return found;
  }

  // A margin of 0 is none; nor is there one where there is no positive to keep away from.
  bool is_within_limits(const Hit& hit) {
    const double score = hit.score;
    const auto refuse = [](bool refused, int64_t& count) {
      count += refused ? 1 : 0;
      return refused;
    };
    return !refuse(score < options_.min_score, counts_.min_score) &&
           !refuse(score > options_.max_score, counts_.max_score) &&
           !refuse(options_.absolute_margin > 0 && score > positive_ - options_.absolute_margin,
                   counts_.absolute_margin) &&
           !refuse(options_.relative_margin > 0 &&
                       score > positive_ - options_.relative_margin * std::fabs(positive_),
                   counts_.relative_margin);
  }

  const MiningOptions& options_;
  const std::vector<int32_t>& own_;
  double positive_;
  MiningCounts& counts_;
};

}  // namespace

void MiningOptions::visit(OptionVisitor& v) {
  visit_method(v, {});
  visit_selection(v);
}

void MiningOptions::visit_method(OptionVisitor& v, const std::vector<std::string>& before) {
  std::vector<std::string> methods = before;
  for (const char* name : {"top", "random", "ranks"}) methods.push_back(name);
  v.field("method", method,
          choice_info("ranked texts that become negatives: the first that the limits allow, some "
                      "of them at random, or those at the ranks rank_base + 1, 2, 4, 8, ...",
                      methods));
}

void MiningOptions::visit_selection(OptionVisitor& v) {
  v.field("count", count,
          {"negatives for each anchor; 0: 3, or with ranks one for each rank", "texts", 0, 1000});
  v.only_for("method", {"top", "random"}, [&](OptionVisitor& of) {
    of.field("range_min", range_min,
             {"nearest texts to skip, which may be unlabelled positives", "texts", 0});
    of.field("range_max", range_max,
             {"rank to stop before; 0: range_min and ten times count", "texts", 0});
  });
  v.field("min_score", min_score, {"least score of a negative; -1e9: none"});
  v.field("max_score", max_score, {"highest score of a negative; 1e9: none"});
  v.field(
      "absolute_margin", absolute_margin,
      {"least distance of a negative's score below the lowest of the anchor's positives; 0: off",
       "", 0});
  v.field("relative_margin", relative_margin,
          {"the same as a share of that positive's score; try 0.05 first; 0: off", "", 0, 2});
  v.only_for("method", {"ranks"}, [&](OptionVisitor& of) {
    of.field("rank_base", rank_base, {"nearest texts that are never taken", "texts", 0, 1e9});
  });
  v.field("oversample", oversample,
          {"labelled pairs: positives repeated to about this many for each negative; 0: each once",
           "", 0, 1000});
}

void check_mining_options(const MiningOptions& options) {
  const auto check = [](bool good, const std::string& message) {
    SIMILE_CHECK(good, ErrorKind::kRecipe, "mining: " + message);
  };
  const std::string foreign = find_foreign_options("method", "method", options);
  check(foreign.empty(), foreign);
  if (options.method == "ranks") return;
  check(options.range_max == 0 || options.range_max > options.range_min,
        fmt::format("range_max {} should be above range_min {}: no rank lies between",
                    options.range_max, options.range_min));
  check(options.range_max == 0 || options.range_max - options.range_min >= options.wanted(),
        fmt::format("{} ranks from {} to {} hold no {} negatives; raise range_max or lower count",
                    options.range_max - options.range_min, options.range_min, options.range_max,
                    options.wanted()));
}

MiningPlan plan_mining(const MiningPairs& pairs) {
  MiningPlan plan;
  Rows rows(plan.texts);
  for (const int32_t key : pairs.candidates) rows.add(key);
  plan.candidates = static_cast<int64_t>(plan.texts.size());
  std::vector<int32_t> anchor_keys;
  Rows anchors(anchor_keys);
  for (const int32_t key : pairs.left) {
    plan.anchor_of_pair.push_back(anchors.add(key));
    if (anchor_keys.size() > plan.anchors.size()) plan.anchors.push_back(rows.add(key));
  }
  plan.positives.resize(plan.anchors.size());
  plan.own.resize(plan.anchors.size());
  for (size_t a = 0; a < plan.anchors.size(); ++a) plan.own[a].push_back(plan.anchors[a]);
  std::vector<int32_t> anchor_of_row(plan.texts.size(), -1);
  for (size_t a = 0; a < plan.anchors.size(); ++a) {
    anchor_of_row[plan.anchors[a]] = static_cast<int32_t>(a);
  }
  for (size_t i = 0; i < pairs.left.size(); ++i) {
    if (!pairs.is_positive[i]) continue;
    const auto anchor = static_cast<size_t>(plan.anchor_of_pair[i]);
    const int32_t right = rows.add(pairs.right[i]);
    plan.positives[anchor].push_back(right);
    plan.own[anchor].push_back(right);
    const bool is_known = static_cast<size_t>(right) < anchor_of_row.size();
    const int32_t other = is_known ? anchor_of_row[right] : -1;
    if (other >= 0) plan.own[other].push_back(plan.anchors[anchor]);
  }
  for (size_t a = 0; a < plan.anchors.size(); ++a) {
    sort_once(plan.positives[a]);
    sort_once(plan.own[a]);
  }
  return plan;
}

VectorMetric mining_metric(const std::string& similarity) {
  if (similarity == "euclidean") return VectorMetric::kSquaredDistance;
  SIMILE_CHECK(similarity == "cosine" || similarity == "dot", ErrorKind::kRecipe,
               "mining: the model compares vectors by '{}'; mining takes cosine, dot or euclidean",
               similarity);
  return VectorMetric::kInnerProduct;
}

MiningScores score_by_vectors(const Matrix<float>& vectors, const MiningPlan& plan,
                              VectorMetric metric, const Matrix<float>* anchors) {
  const auto anchor_row = [&vectors, &plan, anchors](int64_t a) {
    return anchors != nullptr ? anchors->row(a) : vectors.row(plan.anchors[a]);
  };
  MiningScores scores;
  scores.rank = [&vectors, &plan, metric, anchor_row](int64_t begin, int64_t end, int64_t depth) {
    Matrix<float> queries(end - begin, vectors.cols);
    for (int64_t a = begin; a < end; ++a) {
      std::copy_n(anchor_row(a), vectors.cols, queries.row(a - begin));
    }
    return exact_search(vectors.values.data(), plan.candidates, queries.values.data(), queries.rows,
                        vectors.cols, depth, metric);
  };
  for (size_t a = 0; a < plan.anchors.size(); ++a) {
    double lowest = std::numeric_limits<double>::quiet_NaN();
    const float* const anchor = anchor_row(static_cast<int64_t>(a));
    for (const int32_t row : plan.positives[a]) {
      double dot = 0, squares = 0;
      for (int64_t i = 0; i < vectors.cols; ++i) {
        const double x = anchor[i], y = vectors.at(row, i);
        dot += x * y;
        squares += (x - y) * (x - y);
      }
      lowest = std::fmin(lowest, metric == VectorMetric::kInnerProduct ? dot : -squares);
    }
    scores.lowest_positive.push_back(lowest);
  }
  return scores;
}

MinedNegatives mine_negatives(const MiningPlan& plan, const MiningScores& scores,
                              const MiningOptions& options, uint64_t seed) {
  check_mining_options(options);
  MinedNegatives mined;
  MiningCounts& counts = mined.counts;
  counts.anchors = static_cast<int64_t>(plan.anchors.size());
  size_t own = 0;
  for (const auto& rows : plan.own) own = std::max(own, rows.size());
  const int64_t depth = depth_of(options, static_cast<int64_t>(own), plan.candidates);
  const int64_t block = std::max<int64_t>(1, kHitsAtOnce / std::max<int64_t>(1, depth));
  int64_t positives = 0;
  for (int64_t begin = 0; begin < counts.anchors; begin += block) {
    const int64_t end = std::min(begin + block, counts.anchors);
    const std::vector<std::vector<Hit>> rankings = scores.rank(begin, end, depth);
    for (int64_t anchor = begin; anchor < end; ++anchor) {
      const auto a = static_cast<size_t>(anchor);
      const double positive = scores.lowest_positive[a];
      Selection select(options, plan.own[a], positive, counts);
      std::vector<Hit> chosen = select(rankings[anchor - begin], seed, a);
      const auto size = static_cast<int64_t>(chosen.size());
      if (!std::isnan(positive) && size > 0) {
        ++positives;
        counts.positive_mean += positive;
      }
      counts.without += size == 0 ? 1 : 0;
      counts.fewer += size > 0 && size < options.wanted() ? 1 : 0;
      counts.negatives += size;
      for (const Hit& hit : chosen) counts.negative_mean += hit.score;
      mined.negatives.push_back(std::move(chosen));
    }
  }
  if (positives > 0) counts.positive_mean /= static_cast<double>(positives);
  if (counts.negatives > 0) counts.negative_mean /= static_cast<double>(counts.negatives);
  return mined;
}

int64_t fill_negatives(const MiningPlan& plan, int64_t count, uint64_t seed,
                       std::vector<std::vector<int32_t>>& negatives) {
  int64_t added = 0;
  for (size_t a = 0; a < negatives.size(); ++a) {
    std::vector<int32_t>& rows = negatives[a];
    const auto wanted = static_cast<size_t>(count);
    if (rows.size() >= wanted) continue;
    const std::vector<int32_t>& own = plan.own[a];
    // Candidates are the first rows, and `own` is ascending.
    const int64_t own_candidates =
        std::lower_bound(own.begin(), own.end(), static_cast<int32_t>(plan.candidates)) -
        own.begin();
    const int64_t free = plan.candidates - own_candidates;
    SIMILE_CHECK(free > 0, ErrorKind::kInput,
                 "mining: anchor {} (numbered from 0) has no text to be told from: all {} "
                 "candidates are its own; give a larger corpus",
                 a, plan.candidates);
    RandomStream stream(seed, "mining fill", a);
    while (rows.size() < wanted) {
      const auto row = static_cast<int32_t>(stream.below(static_cast<uint64_t>(plan.candidates)));
      const bool is_taken = std::find(rows.begin(), rows.end(), row) != rows.end();
      if (holds(own, row) || (is_taken && static_cast<int64_t>(rows.size()) < free)) continue;
      rows.push_back(row);
      ++added;
    }
  }
  return added;
}

int64_t positive_repeats(int64_t positives, int64_t negatives, double ratio) {
  if (positives == 0) return 1;
  return std::max<int64_t>(
      1, std::llround(ratio * static_cast<double>(negatives) / static_cast<double>(positives)));
}

}  // namespace simile
