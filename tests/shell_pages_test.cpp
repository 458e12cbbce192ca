// SPDX-License-Identifier: Apache-2.0
// The manual page and the completions that the program prints of its own options.
#include <sstream>
#include <vector>

#include "tests/shell.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ShellPagesTest : public ShellTest {
 protected:
  // Bash's completions for the last word of each line.
  std::vector<std::string> bash(const std::vector<std::string>& lines) const {
    std::string script =
        "simile docs completion --shell bash >simile.bash; . ./simile.bash; "
        "offer() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _simile; "
        "echo \"${COMPREPLY[*]}\"; }";
    for (const std::string& line : lines) script += "; offer " + line;
    const Outcome outcome = shell(script);
    EXPECT_EQ(outcome.err, "");
    std::vector<std::string> offers;
    std::istringstream out(outcome.out);
    for (std::string offer; std::getline(out, offer);) offers.push_back(offer);
    return offers;
  }
};

TEST_F(ShellPagesTest, BashOffersCommandsOptionsAndChoices) {
  const std::vector<std::string> offers = bash(
      {"simile enc", "simile ''", "simile index ''", "simile encode --mod",
       "simile encode --model m --precision ''", "simile index build --corp", "simile docs comp",
       "simile encode --input ''", "simile encode --model encode --input m"});
  // Where it offers nothing, bash offers files.
  EXPECT_THAT(offers, ElementsAre("encode", AllOf(HasSubstr("similarity"), HasSubstr("--version")),
                                  AllOf(HasSubstr("build"), HasSubstr("delete")), "--model",
                                  "fp32 bf16 int8", "--corpus", "completion", "", ""));
}

TEST_F(ShellPagesTest, ZshReadsItsCompletion) {
  if (!has_program("zsh")) GTEST_SKIP() << "zsh is not installed";
  const Outcome outcome = shell("simile docs completion --shell zsh >_simile; zsh -n _simile");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(ShellPagesTest, FishOffersCommandsOptionsAndChoices) {
  if (!has_program("fish")) GTEST_SKIP() << "fish is not installed";
  const auto fish = [this](const std::string& line) {
    const Outcome outcome = shell(
        "export HOME=$PWD; simile docs completion --shell fish >simile.fish; "
        "fish -c 'source simile.fish; complete -C \"" +
        line + "\"'");
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  };
  EXPECT_THAT(fish("simile enc"), HasSubstr("encode"));
  EXPECT_THAT(fish("simile index bu"), HasSubstr("build"));
  EXPECT_THAT(fish("simile encode --mod"), HasSubstr("--model"));
  EXPECT_THAT(fish("simile encode --precision b"), HasSubstr("bf16"));
}

TEST_F(ShellPagesTest, TheManualPageHasEveryCommandAndIsCleanRoff) {
  const std::string page = shell("simile docs man").out;
  EXPECT_THAT(page, AllOf(HasSubstr(".TH SIMILE 1"), HasSubstr(".SS simile encode\n"),
                          HasSubstr(".SS simile index build\n"), HasSubstr("\\-\\-batch\\-tokens"),
                          HasSubstr(".SH EXIT STATUS")));
  if (!has_program("man")) GTEST_SKIP() << "man is not installed";
  const Outcome shown =
      shell("simile docs man >simile.1; MANROFFSEQ= MANWIDTH=80 man --warnings -l ./simile.1");
  EXPECT_EQ(shown.err, "");
  EXPECT_THAT(shown.out, AllOf(HasSubstr("--batch-tokens"), Not(HasSubstr("\\-"))));
}

TEST_F(ShellPagesTest, AShellIsOfCompletionsAlone) {
  expect_error("simile docs man --shell bash", 2, "--shell is for");
  expect_error("simile docs completion --shell tcsh", 2, "fish");
}

}  // namespace
}  // namespace simile
