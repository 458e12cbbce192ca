// SPDX-License-Identifier: Apache-2.0
#include "simile/train/device_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <cmath>

#include "simile/core/error.h"
#include "simile/kernel/bfloat_kernels.h"

namespace simile {
namespace {

const std::string kModel = std::string(SIMILE_SOURCE_DIR) + "/models/simile-mini-3";

double distance(const float* a, const float* b, size_t size) {
  double sum = 0;
  for (size_t i = 0; i < size; ++i) sum += std::pow(double{a[i]} - b[i], 2);
  return std::sqrt(sum);
}

void expect_the_programs_vectors(const std::string& device, const std::string& precision) {
  const std::vector<std::string> texts = {"", "a red apple", "where is my parcel? where is it?",
                                          "it has not arrived yet, and nobody tells me why"};
  const Matrix<float> expected =
      SentenceEncoder::load(kModel, silent_events()).encode(texts, {}, silent_events());
  const Matrix<float> found =
      load_on_device(kModel, device, precision, silent_events()).encode(texts, {}, silent_events());
  ASSERT_EQ(found.rows, expected.rows);
  ASSERT_EQ(found.cols, expected.cols);
  // Between vectors of length one, 0.03 is a cosine of 0.9995.
  const double tolerance = precision == "fp32" ? 1e-5 : 0.03;
  for (int64_t row = 0; row < found.rows; ++row) {
    EXPECT_LT(distance(found.row(row), expected.row(row), found.cols), tolerance)
        << precision << ": " << texts[row];
  }
}

TEST(DeviceModel, GivesTheVectorsThatTheProgramGives) {
  expect_the_programs_vectors("cpu", "fp32");
  if (bfloat_kernels() != nullptr) expect_the_programs_vectors("cpu", "bf16");
}

TEST(DeviceModel, GivesThemOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "skipped: no CUDA device";
  for (const std::string precision : {"fp32", "bf16"}) {
    expect_the_programs_vectors("cuda", precision);
  }
}

TEST(DeviceModel, RefusesDevicesAndProductsBeforeAFileIsRead) {
  const auto error_of = [](const std::string& device, const std::string& precision) {
    try {
      load_on_device("nowhere", device, precision, silent_events());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(error_of("gpu", "fp32"), ::testing::HasSubstr("expected cpu, cuda"));
  EXPECT_THAT(error_of("cuda:999", "fp32"), ::testing::HasSubstr("device: cuda:999"));
  EXPECT_THAT(error_of("cpu", "fp8"), ::testing::HasSubstr("precision fp8"));
}

}  // namespace
}  // namespace simile
