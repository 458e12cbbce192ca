// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/detail/connection.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "simile/serve/detail/service_fixture_test.h"

namespace simile {
namespace {

class SharedTest : public ServiceTest {};

TEST_F(SharedTest, WhatWorkHoldsEndsOnTheThreadOfTheConnections) {
  boost::asio::io_context connections;
  const ServeOptions options;
  detail::Shared shared(connections, service_, options);
  std::thread::id ended_on;
  std::shared_ptr<int> connection(new int(1), [&](const int* number) {
    ended_on = std::this_thread::get_id();
    delete number;
  });
  // Without a reference of its own the thread of the work has nothing to end while `done` runs.
  std::shared_ptr<int> slow(new int(2), [](const int* number) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    delete number;
  });
  bool is_done = false;
  ASSERT_TRUE(shared.run([connection, slow = std::move(slow)] {},
                         [connection, &is_done] { is_done = true; }));
  connection.reset();
  connections.run();
  shared.finish();
  EXPECT_TRUE(is_done);
  EXPECT_EQ(ended_on, std::this_thread::get_id());
}

}  // namespace
}  // namespace simile
