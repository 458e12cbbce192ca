// SPDX-License-Identifier: Apache-2.0
// The last lines of `simile train` for runs on the shipped questions (examples/faq).
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/shell.h"

namespace simile {
namespace {

#ifdef SIMILE_WITH_TRAINING

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using Json = nlohmann::json;

class TrainCommandTest : public ShellTest {
 protected:
  // Sixty questions of dev and the answers to them; the first shipped pieces.
  void SetUp() override {
    shell(
        "head -n 2000 \"$S\"/models/simile-mini-3/vocab.txt > vocab.txt; head -n 61 "
        "\"$S\"/examples/faq/qrels.dev.tsv > qrels.tsv; "
        "awk -F '\\t' 'NR == FNR { wanted[$2] = 1; next } FNR == 1 || $1 in wanted' "
        "qrels.tsv \"$S\"/examples/faq/corpus.tsv > corpus.tsv");
  }

  // recipes/faq.yaml cut short.
  static std::string train_recipe(const std::string& more) {
    return "simile train \"$S\"/recipes/faq.yaml tests=[] baselines=[] "
           "evaluations.0.corpus=corpus.tsv evaluations.0.qrels=qrels.tsv "
           "stages.0.objectives.batch_size=16 " +
           more;
  }

  // From small random weights, which learn in a moment.
  static std::string train(const std::string& more) {
    return train_recipe(
        "model= "
        "'architecture={layers: 1, hidden: 64, heads: 2, intermediate: 64}' "
        "tokenizer=vocab.txt stages.0.steps=40 stages.0.selection.every_steps=20 "
        "stages.0.learning_rate=3e-3 " +
        more);
  }

  Outcome run(const std::string& line) const {
    const Outcome outcome = shell(line);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome;
  }

  Json verdict_in(const std::string& folder) const {
    return Json::parse(read_file(path(folder + "/results.json")))["verdict"];
  }

  // The first line of the verdict, which only its other lines follow, indented.
  static std::string verdict_line(const std::string& text) {
    const size_t begin = text.find("verdict: ");
    EXPECT_NE(begin, text.npos) << text;
    return text.substr(begin, text.find('\n', begin) - begin);
  }
};

TEST_F(TrainCommandTest, ARunEndsWithItsVerdict) {
  const Outcome outcome =
      run(train_recipe("variant=static stages.0.steps=40 stages.0.selection.every_steps=40 "
                       "stages.0.learning_rate=5e-3 --output good"));
  const std::string line = verdict_line(outcome.out);
  std::smatch found;
  const std::regex form(
      "verdict: (?:helped|undecided)[^;]*; dev map ([0-9.]+) -> ([0-9.]+) \\(([+-][0-9.]+), 95 % "
      "interval ([+-][0-9.]+) to ([+-][0-9.]+), 60 queries\\), which also selected the weights");
  ASSERT_TRUE(std::regex_match(line, found, form)) << line;
  const double start = std::stod(found[1]), trained = std::stod(found[2]);
  const double gain = std::stod(found[3]), low = std::stod(found[4]), high = std::stod(found[5]);
  EXPECT_NEAR(trained - start, gain, 0.011);
  EXPECT_GT(gain, 0);
  EXPECT_LT(low, gain);
  EXPECT_GT(high, gain);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("loss "), Not(HasSubstr("NOTHING WAS GAINED"))));
  const Json verdict = verdict_in("good");
  EXPECT_EQ(verdict["line"], line);
  EXPECT_EQ(verdict["start_kept"], 0);
  EXPECT_NEAR(100 * verdict["gains"][0]["start"].get<double>(), start, 0.0051);
  // The start's figure is that of the model itself.
  const Outcome itself = shell(
      "simile evaluate --model simile-mini-3-static --task ranking --json --metrics map "
      "--queries \"$S\"/examples/faq/queries.tsv --corpus corpus.tsv --qrels qrels.tsv");
  ASSERT_EQ(itself.code, 0) << itself.err;
  EXPECT_NEAR(Json::parse(itself.out)["metrics"]["map"], verdict["gains"][0]["start"], 1e-6);
  EXPECT_EQ(shell("simile report good --output good.html").code, 0);
  EXPECT_THAT(read_file(path("good.html")), HasSubstr("; dev map "));
  EXPECT_THAT(read_file(path("good.html")),
              HasSubstr("<li>from BM25 to the trained model: dev map "));
}

