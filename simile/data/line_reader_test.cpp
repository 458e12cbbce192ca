// SPDX-License-Identifier: Apache-2.0
#include "simile/data/line_reader.h"

#include <gmock/gmock.h>

#include <sstream>

#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Lines = std::vector<std::string>;

Lines read_all(LineReader& reader) {
  Lines lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

Lines lines_of(const std::string& bytes) {
  std::istringstream stream(bytes);
  LineReader reader(stream, "stdin");
  return read_all(reader);
}

TEST(LineReader, LineEndsAndByteOrderMarkAreTakenOff) {
  EXPECT_TRUE(lines_of("").empty());
  EXPECT_THAT(lines_of("a"), ElementsAre("a"));
  EXPECT_THAT(lines_of("a\n"), ElementsAre("a"));
  EXPECT_THAT(lines_of("a\r\nb\n\nc"), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(lines_of("\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n"),
              ElementsAre("one", "\xEF\xBB\xBFtwo"));
  EXPECT_THAT(lines_of("a\rb\n"), ElementsAre("a\rb"));
}

TEST(LineReader, LongLinesCrossTheBufferUnharmed) {
  std::string bytes;
  for (int i = 0; i < 50; ++i) bytes += std::string(static_cast<size_t>(i) * 7919, 'x') + "\n";
  const Lines lines = lines_of(bytes);
  ASSERT_EQ(lines.size(), 50);
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i].size(), i * 7919);
}

TEST(LineReader, GzipAndPlainFilesReadAlike) {
  const TestFiles files;
  LineReader plain(files.write("a.txt", "one\ntwo\n"));
  LineReader packed(files.write_gzip("a.txt.gz", "one\ntwo\n"));
  EXPECT_EQ(read_all(plain), read_all(packed));
  EXPECT_EQ(plain.line_number(), 2);
}

TEST(LineReader, AGzipFileIsMembersAndNothingElse) {
  const TestFiles files;
  const std::string member = read_file(files.write_gzip("m.gz", "one\ntw"));
  const std::string other = read_file(files.write_gzip("o.gz", "o\nthree\n"));
  const std::string nothing = read_file(files.write_gzip("n.gz", ""));
  const std::string zeros(1000, '\0');
  LineReader several(files.write("s.gz", member + nothing + other + zeros));
  EXPECT_THAT(read_all(several), ElementsAre("one", "two", "three"));
  for (const std::string& rest : {std::string("plain\n"), other.substr(1), other.substr(0, 5)}) {
    LineReader reader(files.write("r.gz", member + rest));
    EXPECT_THAT(error_of([&] { read_all(reader); }), HasSubstr("after 6 bytes of text"));
  }
}

TEST(LineReader, ACutGzipFileIsAnError) {
  const TestFiles files;
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i * i) + "\n";
  const std::string bytes = read_file(files.write_gzip("a.gz", text));
  for (const size_t size : {bytes.size() / 2, bytes.size() - 3}) {
    LineReader cut(files.write("cut.gz", bytes.substr(0, size)));
    EXPECT_THAT(error_of([&] { read_all(cut); }), HasSubstr("cut.gz"));
  }
  std::string damaged = bytes;
  damaged[bytes.size() / 2] = static_cast<char>(~damaged[bytes.size() / 2]);
  LineReader reader(files.write("damaged.gz", damaged));
  EXPECT_THAT(error_of([&] { read_all(reader); }), HasSubstr("damaged.gz"));
}

