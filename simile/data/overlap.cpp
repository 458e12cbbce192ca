// SPDX-License-Identifier: Apache-2.0
#include "simile/data/overlap.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/data/detail/pair_rows.h"
#include "simile/data/line_reader.h"
#include "simile/data/ranking_data.h"
#include "simile/data/text_list.h"
#include "simile/text/passages.h"
#include "simile/text/words.h"

namespace simile {
namespace {

constexpr int64_t kReportEvery = 10000;  // rows between two reports of progress

constexpr size_t kBlock = 4096;    // training texts looked at together for near ones
constexpr int64_t kTogether = 16;  // of them by one thread

// A text of the test files, known by its comparison form.
struct KnownText {
  std::string found_at;  // empty: not met
  std::string near_at;   // the same of the first text that it is near
  double near_share = 0;
};

struct TestText {
  std::string text;
  const KnownText* known;
};

struct TestFile {
  OverlapCount count;
  std::vector<TestText> texts;  // distinct ones
  std::optional<TestReview> pairs;
};

PairDataOptions pair_options(const std::string& path, const OverlapOptions& options) {
  PairDataOptions pairs;
  pairs.path = path;
  pairs.left = options.left;
  pairs.right = options.right;
  pairs.score.clear();
  pairs.table = options.table;
  pairs.table.on_error = "skip";
  return pairs;
}

// Nothing where `read` finds another kind of file.
template <typename Read>
auto if_pairs(const Read& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
    return std::nullopt;
  }
}

TestReview review_as_ranking(const PairDataset& data) {
  TestTexts texts = pair_texts(data);
  texts.is_ranking = true;
  return TestReview(texts);
}

class OverlapFinder {
 public:
  OverlapFinder(const OverlapOptions& options, EventSink& events)
      : options_(options), events_(events), splitter_(options.language) {}

  void add_test_file(const std::string& path) {
    TestFile& file = files_.emplace_back();
    file.count.file = path;
    std::unordered_set<std::string> seen;
    const Receiver add = [&](const std::string& text, std::string form, int64_t) {
      ++file.count.texts;
      if (!seen.insert(form).second) return;
      const auto known = known_.emplace(std::move(form), KnownText()).first;
      file.texts.push_back({text, &known->second});
    };
    if (folder_exists(path)) {
      RankingDataOptions folder;
      folder.folder = path;
      folder.split = options_.split;
      folder.allow_unknown = true;
      folder.columns.table = options_.table;
      const RankingData set = read_ranking_data(folder);
      for (const auto* side : {&set.query_texts, &set.document_texts}) {
        for (const std::string& text : *side) offer(text, 0, add);
      }
      file.pairs = review_as_ranking(pairs_from_ranking(set));
    } else {
      read_texts(path, add);
      if (is_table(path)) {
        file.pairs =
            if_pairs([&] { return review_as_ranking(read_pairs(pair_options(path, options_))); });
      }
    }
    file.count.distinct = static_cast<int64_t>(file.texts.size());
    test_texts_ += file.count.texts;
  }

  void add_training_file(const std::string& path) {
    int64_t texts = 0;
    read_texts(path, [&](const std::string& text, const std::string& form, int64_t line) {
      ++texts;
      mark(form, path, line);
      if (wants_pairs()) text_keys_.push_back(text_form(text).key);
      if (near_) look_for_near(form, path, line);
      const auto sentences = splitter_.split(text);
      if (sentences.size() < 2) return;
      for (const std::string_view sentence : sentences) mark(comparison_form(sentence), path, line);
    });
    training_texts_ += texts;
    if (!wants_pairs() || !is_table(path)) return;
    if_pairs([&] {
      PairRowReader reader(pair_options(path, options_));
      for (PairRow pair; reader.next(pair);) {
        pair_keys_.push_back(pair_key(text_form(pair.left), text_form(pair.right)));
      }
      return true;
    });
  }

  void finish_tests() {
    check_texts(test_texts_, "test");
    if (options_.near == 0) return;
    std::vector<std::string> forms;
    for (auto& [form, text] : known_) {
      forms.push_back(form);
      by_number_.push_back(&text);
    }
    near_.emplace(forms, options_.near, options_.shingle);
  }

