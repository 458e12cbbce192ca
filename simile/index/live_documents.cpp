// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/live_documents.h"

#include <vector>

namespace simile::detail {
namespace {

// Those of i in [begin, end).
std::optional<int64_t> take_range(const DocumentStore& store, const LiveSegment& live,
                                  int64_t begin, int64_t end, int64_t first_key, int64_t last_key,
                                  const TakeLive& take) {
  int64_t next = begin;
  std::optional<int64_t> unlike;
  store.for_each(store.document_key(first_key), last_key, [&](int64_t key, const Document& found) {
    const std::vector<VectorKey> keys = vector_keys(key, found);
    for (size_t passage = 0; passage < keys.size() && !unlike; ++passage) {
      if (keys[passage].key < first_key || keys[passage].key > last_key) continue;
      const bool fits = next < end && live.vector(next).key == keys[passage].key &&
                        live.vector(next).content == keys[passage].content;
      if (fits) {
        take(next++, found, static_cast<int64_t>(passage));
      } else {
        unlike = keys[passage].key;
      }
    }
  });
  if (!unlike && next < end) unlike = live.vector(next).key;
  return unlike;
}

}  // namespace

std::optional<int64_t> for_each_live(const DocumentStore& store, const LiveSegment& live,
                                     const TakeLive& take) {
  const SegmentRow& row = live.segment().row();
  return take_range(store, live, 0, live.size(), row.first_key, row.last_key, take);
}

bool take_live(const DocumentStore& store, const LiveSegment& live, int64_t i,
               const TakeLive& take) {
  const int64_t key = live.vector(i).key;
  return !take_range(store, live, i, i + 1, key, key, take);
}

}  // namespace simile::detail