TEST(LineReader, ZstdFilesOfOneFrameOrSeveralReadLikePlainOnes) {
  const TestFiles files;
  LineReader one(files.write_zstd("a.txt.zst", "one\ntwo\n"));
  EXPECT_THAT(read_all(one), ElementsAre("one", "two"));
  const std::string frames = TestFiles::pack_zstd("one\ntw") + TestFiles::pack_zstd("") +
                             TestFiles::pack_zstd("o\nthree\n");
  LineReader several(files.write("b.txt.zst", frames));
  EXPECT_THAT(read_all(several), ElementsAre("one", "two", "three"));
  LineReader empty(files.write_zstd("c.txt.zst", ""));
  EXPECT_TRUE(read_all(empty).empty());

  std::string text;
  for (int i = 0; i < 100000; ++i) text += std::to_string(i) + "\n";
  LineReader large(files.write_zstd("d.zst", text));
  const Lines lines = read_all(large);
  ASSERT_EQ(lines.size(), 100000);
  EXPECT_EQ(lines.back(), "99999");
  // The unpacked text fills the reader's chunks to the last byte.
  const std::string chunk(size_t{1} << 17, 'x');
  LineReader whole(files.write_zstd("e.zst", chunk));
  EXPECT_THAT(read_all(whole), ElementsAre(chunk));
}

TEST(LineReader, AZstdFileCutAtAnyByteIsAnError) {
  const TestFiles files;
  const std::string bytes =
      TestFiles::pack_zstd("one\ntwo\nthree\n") + TestFiles::pack_zstd("four\nfive\n");
  const size_t first = TestFiles::pack_zstd("one\ntwo\nthree\n").size();
  for (size_t size = 0; size < bytes.size(); ++size) {
    if (size == first) continue;  // the first frame alone is a file
    LineReader cut(files.write("cut.zst", bytes.substr(0, size)));
    EXPECT_THAT(error_of([&] { read_all(cut); }),
                HasSubstr("cut.zst: the zstd file is cut after " + std::to_string(size) + " bytes"))
        << size;
  }
}

TEST(LineReader, ADamagedZstdFileNamesFileAndByte) {
  const TestFiles files;
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i * i) + "\n";
  const std::string bytes = TestFiles::pack_zstd(text);
  std::string damaged = bytes;
  for (size_t i = bytes.size() / 2; i < bytes.size() / 2 + 40; ++i) damaged[i] = 'x';
  LineReader reader(files.write("damaged.zst", damaged));
  EXPECT_THAT(
      error_of([&] { read_all(reader); }),
      AllOf(HasSubstr("damaged.zst, damaged at or before byte "), HasSubstr(" of text): ")));
  LineReader plain(files.write("plain.zst", "one\ntwo\n"));
  EXPECT_THAT(error_of([&] { read_all(plain); }), HasSubstr("plain.zst, damaged at or before"));
  LineReader misnamed(files.write("packed.txt", bytes));
  EXPECT_THAT(error_of([&] { read_all(misnamed); }), HasSubstr("a name that ends in .zst"));
  EXPECT_THAT(error_of([&] { LineReader none(files.path("none.zst")); }),
              HasSubstr("No such file"));
}

TEST(LineReader, AZstdWindowUpToTheLimitIsRead) {
  const TestFiles files;
  // As below with a window of 2^27 bytes, what `zstd --long` makes; then a last block of 4 bytes.
  const std::string frame("\x28\xB5\x2F\xFD\x00\x88\x21\x00\x00one\n", 13);
  LineReader reader(files.write("wide.zst", frame));
  EXPECT_THAT(read_all(reader), ElementsAre("one"));
}

TEST(LineReader, AZstdWindowOverTheLimitIsAnError) {
  const TestFiles files;
  // A frame header by hand (RFC 8878, 3.1.1.1): no content size, a window of 2^28 bytes; then an
  // empty last block.
  const std::string header("\x28\xB5\x2F\xFD\x00\x90\x01\x00\x00", 9);
  LineReader reader(files.write("wide.zst", header));
  EXPECT_THAT(error_of([&] { read_all(reader); }),
              AllOf(HasSubstr("wide.zst"), HasSubstr("without --long")));
}

TEST(LineReader, AFileThatIsNotThereOrAFolderIsAnError) {
  const TestFiles files;
  EXPECT_THAT(error_of([&] { LineReader reader(files.path("none.txt")); }),
              HasSubstr("No such file"));
  EXPECT_THAT(error_of([&] { LineReader reader(files.path("")); }), HasSubstr("folder"));
}

