// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/word_search.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "simile/index/score_fusion.h"

namespace simile::detail {

namespace {

constexpr int64_t kBlockRows = 64;      // for which the highest bound is kept
constexpr int64_t kSparse = 4;          // rows a posting from which on rows are not scanned
constexpr size_t kFewestTogether = 16;  // documents that are scored together

// The first in [at, end) that is not below `row`, without branches to guess.
const uint16_t* first_from(const uint16_t* at, const uint16_t* end, uint16_t row) {
  for (auto left = end - at; left > 0;) {
    const auto half = (left + 1) / 2;
    at += at[half - 1] < row ? half : 0;
    left -= half;
  }
  return at;
}

bool is_better(const WordHit& a, const WordHit& b) {
  return a.score != b.score ? a.score > b.score : a.row < b.row;
}

}  // namespace

// A search for the best documents of one query.
class BestWords {
 public:
  BestWords(const WordSearch& search, const WordQuery& query, int64_t k,
            const std::vector<char>* allowed)
      : search_(search),
        query_(query),
        k_(static_cast<size_t>(k)),
        allowed_(allowed),
        rounding_(1 + 1e-6 + 2e-7 * static_cast<double>(query.words.size())) {}

  std::vector<WordHit> find() {
    for (segment_ = 0; segment_ < search_.segments_.size(); ++segment_) {
      int64_t postings = 0;
      for (const WordQuery::Word& word : query_.words) postings += word.postings[segment_].size;
      if (postings == 0) continue;
      add_bounds();
      if (postings * kSparse < search_.files_[segment_]->rows()) {
        take_from_postings();
      } else {
        take_from_all();
      }
    }
    std::sort(hits_.begin(), hits_.end(), is_better);
    return std::move(hits_);
  }

 private:
  struct Candidate {
    float bound;
    uint16_t row;
  };

  // Bounds from this on may be those of a hit; all bounds of documents with a word are above 0.
  float least_bound() const {
    const double least = hits_.size() < k_ ? 0 : hits_.front().score;
    return std::max(static_cast<float>(least), std::numeric_limits<float>::min());
  }

  void add_bounds() {
    bounds_.resize(static_cast<size_t>(kMostWordRows));
    for (const WordQuery::Word& word : query_.words) {
      WordSearch::Impacts by_code = search_.impacts_[segment_];
      const auto factor = static_cast<float>(word.count * word.idf * rounding_);
      for (float& bound : by_code) bound *= factor;
      const WordPostings& postings = word.postings[segment_];
      float* const bounds = bounds_.data();
      for (int64_t i = 0; i < postings.size; ++i) {
        bounds[postings.rows[i]] += by_code[postings.codes[i]];
      }
    }
  }

  void take_from_postings() {
    const float least = least_bound();
    for (const WordQuery::Word& word : query_.words) {
      const WordPostings& postings = word.postings[segment_];
      for (int64_t i = 0; i < postings.size; ++i) {
        float& bound = bounds_[postings.rows[i]];
        if (bound >= least) found_.push_back({bound, postings.rows[i]});
        bound = 0;
      }
    }
    score_found();
  }

  // First the documents whose bounds are so high that at least k have them.
  void take_from_all() {
    leave_out_others();
    const auto blocks = (search_.files_[segment_]->rows() + kBlockRows - 1) / kBlockRows;
    highest_.clear();
    for (int64_t block = 0; block < blocks; ++block) {
      const float* const bounds = bounds_.data() + block * kBlockRows;
      float highest = 0;
#pragma omp simd reduction(max : highest)
      for (int64_t i = 0; i < kBlockRows; ++i) highest = bounds[i] > highest ? bounds[i] : highest;
      highest_.push_back(highest);
    }
    float least = least_bound();
    if (const size_t missing = k_ - hits_.size(); missing > 0 && missing <= highest_.size()) {
      std::vector<float> highest = highest_;
      const auto place = highest.begin() + static_cast<std::ptrdiff_t>(missing) - 1;
      std::nth_element(highest.begin(), place, highest.end(), std::greater<>());
      least = std::max(least, *place);
    }
    find_between(least, std::numeric_limits<float>::infinity());
    find_between(least_bound(), least);
    std::fill_n(bounds_.begin(), blocks * kBlockRows, 0.0F);
  }