TEST_F(TrainCommandTest, ARunThatGainsNothingSaysSoAloud) {
  const Outcome outcome =
      run(train("--output bad --quiet stages.0.learning_rate=0.05 stages.0.steps=4 "
                "stages.0.selection.every_steps=2"));
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("warning: NOTHING WAS GAINED: the best weights are those before the "
                              "first step"),
                    HasSubstr("Likely causes:\n  - "),
                    HasSubstr("the learning rate 0.05 is too high"), HasSubstr("; try 0.005")));
  EXPECT_THAT(
      verdict_line(outcome.out),
      MatchesRegex("verdict: nothing gained, the start was kept, as no later weights were better, "
                   "still below BM25 .*: do not use.*; dev map .*"));
  const Json verdict = verdict_in("bad");
  EXPECT_EQ(verdict["start_kept"], 1);
  EXPECT_EQ(verdict["gains"][0]["start"], verdict["gains"][0]["trained"]);
  EXPECT_GE(verdict["causes"].size(), 1u);
  const Outcome compared = shell("simile compare bad bad --samples 10");
  EXPECT_EQ(compared.code, 0) << compared.err;
  EXPECT_THAT(compared.err, HasSubstr("kept the weights before the first step"));
}

TEST_F(TrainCommandTest, AResumedRunEndsWithTheSameLine) {
  const std::string steps = "stages.0.steps=120 ";  // half a second in which to be stopped
  const std::string whole = verdict_line(run(train(steps + "--output whole")).out);
  const Outcome stopped = shell(
      "P() { exec " SIMILE_PROGRAM " \"$@\"; }; simile() { P \"$@\"; }; (" +
      train(steps + "--output cut") +
      ") & child=$!; while ! grep -qs '\"step\":2' cut/metrics.jsonl && kill -0 $child; do sleep "
      "0.02; done; kill -HUP $child; wait $child");
  EXPECT_EQ(stopped.code, 129) << stopped.err;
  const Outcome resumed = run(train(steps + "--output cut --resume"));
  EXPECT_EQ(verdict_line(resumed.out), whole);
  EXPECT_EQ(verdict_in("cut"), verdict_in("whole"));
}

TEST_F(TrainCommandTest, AResumeNamesWhatIsNotAsItWasAndOverwritingKeepsWhatIsRead) {
  run(train("--output start stages.0.steps=1") + " && cp -r start/model teacher");
  const std::string from_start = train_recipe(
      "model=start/model stages.0.steps=2 stages.0.learning_rate=1e-3 "
      "stages.0.objectives.0.loss='{name: distill, distance: cosine}' "
      "stages.0.objectives.0.teachers=teacher ");
  run(from_start + "--output run");
  run(from_start + "--output run --resume");
  for (const char* changed : {"start/model", "teacher", "qrels.tsv"}) {
    run(fmt::format(
        "cp -r {0} kept; f={0}; test -d $f && rm $f/checksums.json && f=$f/config.json; "
        "echo >> $f",
        changed));
    expect_error(from_start + "--output run --resume", 3, std::string(changed) + " was ");
    run(fmt::format("rm -r {0}; mv kept {0}", changed));
  }
  expect_error("export SIMILE_ISA=baseline; " + from_start + "--output run --resume", 3,
               "processor level (SIMILE_ISA) was ");
  expect_error(from_start + "--output start --overwrite", 2, "would be replaced");
  run("simile check --model start/model && simile check --run run");
}

TEST_F(TrainCommandTest, SeedsEndWithTheMeanAndDeviationOfTheirGains) {
  run(train("--output start stages.0.steps=1 stages.0.learning_rate=1e-12"));
  const Outcome outcome =
      run(train("--output seeds runs=2 --json architecture= tokenizer= model=start/model"));
  const Json document = Json::parse(outcome.out);
  const std::string line = document["verdict"]["line"];
  EXPECT_THAT(line, MatchesRegex("verdict: [^;]+; dev map [0-9.]+ -> [0-9.]+ [+]- [0-9.]+ "
                                 "\\([+-][0-9.]+ [+]- [0-9.]+ over 2 seeds, 95 % interval .*"));
  const double first = verdict_in("seeds/run-1")["gains"][0]["difference"];
  const double second = verdict_in("seeds/run-2")["gains"][0]["difference"];
  const Json verdict = verdict_in("seeds");
  EXPECT_EQ(verdict, document["verdict"]);
  EXPECT_NEAR(verdict["gains"][0]["difference"], (first + second) / 2, 1e-12);
  EXPECT_NEAR(verdict["gains"][0]["deviation"], std::abs(first - second) / std::sqrt(2.0), 1e-12);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("seed 1: verdict: "), HasSubstr("seed 2: verdict: ")));
}

TEST_F(TrainCommandTest, SeedsOfAStaticModelGoOnWhereOnlyTheirResultsLack) {
  const std::string line = train_recipe("variant=static stages.0.steps=2 runs=2 --output tables");
  run(line);
  run("rm tables/results.json");
  run(line + " --resume");
  run("simile check --run tables");
}

#else
TEST(TrainCommandTest, NeedsTheProgramThatTrains) { GTEST_SKIP() << "skipped: no training"; }
#endif

}  // namespace
}  // namespace simile
