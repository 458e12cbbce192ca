// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/map_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "simile/serve/detail/serve_fixture.h"

namespace simile {
namespace {

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
