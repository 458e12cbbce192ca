// SPDX-License-Identifier: Apache-2.0
#include "simile/data/text_form.h"

#include <algorithm>

#include "simile/core/random.h"
#include "simile/text/words.h"

namespace simile {

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

}  // namespace simile
