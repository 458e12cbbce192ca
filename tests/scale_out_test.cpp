// SPDX-License-Identifier: Apache-2.0
// One list of texts encoded by several processes, as docs/scale-out.md describes.
#include <yaml-cpp/yaml.h>

#include "tests/shell.h"

namespace simile {
namespace {

using ::testing::HasSubstr;

std::string replace_all(std::string text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), with);
  }
  return text;
}

class ScaleOutTest : public ShellTest {
 protected:
  ScaleOutTest() {
    std::string texts;
    for (int i = 0; i < 60; ++i) texts += fmt::format("the text {}\n", i % 50);
    write("texts.txt", texts + "\n");
    write("list.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n{\"text\": \"three\"}\n");
  }

  void expect_same(const std::string& one, const std::string& other) const {
    EXPECT_TRUE(read_file(path(one)) == read_file(path(other))) << one << " " << other;
  }
};

TEST_F(ScaleOutTest, ShardsPutTogetherAreTheBytesOfOneRun) {
  const std::string encode = "simile encode --quiet --model $M --input texts.txt ";
  ASSERT_EQ(shell(encode + "--output all.npy").code, 0);
  for (int i = 0; i < 3; ++i) {
    const Outcome shard = shell(encode + fmt::format("--shard {0}/3 --output part-{0}.npy", i));
    EXPECT_EQ(shard.code, 0) << shard.err;
  }
  const Outcome merge = shell("simile merge part-*.npy --output merged.npy");
  EXPECT_EQ(merge.code, 0) << merge.err;
  EXPECT_THAT(merge.out, HasSubstr("61 vectors of 32 numbers from 3 shards in merged.npy"));
  expect_same("merged.npy", "all.npy");
  EXPECT_THAT(shell("simile merge part-*.npy --output merged.npy --json").out,
              HasSubstr("\"shards\":3,\"rows\":61,\"columns\":32"));

  expect_error("simile merge part-0.npy part-2.npy --output x.npy", 3, "shard 1/3 is missing");
  shell(encode + "--shard 1/3 --output part-1.npy --precision int8");
  expect_error("simile merge part-*.npy --output x.npy", 3,
               "the precision is 'fp32' in the one and 'int8'");
  shell(encode + "--shard 1/3 --output part-1.npy --dimensions 8");
  expect_error("simile merge part-*.npy --output x.npy", 3, "the dimension is");
}

TEST_F(ScaleOutTest, LinesOfAShardTellTheirRows) {
  std::string lines;
  for (const char* shard : {"0/2", "1/2"}) {
    lines +=
        shell(fmt::format("simile encode --model $M --input list.jsonl --shard {}", shard)).out;
  }
  for (const char* line : {"{\"row\":0,\"text\":\"one\",\"embedding\":[",
                           "{\"row\":1,\"text\":\"two\"", "{\"row\":2,\"text\":\"three\""}) {
    EXPECT_THAT(lines, HasSubstr(line));
  }
}

TEST_F(ScaleOutTest, AShardMayHaveNoTextsButTheListMustHaveSome) {
  const Outcome shards = shell(
      "for i in 0 1 2 3 4 5 6 7 8; do simile encode --model $M --input list.jsonl --shard $i/9 "
      "--output p$i.npy || exit; done");
  EXPECT_EQ(shards.code, 0) << shards.err;
  EXPECT_EQ(shell("simile merge p?.npy --output merged.npy").code, 0);
  write("nothing.txt", "");
  expect_error("simile encode --model $M --input nothing.txt --shard 0/2 --output x.npy", 3,
               "no text");
}

TEST_F(ScaleOutTest, WhatIsNoShardIsRefused) {
  expect_error("simile encode --model $M --input texts.txt --shard 4/4 --output x.npy", 2,
               "0/4, 1/4");
  expect_error("simile encode --model $M --input texts.txt --shard 0/4 --output x.tsv", 2,
               ".jsonl");
  expect_error("simile merge texts.txt --output x.npy", 2, "expected the .npy");
  expect_error("simile merge nowhere.npy --output x.npy", 3, "nowhere.rows.json");
}

TEST_F(ScaleOutTest, TheSlurmArrayEncodesTheList) {
  const std::string script = "\"$S\"/examples/scale-out/encode.slurm ";
  const Outcome array = shell(
      "mkdir -p bin; ln -s \"$P\" bin/simile; PATH=$PWD/bin:$PATH; "
      "export SLURM_ARRAY_TASK_COUNT=3; for i in 0 1 2; do SLURM_ARRAY_TASK_ID=$i " +
      script + "\"$M\" texts.txt vectors || exit; done; " + script + "--merge vectors");
  EXPECT_EQ(array.code, 0) << array.err;
  ASSERT_EQ(shell("simile encode --model $M --input texts.txt --output all.npy").code, 0);
  expect_same("vectors.npy", "all.npy");
}

// Runs the commands of each pod of the indexed Job, with the list and the model of the test.
TEST_F(ScaleOutTest, TheIndexedJobEncodesTheList) {
  const YAML::Node spec =
      YAML::LoadFile(SIMILE_SOURCE_DIR "/examples/scale-out/encode.yaml")["spec"];
  EXPECT_EQ(spec["completionMode"].as<std::string>(), "Indexed");
  const YAML::Node container = spec["template"]["spec"]["containers"][0];
  EXPECT_EQ(container["env"][0]["name"].as<std::string>(), "SHARD");
  std::string line = "simile";
  for (const YAML::Node& argument : container["args"]) line += " " + argument.as<std::string>();
  line = replace_all(line, "/texts/texts.jsonl", "list.jsonl");
  line = replace_all(line, "/texts/", "");
  line = replace_all(line, "simile-mini-3", "$M");
  for (int i = 0; i < spec["completions"].as<int>(); ++i) {
    const Outcome pod = shell(replace_all(line, "$(SHARD)", std::to_string(i)));
    EXPECT_EQ(pod.code, 0) << line << pod.err;
  }
  EXPECT_EQ(shell("simile merge vectors.*.npy --output vectors.npy").code, 0);
  ASSERT_EQ(shell("simile encode --model $M --input list.jsonl --output all.npy").code, 0);
  expect_same("vectors.npy", "all.npy");
}

}  // namespace
}  // namespace simile
