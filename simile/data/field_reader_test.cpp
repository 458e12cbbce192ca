// SPDX-License-Identifier: Apache-2.0
#include "simile/data/field_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> read(const std::string& name, const std::string& bytes) {
  const std::string path =
      fmt::format("{}simile_candidates_{}_{}", ::testing::TempDir(), getpid(), name);
  write_file_atomic(path, bytes);
  struct Remove {
    const std::string& path;
    ~Remove() { std::filesystem::remove(path); }
  } remove{path};
  return read_candidate_texts(path, silent_events());
}

TEST(CandidateTexts, AreReadFromTablesAndLines) {
  EXPECT_THAT(read("a.tsv", "id\ttext\n1\tone\n2\t \n3\tthree\n"), ElementsAre("one", "three"));
  EXPECT_THAT(read("b.tsv", "text\ttitle\none\tA\ntwo\t\n"), ElementsAre("A one", "two"));
  EXPECT_THAT(read("c.csv", "id,text\n1,\"one, two\"\n"), ElementsAre("one, two"));
  EXPECT_THAT(read("d.jsonl", "{\"_id\":\"7\",\"title\":\"A\",\"text\":\"one\",\"url\":\"no\"}\n"),
              ElementsAre("A one"));
  EXPECT_THAT(read("e.txt", "one\n\ntwo\twords\n"), ElementsAre("one", "two\twords"));
}

TEST(CandidateTexts, AFileWithoutTextsIsAnError) {
  for (const auto& [name, bytes, message] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"a.tsv", "id\tbody\n1\tone\n", "expected one of the columns title, text"},
           {"b.txt", "\n \n", "no text was found"}}) {
    try {
      read(name, bytes);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
}

}  // namespace
}  // namespace simile
