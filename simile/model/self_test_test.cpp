// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <limits>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/model/model_card.h"

namespace simile {
namespace {

using testing::HasSubstr;

SelfTest small_test() {
  SelfTest test;
  test.texts = {"one", "two é"};
  test.vectors = Matrix<float>(2, 3);
  test.vectors.values = {0.1f, -0.2f, 1.0f / 3, 4.0f, 5.0f, -6.0f};
  return test;
}

struct TestFile {
  ~TestFile() { std::remove(path.c_str()); }
  const std::string path =
      testing::TempDir() + "simile_self_test_" + std::to_string(getpid()) + ".json";
};

std::string test_path() {
  static const TestFile file;
  return file.path;
}

TEST(SelfTest, WrittenVectorsAreReadBackExactly) {
  const SelfTest test = small_test();
  write_file_atomic(test_path(), self_test_to_json(test));
  const SelfTest read = read_self_test(test_path());
  EXPECT_EQ(read.texts, test.texts);
  EXPECT_EQ(read.vectors.values, test.vectors.values);
  EXPECT_EQ(read.tolerance, 1e-5);
  EXPECT_EQ(verify_self_test(read, test.vectors), 0.0);
}

TEST(SelfTest, ADifferenceAboveTheToleranceNamesTheText) {
  const SelfTest test = small_test();
  Matrix<float> actual = test.vectors;
  actual.at(0, 0) += 5e-6f;
  EXPECT_NO_THROW(verify_self_test(test, actual));
  actual.at(1, 2) += 1e-3f;
  try {
    verify_self_test(test, actual);
    FAIL() << "passed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFailed);
    EXPECT_THAT(error.what(), HasSubstr("two é"));
    EXPECT_THAT(error.what(), HasSubstr("0.000167"));
  }
}

TEST(SelfTest, NumbersThatAreNotFiniteAndOtherSizesNeverPass) {
  const SelfTest test = small_test();
  Matrix<float> actual = test.vectors;
  actual.at(0, 1) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(verify_self_test(test, actual), Error);
  EXPECT_THROW(verify_self_test(test, Matrix<float>(2, 4)), Error);
}

TEST(SelfTest, DamagedFilesAreRefused) {
  const char* const cases[] = {
      "",
      "[]",
      R"({"format":2,"texts":["a"],"vectors":[[1]]})",
      R"({"format":1,"texts":["a","b"],"vectors":[[1]]})",
      R"({"format":1,"texts":[],"vectors":[]})",
      R"({"format":1,"texts":[1],"vectors":[[1]]})",
      R"({"format":1,"texts":["a"],"vectors":["b"]})",
      R"({"format":1,"texts":["a","b"],"vectors":[[1],[1,2]]})",
      R"({"format":1,"texts":["a"],"vectors":[["x"]]})",
      R"({"format":1,"texts":["a"],"vectors":[[1e300]]})",
  };
  for (const char* json : cases) {
    write_file_atomic(test_path(), json);
    EXPECT_THROW(read_self_test(test_path()), Error) << json;
  }
}

}  // namespace
}  // namespace simile
