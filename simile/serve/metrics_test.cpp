// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simile {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Metrics, CountersHaveTheirLabelsAndHistogramsAddUp) {
  Metrics metrics;
  metrics.count("te_request_count", "method=\"single\"");
  metrics.count("te_request_count", "method=\"single\"");
  metrics.count("te_embed_count", "", 32);
  metrics.observe("te_batch_next_size", 3);
  metrics.observe("te_batch_next_size", 4);
  metrics.observe("te_batch_next_size", 1e9);
  EXPECT_THAT(
      metrics.text(5),
      AllOf(HasSubstr("# TYPE te_request_count counter\nte_request_count{method=\"single\"} 2\n"),
            HasSubstr("te_embed_count 32\n"), HasSubstr("te_batch_next_size_bucket{le=\"2\"} 0\n"),
            HasSubstr("te_batch_next_size_bucket{le=\"4\"} 2\n"),
            HasSubstr("te_batch_next_size_bucket{le=\"+Inf\"} 3\n"),
            HasSubstr("te_batch_next_size_count 3\n"), HasSubstr("te_queue_size 5\n")));
}

TEST(Metrics, DurationsHave35Buckets) {
  const std::string text = Metrics().text(0);
  int buckets = 0;
  const std::string name = "te_embed_duration_bucket{le=";
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    ++buckets;
  }
  EXPECT_EQ(buckets, 36);
  EXPECT_THAT(text, HasSubstr("te_embed_duration_bucket{le=\"1e-05\"} 0\n"));
}

}  // namespace
}  // namespace simile
