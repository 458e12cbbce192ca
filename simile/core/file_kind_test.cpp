// SPDX-License-Identifier: Apache-2.0
#include "simile/core/file_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simile {
namespace {

using testing::HasSubstr;

TEST(FileKind, IsToldByTheFirstBytes) {
  const std::string zip("PK\x03\x04" + std::string(26, '\0'));
  const std::pair<std::string, const char*> cases[] = {
      {std::string("\x93NUMPY\x01\x00", 8), "NumPy"},
      {zip + "vectors.npy", ".npz"},
      {zip + "[Content_Types].xml", ".xlsx"},
      {zip + "a.txt", "zip archive"},
      {"PAR1\x15\x04", "Parquet"},
      {"%PDF-1.7", "pdftotext"},
      {"\x89PNG\r\n\x1A\n", "picture"},
      {"\x1F\x8B\x08", "gzip"},
      {std::string(257, 'a') + "ustar", "tar archive"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n", "git lfs pull"},
      {"\n<!DOCTYPE HTML>", "web page"},
      {"<html lang=\"en\">", "web page"},
      {"<?xml version=\"1.0\"?>", "XML"},
      {"{\\rtf1\\ansi", "RTF"},
      {"# xet version 0\n", "git-xet"},
      {std::string("\xFD\067zXZ\0", 6), "xz file"},
      {std::string("\x3c\0\0\0\0\0\0\0{\"a\"", 12), "safetensors"},
      {"\177ELF\x02", "program"},
      {"GGUF\x03", "llama.cpp"},
      {std::string("SQLite format 3\0", 16), "SQLite"}};
  for (const auto& [bytes, named] : cases) EXPECT_THAT(describe_foreign(bytes), HasSubstr(named));
  for (const char* text : {"", "a text", "PKK is no archive", "<b>bold</b>", "version 2",
                           "\xEF\xBB\xBFmarked", "[CLS] a", "{x}"}) {
    EXPECT_EQ(describe_foreign(text), "") << text;
  }
}

TEST(FileKind, ControlCharactersAreNoText) {
  std::string all;
  for (int i = 0; i < 512; ++i) all += static_cast<char>(i * 131 % 256);
  const std::string pickle =
      "\x80\x04\x95" + std::string("\x16\0\0\0\0\0\0\0", 8) + "]\x94(\x8c\x07the cat\x94\x8c\x05";
  for (const std::string& bytes : {all, pickle, "OggS" + std::string(60, '\0')}) {
    EXPECT_TRUE(is_binary(bytes)) << bytes.substr(0, 4);
  }
  const std::string fields = "a\x01red cat\x01b\n", shift_jis = "\x93\xfa\x96\x7b\x8c\xea";
  for (const std::string& text :
       {std::string(), std::string("a\0b\tc\n", 6), fields + fields + fields + fields + fields,
        shift_jis + shift_jis, std::string("\x1b[1mbold\x1b[0m \f\v\r\n")}) {
    EXPECT_FALSE(is_binary(text)) << text;
  }
}

TEST(FileKind, JsonIsToldFromText) {
  for (const char* line :
       {"[", "{", " [{\"a\": 1},", "[\"a cat\", \"a dog\"]", "[\"a\",", "{\"text\": \"a\"}"}) {
    EXPECT_THAT(describe_json_line(line), HasSubstr("jsonl")) << line;
  }
  for (const char* line : {"", "[1] Reference", "[CLS] text", "{curly} text", "a [",
                           "[\"Quoted\" text", "[sic]", "{\"quoted\" text}"}) {
    EXPECT_EQ(describe_json_line(line), "") << line;
  }
}

}  // namespace
}  // namespace simile
