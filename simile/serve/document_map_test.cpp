// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/document_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <future>
#include <set>

#include "simile/core/error.h"
#include "simile/index/index_builder.h"
#include "simile/serve/detail/serve_fixture_test.h"

namespace simile {
namespace {

class DocumentMapTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "simile_map_" + std::to_string(getpid()) +
              testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Documents on an ellipse, of which each has its number for id.
  SearchIndex build(int64_t count) const {
    IndexBuilder builder(folder_, {"abc", "m", 3, VectorMetric::kInnerProduct});
    std::vector<Document> documents;
    Matrix<float> vectors(count, 3);
    for (int64_t i = 0; i < count; ++i) {
      documents.emplace_back();
      documents.back().id = std::to_string(i);
      documents.back().text = "Text of " + std::to_string(i);
      const double turn = 6.283185307179586 * static_cast<double>(i) / static_cast<double>(count);
      vectors.at(i, 0) = static_cast<float>(2 * std::cos(turn));
      vectors.at(i, 1) = static_cast<float>(std::sin(turn));
      vectors.at(i, 2) = 5;
    }
    if (count > 0) builder.add(documents, vectors);
    builder.commit();
    return SearchIndex::open(folder_, "abc", "m", SearchIndex::Access::kWrite);
  }

  SearchIndex build_again(int64_t count) const {
    std::filesystem::remove_all(folder_);
    return build(count);
  }

