// SPDX-License-Identifier: Apache-2.0
// For tests: files that live as long as the test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "simile/core/detail/error_of_test.h"

namespace simile {

class TestFiles {
 public:
  TestFiles() {
    std::string pattern = (std::filesystem::temp_directory_path() / "simile_test_XXXXXX").string();
    folder_ = mkdtemp(&pattern[0]);
  }
  TestFiles(const TestFiles&) = delete;
  TestFiles& operator=(const TestFiles&) = delete;
  ~TestFiles() { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  std::string write_gzip(const std::string& name, const std::string& bytes) const {
    gzFile file = gzopen(path(name).c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path(name);
  }

  std::string write_zstd(const std::string& name, const std::string& bytes) const {
    return write(name, pack_zstd(bytes));
  }

  static std::string pack_zstd(const std::string& bytes) {
    std::string packed(ZSTD_compressBound(bytes.size()), '\0');
    packed.resize(ZSTD_compress(&packed[0], packed.size(), bytes.data(), bytes.size(), 3));
    return packed;
  }

 private:
  std::string folder_;
};

}  // namespace simile
