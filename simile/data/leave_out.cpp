// SPDX-License-Identifier: Apache-2.0
#include "simile/data/leave_out.h"

#include <unordered_set>

#include "simile/data/detail/field_reader.h"
#include "simile/data/text_form.h"
#include "simile/text/comparison_form.h"

namespace simile {
namespace {

std::unordered_set<std::string> read_forms(const std::vector<std::string>& files) {
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
  return forms;
}

}  // namespace

int64_t leave_out_texts_of(const std::vector<std::string>& files, PairDataset& data) {
  if (files.empty()) return 0;
  const std::unordered_set<std::string> forms = read_forms(files);
  std::vector<char> is_kept(data.left.size(), 1);
  const auto look_at = [&](const std::vector<std::string>& texts) {
    for (size_t i = 0; i < texts.size(); ++i) {
      if (is_kept[i] != 0 && forms.count(comparison_form(texts[i])) > 0) is_kept[i] = 0;
    }
  };
  look_at(data.left);
  look_at(data.right);
  for (const auto& column : data.negatives) look_at(column);
  const int64_t before = data.size();
  keep_pairs(is_kept, data);
  return before - data.size();
}

}  // namespace simile
