// SPDX-License-Identifier: Apache-2.0
#include "simile/data/overlap.h"

#include <fmt/format.h>

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "simile/core/error.h"
#include "simile/data/detail/field_reader.h"
#include "simile/text/comparison_form.h"
#include "simile/text/sentence_splitter.h"

namespace simile {
namespace {

constexpr int64_t kReportEvery = 10000;  // rows between two reports of progress

// A text of the test files, known by its comparison form.
struct KnownText {
  std::string found_at;  // empty: not met
};

struct TestText {
  std::string text;
  const KnownText* known;
};

struct TestFile {
  OverlapCount count;
  std::vector<TestText> texts;  // distinct ones
};

// The forms of the test files' texts; the map's elements stay where they are.
using KnownTexts = std::unordered_map<std::string, KnownText>;

class OverlapFinder {
 public:
  OverlapFinder(const OverlapOptions& options, EventSink& events)
      : options_(options), events_(events), splitter_(options.language) {}

  void add_test_file(const std::string& path) {
    TestFile& file = files_.emplace_back();
    file.count.file = path;
    std::unordered_set<std::string> seen;
    read_texts(path, [&](const std::string& text, std::string form, int64_t) {
      ++file.count.texts;
      if (!seen.insert(form).second) return;
      const auto known = known_.emplace(std::move(form), KnownText()).first;
      file.texts.push_back({text, &known->second});
    });
    file.count.distinct = static_cast<int64_t>(file.texts.size());
    test_texts_ += file.count.texts;
  }

  void add_training_file(const std::string& path) {
    int64_t texts = 0;
    read_texts(path, [&](const std::string& text, const std::string& form, int64_t line) {
      ++texts;
      mark(form, path, line);
      const auto sentences = splitter_.split(text);
      if (sentences.size() < 2) return;
      for (const std::string_view sentence : sentences) mark(comparison_form(sentence), path, line);
    });
    training_texts_ += texts;
  }

  void check_test_texts() const { check_texts(test_texts_, "test"); }

  OverlapReport finish() {
    check_texts(training_texts_, "training");
    OverlapReport report;
    report.training_texts = training_texts_;
    for (TestFile& file : files_) {
      for (TestText& text : file.texts) {
        if (text.known->found_at.empty()) continue;
        ++file.count.found;
        report.found.push_back({std::move(text.text), file.count.file, text.known->found_at});
      }
      report.counts.push_back(file.count);
    }
    return report;
  }

 private:
  using Receiver = std::function<void(const std::string& text, std::string form, int64_t line)>;

  // Hands over the texts that are long enough.
  void read_texts(const std::string& path, const Receiver& receive) {
    FieldReader reader(path, options_.columns);
    std::vector<std::string> fields;
    bool any = false;
    for (int64_t line = 0; reader.next(fields, line);) {
      if (++rows_ % kReportEvery == 0) events_.progress({"read", rows_, 0, "rows", {}});
      for (const std::string& field : fields) {
        std::string form = comparison_form(field);
        if (form_words(form) < options_.minimum_words) continue;
        any = true;
        receive(field, std::move(form), line);
      }
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

  void check_texts(int64_t count, const char* side) const {
    SIMILE_CHECK(count > 0, ErrorKind::kInput,
                 fmt::format("the {} files hold no text of at least {} words; lower "
                             "minimum_words, or name other columns",
                             side, options_.minimum_words));
  }

  const OverlapOptions& options_;
  EventSink& events_;
  SentenceSplitter splitter_;
  KnownTexts known_;
  std::vector<TestFile> files_;
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
  finder.check_test_texts();
  for (const std::string& path : training) finder.add_training_file(path);
  return finder.finish();
}

}  // namespace simile
