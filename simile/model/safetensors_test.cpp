// SPDX-License-Identifier: Apache-2.0
#include "simile/model/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/random.h"

namespace simile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct TestFolder {
  TestFolder() { make_folders(path); }
  ~TestFolder() { std::filesystem::remove_all(path); }
  const std::string path =
      testing::TempDir() + "simile_safetensors_" + std::to_string(getpid()) + "/";
};

std::string test_path(const std::string& name) {
  static const TestFolder folder;
  return folder.path + name;
}

std::string file_with_header(const std::string& header, size_t data_bytes) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + std::string(data_bytes, '\0');
}

// The message of the error that opening these bytes gives; empty when they open.
std::string open_error(const std::string& bytes) {
  const std::string path = test_path("hostile.safetensors");
  std::ofstream(path, std::ios::binary) << bytes;
  return error_of(ErrorKind::kInput, [&] { SafetensorsFile file(path); });
}

TEST(Safetensors, WrittenTensorsAreReadBack) {
  const std::string path = test_path("round.safetensors");
  const std::vector<float> a = {1.5f, -2.0f, 0.1f, 3e-30f, 5.0f, 6.0f}, b = {7.0f};
  write_safetensors(path, {{"zebra", {2, 3}, a.data()}, {"ant", {1}, b.data()}});
  const SafetensorsFile file(path);
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors()[0].name, "zebra");
  EXPECT_THAT(file.tensors()[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.tensors()[0].offset % 8, 0u);
  std::vector<float> read(6);
  file.read_floats(*file.find("zebra"), 0, 6, read.data());
  EXPECT_EQ(read, a);
  ASSERT_NE(file.floats_in_place(*file.find("ant")), nullptr);
  EXPECT_EQ(*file.floats_in_place(*file.find("ant")), 7.0f);
  EXPECT_EQ(file.find("bee"), nullptr);
}

TEST(Safetensors, HalvesAreRoundedOnceAndReadExactly) {
  const std::string path = test_path("half.safetensors");
  const std::vector<float> values = {1.0f, -0.5f, 65504.0f, 0.1f};
  write_safetensors(path, {{"h", {4}, values.data(), TensorType::kF16},
                           {"b", {4}, values.data(), TensorType::kBf16}});
  const SafetensorsFile file(path);
  std::vector<float> h(4), b(4);
  file.read_floats(*file.find("h"), 0, 4, h.data());
  file.read_floats(*file.find("b"), 0, 4, b.data());
  EXPECT_THAT(h, ElementsAre(1.0f, -0.5f, 65504.0f, 0.0999755859375f));
  EXPECT_THAT(b, ElementsAre(1.0f, -0.5f, 65536.0f, 0.10009765625f));
  EXPECT_EQ(file.floats_in_place(*file.find("h")), nullptr);
  ASSERT_NE(file.halves_in_place(*file.find("h")), nullptr);
  EXPECT_EQ(file.halves_in_place(*file.find("h"))[1], 0xb800);
  EXPECT_EQ(file.halves_in_place(*file.find("b")), nullptr);
}

TEST(Safetensors, EmptyTensorsAndNoTensorsOpen) {
  EXPECT_EQ(open_error(file_with_header("{}", 0)), "");
  EXPECT_EQ(open_error(
                file_with_header(R"({"a":{"dtype":"F32","shape":[0,4],"data_offsets":[0,0]}})", 0)),
            "");
}

TEST(Safetensors, HostileHeadersAreRefusedWithTheReason) {
  struct Case {
    const char* header;
    size_t data;
    const char* message;
  };
  const Case cases[] = {
      {"[]", 0, "not a JSON object"},
      {"{", 0, "not valid JSON"},
      {R"({"a":1})", 0, "expected a JSON object"},
      {R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4, "\"dtype\" must be one of"},
      {R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4, "\"shape\" is missing"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "\"shape\" holds"},
      {R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4, "\"shape\" holds"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", 4,
       "too large"},
      {R"({"a":{"dtype":"F64","shape":[281474976710655,8192],"data_offsets":[0,4]}})", 4,
       "too large"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "must span the 8 bytes"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "must span"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4, "[begin, end]"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,0]}})", 4,
       "must span"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4611686018427387904,4611686018427387908]}})",
       4, "too large"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4, "truncated"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8, "leave a gap"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       4, "overlap"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       8, "occurs twice"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5, "the file has"},
      {R"({"__metadata__":[1]})", 0, "__metadata__"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(open_error(file_with_header(c.header, c.data)), HasSubstr(c.message)) << c.header;
  }
}