  OverlapReport finish() {
    check_texts(training_texts_, "training");
    if (near_) mark_near();
    DataReview training;
    training.has_right = true;
    training.left = key_set(std::move(text_keys_));
    training.keys = key_set(std::move(pair_keys_));
    OverlapReport report;
    report.training_texts = training_texts_;
    for (TestFile& file : files_) {
      for (TestText& text : file.texts) {
        const KnownText& known = *text.known;
        const bool is_equal = !known.found_at.empty();
        if (!is_equal && known.near_at.empty()) continue;
        ++(is_equal ? file.count.found : file.count.near);
        report.found.push_back({std::move(text.text), file.count.file,
                                is_equal ? known.found_at : known.near_at,
                                is_equal ? 1 : known.near_share});
      }
      if (file.pairs) file.count.pairs = find_leak(training, *file.pairs);
      report.counts.push_back(file.count);
    }
    return report;
  }

 private:
  using Receiver = std::function<void(const std::string& text, std::string form, int64_t line)>;

  // Whether the text is long enough to be handed over.
  bool offer(const std::string& text, int64_t line, const Receiver& receive) const {
    std::string form = comparison_form(text);
    if (form_words(form) < options_.minimum_words) return false;
    receive(text, std::move(form), line);
    return true;
  }

  bool wants_pairs() const {
    return std::any_of(files_.begin(), files_.end(),
                       [](const TestFile& file) { return file.pairs.has_value(); });
  }

  // Hands over the texts that are long enough.
  void read_texts(const std::string& path, const Receiver& receive) {
    FieldReader reader(path, options_.columns, options_.table);
    std::vector<std::string> fields;
    bool any = false;
    for (int64_t line = 0; reader.next(fields, line);) {
      if (++rows_ % kReportEvery == 0) events_.progress({"read", rows_, 0, "rows", {}});
      for (const std::string& field : fields) any = offer(field, line, receive) || any;
    }
    if (!reader.report().warning().empty()) events_.warning(reader.report().warning());
    if (!any) {
      events_.warning(
          fmt::format("{}: no text of at least {} words", path, options_.minimum_words));
    }
  }

  void mark(const std::string& form, const std::string& path, int64_t line) {
    const auto known = known_.find(form);
    if (known == known_.end() || !known->second.found_at.empty()) return;
    known->second.found_at = fmt::format("{}:{}", path, line);
  }

  void look_for_near(const std::string& form, const std::string& path, int64_t line) {
    forms_.push_back(form);
    places_.push_back(fmt::format("{}:{}", path, line));
    if (forms_.size() == kBlock) mark_near();
  }

  // Marks known texts near those set aside, in their order.
  void mark_near() {
    std::vector<std::vector<NearText>> found(forms_.size());
    run_parallel(static_cast<int64_t>(forms_.size()), kTogether, [&](int64_t i) {
      found[static_cast<size_t>(i)] = near_->find(forms_[static_cast<size_t>(i)]);
    });
    for (size_t i = 0; i < found.size(); ++i) {
      for (const NearText& near : found[i]) {
        KnownText& known = *by_number_[static_cast<size_t>(near.text)];
        if (!known.near_at.empty()) continue;
        known.near_at = places_[i];
        known.near_share = near.share;
      }
    }
    forms_.clear();
    places_.clear();
  }

  void check_texts(int64_t count, const char* side) const {
    SIMILE_CHECK(count > 0, ErrorKind::kInput,
                 "the {} files hold no text of at least {} words; lower "
                 "minimum_words, or name other columns",
                 side, options_.minimum_words);
  }

  const OverlapOptions& options_;
  EventSink& events_;
  SentenceSplitter splitter_;
  std::unordered_map<std::string, KnownText> known_;  // by form; elements stay where they are
  std::optional<NearTextFinder> near_;                // once all test texts are known
  std::vector<KnownText*> by_number_;                 // in near_
  std::vector<std::string> forms_, places_;  // of training texts not yet looked at for near ones
  std::vector<TestFile> files_;
  std::vector<uint64_t> text_keys_, pair_keys_;  // of the training files
  int64_t rows_ = 0, test_texts_ = 0, training_texts_ = 0;
};

}  // namespace

OverlapReport find_overlap(const std::vector<std::string>& training,
                           const std::vector<std::string>& test, const OverlapOptions& options,
                           EventSink& events) {
  SIMILE_CHECK(!training.empty() && !test.empty(), ErrorKind::kUsage,
               "overlap needs at least one training file and one test file");
  OverlapFinder finder(options, events);
  for (const std::string& path : test) finder.add_test_file(path);
  finder.finish_tests();
  for (const std::string& path : training) finder.add_training_file(path);
  return finder.finish();
}

}  // namespace simile
