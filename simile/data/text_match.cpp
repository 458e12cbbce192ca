// SPDX-License-Identifier: Apache-2.0
#include "simile/data/text_match.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "simile/core/check.h"
#include "simile/core/hash.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/data/text_list.h"
#include "simile/text/words.h"

namespace simile {
namespace {

constexpr int64_t kTogether = 256;  // texts a thread takes at a time

using Forms = std::unordered_set<std::string>;

ReadReport read_forms(const std::string& file, const TableOptions& table, Forms& forms) {
  FieldReader reader(file, {}, table);
  std::vector<std::string> fields;
  for (int64_t line = 0; reader.next(fields, line);) {
    for (const std::string& field : fields) {
      std::string form = comparison_form(field);
      if (form_words(form) >= kTellingWords) forms.insert(std::move(form));
    }
  }
  return reader.report();
}

// Comparison forms of the telling texts, each once. `warnings` may be null.
std::vector<std::string> read_forms(const std::vector<std::string>& files,
                                    const TableOptions& table, std::vector<std::string>* warnings) {
  Forms all;
  for (const std::string& file : files) {
    TableOptions own = table;
    own.encoding = encoding_beside(file, table.encoding);
    Forms forms;
    const ReadReport report = read_forms(file, own, forms);
    if (warnings != nullptr && !report.warning().empty()) warnings->push_back(report.warning());
    if (warnings != nullptr && forms.empty()) {
      warnings->push_back(
          fmt::format("{}: no text of at least {} words, which is compared", file, kTellingWords));
    }
    all.merge(forms);
  }
  return {all.begin(), all.end()};
}

}  // namespace

TextForm text_form(std::string_view text) {
  const std::string key = comparison_key(text);
  return {stream_key(0, key), static_cast<int32_t>(form_words(key))};
}

std::vector<TextForm> text_forms(const std::vector<std::string>& texts) {
  comparison_form("\u00e9");  // what ICU cannot do is thrown here, outside the threads
  std::vector<TextForm> forms(texts.size());
#pragma omp parallel for schedule(dynamic, 256)
  for (size_t i = 0; i < texts.size(); ++i) forms[i] = text_form(texts[i]);
  return forms;
}

uint64_t pair_key(const TextForm& a, const TextForm& b) {
  const auto [low, high] = std::minmax(a.key, b.key);
  const uint64_t keys[2] = {low, high};
  return stream_key(2, {reinterpret_cast<const char*>(keys), sizeof(keys)});
}

KeySet key_set(std::vector<uint64_t> keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  keys.shrink_to_fit();
  return keys;
}

KeySet key_set(const std::vector<TextForm>& forms) {
  std::vector<uint64_t> keys;
  keys.reserve(forms.size());
  for (const TextForm& form : forms) keys.push_back(form.key);
  return key_set(std::move(keys));
}

bool contains(const KeySet& keys, uint64_t key) {
  return std::binary_search(keys.begin(), keys.end(), key);
}

int64_t count_common(const KeySet& a, const KeySet& b) {
  int64_t common = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    common += *i == *j ? 1 : 0;
    const bool step_i = *i <= *j, step_j = *j <= *i;
    i += step_i ? 1 : 0;
    j += step_j ? 1 : 0;
  }
  return common;
}

void append_shingles(std::string_view form, int64_t shingle, std::vector<uint64_t>& hashes) {
  if (form_words(form) < shingle) return;
  size_t begin = 0, end = form.find(' ');  // of the shingle; at last npos
  for (int64_t i = 1; i < shingle; ++i) end = form.find(' ', end + 1);
  for (;;) {
    hashes.push_back(hash64(form.substr(begin, end - begin)));
    if (end == std::string_view::npos) return;
    begin = form.find(' ', begin) + 1;
    end = form.find(' ', end + 1);
  }
}

NearTextFinder::NearTextFinder(const std::vector<std::string>& forms, double share, int64_t shingle)
    : share_(share), shingle_(shingle) {
  SIMILE_CHECK(share > 0 && share <= 1 && shingle >= 1, ErrorKind::kRecipe,
               "near texts: expected a share above 0 and up to 1 of shingles of at "
               "least 1 word, found {} of {}",
               share, shingle);
  list_shingles(forms);
  list_entries();
}

void NearTextFinder::list_shingles(const std::vector<std::string>& forms) {
  std::vector<std::vector<uint64_t>> own(forms.size());
  const auto size = static_cast<int64_t>(forms.size());
  run_parallel(size, kTogether, [&](int64_t i) {
    const std::string& form = forms[static_cast<size_t>(i)];
    if (form_words(form) < 2 * shingle_) return;
    std::vector<uint64_t> hashes;
    append_shingles(form, shingle_, hashes);
    own[static_cast<size_t>(i)] = key_set(std::move(hashes));
  });
  std::vector<uint64_t> all;
  offsets_.push_back(0);
  for (const auto& hashes : own) {
    all.insert(all.end(), hashes.begin(), hashes.end());
    offsets_.push_back(static_cast<int64_t>(all.size()));
  }
  std::sort(all.begin(), all.end());
  const auto texts = static_cast<double>(
      std::count_if(own.begin(), own.end(), [](const auto& hashes) { return !hashes.empty(); }));
  shingles_.resize(all.size());
  run_parallel(size, kTogether, [&](int64_t i) {
    Shingle* begin = shingles_.data() + offsets_[static_cast<size_t>(i)];
    Shingle* end = begin;
    for (const uint64_t hash : own[static_cast<size_t>(i)]) {
      const auto [from, to] = std::equal_range(all.begin(), all.end(), hash);
      *end++ = {hash, std::log((texts + 1) / static_cast<double>(to - from))};
    }
    std::sort(begin, end, [](const Shingle& a, const Shingle& b) {
      return a.weight != b.weight ? a.weight > b.weight : a.hash < b.hash;
    });
  });
}

