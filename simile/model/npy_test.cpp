// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "simile/core/error.h"
#include "simile/model/embedding_store.h"

namespace simile {
namespace {

using ::testing::HasSubstr;

// A file of 2 x 3 floats with this header, however long it is.
std::string file_of(const std::string& dictionary, size_t bytes = 24) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(dictionary.size() % 256);
  file += static_cast<char>(dictionary.size() / 256);
  return file + dictionary + std::string(bytes, '\0');
}

std::string error_with(const std::string& bytes) {
  try {
    parse_npy("v.npy", bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("v.npy: "));
    return error.what();
  }
  return "no error";
}

TEST(Npy, HeadersAreThoseOfNumpy) {
  // As numpy.save writes them.
  EXPECT_EQ(npy_header(NpyNumber::kFloat, 2, 384),
            std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 384), }" +
                std::string(56, ' ') + "\n");
  EXPECT_THAT(npy_header(NpyNumber::kHalf, 100000, 1024),
              HasSubstr("'<f2', 'fortran_order': False, 'shape': (100000, 1024), }"));
  // All headers have the same length, so that rows can be counted while they are written.
  for (int64_t rows : {int64_t{0}, int64_t{1}, int64_t{65536}, int64_t{1} << 50}) {
    EXPECT_EQ(npy_header(NpyNumber::kFloat, rows, 8192).size(), 128u) << rows;
  }
}

TEST(Npy, HeadersAreReadBack) {
  const NpyMatrix matrix =
      parse_npy("v.npy", npy_header(NpyNumber::kHalf, 5, 7) + std::string(70, 'x'));
  EXPECT_EQ(matrix.number, NpyNumber::kHalf);
  EXPECT_EQ(matrix.rows, 5);
  EXPECT_EQ(matrix.columns, 7);
  EXPECT_EQ(matrix.offset, 128u);
  // Keys in another order and without spaces.
  const std::string dense = "{'shape':(2,3),'fortran_order':False,'descr':'<f4'}";
  const NpyMatrix other = parse_npy("v.npy", file_of(dense));
  EXPECT_EQ(other.rows, 2);
  EXPECT_EQ(other.columns, 3);
  EXPECT_EQ(other.offset, 10 + dense.size());
}

TEST(Npy, WhatIsNoSuchMatrixIsRefused) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  EXPECT_EQ(error_with(file_of(good)), "no error");
  const auto with = [&](std::string from, const std::string& to) {
    std::string header = good;
    return error_with(file_of(header.replace(header.find(from), from.size(), to)));
  };
  EXPECT_THAT(with("<f4", "<f8"), HasSubstr("'<f4' or '<f2', found '<f8'"));
  EXPECT_THAT(with("<f4", ">f4"), HasSubstr("found '>f4'"));
  EXPECT_THAT(with("False", "True"), HasSubstr("expected a matrix in C order"));
  EXPECT_THAT(with("(2, 3)", "(6,)"), HasSubstr("expected the shape (ROWS, COLUMNS), found (6,)"));
  EXPECT_THAT(with("(2, 3)", "(1, 2, 3)"), HasSubstr("found (1, 2, 3)"));
  EXPECT_THAT(with("(2, 3)", "(-2, -3)"), HasSubstr("found (-2, -3)"));
  EXPECT_THAT(with("(2, 3)", "(2, 3"), HasSubstr("expected the shape"));
  EXPECT_THAT(with("'descr'", "'dtype'"), HasSubstr("expected 'descr': in the .npy header"));
  EXPECT_THAT(with("(2, 3)", "(4611686018427387904, 3)"), HasSubstr("bytes; it is trunc"));
  EXPECT_THAT(error_with(file_of(good, 23)),
              HasSubstr("2 rows of 3 numbers of 4 bytes, 93 bytes in all, found 92 bytes; it is "
                        "truncated"));
  EXPECT_THAT(error_with(file_of(good, 25)), HasSubstr("it holds more than one matrix"));
  EXPECT_THAT(error_with("PK\x03\x04"), HasSubstr("expected a .npy file, but it is a zip archive"));
  EXPECT_THAT(error_with("PKK"), HasSubstr("begins with \\x93NUMPY; found 'PK"));
  EXPECT_THAT(error_with(""), HasSubstr("expected a .npy file"));
  EXPECT_THAT(error_with(file_of(good).substr(0, 40)), HasSubstr("expected a header of 59 bytes"));
  EXPECT_THAT(error_with(file_of(good).replace(6, 1, "\x02")), HasSubstr("found 2.0"));
}

TEST(Npy, EveryPrefixOfAFileIsRefused) {
  const std::string file = npy_header(NpyNumber::kFloat, 2, 3) + std::string(24, '\0');
  EXPECT_EQ(error_with(file), "no error");
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(error_with(file.substr(0, size)), "no error") << size;
  }
}

}  // namespace
}  // namespace simile
