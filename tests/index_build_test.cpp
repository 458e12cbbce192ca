// SPDX-License-Identifier: Apache-2.0
// `simile index build`, killed at random moments and resumed (SIMILE_KILLS=50 in the environment
// kills 50 times instead of 5), and indexes with compact vectors.
#include "tests/shell.h"

namespace simile {
namespace {

using ::testing::HasSubstr;

class IndexBuildTest : public ShellTest {
 protected:
  std::string run(const std::string& line) const {
    const Outcome outcome = shell(line);
    EXPECT_EQ(outcome.code, 0) << line << "\n" << outcome.err;
    return outcome.out + outcome.err;
  }

  void write_corpus(int documents) const {
    run(
        fmt::format("{{ printf 'id\\ttext\\n'; seq {} | awk '{{print \"d\" $1 \"\\tthe cat sat on "
                    "mat \" $1 * 7919 % 1000 \" and \" $1}}'; }} >corpus.tsv",
                    documents));
  }

  static constexpr const char* kBuild =
      "simile index build --model \"$M\" --corpus corpus.tsv --approximate never";
};

TEST_F(IndexBuildTest, AnInterruptedBuildIsNamedAndForgottenOnlyByOverwriting) {
  write_corpus(40);
  run("mkdir -p index.building/building && printf 'kept' >index.building/building/manifest.json");
  const std::string build = std::string(kBuild) + " --index index";
  expect_error(build, 2, "go on with it by --resume, or begin anew with --overwrite");
  run(build + " --overwrite");
  run("test ! -e index.building && simile check --index index");
}

TEST_F(IndexBuildTest, OverwritingKeepsLinksAndWhatIsNoPartOfTheIndex) {
  write_corpus(40);
  const std::string build = std::string(kBuild) + " --overwrite --index ";
  run(build + "real && ln -s real link && " + build +
      "link && test -L link && "
      "simile check --index real && ls");
  run("simile export --index real --to npy --output out.npy && "
      "simile index import --index link --from out.npy --overwrite && test -L link");
  run("cp corpus.tsv real/corpus.tsv");
  expect_error(
      "simile index build --model \"$M\" --overwrite --index real --corpus real/corpus.tsv", 2,
      "real/corpus.tsv");
  expect_error(build + "link", 2, "no part of the index");
  run("test -e real/corpus.tsv && simile check --index real");
  run("mv real real.building");
  expect_error("simile search --index real --query cat", 3, "left 'real.building'");
  run("simile convert --model \"$M\" --output model && mkdir model.tmp-1-0 && "
      "simile convert --model model --output other && simile convert --model other --output model "
      "&& "
      "test ! -e model.tmp-1-0");
  for (const char* command : {"convert --model model", "fuse model other",
                              "whiten --model other --input model/README.md"}) {
    expect_error(fmt::format("simile {} --output model", command), 2, "would be replaced");
  }
  run("simile check --model model");
}

TEST_F(IndexBuildTest, BytesAndHalvesAreToldExportedAndImported) {
  write_corpus(300);
  for (const char* numbers : {"fp16", "int8"}) {
    const std::string told =
        run(fmt::format("{} --index {} --vectors {}", kBuild, numbers, numbers));
    EXPECT_THAT(told, HasSubstr(fmt::format("vectors in {} find ", numbers)));
    EXPECT_THAT(run(fmt::format("simile index info --index {}", numbers)),
                ::testing::AllOf(HasSubstr(fmt::format("vectors      {}", numbers)),
                                 HasSubstr("vectors_recall ")));
    run(fmt::format(
        "simile export --index {0} --to npy --output {0}.npy && "
        "simile index import --index copy --from {0}.npy --overwrite && "
        "simile index info --index {0} | grep -v generation >a && "
        "simile index info --index copy | grep -v generation >b && diff a b && "
        "for mode in vector lexical hybrid; do for i in {0} copy; do "
        "simile search --index $i --query 'cat 12' --mode $mode --json >$i.json; done && "
        "diff {0}.json copy.json; done",
        numbers));
  }
  run("simile export --index int8 --to npy --output out.npy && "
      "simile index import --index floats --from out.npy --vectors fp32 --approximate always "
      "--recall 0.9");
  EXPECT_THAT(run("simile index info --index floats"),
              ::testing::AllOf(HasSubstr("vectors      fp32"), HasSubstr("graph_vectors 300"),
                               HasSubstr("approximate  always")));
  expect_error(std::string(kBuild) + " --index x --vectors int4", 2, "--vectors");
}

using IndexBuildSlow = IndexBuildTest;

TEST_F(IndexBuildSlow, ABuildKilledAtAnyMomentGoesOn) {
  write_corpus(20000);
  const char* const kills = std::getenv("SIMILE_KILLS");
  const Outcome told = shell(fmt::format(
      R"sh(
build="index build --model $M --corpus corpus.tsv --vectors int8 --resume"
begin=$(date +%s%N)
simile $build --index whole || exit 1
whole=$(( ($(date +%s%N) - begin) / 1000000 ))
finished=0
for ((i = 0; i < {}; ++i)); do
  "$P" $build --index index & pid=$!
  sleep "$(awk "BEGIN {{print ($RANDOM * 32768 + $RANDOM) % $whole / 1000}}")"
  kill -9 $pid; wait $pid
  test -e index/manifest.json || continue
  "$P" $build --index index --overwrite && simile check --index index || exit 1
  diff -r whole index || exit 1
  finished=$((finished + 1)); rm -r index
done
ls -d index* 
"$P" $build --index index --overwrite || exit 1
diff -r whole index && ls -d index* | diff - <(echo index) || exit 1
echo "$finished builds were whole"
)sh",
      kills == nullptr ? "5" : kills));
  EXPECT_THAT(told.out, HasSubstr("builds were whole")) << told.err;
  std::puts(told.out.c_str());
}

TEST_F(IndexBuildSlow, ACorpusThatChangedMeanwhileIsRefused) {
  write_corpus(20000);
  const std::string build = std::string(kBuild) + " --index index";
  // Ends in an error at the last line, so that all before is kept.
  run("printf 'd1 without a text' >>corpus.tsv");
  EXPECT_NE(shell(build).code, 0);
  run("test -e index.building/documents.sqlite && sed -i '$d; s/^d77\t.*/d77\tother/' corpus.tsv");
  expect_error(build + " --resume", 3, "is another than when the build began");
  EXPECT_THAT(run(build + " --overwrite"), HasSubstr("20000 documents indexed"));
}

}  // namespace
}  // namespace simile