void NearTextFinder::list_entries() {
  for (int32_t text = 0; text + 1 < static_cast<int32_t>(offsets_.size()); ++text) {
    const Shingle* end = end_of(text);
    double others = 0;  // from the end on, too light together
    while (end != begin_of(text) && others + (end - 1)->weight < needed(text)) {
      others += (--end)->weight;
    }
    for (const Shingle* s = begin_of(text); s != end; ++s) entries_.push_back({s->hash, text});
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.text < b.text;
  });
  while (shift_ > 32 && (uint64_t{1} << (64 - shift_)) < 2 * entries_.size()) --shift_;
  buckets_.assign((size_t{1} << (64 - shift_)) + 1, 0);
  for (const Entry& entry : entries_) ++buckets_[(entry.hash >> shift_) + 1];
  for (size_t i = 1; i < buckets_.size(); ++i) buckets_[i] += buckets_[i - 1];
}

const NearTextFinder::Shingle* NearTextFinder::begin_of(int32_t text) const {
  return shingles_.data() + offsets_[static_cast<size_t>(text)];
}

double NearTextFinder::total(int32_t text) const {
  double total = 0;
  for (const Shingle* s = begin_of(text); s != end_of(text); ++s) total += s->weight;
  return total;
}

// A little less than it is, so that sums in another order are enough.
double NearTextFinder::needed(int32_t text) const { return share_ * total(text) * (1 - 1e-9); }

std::vector<NearText> NearTextFinder::find(std::string_view form) const {
  std::vector<NearText> found;
  std::vector<uint64_t> own;
  append_shingles(form, shingle_, own);
  std::vector<int32_t> texts;
  for (const uint64_t hash : own) {
    const size_t bucket = hash >> shift_;
    for (int64_t i = buckets_[bucket]; i < buckets_[bucket + 1]; ++i) {
      const Entry& entry = entries_[static_cast<size_t>(i)];
      if (entry.hash == hash) texts.push_back(entry.text);
    }
  }
  if (texts.empty()) return found;
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  own = key_set(std::move(own));
  for (const int32_t text : texts) {
    double common = 0;
    for (const Shingle* s = begin_of(text); s != end_of(text); ++s) {
      if (std::binary_search(own.begin(), own.end(), s->hash)) common += s->weight;
    }
    if (common >= needed(text)) found.push_back({text, common / total(text)});
  }
  return found;
}

KeySet read_text_keys(const std::vector<std::string>& files, const TableOptions& table) {
  std::vector<uint64_t> keys;
  for (const std::string& form : read_forms(files, table, nullptr))
    keys.push_back(text_form(form).key);
  return key_set(std::move(keys));
}

LeftOut leave_out_texts_of(const LeaveOutOptions& options, PairDataset& data) {
  if (options.files.empty()) return {};
  LeftOut left_out;
  const std::vector<std::string> forms =
      read_forms(options.files, options.table, &left_out.warnings);
  const std::unordered_set<std::string_view> equal(forms.begin(), forms.end());
  std::optional<NearTextFinder> near;
  if (options.overlap > 0) near.emplace(forms, options.overlap, options.shingle);
  std::vector<const std::vector<std::string>*> columns = {&data.left};
  if (!data.right.empty()) columns.push_back(&data.right);
  for (const auto& column : data.negatives) columns.push_back(&column);
  enum Reason : char { kKept, kEqual, kNear };
  std::vector<Reason> reasons(data.left.size(), kKept);
  run_parallel(data.size(), kTogether, [&](int64_t pair) {
    const auto i = static_cast<size_t>(pair);
    for (size_t c = 0; c < columns.size() && reasons[i] != kEqual; ++c) {
      const std::string form = comparison_form((*columns[c])[i]);
      if (equal.count(form) > 0) {
        reasons[i] = kEqual;
      } else if (near && !near->find(form).empty()) {
        reasons[i] = kNear;
      }
    }
  });
  std::vector<char> is_kept;
  for (const Reason reason : reasons) is_kept.push_back(reason == kKept ? 1 : 0);
  keep_pairs(is_kept, data);
  left_out.equal = std::count(reasons.begin(), reasons.end(), kEqual);
  left_out.near = std::count(reasons.begin(), reasons.end(), kNear);
  return left_out;
}

}  // namespace simile
