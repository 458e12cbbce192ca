// SPDX-License-Identifier: Apache-2.0
#include "simile/index/document_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "simile/core/error.h"

namespace simile {
namespace {

using testing::ElementsAre;

class DocumentStoreTest : public testing::Test {
 protected:
  void TearDown() override { std::remove(path_.c_str()); }
  static void nothing(const DocumentStore::Change&) {}
  std::string path_ = testing::TempDir() + "simile_documents_" + std::to_string(getpid()) +
                      testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(DocumentStoreTest, KeepsTextsOfAnyBytes) {
  const std::string zero("a\0b", 3);
  std::vector<int64_t> keys;
  {
    DocumentStore store(path_, DocumentStore::Access::kCreate);
    keys = store.change({}, {{"x", zero}, {"é'\"", "line\nline"}, {"", ""}}, nothing).added;
  }
  const DocumentStore store(path_, DocumentStore::Access::kRead);
  EXPECT_EQ(store.count(), 3);
  EXPECT_EQ(store.generation(), 1);
  const std::vector<Document> found = store.find({keys[1], keys[0], keys[2]});
  EXPECT_EQ(found[0].id, "é'\"");
  EXPECT_EQ(found[0].text, "line\nline");
  EXPECT_EQ(found[1].text, zero);
  EXPECT_EQ(found[2].id, "");
  EXPECT_THROW(store.find({99}), Error);
}

TEST_F(DocumentStoreTest, KeysAreNeverUsedAgain) {
  DocumentStore store(path_, DocumentStore::Access::kCreate);
  EXPECT_THAT(store.change({}, {{"a", "1"}, {"b", "2"}}, nothing).added, ElementsAre(1, 2));
  const DocumentStore::Change change = store.change({"b", "x", "x"}, {{"a", "3"}}, nothing);
  EXPECT_THAT(change.unknown, ElementsAre("x"));
  EXPECT_THAT(change.removed, ElementsAre(2, 1));
  EXPECT_THAT(change.added, ElementsAre(3));
  EXPECT_EQ(change.generation, 2);
  EXPECT_EQ(store.find({3})[0].text, "3");
}

TEST_F(DocumentStoreTest, AFailureBeforeTheCommitChangesNothing) {
  DocumentStore store(path_, DocumentStore::Access::kCreate);
  store.change({}, {{"a", "1"}}, nothing);
  const auto fail = [](const DocumentStore::Change&) { throw std::runtime_error("disk full"); };
  EXPECT_THROW(store.change({"a"}, {{"b", "2"}}, fail), std::runtime_error);
  EXPECT_THROW(store.change({}, {{"c", ""}, {"c", ""}}, nothing), Error);
  EXPECT_EQ(store.count(), 1);
  EXPECT_EQ(store.generation(), 1);
  EXPECT_EQ(store.find({1})[0].id, "a");
}

TEST_F(DocumentStoreTest, WritingToAStoreOpenedForReadingIsAnIoError) {
  { DocumentStore store(path_, DocumentStore::Access::kCreate); }
  DocumentStore store(path_, DocumentStore::Access::kRead);
  try {
    store.change({}, {{"a", ""}}, nothing);
    FAIL() << "wrote";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIo);
  }
}

}  // namespace
}  // namespace simile
