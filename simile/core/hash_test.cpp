// SPDX-License-Identifier: Apache-2.0
#include "simile/core/hash.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

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

}  // namespace
}  // namespace simile