  // Documents that were removed or are not allowed get the bound 0.
  void leave_out_others() {
    const LiveSegment& live = search_.segments_[segment_];
    if (allowed_ == nullptr && live.rows() == nullptr) return;
    const char* const allowed =
        allowed_ == nullptr ? nullptr : allowed_->data() + search_.begins_[segment_];
    int64_t row = 0;
    for (int64_t i = 0; i < live.size(); ++i, ++row) {
      for (; row < live.row(i); ++row) bounds_[static_cast<size_t>(row)] = 0;
      if (allowed != nullptr && allowed[i] == 0) bounds_[static_cast<size_t>(row)] = 0;
    }
    for (; row < search_.files_[segment_]->rows(); ++row) bounds_[static_cast<size_t>(row)] = 0;
  }

  // Scores the documents with bounds in [least, below).
  void find_between(float least, float below) {
    for (size_t block = 0; block < highest_.size(); ++block) {
      if (highest_[block] < least) continue;
      const size_t begin = block * kBlockRows;
      for (size_t row = begin; row < begin + kBlockRows; ++row) {
        const float bound = bounds_[row];
        if (bound >= least && bound < below) found_.push_back({bound, static_cast<uint16_t>(row)});
      }
    }
    score_found();
  }

  // Scores those that were found, the highest bounds first, as long as they may be hits.
  void score_found() {
    size_t together = std::max(k_, kFewestTogether);
    for (size_t done = 0; done < found_.size(); together *= 2) {
      const auto begin = found_.begin() + static_cast<std::ptrdiff_t>(done);
      done = std::min(found_.size(), done + together);
      const auto end = found_.begin() + static_cast<std::ptrdiff_t>(done);
      std::nth_element(begin, end, found_.end(),
                       [](const Candidate& a, const Candidate& b) { return a.bound > b.bound; });
      rows_.clear();
      for (auto each = begin; each < end; ++each) rows_.push_back(each->row);
      std::sort(rows_.begin(), rows_.end());
      scores_.resize(rows_.size());
      search_.score_within(query_, segment_, rows_, scores_.data());
      const auto first_row = static_cast<int64_t>(segment_) << kGraphShift;
      for (size_t i = 0; i < rows_.size(); ++i) keep({first_row + rows_[i], scores_[i]});
      const auto is_out = [least = least_bound()](const Candidate& c) { return c.bound < least; };
      found_.erase(std::remove_if(end, found_.end(), is_out), found_.end());
    }
    found_.clear();
  }

  void keep(const WordHit& hit) {
    if (hits_.size() == k_ && !is_better(hit, hits_.front())) return;
    const int64_t place = search_.place(hit.row);
    if (place < 0) return;
    if (allowed_ != nullptr && (*allowed_)[static_cast<size_t>(place)] == 0) return;
    if (hits_.size() == k_) {
      std::pop_heap(hits_.begin(), hits_.end(), is_better);
      hits_.pop_back();
    }
    hits_.push_back(hit);
    std::push_heap(hits_.begin(), hits_.end(), is_better);
  }

