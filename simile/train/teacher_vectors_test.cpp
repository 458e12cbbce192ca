// SPDX-License-Identifier: Apache-2.0
#include "simile/train/teacher_vectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "simile/core/file.h"
#include "simile/train/detail/run_test.h"
#include "simile/train/training_set.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TeacherVectorsTest : public testing::RunTest {
 protected:
  // Texts begin .. end - 1, of which each number is a word.
  static TrainingSet texts(int begin, int end) {
    TrainingSet set;
    set.file = "texts.tsv";
    for (int i = begin; i < end; ++i) {
      set.texts.push_back({2, 5 + i % 40, 3});
      set.originals.push_back(std::to_string(i));
    }
    return set;
  }

  // Number j of text i's vector, which lies in three dimensions.
  static float number(int text, int64_t j, int kind) {
    double sum = 0;
    for (int axis = 1; axis < 4; ++axis) {
      sum += std::sin(axis * (text + kind) * 0.7) * std::cos(axis * (j + kind) * 1.3);
    }
    return static_cast<float>(sum);
  }

  // Counts the texts it reads; fails before the block that goes beyond `limit` of them.
  Teacher teacher(int kind, int64_t dimension = 8) {
    Teacher teacher;
    teacher.name = "t" + std::to_string(kind);
    teacher.fingerprint = "model " + std::to_string(kind);
    teacher.dimension = dimension;
    teacher.embed = [this, kind, dimension](const TrainingSet& set, const std::vector<int32_t>& all,
                                            EventSink& events) {
      if (read_ + static_cast<int64_t>(all.size()) > limit_) {
        throw Error(ErrorKind::kInterrupted, "told to stop");
      }
      read_ += static_cast<int64_t>(all.size());
      Matrix<float> vectors(static_cast<int64_t>(all.size()), dimension);
      for (int64_t i = 0; i < vectors.rows; ++i) {
        const int text = std::stoi(set.originals[static_cast<size_t>(all[i])]);
        for (int64_t j = 0; j < dimension; ++j) vectors.at(i, j) = number(text, j, kind);
      }
      events.progress({"embed", vectors.rows, vectors.rows, "texts", {}});
      return vectors;
    };
    return teacher;
  }

  std::vector<TeacherVectors> open(const std::vector<Teacher>& teachers, const TrainingSet& set,
                                   EventSink& events = silent_events()) {
    read_ = 0;
    return TeacherFolder(path("vectors"), options_, events).open(teachers, set);
  }

  static double cosine(const TeacherVectors& vectors, int32_t a, int32_t b) {
    const torch::Tensor rows = vectors.read({a, b}).to(torch::kFloat64);
    return ((rows[0] * rows[1]).sum() / rows[0].norm() / rows[1].norm()).item<double>();
  }

  ObjectiveOptions options_;
  int64_t limit_ = 1'000'000, read_ = 0;
};

TEST_F(TeacherVectorsTest, EveryTextIsReadOnceWhateverSetsItStandsIn) {
  const TeacherVectors first = open({teacher(1)}, texts(0, 100))[0];
  EXPECT_EQ(read_, 100);
  EXPECT_EQ(first.dimension(), 8);
  const TeacherVectors second = open({teacher(1)}, texts(60, 130))[0];
  EXPECT_EQ(read_, 30);
  const torch::Tensor rows = second.read({69, 0, 0});
  for (int64_t j = 0; j < 8; ++j) {
    EXPECT_EQ(rows[0][j].item<float>(), number(129, j, 1));
    EXPECT_EQ(rows[1][j].item<float>(), number(60, j, 1));
    EXPECT_EQ(rows[2][j].item<float>(), number(60, j, 1));
  }
  open({teacher(1)}, texts(0, 130));
  EXPECT_EQ(read_, 0);
}

TEST_F(TeacherVectorsTest, ATextOfTwoPromptsHasOneVector) {
  TrainingSet set = texts(0, 4);
  set.originals[3] = "0";
  const TeacherVectors vectors = open({teacher(1)}, set)[0];
  EXPECT_EQ(read_, 3);
  EXPECT_EQ(vectors.read({3})[0][5].item<float>(), number(0, 5, 1));
}

TEST_F(TeacherVectorsTest, VectorsOfAnotherTeacherOrPrecisionAreNotTaken) {
  open({teacher(1)}, texts(0, 50));
  const TeacherVectors other = open({teacher(2)}, texts(0, 50))[0];
  EXPECT_EQ(read_, 50);
  EXPECT_EQ(other.read({7})[0][2].item<float>(), number(7, 2, 2));
  options_.teacher_storage = "fp16";
  const TeacherVectors half = open({teacher(1)}, texts(0, 50))[0];
  EXPECT_EQ(read_, 50);
  EXPECT_NEAR(half.read({7})[0][2].item<float>(), number(7, 2, 1), 2e-3);
}

