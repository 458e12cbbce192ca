// SPDX-License-Identifier: Apache-2.0
#include "simile/data/leave_out.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "simile/core/parallel.h"
#include "simile/data/field_reader.h"
#include "simile/data/text_match.h"
#include "simile/text/words.h"

namespace simile {
namespace {

constexpr int64_t kTogether = 64;  // pairs a thread takes at a time

enum Reason : char { kKept, kEqual, kNear };

// Comparison forms of the telling texts, each once.
std::vector<std::string> read_forms(const std::vector<std::string>& files) {
  std::unordered_set<std::string> forms;
  std::vector<std::string> fields;
  for (const std::string& file : files) {
    FieldReader reader(file, {});
    for (int64_t line = 0; reader.next(fields, line);) {
      for (const std::string& field : fields) {
        std::string form = comparison_form(field);
        if (form_words(form) < kTellingWords) continue;
        forms.insert(std::move(form));
      }
    }
  }
  return {forms.begin(), forms.end()};
}

class TestForms {
 public:
  explicit TestForms(const LeaveOutOptions& options)
      : forms_(read_forms(options.files)), equal_(forms_.begin(), forms_.end()) {
    if (options.overlap > 0) near_.emplace(forms_, options.overlap, options.shingle);
  }

  Reason look_at(const std::string& text) const {
    const std::string form = comparison_form(text);
    if (equal_.count(form) > 0) return kEqual;
    return near_ && near_->finds_any(form) ? kNear : kKept;
  }

 private:
  std::vector<std::string> forms_;
  std::unordered_set<std::string_view> equal_;
  std::optional<NearTextFinder> near_;
};

}  // namespace

KeySet read_text_keys(const std::vector<std::string>& files) {
  std::vector<uint64_t> keys;
  for (const std::string& form : read_forms(files)) keys.push_back(text_form(form).key);
  return key_set(std::move(keys));
}

LeftOut leave_out_texts_of(const LeaveOutOptions& options, PairDataset& data) {
  if (options.files.empty()) return {};
  const TestForms tests(options);
  std::vector<const std::vector<std::string>*> columns = {&data.left};
  if (!data.right.empty()) columns.push_back(&data.right);
  for (const auto& column : data.negatives) columns.push_back(&column);
  std::vector<Reason> reasons(data.left.size(), kKept);
  run_parallel(data.size(), kTogether, [&](int64_t pair) {
    const auto i = static_cast<size_t>(pair);
    for (size_t c = 0; c < columns.size() && reasons[i] != kEqual; ++c) {
      const Reason reason = tests.look_at((*columns[c])[i]);
      if (reason != kKept) reasons[i] = reason;
    }
  });
  std::vector<char> is_kept;
  is_kept.reserve(reasons.size());
  for (const Reason reason : reasons) is_kept.push_back(reason == kKept ? 1 : 0);
  keep_pairs(is_kept, data);
  return {std::count(reasons.begin(), reasons.end(), kEqual),
          std::count(reasons.begin(), reasons.end(), kNear)};
}

}  // namespace simile
