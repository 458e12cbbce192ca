// SPDX-License-Identifier: Apache-2.0
#include "simile/train/resume_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/report/detail/run_fixture.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct ResumedOptions {
  int64_t seed = 1;
  double rate = 0.1;
  void visit(OptionVisitor& v) {
    v.field("seed", seed, {""});
    v.field("rate", rate, {""});
  }
};

class ResumeWarnings : public EventSink {
 public:
  std::string text;
  void warning(const std::string& message) override { text += message; }
};

class ResumeCheckTest : public ::testing::Test, protected RunFixture {
 protected:
  std::string refusal(const ResumedOptions& options) {
    try {
      check_resumed_recipe(path("run"), options, warnings_);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.what();
    }
  }

  ResumeWarnings warnings_;
};

TEST_F(ResumeCheckTest, KeysThatDifferAreNamedWithBothValues) {
  write_in("run", "run.json", R"({"seed": 3, "environment": {"threads": 2}})");
  EXPECT_EQ(refusal({3, 0.1}), "");
  EXPECT_THAT(refusal({1, 0.1}), AllOf(HasSubstr("seed 3, now 1;"), Not(HasSubstr("rate")),
                                       HasSubstr("`simile train " + path("run") + " --resume`")));
  EXPECT_THAT(refusal({1, 0.5}), HasSubstr("seed 3, now 1; rate 0.1, now 0.5;"));
}

TEST_F(ResumeCheckTest, WhatCannotBeComparedPasses) {
  EXPECT_EQ(refusal({}), "");
  for (const char* text : {"", "{", R"({"speed": 3})"}) {
    write_in("run", "run.json", text);
    EXPECT_EQ(refusal({2, 0.1}), "") << text;
  }
  EXPECT_EQ(warnings_.text, "");
}

TEST_F(ResumeCheckTest, RunsOfVariantsAreToldOf) {
  write_in("run-large", "run.json", "{}");
  write_in("other", "run.json", "{}");
  EXPECT_EQ(refusal({}), "");
  EXPECT_THAT(warnings_.text, HasSubstr("there are " + path("run-large") + ":"));
}

}  // namespace
}  // namespace simile