TEST_F(TeacherVectorsTest, AStopLosesOneBlockAtMost) {
  limit_ = 20'000;
  EXPECT_THROW(open({teacher(1)}, texts(0, 30'000)), Error);
  EXPECT_EQ(read_, 16'384);
  limit_ = 1'000'000;
  testing::Listener events;
  const TeacherVectors vectors = open({teacher(1)}, texts(0, 30'000), events)[0];
  EXPECT_EQ(read_, 30'000 - 16'384);
  EXPECT_THAT(events.warned, IsEmpty());
  EXPECT_THAT(events.told, ElementsAre(HasSubstr("13616 of them new")));
  for (const int text : {0, 16'383, 16'384, 29'999}) {
    EXPECT_EQ(vectors.read({text})[0][1].item<float>(), number(text, 1, 1)) << text;
  }
}

TEST_F(TeacherVectorsTest, DamagedBlocksAreToldAndMadeAnew) {
  for (const char* ending : {".npy", ".keys"}) {
    std::filesystem::remove_all(path("vectors"));
    open({teacher(1)}, texts(0, 50));
    for (const auto& entry : std::filesystem::directory_iterator(path("vectors"))) {
      if (!ends_with(entry.path().string(), ending)) continue;
      std::string bytes = read_file(entry.path());
      bytes.back() ^= 1;
      write_file_atomic(entry.path(), bytes);
    }
    testing::Listener events;
    const TeacherVectors vectors = open({teacher(1)}, texts(0, 50), events)[0];
    EXPECT_EQ(read_, 50);
    EXPECT_THAT(events.warned, ElementsAre(HasSubstr("damaged"))) << ending;
    EXPECT_EQ(vectors.read({49})[0][7].item<float>(), number(49, 7, 1));
  }
}

TEST_F(TeacherVectorsTest, ReducedVectorsKeepTheMeanCosineOfTheTeachers) {
  const TrainingSet set = texts(0, 200);
  const std::vector<Teacher> teachers = {teacher(1), teacher(2, 12)};
  const std::vector<TeacherVectors> whole = open(teachers, set);
  ASSERT_EQ(whole.size(), 2u);
  options_.teacher_dimensions = 6;  // three for each teacher
  const std::vector<TeacherVectors> reduced = open(teachers, set);
  EXPECT_EQ(read_, 0);
  ASSERT_EQ(reduced.size(), 1u);
  EXPECT_EQ(reduced[0].dimension(), 6);
  for (int32_t text = 1; text < 200; text += 17) {
    const double mean = (cosine(whole[0], 0, text) + cosine(whole[1], 0, text)) / 2;
    EXPECT_NEAR(cosine(reduced[0], 0, text), mean, 1e-5) << text;
  }
  options_.teacher_dimensions = 3;
  const TeacherVectors leading = open(teachers, set)[0];
  EXPECT_TRUE(torch::equal(leading.read({7, 9}), reduced[0].read({7, 9}).narrow(1, 0, 3)));
  options_.teacher_dimensions = 6;
  // Other texts are turned to the same axes, however few they are.
  const TeacherVectors later = open(teachers, texts(195, 205))[0];
  for (int64_t j = 0; j < 6; ++j) {
    EXPECT_EQ(later.read({0})[0][j].item<float>(), reduced[0].read({195})[0][j].item<float>());
  }
}

TEST_F(TeacherVectorsTest, DamagedAxesAreRefused) {
  options_.teacher_dimensions = 4;
  open({teacher(1)}, texts(0, 50));
  for (const auto& entry : std::filesystem::directory_iterator(path("vectors"))) {
    if (!ends_with(entry.path().string(), ".map.npy")) continue;
    std::string bytes = read_file(entry.path());
    bytes.back() ^= 1;
    write_file_atomic(entry.path(), bytes);
  }
  try {
    open({teacher(1)}, texts(0, 60));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("start anew"));
  }
}

TEST_F(TeacherVectorsTest, AxesNeedTwiceAsManyTextsAsNumbers) {
  options_.teacher_dimensions = 4;
  try {
    open({teacher(1)}, texts(0, 15));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("at least 16 texts"));
  }
}

}  // namespace
}  // namespace simile