  const WordSearch& search_;
  const WordQuery& query_;
  const size_t k_;
  const std::vector<char>* const allowed_;
  const double rounding_;  // more than what sums of floats lose
  size_t segment_ = 0;
  std::vector<float> bounds_;   // of each row; zeros between segments
  std::vector<float> highest_;  // of each block of rows
  std::vector<Candidate> found_;
  std::vector<uint16_t> rows_;  // of those that are scored together
  std::vector<double> scores_;
  std::vector<WordHit> hits_;  // a heap with the worst in front
};

WordSearch::WordSearch(std::vector<LiveSegment> segments, std::string language)
    : segments_(std::move(segments)), language_(std::move(language)) {
  int64_t length = 0;
  for (const LiveSegment& live : segments_) {
    files_.push_back(&live.segment().words());
    begins_.push_back(begins_.back() + live.size());
    length += live.total_length();
  }
  if (documents() > 0) {
    mean_length_ = static_cast<double>(length) / static_cast<double>(documents());
  }
  for (const WordFile* file : files_) {
    Impacts& impacts = impacts_.emplace_back();
    impacts.fill(1);  // of words that are frequent, whatever their count
    for (int code = 0; code < (kCountClasses - 1) * kLengthClasses; ++code) {
      impacts[static_cast<size_t>(code)] = Bm25().weight(
          1, code / kLengthClasses + 1, file->least_length(code % kLengthClasses), mean_length_);
    }
  }
}

WordQuery WordSearch::prepare(const std::string& text) const {
  WordQuery query;
  for (auto& [text_of_word, count] : count_words(text, language_)) {
    WordQuery::Word word;
    for (size_t s = 0; s < files_.size(); ++s) {
      const int64_t number = files_[s]->find(text_of_word);
      word.postings.push_back(number < 0 ? WordPostings() : files_[s]->postings(number));
      if (number >= 0) word.documents += segments_[s].rows_with(number);
    }
    if (word.documents == 0) continue;
    word.text = std::move(text_of_word);
    word.count = static_cast<double>(static_cast<float>(count));
    word.idf = Bm25::idf(documents(), word.documents);
    query.words.push_back(std::move(word));
  }
  return query;
}

std::vector<WordHit> WordSearch::best(const WordQuery& query, int64_t k,
                                      const std::vector<char>* allowed) const {
  if (k <= 0) return {};
  return BestWords(*this, query, k, allowed).find();
}

double WordSearch::highest(const WordQuery& query) const {
  const std::vector<WordHit> hits = best(query, 1);
  return hits.empty() ? 0 : hits.front().score;
}

void WordSearch::score(const WordQuery& query, const std::vector<int64_t>& rows,
                       double* scores) const {
  std::vector<uint16_t> within;
  for (size_t first = 0; first < rows.size(); first += within.size()) {
    const int64_t s = rows[first] >> kGraphShift;
    within.clear();
    for (size_t i = first; i < rows.size() && rows[i] >> kGraphShift == s; ++i) {
      within.push_back(static_cast<uint16_t>(SegmentSet::row_within(rows[i])));
    }
    score_within(query, static_cast<size_t>(s), within, scores + first);
  }
}

void WordSearch::score_all(const WordQuery& query, double* scores) const {
  std::fill_n(scores, documents(), 0.0);
  for (const WordQuery::Word& word : query.words) {
    for (size_t s = 0; s < segments_.size(); ++s) {
      const WordPostings& found = word.postings[s];
      const auto first_row = static_cast<int64_t>(s) << kGraphShift;
      for (int64_t i = 0; i < found.size; ++i) {
        const int64_t at = place(first_row + found.rows[i]);
        if (at < 0) continue;
        scores[at] += word.count * Bm25().weight(word.idf, files_[s]->count(found.codes + i),
                                                 files_[s]->length(found.rows[i]), mean_length_);
      }
    }
  }
}

template <typename Use>
void WordSearch::find_rows(const WordQuery::Word& word, size_t s, const std::vector<uint16_t>& rows,
                           const Use& use) const {
  const WordPostings& found = word.postings[s];
  const uint16_t *at = found.rows, *const end = at + found.size;
  for (size_t i = 0; i < rows.size(); ++i) {
    at = first_from(at, end, rows[i]);
    if (at == end) break;
    if (*at != rows[i]) continue;
    const uint32_t count = files_[s]->count(found.codes + (at - found.rows));
    use(i, count,
        word.count * Bm25().weight(word.idf, count, files_[s]->length(rows[i]), mean_length_));
  }
}

void WordSearch::score_within(const WordQuery& query, size_t s, const std::vector<uint16_t>& rows,
                              double* scores) const {
  std::fill_n(scores, rows.size(), 0.0);
  for (const WordQuery::Word& word : query.words) {
    find_rows(word, s, rows, [&](size_t i, uint32_t, double score) { scores[i] += score; });
  }
}

std::vector<ScoreExplanation::Word> WordSearch::explain(const WordQuery& query, int64_t row) const {
  const std::vector<uint16_t> rows = {static_cast<uint16_t>(SegmentSet::row_within(row))};
  std::vector<ScoreExplanation::Word> words;
  for (const WordQuery::Word& word : query.words) {
    find_rows(word, static_cast<size_t>(row >> kGraphShift), rows,
              [&](size_t, uint32_t count, double score) {
                words.push_back(
                    {word.text, static_cast<int64_t>(word.count), count, word.documents, score});
              });
  }
  return words;
}

int64_t WordSearch::place(int64_t row) const {
  const auto s = static_cast<size_t>(row >> kGraphShift);
  const int64_t found = segments_[s].find(SegmentSet::row_within(row));
  return found < 0 ? -1 : begins_[s] + found;
}

}  // namespace simile::detail
