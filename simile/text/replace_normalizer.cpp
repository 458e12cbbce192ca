// SPDX-License-Identifier: Apache-2.0
#include "simile/text/replace_normalizer.h"

#include <fmt/format.h>

#include <vector>

namespace simile {
void ReplaceNormalizer::normalize(const NormalizedText& in, NormalizedText& out) const {
  thread_local std::vector<Span> matches;
  thread_local std::vector<Span> content_origins;
  matches.clear();
  const std::string_view text = in.text;
  check_text_size(text.size());
  pattern_.find(text, matches);
  check_text_size(text.size() + matches.size() * content_.size());
  out.clear(in.tracked);
  out.text.reserve(text.size() + 16);
  uint32_t done = 0;
  for (const Span match : matches) {
    out.append(text.substr(done, match.begin - done),
               in.tracked ? in.origins.data() + done : nullptr);
    if (in.tracked) {
      const uint32_t start = in.origins.empty() ? 0 : in.origins.front().begin;
      const Span origin = match.end > 0 ? in.origins[match.end - 1] : Span{start, start};
      content_origins.assign(content_.size(), origin);
    }
    out.append(content_, content_origins.data());
    done = match.end;
  }
  out.append(text.substr(done), in.tracked ? in.origins.data() + done : nullptr);
}

}  // namespace simile
