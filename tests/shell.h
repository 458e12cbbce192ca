// SPDX-License-Identifier: Apache-2.0
// Runs the program as a user does, in a folder of its own.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "simile/core/file.h"
#include "simile/report/detail/run_fixture_test.h"

namespace simile {

struct Outcome {
  int code;
  std::string out, err;
};

class ShellTest : public ::testing::Test, protected RunFixture {
 protected:
  // A shell line in the test's folder; `simile` is the program (a file: $P), $S the source tree and
  // $M a small model.
  Outcome shell(const std::string& line) const {
    write("script.sh", fmt::format("cd '{0}'; P='{1}'; simile() {{ \"$P\" \"$@\"; }}; S='{2}'; "
                                   "M=\"$S\"/tests/golden/tiny-bert; {3}",
                                   path("."), SIMILE_PROGRAM, SIMILE_SOURCE_DIR, line));
    const int status = std::system(fmt::format("bash '{}' >'{}' 2>'{}' </dev/null",
                                               path("script.sh"), path("out"), path("err"))
                                       .c_str());
    return {WEXITSTATUS(status), read_file(path("out")), read_file(path("err"))};
  }

  void expect_error(const std::string& line, int code, const std::string& message) const {
    const Outcome outcome = shell(line);
    EXPECT_EQ(outcome.code, code) << line << "\n" << outcome.err;
    EXPECT_THAT(outcome.err, ::testing::HasSubstr(message)) << line;
  }

  bool has_program(const std::string& name) const { return shell("command -v " + name).code == 0; }
};

}  // namespace simile
