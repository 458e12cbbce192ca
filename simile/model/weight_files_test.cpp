// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/error.h"
#include "simile/model/safetensors.h"

namespace simile {
namespace {

using testing::HasSubstr;

const std::string kTorchFiles = SIMILE_SOURCE_DIR "/tests/golden/torch_files/";

class WeightFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "simile_weight_files_" + std::to_string(getpid()) + "/";
    make_folders(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + name; }

  // Files "a" with tensors x, y and "b" with z, and an index of them.
  std::string write_shards() {
    write_safetensors(path("a.safetensors"), {{"x", {2}, values_}, {"y", {1}, values_ + 2}});
    write_safetensors(path("b.safetensors"), {{"z", {1}, values_ + 3}});
    return write_index(R"({"x":"a.safetensors","y":"a.safetensors","z":"b.safetensors"})");
  }

  std::string write_index(const std::string& map) {
    const std::string index = path("model.safetensors.index.json");
    write_file_atomic(index, R"({"metadata":{"total_size":16},"weight_map":)" + map + "}");
    return index;
  }

  void expect_error(const std::string& file, const std::string& message) {
    try {
      open_weights(file);
      ADD_FAILURE() << "opened; expected: " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }

  const float values_[4] = {1.5f, 2.5f, 3.5f, 4.5f};
  std::string folder_;
};

TEST_F(WeightFiles, SeveralFilesAreReadAsOne) {
  const std::string index = write_shards();
  const auto weights = open_weights(index);
  EXPECT_EQ(weights->path(), index);
  ASSERT_EQ(weights->tensors().size(), 3u);
  float read[2];
  weights->read_floats(*weights->find("x"), 0, 2, read);
  EXPECT_EQ(read[1], 2.5f);
  weights->read_floats(*weights->find("z"), 0, 1, read);
  EXPECT_EQ(read[0], 4.5f);
  ASSERT_NE(weights->floats_in_place(*weights->find("z")), nullptr);
  weights->release(*weights->find("z"), 0, 1);
  EXPECT_THAT(weight_files(index),
              testing::ElementsAre(index, path("a.safetensors"), path("b.safetensors")));
}

TEST_F(WeightFiles, ShardsOfTorchAreReadToo) {
  std::filesystem::copy_file(kTorchFiles + "module.bin", path("one.bin"));
  write_safetensors(path("two.safetensors"), {{"z", {1}, values_}});
  const auto weights =
      open_weights(write_index(R"({"weight":"one.bin","bias":"one.bin","z":"two.safetensors"})"));
  float read[2];
  weights->read_floats(*weights->find("bias"), 0, 2, read);
  EXPECT_EQ(read[0], 5.0f);
}

TEST_F(WeightFiles, AnIndexThatDoesNotHoldIsRefused) {
  write_shards();
  struct Case {
    const char* map;
    const char* message;
  };
  const Case cases[] = {
      {"[]", "\"weight_map\" must be an object"},
      {"{}", "\"weight_map\" must be an object"},
      {R"({"x":1})", "the file of tensor 'x' must be a text"},
      {R"({"x":"../a.safetensors"})", "leads out of the model folder"},
      {R"({"x":"/etc/passwd"})", "leads out of the model folder"},
      {R"({"x":"a.txt"})", "names ending in .safetensors or .bin"},
      {R"({"x":"c.safetensors"})", "names the file 'c.safetensors', which is missing"},
      {R"({"x":"a.safetensors","y":"a.safetensors","w":"a.safetensors"})",
       "tensor 'w' is not in 'a.safetensors'"},
      {R"({"x":"a.safetensors"})", "tensor 'y' is in 'a.safetensors', but \"weight_map\" does not"},
      {R"({"x":"a.safetensors","y":"b.safetensors","z":"b.safetensors"})",
       "tensor 'y' is in 'a.safetensors', but \"weight_map\" does not"},
  };
  for (const Case& c : cases) expect_error(write_index(c.map), c.message);
  write_file_atomic(path("model.safetensors.index.json"), "{}");
  expect_error(path("model.safetensors.index.json"), "\"weight_map\"");
}

TEST_F(WeightFiles, TheFirstKindThereIsTaken) {
  const char* const names[] = {"pytorch_model.bin.index.json", "pytorch_model.bin",
                               "model.safetensors.index.json", "simile-int8.safetensors",
                               "model.safetensors"};
  EXPECT_THROW(find_weights(folder_), Error);
  for (const char* name : names) {
    write_file_atomic(path(name), "");
    EXPECT_EQ(find_weights(folder_), path(name));
  }
}

TEST_F(WeightFiles, WeightsOfOtherProgramsAreNamed) {
  write_file_atomic(path("tf_model.h5"), "");
  try {
    find_weights(folder_);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("tf_model.h5', a file for TensorFlow"));
  }
}

TEST_F(WeightFiles, ABrokenLinkIsNamed) {
  std::filesystem::create_symlink("../blobs/none", path("model.safetensors"));
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { find_weights(folder_); }),
              HasSubstr("model.safetensors' is a link to a file that does not exist"));
}

TEST_F(WeightFiles, AMatrixOfBytesIsMultipliedByTheScaleOfItsRow) {
  const int8_t bytes[6] = {127, -127, 0, 1, 2, -3};
  const float scales[2] = {0.5f, 2.0f};
  const std::string file = path("model.safetensors");
  write_safetensors(file, {{"odd", {1}, bytes, TensorType::kI8},
                           {"m", {2, 3}, bytes, TensorType::kI8},
                           {"m.scale", {2}, scales},
                           {"wrong", {2, 3}, bytes, TensorType::kI8},
                           {"wrong.scale", {1}, scales},
                           {"bare", {2, 3}, bytes, TensorType::kI8}});
  const auto weights = open_weights(file);
  const std::vector<float> expected = {63.5f, -63.5f, 0, 2, 4, -6};
  for (int64_t begin = 0; begin < 6; ++begin) {
    std::vector<float> read(static_cast<size_t>(6 - begin));
    weights->read_floats(*weights->find("m"), begin, 6 - begin, read.data());
    EXPECT_TRUE(std::equal(read.begin(), read.end(), expected.begin() + begin));
  }
  float read;
  for (const char* name : {"odd", "wrong", "bare"}) {
    EXPECT_THROW(weights->read_floats(*weights->find(name), 0, 1, &read), Error) << name;
  }
}

}  // namespace
}  // namespace simile
