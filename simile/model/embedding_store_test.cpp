// SPDX-License-Identifier: Apache-2.0
#include "simile/model/embedding_store.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <type_traits>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/half.h"
#include "simile/core/hash.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

static_assert(std::is_move_constructible_v<EmbeddingStore>);
static_assert(!std::is_copy_constructible_v<EmbeddingStore>);

class EmbeddingStoreTest : public ::testing::Test {
 protected:
  EmbeddingStoreTest() {
    std::string pattern = (fs::temp_directory_path() / "simile_store_XXXXXX").string();
    folder_ = mkdtemp(&pattern[0]);
    path_ = join_path(folder_, "v.npy");
  }
  ~EmbeddingStoreTest() override { fs::remove_all(folder_); }

  int64_t entries() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  std::string folder_, path_;
};

// Row i, number j: a fraction that halves do not hold exactly.
Matrix<float> block_of(int64_t first, int64_t rows, int64_t dimension) {
  Matrix<float> block(rows, dimension);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < dimension; ++j) {
      block.at(i, j) = static_cast<float>(first + i) / 7 - static_cast<float>(j) / 3;
    }
  }
  return block;
}

void write_store(const std::string& path, const std::string& fingerprint,
                 NpyNumber precision = NpyNumber::kFloat) {
  EmbeddingStoreWriter writer(path, 5, 3, precision);
  writer.append(block_of(0, 2, 3));
  writer.append(block_of(2, 0, 3));
  writer.append(block_of(2, 3, 3));
  writer.finish(fingerprint);
}

TEST_F(EmbeddingStoreTest, RowsComeBackInBothPrecisions) {
  const Matrix<float> written = block_of(0, 5, 3);
  for (const NpyNumber precision : {NpyNumber::kFloat, NpyNumber::kHalf}) {
    write_store(path_, "f", precision);
    EmbeddingStore opened(path_);
    const EmbeddingStore store(std::move(opened));
    EXPECT_EQ(store.rows(), 5);
    EXPECT_EQ(store.dimension(), 3);
    std::vector<float> row(3);
    for (const int64_t i : {4, 0, 2, 1, 3}) {
      store.row(i, row.data());
      for (int64_t j = 0; j < 3; ++j) {
        const float value = written.at(i, j);
        EXPECT_EQ(row[static_cast<size_t>(j)],
                  precision == NpyNumber::kFloat ? value : half_to_float(float_to_half(value)));
      }
    }
    EXPECT_EQ(fs::file_size(path_), 128 + 15 * npy_number_width(precision));
  }
  EXPECT_EQ(entries(), 2);
}

TEST_F(EmbeddingStoreTest, AStoreIsReusedWhileNothingChanged) {
  EXPECT_FALSE(EmbeddingStore::open_current(path_, "model A"));
  write_store(path_, "model A");
  EXPECT_EQ(read_file(path_ + ".json"),
            "{\"fingerprint\":\"model A\",\"rows\":5,\"dimension\":3,\"precision\":\"fp32\","
            "\"checksum\":\"" +
                hash_file(path_) + "\"}\n");
  EXPECT_TRUE(EmbeddingStore::open_current(path_, "model A"));
  EXPECT_FALSE(EmbeddingStore::open_current(path_, "model B"));
  write_store(path_, "model B", NpyNumber::kHalf);
  EXPECT_FALSE(EmbeddingStore::open_current(path_, "model A"));
  EXPECT_TRUE(EmbeddingStore::open_current(path_, "model B"));

  const std::string note = read_file(path_ + ".json"), numbers = read_file(path_);
  write_file_atomic(path_, numbers.substr(0, numbers.size() - 1));
  EXPECT_FALSE(EmbeddingStore::open_current(path_, "model B"));
  write_file_atomic(path_, npy_header(NpyNumber::kFloat, 5, 3) + std::string(60, '\0'));
  EXPECT_FALSE(EmbeddingStore::open_current(path_, "model B")) << "of another precision";
  std::string damaged = numbers;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  write_file_atomic(path_, damaged);
  EXPECT_FALSE(EmbeddingStore::open_current(path_, "model B"));
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { EmbeddingStore store(path_); }),
              testing::HasSubstr("is damaged"));
  write_file_atomic(path_, numbers);
  write_file_atomic(path_ + ".json", note.substr(0, 20));
  EXPECT_FALSE(EmbeddingStore::open_current(path_, "model B"));
  fs::remove(path_ + ".json");
  EXPECT_FALSE(EmbeddingStore::open_current(path_, "model B"));
  EXPECT_EQ(EmbeddingStore(path_).rows(), 5) << "a file of others has no fingerprint";
}

