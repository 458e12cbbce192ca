// SPDX-License-Identifier: Apache-2.0
#include "simile/train/process_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <map>

#include "simile/core/error.h"

namespace simile {
namespace {

using Environment = std::map<std::string, std::string>;

std::optional<ProcessPlace> place_in(const Environment& environment) {
  return find_process_place([&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end()) return std::nullopt;
    return found->second;
  });
}

std::string place_error(const Environment& environment) {
  try {
    place_in(environment);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(ProcessPlace, IsNothingForAProcessAlone) {
  EXPECT_FALSE(place_in({}));
  EXPECT_FALSE(place_in({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  // A batch script of Slurm, which srun has not started.
  EXPECT_FALSE(place_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}));
}

TEST(ProcessPlace, ReadsWhatTorchrunSets) {
  const auto place = place_in({{"RANK", "3"},
                               {"WORLD_SIZE", "4"},
                               {"LOCAL_RANK", "1"},
                               {"MASTER_ADDR", "node7"},
                               {"MASTER_PORT", "4711"},
                               {"OMPI_COMM_WORLD_RANK", "9"},
                               {"OMPI_COMM_WORLD_SIZE", "10"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 3);
  EXPECT_EQ(place->size, 4);
  EXPECT_EQ(place->local_rank, 1);
  EXPECT_EQ(place->address, "node7");
  EXPECT_EQ(place->port, 4711);
}

TEST(ProcessPlace, LeavesThePortThatTorchrunListensAtAlone) {
  const auto place = place_in({{"RANK", "1"},
                               {"WORLD_SIZE", "2"},
                               {"MASTER_ADDR", "node7"},
                               {"MASTER_PORT", "4711"},
                               {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->port, 4712);
}

TEST(ProcessPlace, ReadsWhatMpirunSets) {
  Environment environment = {{"OMPI_COMM_WORLD_RANK", "1"},
                             {"OMPI_COMM_WORLD_SIZE", "2"},
                             {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  auto place = place_in(environment);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 1);
  EXPECT_EQ(place->address, "127.0.0.1");
  EXPECT_EQ(place->port, 29500);
  environment["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";  // two machines
  EXPECT_THAT(place_error(environment), ::testing::HasSubstr("MASTER_ADDR"));
  environment["MASTER_ADDR"] = "first";
  EXPECT_EQ(place_in(environment)->address, "first");
}

TEST(ProcessPlace, ReadsWhatSrunSets) {
  const auto place = place_in({{"SLURM_PROCID", "5"},
                               {"SLURM_STEP_NUM_TASKS", "8"},
                               {"SLURM_LOCALID", "1"},
                               {"SLURM_STEP_NODELIST", "node[03-05,09]"},
                               {"SLURM_JOB_ID", "123456"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 5);
  EXPECT_EQ(place->size, 8);
  EXPECT_EQ(place->local_rank, 1);
  EXPECT_EQ(place->address, "node03");
  EXPECT_EQ(place->port, 29956);
}

TEST(ProcessPlace, NamesWhatDoesNotFit) {
  EXPECT_THAT(place_error({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), ::testing::HasSubstr("RANK"));
  EXPECT_THAT(place_error({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
              ::testing::HasSubstr("below WORLD_SIZE=2"));
  EXPECT_THAT(place_error({{"RANK", "1"}, {"WORLD_SIZE", "2"}}),
              ::testing::HasSubstr("MASTER_ADDR is not set"));
  for (const char* port : {"0", "65536", "70000", "-1", "4711x", ""}) {
    EXPECT_THAT(
        place_error(
            {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", port}}),
        ::testing::HasSubstr("MASTER_PORT in the environment: expected a number from 1 to 65535"))
        << port;
  }
}

TEST(ProcessPlace, FindsTheFirstMachineOfAList) {
  EXPECT_EQ(first_machine("alone"), "alone");
  EXPECT_EQ(first_machine("a1,a2"), "a1");
  EXPECT_EQ(first_machine("node[07-09,12],gpu1"), "node07");
  EXPECT_EQ(first_machine("node[12]"), "node12");
  EXPECT_EQ(first_machine("rack[2,4]-x,y"), "rack2-x");
}

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
