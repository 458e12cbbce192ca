// SPDX-License-Identifier: Apache-2.0
#include "simile/train/own_address.h"

#include <gtest/gtest.h>

namespace simile {
namespace {

TEST(OwnAddressTest, TheLoopbackTowardsItself) {
  EXPECT_EQ(own_address_towards("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(own_address_towards("127.0.1.1").substr(0, 4), "127.");
}

TEST(OwnAddressTest, TowardsANameOfThisMachineWhatOthersReach) {
  const std::string address = own_address_towards("localhost");
  ASSERT_FALSE(address.empty());
  // Towards an outer address of its own a machine sends from that one.
  EXPECT_EQ(own_address_towards(address), address);
}

TEST(OwnAddressTest, NoneTowardsWhatIsNotKnown) {
  EXPECT_EQ(own_address_towards("no such host"), "");
  EXPECT_EQ(own_address_towards("host.invalid"), "");
}

}  // namespace
}  // namespace simile
