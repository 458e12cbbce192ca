// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"
#include "simile/model/safetensors.h"

namespace simile {
namespace {

using ::testing::HasSubstr;

class SealedTensorsTest : public ::testing::Test, protected TestFiles {
 protected:
  SealedTensorsTest() {
    write_sealed_tensors(path("state"),
                         {{"first", {2, 2}, floats_, TensorType::kF32}, {"second", {3}, floats_}},
                         {{"recipe", "a"}, {"step", "12"}});
  }

  std::string refusal(const std::string& name) const {
    return error_of(ErrorKind::kInput, [&] { check_seal(SafetensorsFile(path(name))); });
  }

  const float floats_[4] = {1, 2, -3, 4};
};

TEST_F(SealedTensorsTest, IsTakenAsItWasWritten) {
  const SafetensorsFile file(path("state"));
  check_seal(file);
  EXPECT_EQ(file.metadata().at("step"), "12");
  EXPECT_EQ(file.tensors().size(), 2u);
}

TEST_F(SealedTensorsTest, AFlippedBitOfAnyTensorIsTold) {
  const std::string bytes = read_file(path("state"));
  const size_t tensors = (4 + 3) * sizeof(float);
  for (size_t i = bytes.size() - tensors; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    write("damaged", damaged);
    EXPECT_THAT(refusal("damaged"), HasSubstr("is damaged: its checksum")) << i;
  }
}

TEST_F(SealedTensorsTest, ChangedMetadataAndNamesAreTold) {
  const std::string bytes = read_file(path("state"));
  for (const auto& [before, after] : {std::pair{"\"step\":\"12\"", "\"step\":\"13\""},
                                      {"\"recipe\":", "\"recepi\":"},
                                      {"\"second\":", "\"decond\":"}}) {
    std::string damaged = bytes;
    const size_t place = damaged.find(before);
    ASSERT_NE(place, std::string::npos) << before;
    damaged.replace(place, std::string(before).size(), after);
    write("damaged", damaged);
    EXPECT_THAT(refusal("damaged"), HasSubstr("is damaged: its checksum")) << after;
  }
}

TEST_F(SealedTensorsTest, OneWithoutAChecksumIsRefused) {
  write_safetensors(path("plain"), {{"first", {4}, floats_}});
  EXPECT_THAT(refusal("plain"), HasSubstr("is damaged: its checksum"));
}

}  // namespace
}  // namespace simile
