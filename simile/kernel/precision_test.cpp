// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/error.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

std::string message_of(const std::string& name) {
  try {
    choose_precision(name);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRecipe);
    return error.what();
  }
  return "";
}

TEST(Precision, NamesAreThoseOfProducts) {
  EXPECT_EQ(choose_precision("fp32"), ProductType::kFloat);
  EXPECT_EQ(choose_precision("int8"), ProductType::kByte);
  EXPECT_THAT(message_of("fp8"),
              testing::AllOf(testing::HasSubstr("fp8"), testing::HasSubstr("fp32, bf16, int8")));
}

TEST(Precision, OneThatTheProcessorLacksIsRefusedWithThoseItHas) {
  if (bfloat_kernels() != nullptr) {
    EXPECT_EQ(choose_precision("bf16"), ProductType::kBfloat);
    return;
  }
  EXPECT_THAT(message_of("bf16"), testing::AllOf(testing::HasSubstr("precision bf16"),
                                                 testing::HasSubstr(vector_kernels().name),
                                                 testing::HasSubstr("fp32 and int8")));
}

}  // namespace
}  // namespace simile
