// SPDX-License-Identifier: Apache-2.0
#include "simile/index/document_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

class DocumentStoreTest : public testing::Test {
 protected:
  void TearDown() override {
    std::remove(path_.c_str());
    std::remove(moved().c_str());
  }

  static SegmentChange nothing(const DocumentStore::Change&, const DocumentStore::RemovedWithin&) {
    return {};
  }
  static DocumentStore::BeforeCommit put(const SegmentChange& change) {
    return [change](const DocumentStore::Change&, const DocumentStore::RemovedWithin&) {
      return change;
    };
  }

  static std::vector<int64_t> keys_of(const std::vector<VectorKey>& vectors) {
    std::vector<int64_t> keys;
    for (const VectorKey& vector : vectors) keys.push_back(vector.key);
    return keys;
  }

  // Five documents of which 1 and 4 are removed, in the segments 1 (keys 1 to 3) and 2 (4 and 5).
  DocumentStore make_segments() const {
    DocumentStore store(path_, DocumentStore::Access::kCreate);
    store.change({}, {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}, {"e", "5"}},
                 put({{}, {one_, two_}}));
    store.change({"a", "d"}, {}, nothing);
    return store;
  }

  std::string moved() const { return path_ + "-moved"; }

  std::string path_ = testing::TempDir() + "simile_documents_" + std::to_string(getpid()) +
                      testing::UnitTest::GetInstance()->current_test_info()->name();
  const SegmentRow one_{1, 1, 3, 3, std::string(32, 'x')};
  const SegmentRow two_{2, 4, 5, 2, std::string(32, 'y')};
};

