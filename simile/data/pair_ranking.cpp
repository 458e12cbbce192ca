// SPDX-License-Identifier: Apache-2.0
#include "simile/data/pair_ranking.h"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "simile/core/error.h"

namespace simile {
namespace {

constexpr double kPositiveAbove = 0.5;

// Distinct texts with ids.
class NumberedTexts {
 public:
  NumberedTexts(const char* prefix, std::vector<std::string>& ids, std::vector<std::string>& texts)
      : prefix_(prefix), ids_(ids), texts_(texts) {}

  int64_t number(const std::string& text) {
    const auto [found, is_new] = numbers_.emplace(text, static_cast<int64_t>(texts_.size()));
    if (is_new) {
      texts_.push_back(text);
      ids_.push_back(fmt::format("{}{}", prefix_, texts_.size()));
    }
    return found->second;
  }

 private:
  const char* prefix_;
  std::vector<std::string>& ids_;
  std::vector<std::string>& texts_;
  std::unordered_map<std::string, int64_t> numbers_;
};

// A document that is judged twice keeps its higher relevance.
void add_judgement(int64_t document, int64_t relevance, std::vector<JudgedDocument>& judged) {
  for (JudgedDocument& known : judged) {
    if (known.document != document) continue;
    known.relevance = std::max(known.relevance, relevance);
    return;
  }
  judged.push_back({document, relevance});
}

}  // namespace

RankingData ranking_from_pairs(const PairDataOptions& options) {
  PairDataOptions whole = options;
  whole.folds = {};
  const PairDataset pairs = read_pairs(whole);
  SIMILE_CHECK(!pairs.right.empty(), ErrorKind::kInput,
               fmt::format("{}: a ranking is made of pairs, found single texts; name the column "
                           "`right`",
                           options.file()));
  RankingData data;
  data.notes = pairs.notes;
  data.reports = {pairs.report};
  std::vector<char> is_asked(pairs.left.size(), 1);
  if (options.folds.is_set()) {
    FoldPart part = choose_part(options.folds, fold_groups(pairs), options.file(), "pairs");
    is_asked = std::move(part.is_kept);
    data.notes.push_back(part.note);
  }
  NumberedTexts queries("q", data.query_ids, data.query_texts);
  NumberedTexts documents("d", data.document_ids, data.document_texts);
  for (size_t i = 0; i < pairs.left.size(); ++i) {
    const int64_t document = documents.number(pairs.right[i]);
    std::vector<int64_t> negatives;
    for (const auto& column : pairs.negatives) negatives.push_back(documents.number(column[i]));
    if (is_asked[i] == 0) continue;
    const auto query = static_cast<size_t>(queries.number(pairs.left[i]));
    data.judged.resize(data.query_ids.size());
    add_judgement(document, pairs.score[i] > kPositiveAbove ? 1 : 0, data.judged[query]);
    for (const int64_t negative : negatives) add_judgement(negative, 0, data.judged[query]);
  }
  data.notes.push_back(fmt::format("{}: {} queries and {} documents made of {} pairs",
                                   options.file(), data.query_ids.size(), data.document_ids.size(),
                                   pairs.size()));
  return data;
}

}  // namespace simile