  std::string folder_;
  std::atomic<bool> ends_{false};
};

TEST_F(DocumentMapTest, FewDocumentsAreAllOnIt) {
  const SearchIndex index = build(40);
  const DocumentMap map = map_documents(index, ends_);
  ASSERT_EQ(map.sample.size(), 40u);
  EXPECT_EQ(map.documents, 40);
  EXPECT_EQ(map.generation, index.info().generation);
  EXPECT_EQ(map.sample[7].id, "7");
  EXPECT_EQ(map.sample[7].text, "Text of 7");
  EXPECT_NEAR(map.sample[0].at.x, 1, 1e-5);
  EXPECT_NEAR(map.sample[10].at.y, 0.5, 1e-5);
  EXPECT_NEAR(map.plane.shares()[0], 0.8, 1e-5);
  EXPECT_NEAR(map.plane.shares()[1], 0.2, 1e-5);
}

TEST_F(DocumentMapTest, KnowsTheNeighboursOfItsDocumentsAndOfOthers) {
  const SearchIndex index = build(40);
  const DocumentMap map = map_documents(index, ends_);
  const MapNeighbours& near = map.sample[0].near;
  ASSERT_EQ(near.size(), 15u);
  EXPECT_EQ(std::set<int64_t>({near[0].place, near[1].place}), std::set<int64_t>({1, 39}));
  for (size_t i = 0; i < near.size(); ++i) {
    EXPECT_NE(near[i].place, 0);
    EXPECT_GE(near[i].distance, near[i == 0 ? 0 : i - 1].distance);
  }
  const float vector[3] = {2.5f, 0, 5};
  const MapNeighbours found = map.nearest(vector);
  ASSERT_EQ(found.size(), 15u);
  EXPECT_EQ(found[0].place, 0);
  EXPECT_NEAR(found[0].distance, 0.5, 1e-5);
  const DocumentMap two = map_documents(build_again(2), ends_);
  EXPECT_EQ(two.sample[1].near.size(), 1u);
  EXPECT_EQ(two.nearest(vector).size(), 2u);
  EXPECT_TRUE(map_documents(build_again(1), ends_).sample[0].near.empty());
  EXPECT_TRUE(map_documents(build_again(0), ends_).nearest(vector).empty());
}

TEST_F(DocumentMapTest, OfManyASampleAtEvenDistancesThatStaysTheSame) {
  const SearchIndex index = build(5000);
  const DocumentMap map = map_documents(index, ends_, false, 2000);
  const DocumentMap again = map_documents(index, ends_, true, 2000);
  ASSERT_EQ(map.sample.size(), 2000u);
  EXPECT_TRUE(map.sample[0].near.empty());
  EXPECT_EQ(again.sample[0].near.size(), 15u);
  EXPECT_EQ(map.documents, 5000);
  for (size_t i = 0; i < map.sample.size(); ++i) {
    EXPECT_EQ(again.sample[i].id, map.sample[i].id);
    EXPECT_EQ(again.sample[i].at.x, map.sample[i].at.x);
    EXPECT_EQ(again.sample[i].at.y, map.sample[i].at.y);
    if (i > 0) {
      const int distance = std::stoi(map.sample[i].id) - std::stoi(map.sample[i - 1].id);
      EXPECT_TRUE(distance == 2 || distance == 3) << i;
    }
  }
}

TEST_F(DocumentMapTest, ChangesAreOnTheNextOne) {
  SearchIndex index = build(6);
  const int64_t before = map_documents(index, ends_).generation;
  index.remove({"2", "5"});
  Matrix<float> vector(1, 3, 1.0f);
  index.add({{"new", "x"}}, vector);
  const DocumentMap map = map_documents(index, ends_);
  EXPECT_GT(map.generation, before);
  std::string ids;
  for (const MappedDocument& document : map.sample) ids += document.id + " ";
  EXPECT_EQ(ids, "0 1 3 4 new ");
}

TEST_F(DocumentMapTest, AnEmptyIndexAndOneDocument) {
  SearchIndex index = build(1);
  EXPECT_EQ(map_documents(index, ends_).sample[0].at.x, 0);
  EXPECT_EQ(map_documents(index, ends_).plane.shares()[0], 0);
  index.remove({"0"});
  const DocumentMap map = map_documents(index, ends_);
  EXPECT_TRUE(map.sample.empty());
  EXPECT_EQ(map.documents, 0);
}

TEST_F(DocumentMapTest, EndsWhenToldTo) {
  const SearchIndex index = build(3);
  ends_ = true;
  EXPECT_THROW(map_documents(index, ends_), Error);
}

TEST(TextBeginning, CountsCharactersAndCutsNone) {
  EXPECT_EQ(text_beginning("", 3), "");
  EXPECT_EQ(text_beginning("abc", 3), "abc");
  EXPECT_EQ(text_beginning("abcd", 3), "abc");
  EXPECT_EQ(text_beginning("äöüß", 3), "äöü");
  EXPECT_EQ(text_beginning("äöü", 3), "äöü");
}

using testing::HasSubstr;

ServeClock::time_point in_a_minute() { return ServeClock::now() + std::chrono::minutes(1); }

DocumentMap map_of(int64_t generation) {
  DocumentMap map;
  map.generation = generation;
  return map;
}

TEST(MapMaker, MakesOneForAGeneration) {
  int made = 0;
  MapMaker maker([&](const std::atomic<bool>&) { return map_of(++made); });
  const auto first = maker.get(1, in_a_minute());
  EXPECT_EQ(first->generation, 1);
  EXPECT_EQ(maker.get(1, in_a_minute()), first);
  EXPECT_EQ(maker.get(0, in_a_minute()), first);
  EXPECT_EQ(maker.get(2, in_a_minute())->generation, 2);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(first->generation, 1);  // who has it keeps it
}

TEST(MapMaker, AllWhoWaitGetTheSame) {
  std::promise<void> gate;
  const std::shared_future<void> open = gate.get_future().share();
  std::atomic<int> made{0};
  MapMaker maker([&](const std::atomic<bool>&) {
    open.wait();
    return map_of(++made);
  });
  std::vector<std::future<std::shared_ptr<const DocumentMap>>> asked;
  for (int i = 0; i < 8; ++i) {
    asked.push_back(std::async(std::launch::async, [&] { return maker.get(1, in_a_minute()); }));
  }
  gate.set_value();
  const auto first = asked[0].get();
  for (size_t i = 1; i < asked.size(); ++i) EXPECT_EQ(asked[i].get(), first);
  EXPECT_EQ(made, 1);
}

TEST(MapMaker, WhoIsLateIsToldSoAndItIsReadyForTheNext) {
  std::promise<void> gate;
  std::atomic<int> made{0};
  MapMaker maker([&](const std::atomic<bool>&) {
    gate.get_future().wait();
    return map_of(++made);
  });
  EXPECT_THAT(refusal_of(Refusal::kLate, [&] { maker.get(1, ServeClock::now()); }),
              HasSubstr("still being made"));
  gate.set_value();
  EXPECT_EQ(maker.get(1, in_a_minute())->generation, 1);
  EXPECT_EQ(made, 1);
}

TEST(MapMaker, WhatFailsIsTriedAgain) {
  int tries = 0;
  MapMaker maker([&](const std::atomic<bool>&) {
    if (++tries == 1) throw Error(ErrorKind::kIo, "no luck");
    return map_of(1);
  });
  EXPECT_THROW(maker.get(1, in_a_minute()), Error);
  EXPECT_EQ(maker.get(1, in_a_minute())->generation, 1);
}

TEST(MapMaker, ItsEndEndsWhatIsBeingMade) {
  std::promise<void> begun;
  {
    MapMaker maker([&](const std::atomic<bool>& ends) -> DocumentMap {
      begun.set_value();
      while (!ends) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      throw Error(ErrorKind::kFailed, "ended");
    });
    refusal_of(Refusal::kLate, [&] { maker.get(1, ServeClock::now()); });
    begun.get_future().wait();
  }
}

}  // namespace

}  // namespace simile