TEST_F(EmbeddingStoreTest, AnInterruptedWriterLeavesNothingBehind) {
  {
    EmbeddingStoreWriter writer(path_, 5, 3);
    writer.append(block_of(0, 2, 3));
  }
  EXPECT_EQ(entries(), 0);
  write_store(path_, "old");
  {
    EmbeddingStoreWriter writer(path_, 5, 3);
    writer.append(block_of(0, 5, 3));
  }
  EXPECT_EQ(entries(), 2);
  EXPECT_TRUE(EmbeddingStore::open_current(path_, "old"));
}

TEST_F(EmbeddingStoreTest, WrongBlocksAreFailures) {
  EmbeddingStoreWriter writer(path_, 5, 3);
  const auto failure = [&](const Matrix<float>& block) {
    return error_of(ErrorKind::kFailed, [&] { writer.append(block); });
  };
  writer.append(block_of(0, 3, 3));
  EXPECT_THAT(failure(block_of(3, 2, 4)),
              HasSubstr("v.npy: expected 2 more vectors of size 3, found 2 of size 4"));
  EXPECT_THAT(failure(block_of(3, 3, 3)), HasSubstr("found 3 of size 3"));
  EXPECT_THAT(error_of(ErrorKind::kFailed, [&] { writer.finish("f"); }),
              HasSubstr("expected 5 vectors, found 3"));
  Matrix<float> broken = block_of(3, 2, 3);
  broken.at(1, 0) = NAN;
  EXPECT_THAT(failure(broken), HasSubstr("of vector 4 (numbered from 0)"));
  Matrix<float> large(1, 3, 1e5f);
  EXPECT_EQ(failure(large), "");
  EmbeddingStoreWriter halves(join_path(folder_, "h.npy"), 1, 3, NpyNumber::kHalf);
  EXPECT_THAT(error_of(ErrorKind::kFailed, [&] { halves.append(large); }),
              HasSubstr("fp16 holds no number as large as 100000"));
}

TEST_F(EmbeddingStoreTest, AFullDiskIsAnErrorAndLeavesTheOldStore) {
  write_store(path_, "old");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = error_of(ErrorKind::kIo, [&] {
    EmbeddingStoreWriter writer(path_, 1000, 30);
    for (int i = 0; i < 1000; ++i) writer.append(block_of(i, 1, 30));
    writer.finish("new");
  });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr("v.npy': File too large"));
  EXPECT_TRUE(EmbeddingStore::open_current(path_, "old"));
  EXPECT_EQ(entries(), 2);
}

TEST_F(EmbeddingStoreTest, FilesOfAnotherKindAreRefused) {
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { EmbeddingStore store(path_); }),
              HasSubstr("v.npy': No such file"));
  write_file_atomic(path_, "");
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { EmbeddingStore store(path_); }),
              HasSubstr("v.npy: expected a .npy file"));
  write_store(path_, "f");
  write_file_atomic(path_, read_file(path_).substr(0, 150));
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { EmbeddingStore store(path_); }),
              HasSubstr("188 bytes in all, found 150 bytes; it is truncated"));
}

TEST_F(EmbeddingStoreTest, NumbersNeedNotBeAligned) {
  const std::string dictionary = "{'descr':'<f4','fortran_order':False,'shape':(1,2)}";
  const float numbers[] = {1.5f, -2};
  write_file_atomic(path_, std::string("\x93NUMPY\x01\x00", 8) +
                               static_cast<char>(dictionary.size()) + '\0' + dictionary +
                               std::string(reinterpret_cast<const char*>(numbers), 8));
  std::vector<float> row(2);
  EmbeddingStore(path_).row(0, row.data());
  EXPECT_THAT(row, ElementsAre(1.5f, -2));
}

}  // namespace
}  // namespace simile