TEST(Safetensors, LengthsThatCannotBeAreRefused) {
  EXPECT_THAT(open_error(""), HasSubstr("0 bytes"));
  EXPECT_THAT(open_error("abc"), HasSubstr("3 bytes"));
  EXPECT_THAT(open_error(std::string(8, '\xff')), HasSubstr("promise a header"));
  EXPECT_THAT(open_error(std::string("\0\0\0\0\0\0\0\x80{}", 10)),
              HasSubstr("promise a header of 9223372036854775808 bytes"));
  EXPECT_THAT(open_error(std::string("\x10\0\0\0\0\0\0\0{}", 10)), HasSubstr("truncated"));
  EXPECT_THAT(open_error(file_with_header(std::string(200000, '['), 0)),
              HasSubstr("nested deeper"));
}

TEST(Safetensors, EveryTruncationOfAFileIsAnError) {
  const std::string path = test_path("whole.safetensors");
  const std::vector<float> values(16, 1.0f);
  write_safetensors(path, {{"a", {4, 4}, values.data()}});
  const std::string whole = read_file(path);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(open_error(whole.substr(0, size)), "") << size;
  }
}

TEST(Safetensors, RandomDamageGivesAnErrorOrAReadableFile) {
  const std::string path = test_path("damaged.safetensors");
  const std::vector<float> values(16, 1.0f);
  write_safetensors(path, {{"a", {4, 4}, values.data()}, {"b", {3}, values.data()}});
  const std::string whole = read_file(path);
  RandomStream stream(3, "damage");
  int opened = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    for (uint64_t i = 0; i <= stream.below(3); ++i) {
      bytes[stream.below(bytes.size())] = static_cast<char>(stream.below(256));
    }
    std::ofstream(path, std::ios::binary) << bytes;
    try {
      const SafetensorsFile file(path);
      ++opened;
      for (const TensorInfo& tensor : file.tensors()) {
        std::vector<float> read(static_cast<size_t>(tensor.size));
        file.read_floats(tensor, 0, tensor.size, read.data());
      }
    } catch (const Error&) {
    }
  }
  EXPECT_GT(opened, 0);
}

TEST(Safetensors, NumbersOfOtherTypesAreStoredAsTheyAre) {
  const std::string path = test_path("types.safetensors");
  const double wide[2] = {0.1, -1e300};
  const int64_t whole = -5;
  write_safetensors(path, {{"a", {2}, wide, TensorType::kF64},
                           {"b", {}, &whole, TensorType::kI64},
                           {"c", {0}, nullptr}});
  const SafetensorsFile file(path);
  EXPECT_EQ(file.bytes(*file.find("a")), std::string_view(reinterpret_cast<const char*>(wide), 16));
  EXPECT_EQ(file.bytes(*file.find("b")),
            std::string_view(reinterpret_cast<const char*>(&whole), 8));
  EXPECT_EQ(file.find("c")->size, 0);
}

TEST(Safetensors, ReadingIntegersAsFloatsIsAnError) {
  const std::string path = test_path("integers.safetensors");
  write_file_atomic(
      path, file_with_header(R"({"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", 8));
  const SafetensorsFile file(path);
  float value;
  EXPECT_THROW(file.read_floats(file.tensors()[0], 0, 1, &value), Error);
}

TEST(SafetensorsSlow, ATruncatedDownloadTellsBothSizes) {
  const std::string path =
      SIMILE_SOURCE_DIR "/../shared/fixtures/all-MiniLM-L6-v2-TRUNCATED.safetensors";
  if (!file_exists(path)) GTEST_SKIP() << "skipped: no ../shared";
  try {
    SafetensorsFile file(path);
    FAIL() << "opened a truncated file";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("851968"));
    EXPECT_THAT(error.what(), HasSubstr("90868376"));
  }
}

}  // namespace
}  // namespace simile
