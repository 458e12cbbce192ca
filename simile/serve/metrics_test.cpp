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
  metrics.set("te_queue_size", 5);
  EXPECT_THAT(
      metrics.text(),
      AllOf(HasSubstr("# TYPE te_request_count counter\nte_request_count{method=\"batch\"} 0\n"),
            HasSubstr("te_request_count{method=\"single\"} 2\n"), HasSubstr("te_embed_count 32\n"),
            HasSubstr("te_batch_next_size_bucket{le=\"2\"} 0\n"),
            HasSubstr("te_batch_next_size_bucket{le=\"4\"} 2\n"),
            HasSubstr("te_batch_next_size_bucket{le=\"+Inf\"} 3\n"),
            HasSubstr("te_batch_next_size_count 3\n"), HasSubstr("te_queue_size 5\n")));
}

// A counter that appears with its first failure has no rise that an alert could see.
TEST(Metrics, CountersStartAtZeroAndGaugesWhenTheyAreKnown) {
  const std::string text = Metrics().text();
  EXPECT_THAT(
      text, AllOf(HasSubstr("te_request_count{method=\"single\"} 0\n"),
                  HasSubstr("te_request_success{method=\"batch\"} 0\n"),
                  HasSubstr("te_request_failure{err=\"overloaded\"} 0\n"),
                  HasSubstr("te_reload_failure 0\n"), HasSubstr("te_request_duration_count 0\n")));
  EXPECT_THAT(text, testing::Not(HasSubstr("te_queue_size")));
}

TEST(Metrics, WhatIsNoLongerAtAPlaceIsNotTold) {
  Metrics metrics;
  for (const char* model : {"old", "new"}) {
    const std::string labels = std::string("model=\"") + model + "\"";
    metrics.tell("simile_build_info", labels, "");
    metrics.tell("simile_build_info", labels + ",at=\"faq\"", "at=\"faq\"");
  }
  EXPECT_THAT(metrics.text(), HasSubstr("simile_build_info gauge\n"
                                        "simile_build_info{model=\"new\"} 1\n"
                                        "simile_build_info{model=\"new\",at=\"faq\"} 1\n#"));
}

TEST(Metrics, TheProcessIsTold) {
  Metrics metrics;
  tell_of_process(metrics);
  const std::string text = metrics.text();
  for (const char* name : {"process_resident_memory_bytes ", "process_start_time_seconds ",
                           "process_open_fds ", "process_cpu_seconds_total "}) {
    const size_t at = text.find(std::string("\n") + name);
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_GE(std::stod(text.substr(text.find(' ', at) + 1)), 0) << name;
  }
  EXPECT_THAT(text, HasSubstr("# TYPE process_cpu_seconds_total counter\n"));
}

TEST(Metrics, DurationsHave35Buckets) {
  const std::string text = Metrics().text();
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