TEST(LineReader, ALineWithoutEndIsAnErrorAndNotAllOfMemory) {
  const TestFiles files;
  const std::string path = files.write_gzip(
      "long.gz", std::string(static_cast<size_t>(kMaximumLineBytes) + 200000, 'x'));
  LineReader reader(path);
  EXPECT_THAT(error_of([&] { read_all(reader); }), HasSubstr("long.gz:1: the line is longer"));
}

TEST(LineReader, NamesWithoutTheirPacking) {
  EXPECT_EQ(without_compression("a/b.tsv.zst"), "a/b.tsv");
  EXPECT_EQ(without_compression("b.csv.gz"), "b.csv");
  EXPECT_EQ(without_compression("b.jsonl"), "b.jsonl");
  EXPECT_EQ(without_compression(".gz"), "");
  EXPECT_TRUE(is_json_lines("a.jsonl.zst"));
  EXPECT_FALSE(is_json_lines("a.json"));
  EXPECT_TRUE(is_table("a.csv.zst"));
  EXPECT_FALSE(is_table("a.txt.zst"));
}

TEST(LineReader, CountsBytesThatAreNotUtf8) {
  std::istringstream stream("caf\xE9\nna\xEFve\n");
  LineReader reader(stream, "stdin");
  EXPECT_THAT(read_all(reader), ElementsAre("caf\xEF\xBF\xBD", "na\xEF\xBF\xBDve"));
  EXPECT_EQ(reader.replaced_bytes(), 2);
}

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LineReader, OtherEncodingsAreConverted) {
  using namespace std::string_literals;
  const TestFiles files;
  struct Case {
    std::string bytes, encoding, text;
  };
  const Case cases[] = {{"\x80 \xE9\r\nb", "windows-1252", "€ é"},
                        {"\x80 \xE9\nb", "Latin-1", "€ é"},
                        {"\xE9\nb", "cp850", "Ú"},
                        {"\x83\x65\nb", "shift_jis", "テ"},
                        {"\xE9\0\n\0b\0"s, "utf-16le", "é"},
                        {"\xFF\xFE\xE9\0\n\0b\0"s, "", "é"},
                        {"\xFE\xFF\0\xE9\0\n\0b"s, "", "é"},
                        {"\xFE\xFF\0\xE9\0\n\0b"s, "utf-16", "é"},
                        {"\xFF\xFE\0\0\xE9\0\0\0\n\0\0\0b\0\0\0"s, "", "é"},
                        {"\xEF\xBB\xBF\xC3\xA9\nb", "utf-8", "é"}};
  for (const Case& one : cases) {
    LineReader reader(files.write_gzip("t.csv.gz", one.bytes), one.encoding);
    EXPECT_THAT(read_all(reader), ElementsAre(one.text, "b")) << one.encoding << one.text;
    EXPECT_EQ(reader.replaced_bytes(), 0);
  }
  // Over the ends of buffers, and from a stream.
  std::string bytes, text;
  for (int i = 0; i < 40000; ++i) {
    bytes += "x\0\xE9\0=\xD8\x00\xDE"s;
    text += "xé\xF0\x9F\x98\x80";
  }
  std::istringstream stream(bytes + "\n\0"s);
  LineReader reader(stream, "stdin", "utf-16le");
  EXPECT_THAT(read_all(reader), ElementsAre(text));
}

