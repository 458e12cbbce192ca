// SPDX-License-Identifier: Apache-2.0
#include "simile/core/hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

TEST(Hash, IsXxh3With128Bits) {
  EXPECT_EQ(hash_bytes(""), "99aa06d3014798d86001c324468d497f");  // as xxHash documents it
  EXPECT_EQ(Hash128().digits(), hash_bytes(""));
}

TEST(Hash, NumbersAreThoseOfXxh3) {
  EXPECT_EQ(hash64(""), 0x2d06800538d394c2u);  // as xxHash documents it
  EXPECT_EQ(hash_key("").high, 0x99aa06d3014798d8u);
  EXPECT_EQ(hash_key("").low, 0x6001c324468d497fu);
  EXPECT_TRUE(hash_key("ab") == hash_key(std::string("a") + "b"));
  EXPECT_FALSE(hash_key("ab") == hash_key("ba"));
}

TEST(Hash, PiecesAndFilesGiveTheHashOfTheWhole) {
  std::string bytes;
  for (int64_t i = 0; i < 3'000'000; ++i) bytes += static_cast<char>(i * i % 251);
  Hash128 hash;
  hash.add(bytes.substr(0, 7));
  hash.add("");
  hash.add(bytes.substr(7));
  EXPECT_EQ(hash.digits(), hash_bytes(bytes));
  const std::string path = testing::TempDir() + "simile_hash_" + std::to_string(getpid());
  write_file_atomic(path, bytes);
  EXPECT_EQ(hash_file(path), hash_bytes(bytes));
  std::remove(path.c_str());
  EXPECT_THROW(hash_file(path), Error);
  bytes[1'234'567] ^= 1;
  EXPECT_NE(hash.digits(), hash_bytes(bytes));
}

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

class ChecksumsTest : public testing::Test {
 protected:
  ChecksumsTest() : folder_(testing::TempDir() + "simile_checksums_" + std::to_string(getpid())) {
    write("config.json", "{}");
    write("heads/a/model.safetensors", "weights");
    write("part/config.json", "{\"a\":1}");
    write("README.md", "A card");
    write("LICENSE", "Apache");
    write(".gitattributes", "");
    write_checksums(path("part"));
    write_checksums(folder_);
  }
  ~ChecksumsTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return join_path(folder_, name); }
  void write(const std::string& name, const std::string& bytes) const {
    make_folders(fs::path(path(name)).parent_path().string());
    write_file_atomic(path(name), bytes);
  }

  const std::string folder_;
};

TEST_F(ChecksumsTest, WholeFoldersPassAndCardsMayChange) {
  write("README.md", "Another card");
  write("LICENSE", "MIT");
  write("added.txt", "by somebody");
  EXPECT_EQ(verify_checksums(folder_), 3);
  EXPECT_EQ(verify_all_checksums(folder_), 4);
  verify_checksum(path("heads/a/model.safetensors"));
  verify_checksum(path("added.txt"));
  EXPECT_EQ(verify_checksums(path("heads")), 0);
}

TEST_F(ChecksumsTest, AFileThatIsAnotherIsNamedWithWhatToDo) {
  write("heads/a/model.safetensors", "Weights");
  for (const auto& verify :
       {std::function<void()>([&] { verify_checksums(folder_); }),
        std::function<void()>([&] { verify_checksum(path("heads/a/model.safetensors")); })}) {
    EXPECT_THAT(error_of(verify),
                AllOf(HasSubstr("heads/a/model.safetensors"), HasSubstr("--write-checksums")));
  }
  EXPECT_EQ(verify_checksums(
                folder_, [](const std::string& name) { return ends_with(name, ".safetensors"); }),
            3);
  write_checksums(folder_);
  EXPECT_EQ(verify_checksums(folder_), 3);
  fs::remove(path("config.json"));
  EXPECT_THAT(error_of([&] { verify_checksums(folder_); }), HasSubstr("is missing"));
}

TEST_F(ChecksumsTest, FoldersBelowAreVerifiedByTheirOwn) {
  write("part/config.json", "{\"a\":2}");
  EXPECT_EQ(verify_checksums(folder_), 3);
  EXPECT_THAT(error_of([&] { verify_all_checksums(folder_); }), HasSubstr("part/config.json"));
  write_checksums(path("part"));
  EXPECT_THAT(error_of([&] { verify_checksums(folder_); }), HasSubstr("part/checksums.json"));
}

TEST_F(ChecksumsTest, AnyDamagedBitOfTheListIsRefused) {
  const std::string whole = read_file(path("checksums.json"));
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1 << i % 8);
    write("checksums.json", damaged);
    try {
      EXPECT_EQ(verify_checksums(folder_), 3);  // spaces between members may be others
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
    }
  }
}

TEST_F(ChecksumsTest, NamesOutsideTheFolderAreRefused) {
  for (const char* name : {"../x", "/etc/passwd", "", "a/../../x"}) {
    write("checksums.json", std::string(R"({"format":1,"hash":"xxh3-128","files":{")") + name +
                                R"(":{"bytes":1,"hash":""}}})");
    EXPECT_THAT(error_of([&] { verify_checksums(folder_); }), HasSubstr("no name of a"));
  }
}

}  // namespace
}  // namespace simile
