// SPDX-License-Identifier: Apache-2.0
#include "simile/train/own_address.h"

#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

namespace simile {
namespace {

bool has_outer_address() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return false;
  bool found = false;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    const unsigned wanted = IFF_UP | IFF_RUNNING;
    found |= at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET &&
             (at->ifa_flags & wanted) == wanted && (at->ifa_flags & IFF_LOOPBACK) == 0;
  }
  freeifaddrs(list);
  return found;
}

TEST(OwnAddressTest, TheLoopbackTowardsANumberThatMeansIt) {
  EXPECT_EQ(own_address_towards("127.0.0.1"), "127.0.0.1");
}

TEST(OwnAddressTest, TowardsANameOfThisMachineWhatOthersReach) {
  const std::string address = own_address_towards("localhost");
  ASSERT_FALSE(address.empty());
  if (!has_outer_address()) GTEST_SKIP() << "skipped: no network but the loopback";
  EXPECT_NE(address.substr(0, 4), "127.");
  // Towards an outer address of its own a machine sends from that one.
  EXPECT_EQ(own_address_towards(address), address);
}

TEST(OwnAddressTest, NoneTowardsWhatIsNoName) {
  EXPECT_EQ(own_address_towards(std::string(300, 'x')), "");
}

}  // namespace
}  // namespace simile