TEST_F(DocumentStoreTest, KeepsTextsOfAnyBytes) {
  const std::string zero("a\0b", 3);
  std::vector<int64_t> keys;
  {
    DocumentStore store(path_, DocumentStore::Access::kCreate);
    keys =
        keys_of(store.change({}, {{"x", zero}, {"é'\"", "line\nline"}, {"", ""}}, nothing).added);
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

TEST_F(DocumentStoreTest, AnEmptyObjectIsKeptAsNoMetadata) {
  DocumentStore store(path_, DocumentStore::Access::kCreate);
  const auto added = store.change({}, {{"a", "1", "{}"}, {"b", "1", "{\"x\":1}"}}, nothing).added;
  EXPECT_EQ(store.find({1})[0].metadata, "");
  EXPECT_EQ(store.find({2})[0].metadata, "{\"x\":1}");
  EXPECT_EQ(added[0].content, vector_keys(1, {"a", "1"})[0].content);
}

TEST_F(DocumentStoreTest, KeysAreNeverUsedAgain) {
  DocumentStore store(path_, DocumentStore::Access::kCreate);
  EXPECT_THAT(keys_of(store.change({}, {{"a", "1"}, {"b", "2"}}, nothing).added),
              ElementsAre(1, 2));
  const DocumentStore::Change change = store.change({"b", "x", "x"}, {{"a", "3"}}, nothing);
  EXPECT_THAT(change.unknown, ElementsAre("x"));
  EXPECT_THAT(keys_of(change.removed), ElementsAre(2, 1));
  EXPECT_EQ(change.removed[0].content, vector_keys(2, {"b", "2"})[0].content);
  EXPECT_THAT(keys_of(change.added), ElementsAre(3));
  EXPECT_EQ(change.added[0].content, vector_keys(3, {"a", "3"})[0].content);
  EXPECT_EQ(change.before.generation, 1);
  EXPECT_EQ(store.generation(), 2);
  EXPECT_EQ(store.find({3})[0].text, "3");
  store.change({"a"}, {}, nothing);
  EXPECT_THAT(keys_of(store.change({}, {{"a", "4"}}, nothing).added), ElementsAre(4));
}

TEST_F(DocumentStoreTest, AFailureBeforeTheCommitChangesNothing) {
  DocumentStore store(path_, DocumentStore::Access::kCreate);
  store.change({}, {{"a", "1"}}, nothing);
  const auto fail = [](const DocumentStore::Change&,
                       const DocumentStore::RemovedWithin&) -> SegmentChange {
    throw std::runtime_error("disk full");
  };
  EXPECT_THROW(store.change({"a"}, {{"b", "2"}}, fail), std::runtime_error);
  EXPECT_THROW(store.change({}, {{"c", ""}, {"c", ""}}, nothing), Error);
  EXPECT_EQ(store.count(), 1);
  EXPECT_EQ(store.generation(), 1);
  EXPECT_EQ(store.find({1})[0].id, "a");
  EXPECT_THAT(store.snapshot().removed, IsEmpty());
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

TEST_F(DocumentStoreTest, SegmentsComeAndGoWithTheirRemovedKeys) {
  DocumentStore store = make_segments();
  StoreSnapshot found = store.snapshot();
  EXPECT_THAT(found.removed, ElementsAre(1, 4));
  EXPECT_EQ(found.state.documents, 3);
  EXPECT_EQ(found.state.next_segment, 3);
  SegmentRow merged{3, 2, 3, 2, std::string(32, 'z')};
  std::vector<int64_t> within;
  store.change({"b"}, {}, [&](const auto&, const DocumentStore::RemovedWithin& removed_within) {
    within = removed_within(one_);
    return SegmentChange{{one_}, {merged}};
  });
  EXPECT_THAT(within, ElementsAre(1, 2));
  found = store.snapshot();
  EXPECT_THAT(found.removed, ElementsAre(4));
  ASSERT_EQ(found.state.segments.size(), 2u);
  EXPECT_EQ(found.state.segments[0].number, 3);
  EXPECT_EQ(found.state.segments[0].checksum, merged.checksum);
  EXPECT_EQ(found.state.segments[1].number, 2);
  EXPECT_EQ(found.state.next_segment, 4);
}

TEST_F(DocumentStoreTest, WhoReadsSeesEachChangeOfAnotherOnceItIsCommitted) {
  DocumentStore store = make_segments();
  const DocumentStore reader(path_, DocumentStore::Access::kRead);
  EXPECT_EQ(reader.generation(), 2);
  store.change({}, {{"f", "6"}}, [&](const auto&, const auto&) {
    EXPECT_EQ(reader.generation(), 2);  // and does not wait
    EXPECT_EQ(reader.count(), 3);
    return SegmentChange{};
  });
  EXPECT_EQ(reader.generation(), 3);
  EXPECT_EQ(reader.count(), 4);
}

TEST_F(DocumentStoreTest, AStoreThatWasReplacedIsNotChanged) {
  DocumentStore store = make_segments();
  fs::rename(path_, moved());
  EXPECT_THROW(store.change({}, {{"x", ""}}, nothing), Error);
  { DocumentStore other(path_, DocumentStore::Access::kCreate); }
  try {
    store.change({}, {{"x", ""}}, nothing);
    FAIL() << "changed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("another index was built in its place"));
  }
}

// A commit to the other has a journal, which looks like what a killed change left in this one.
TEST_F(DocumentStoreTest, AReaderWhoseFolderWasReplacedLeavesTheOtherAlone) {
  const std::string folder = path_ + ".folder", old = path_ + ".old";
  fs::create_directories(folder);
  const std::string path = folder + "/documents.sqlite";
  DocumentStore(path, DocumentStore::Access::kCreate).change({}, {{"x", "text"}}, nothing);
  const DocumentStore reader(path, DocumentStore::Access::kRead);
  fs::rename(folder, old);
  fs::create_directories(folder);
  { DocumentStore other(path, DocumentStore::Access::kCreate); }
  write_file_atomic(path + "-journal", "a journal");
  EXPECT_EQ(reader.count(), 1);
  EXPECT_TRUE(file_exists(path + "-journal"));
  write_file_atomic(old + "/documents.sqlite-journal", "a journal");
  EXPECT_EQ(reader.count(), 1);
  EXPECT_FALSE(file_exists(old + "/documents.sqlite-journal"));
  fs::remove_all(folder);
  fs::remove_all(old);
}

// Each byte that is not zero, and some of those that are: the list of segments and removed keys is
// what it was, or it is refused.
TEST_F(DocumentStoreTest, ADamagedByteChangesNothingOfWhatIsSealed) {
  { make_segments(); }
  const auto read = [this] {
    const StoreSnapshot found = DocumentStore(path_, DocumentStore::Access::kRead).snapshot();
    std::string all = std::to_string(found.state.next_key);
    for (const SegmentRow& row : found.state.segments) {
      all += " " + std::to_string(row.number) + " " + std::to_string(row.first_key) + " " +
             std::to_string(row.last_key) + " " + std::to_string(row.rows) + " " + row.checksum;
    }
    for (const int64_t key : found.removed) all += " " + std::to_string(key);
    return all;
  };
  const std::string whole = read(), bytes = read_file(path_);
  int refused = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == 0 && i % 61 != 0) continue;
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1 << i % 8);
    std::ofstream(path_, std::ios::binary) << damaged;
    try {
      EXPECT_EQ(read(), whole) << "byte " << i;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(path_));
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST_F(DocumentStoreTest, TitlesAreKeptAndArePartOfADocument) {
  const Document titled{"a", "A boat at sea", "", {}, "A boat"};
  const Document plain{"a", "A boat at sea"};
  EXPECT_NE(vector_key(1, titled, 0).content, vector_key(1, plain, 0).content);
  DocumentStore store(path_, DocumentStore::Access::kCreate);
  const DocumentStore::Change change = store.change({}, {titled, {"b", "plain"}}, nothing);
  EXPECT_EQ(change.added[0].content, vector_key(1, titled, 0).content);
  EXPECT_EQ(store.find_id("a")->document.title, "A boat");
  EXPECT_EQ(store.find({2})[0].title, "");
  store.change({}, {plain}, nothing);
  EXPECT_EQ(store.find_id("a")->document.title, "");
}

// Otherwise the document would be lost, and could be added a second time.
TEST_F(DocumentStoreTest, AnIdThatIsNotFoundForDamageIsTold) {
  const std::string id = "an-id-of-its-own";
  {
    DocumentStore store(path_, DocumentStore::Access::kCreate);
    store.change({}, {{id, "text"}, {"b", "other"}}, nothing);
  }
  const std::string whole = read_file(path_);
  const size_t in_table = whole.find(id);
  const size_t in_ids = whole.find(id, in_table + 1);
  ASSERT_NE(in_ids, std::string::npos);
  for (const size_t at : {in_table, in_ids}) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    std::ofstream(path_, std::ios::binary) << damaged;
    DocumentStore store(path_, DocumentStore::Access::kWrite);
    const auto expect_told = [&](const auto& call) {
      try {
        call();
        ADD_FAILURE() << at;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kInput);
        EXPECT_THAT(error.what(), HasSubstr(path_));
      }
    };
    expect_told([&] { store.find_id(id); });
    expect_told([&] { store.change({id}, {}, nothing); });
    expect_told([&] { store.change({}, {{id, "new"}}, nothing); });
    expect_told([&] { store.check(); });
  }
  std::ofstream(path_, std::ios::binary) << whole;
  EXPECT_NO_THROW(DocumentStore(path_, DocumentStore::Access::kRead).check());
}

}  // namespace
}  // namespace simile
