// SPDX-License-Identifier: Apache-2.0
#include "simile/report/run_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"

namespace simile {
namespace {

using ::testing::HasSubstr;

TEST(RunLog, CountsStepsThroughTheStages) {
  const TestFiles files;
  const RunLog log = read_run_log(files.write(
      "metrics.jsonl", R"({"stage":"one","step":1,"epoch":0.5,"loss":4.0,"temperature":0.1}
{"stage":"one","step":2,"epoch":1.0,"loss":null,"temperature":0.2}
{"stage":"two","step":0,"epoch":0.0,"evaluation":"dev","metrics":{"map":0.5,"mrr":0.25}}
{"stage":"two","objective":"nli","step":1,"epoch":0.5,"loss":2.0,"learning_rate":0.1}
{"stage":"two","step":1,"ep)"));
  ASSERT_EQ(log.stages.size(), 2u);
  EXPECT_EQ(log.stages[1].name, "two");
  EXPECT_EQ(log.stages[1].first_step, 2);
  EXPECT_EQ(log.steps, 3);
  std::string training, evaluations;
  for (const Curve& curve : log.training) {
    training += curve.name + ":";
    for (const CurvePoint& p : curve.points) training += fmt::format(" {},{}", p.x, p.y);
    training += "; ";
  }
  for (const Curve& curve : log.evaluations) {
    evaluations += fmt::format("{}: {},{}; ", curve.name, curve.points[0].x, curve.points[0].y);
  }
  EXPECT_EQ(training,
            "loss: 1,4; temperature: 1,0.1 2,0.2; loss (nli): 3,2; learning_rate: 3,0.1; ");
  EXPECT_EQ(evaluations, "dev.map: 2,0.5; dev.mrr: 2,0.25; ");
}

TEST(RunLog, OfOneStageBeginsAtStepZero) {
  const TestFiles files;
  const RunLog log =
      read_run_log(files.write("metrics.jsonl", R"({"stage":"one","step":1,"epoch":0.5,"loss":4.0}
{"stage":"one","step":1,"epoch":0.5,"evaluation":"dev","metrics":{"map":0.25}}
{"stage":"two","step":0,"epoch":0.0,"evaluation":"dev","metrics":{"map":0.5}}
{"stage":"two","step":1,"epoch":0.5,"loss":2.0}
)"),
                   "two");
  EXPECT_EQ(log.steps, 1);
  ASSERT_EQ(log.evaluations.size(), 1u);
  ASSERT_EQ(log.evaluations[0].points.size(), 1u);
  EXPECT_EQ(log.evaluations[0].points[0].x, 0);
  EXPECT_EQ(log.evaluations[0].points[0].y, 0.5);
  ASSERT_EQ(log.training[0].points.size(), 1u);
  EXPECT_EQ(log.training[0].points[0].y, 2);
}

TEST(RunLog, ABrokenLineThatIsNotTheLastIsAnError) {
  const TestFiles files;
  const std::string good = "{\"stage\":\"a\",\"step\":1,\"loss\":1}\n";
  const auto error = [&](const std::string& text) {
    return error_of([&] { read_run_log(files.write("m.jsonl", text)); });
  };
  EXPECT_EQ(error(good + "{\"sta"), "");
  EXPECT_THAT(error(good + "{\"sta\n" + good), HasSubstr("m.jsonl:2"));
  EXPECT_THAT(error("[1]\n" + good), HasSubstr("m.jsonl:1"));
  EXPECT_THAT(error("{\"loss\":1}\n" + good), HasSubstr("stage"));
}

TEST(ThinCurve, KeepsEndsAndExtremes) {
  std::vector<CurvePoint> points;
  for (int i = 0; i < 10000; ++i) points.push_back({static_cast<double>(i), i % 7 * 0.1});
  points[1234].y = 50;
  points[8765].y = -50;
  const std::vector<CurvePoint> thin = thin_curve(points, 1000);
  EXPECT_LE(thin.size(), 1000u);
  EXPECT_GT(thin.size(), 500u);
  EXPECT_EQ(thin.front().x, 0);
  EXPECT_EQ(thin.back().x, 9999);
  bool has_top = false, has_bottom = false;
  for (size_t i = 0; i < thin.size(); ++i) {
    EXPECT_TRUE(i == 0 || thin[i - 1].x < thin[i].x);
    has_top = has_top || (thin[i].x == 1234 && thin[i].y == 50);
    has_bottom = has_bottom || (thin[i].x == 8765 && thin[i].y == -50);
  }
  EXPECT_TRUE(has_top && has_bottom);
  EXPECT_EQ(thin_curve(points, 10000).size(), 10000u);
}

uint32_t word_at(const std::string& bytes, size_t offset) {
  uint32_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

TEST(Tensorboard, ChecksumsAreThoseOfTheFormat) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  const std::string record = tensorboard_record(tensorboard_version_event(0));
  ASSERT_EQ(record.size(), 8u + 4 + 24 + 4);
  EXPECT_EQ(word_at(record, 8), 0x224b7fa3u);
  EXPECT_EQ(word_at(record, 8 + 4 + 24), 0xa328dfeeu);
}

TEST(Tensorboard, AFileIsARunOfIntactRecords) {
  const std::string folder =
      ::testing::TempDir() + "simile_tensorboard_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  {
    TensorboardWriter writer(folder);
    writer.write("train/loss", 300, 0.5);
  }
  const std::string bytes = read_file(std::filesystem::directory_iterator(folder)->path());
  size_t offset = 0, records = 0;
  while (offset < bytes.size()) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data() + offset, sizeof length);
    ASSERT_LE(offset + 16 + length, bytes.size());
    EXPECT_EQ(word_at(bytes, offset + 8), masked_crc32c(bytes.substr(offset, 8)));
    const std::string payload = bytes.substr(offset + 12, length);
    EXPECT_EQ(word_at(bytes, offset + 12 + length), masked_crc32c(payload));
    if (records == 1) {
      // Field 2, varint 300; then summary{value{tag, simple_value 0.5f}}.
      EXPECT_EQ(payload.substr(9), std::string("\x10\xAC\x02\x2A\x13\x0A\x11\x0A\x0Atrain/loss\x15"
                                               "\x00\x00\x00\x3F",
                                               24));
    }
    offset += 16 + length;
    ++records;
  }
  EXPECT_EQ(records, 2u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace simile