TEST(LineReader, BytesOutsideTheEncodingAreToldWithTheirLine) {
  const TestFiles files;
  const auto error = [&](const std::string& bytes, const std::string& encoding) {
    return error_of([&] {
      LineReader reader(files.write("t.csv", bytes), encoding);
      read_all(reader);
    });
  };
  EXPECT_THAT(error("one\ntwo \xC3\xA9\nthree \x83\x01\n", "shift_jis"),
              HasSubstr("t.csv:3: its bytes are not shift_jis; name the file's encoding"));
  EXPECT_THAT(error("one\ntwo \xE9 \n", "utf-8"), HasSubstr("t.csv:2: its bytes are not utf-8"));
  EXPECT_THAT(error("one", "klingon"),
              HasSubstr("encoding: 'klingon' is not known; expected such"));
  LineReader reader(files.write("t.csv", "one\ntwo\n\xE9\n\xE9"));
  read_all(reader);
  EXPECT_EQ(reader.replaced_bytes(), 2);
  EXPECT_EQ(reader.first_replaced(), 3);
}

TEST(PathList, AStarStandsForAnyCharactersOfTheName) {
  const TestFiles files;
  for (const char* name :
       {"part-2.tsv", "part-10.tsv", "part-.tsv", "part-1.csv", ".part-3.tsv", "a-part-4.tsv"}) {
    files.write(name, "");
  }
  make_folders(files.path("part-5.tsv"));
  const auto expand = [&](const std::string& name) { return expand_paths({files.path(name)}); };
  EXPECT_THAT(expand("part-*.tsv"), ElementsAre(files.path("part-.tsv"), files.path("part-10.tsv"),
                                                files.path("part-2.tsv")));
  EXPECT_THAT(expand("*part*.tsv").size(), 4);
  EXPECT_THAT(expand("*-1*"), ElementsAre(files.path("part-1.csv"), files.path("part-10.tsv")));
  EXPECT_THAT(expand("*2**.tsv"), ElementsAre(files.path("part-2.tsv")));
  EXPECT_THAT(expand(".*"), ElementsAre(files.path(".part-3.tsv")));
}

TEST(PathList, OtherPathsAreTakenAsTheyAre) {
  const TestFiles files;
  EXPECT_THAT(expand_paths({}), IsEmpty());
  EXPECT_THAT(expand_paths({"b", "a"}), ElementsAre("b", "a"));
  files.write("a.tsv", "");
  const std::string star = files.write("*.tsv", "");
  EXPECT_THAT(expand_paths({star}), ElementsAre(star));
}

TEST(CountRows, LinesOutsideTheQuotesOfACsv) {
  const TestFiles files;
  EXPECT_EQ(count_rows(files.write("a.csv", "a,b\n\"x\ny\",1\n\"\"\"\",2")), 3);
  EXPECT_EQ(count_rows(files.write("a.tsv", "\"x\ny\n")), 2);
  EXPECT_EQ(count_rows(files.path("nowhere.csv")), 0);
}

TEST(PathList, WhatDoesNotFitIsAnError) {
  const TestFiles files;
  const std::string path = files.write("a.tsv", "");
  const auto error = [&](const std::vector<std::string>& paths) {
    return error_of([&] { expand_paths(paths); });
  };
  EXPECT_THAT(error({files.path("*.csv")}),
              AllOf(HasSubstr("/*.csv: no file of the folder"), HasSubstr("fits '*.csv'")));
  EXPECT_THAT(error({files.path("none/*.csv")}), HasSubstr("none: No such file"));
  EXPECT_THAT(error({"da*ta/a.tsv"}), HasSubstr("file's name only"));
  EXPECT_THAT(error({"da*ta/*.tsv"}), HasSubstr("file's name only"));
  EXPECT_THAT(error({path, files.path("*.tsv")}), HasSubstr("a.tsv: the file is named twice"));
  EXPECT_THAT(error({path, files.path("./a.tsv")}), HasSubstr("named twice"));
}

TEST(PathList, NamesForMessages) {
  EXPECT_EQ(name_paths({}), "");
  EXPECT_EQ(name_paths({"a"}), "a");
  EXPECT_EQ(name_paths({"a", "b"}), "a and 1 more file");
  EXPECT_EQ(name_paths({"a", "b", "c"}), "a and 2 more files");
}

}  // namespace
}  // namespace simile
