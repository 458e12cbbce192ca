// SPDX-License-Identifier: Apache-2.0
#include "simile/train/process_place.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "simile/core/check.h"

namespace simile {
namespace {

constexpr int64_t kUsualPort = 29500, kMostPort = 65535;

// The variables in which a launcher passes the numbers.
struct LauncherNames {
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* machines;  // a list of them; null: none
  const char* job;       // a number that tells it from others on the same machines; null: none
  const char* local_size;
};

constexpr LauncherNames kLaunchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", nullptr, nullptr, nullptr},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", nullptr, nullptr,
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_NODELIST", "SLURM_JOB_ID",
     nullptr}};

int64_t parse_count(const std::string& name, const std::string& text, int64_t least = 0,
                    int64_t most = 1000000) {
  char* end = nullptr;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  SIMILE_CHECK(!text.empty() && *end == 0 && number >= least && number <= most, ErrorKind::kUsage,
               "{} in the environment: expected a number from {} to {}, found '{}'; it is set by "
               "torchrun, mpirun, srun or `simile train --processes`",
               name, least, most, text);
  return number;
}

std::string find_address(const LauncherNames& names, const Variable& variable, int64_t size) {
  if (const auto address = variable("MASTER_ADDR")) return *address;
  if (names.machines != nullptr) {
    if (const auto machines = variable(names.machines)) return first_machine(*machines);
  }
  if (names.local_size != nullptr) {
    const auto local = variable(names.local_size);
    if (local && parse_count(names.local_size, *local) == size) return "127.0.0.1";
  }
  throw_error(ErrorKind::kUsage,
              "{} says that {} processes train together, but MASTER_ADDR is not set; set it to the "
              "name of the machine of rank 0, and MASTER_PORT to a free port there",
              names.size, size);
}

using Found = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

socklen_t size_of(const sockaddr& address) {
  return address.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

std::string to_digits(const sockaddr& address) {
  char text[NI_MAXHOST];
  const int code =
      getnameinfo(&address, size_of(address), text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return code == 0 ? text : "";
}

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr) != 0;
  }
  const auto number = reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr;
  return (ntohl(number) >> 24) == 127;
}

Found look_up(const std::string& host, int family, int flags) {
  addrinfo wanted = {};
  wanted.ai_family = family;
  wanted.ai_socktype = SOCK_DGRAM;
  wanted.ai_flags = flags;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), "9", &wanted, &found) != 0) found = nullptr;
  return {found, freeaddrinfo};
}

// The first address of the interfaces in use, in the system's order.
std::string first_outer_address(int family) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  std::string address;
  for (const ifaddrs* at = list; at != nullptr && address.empty(); at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != family) continue;
    const bool in_use = (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_RUNNING) != 0;
    if (in_use && !is_loopback(*at->ifa_addr)) address = to_digits(*at->ifa_addr);
  }
  freeifaddrs(list);
  return address;
}

std::string own_address_towards(const std::string& host, int family) {
  const Found found = look_up(host, family, 0);
  for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
    // The address that the system would send from; connecting a datagram socket sends nothing.
    sockaddr_storage storage = {};
    socklen_t size = sizeof storage;
    const int socket = ::socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) continue;
    const bool is_found = connect(socket, at->ai_addr, at->ai_addrlen) == 0 &&
                          getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) == 0;
    close(socket);
    if (!is_found) continue;
    const auto& source = reinterpret_cast<const sockaddr&>(storage);
    if (!is_loopback(source) || look_up(host, family, AI_NUMERICHOST)) return to_digits(source);
    const std::string outer = first_outer_address(family);
    return outer.empty() ? to_digits(source) : outer;
  }
  return "";
}

}  // namespace

std::optional<std::string> environment_variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

std::string first_machine(const std::string& list) {
  const size_t end = list.find_first_of(",[");
  std::string name = list.substr(0, end);
  if (end == std::string::npos || list[end] == ',') return name;
  const size_t number = end + 1;
  name += list.substr(number, list.find_first_of("-,]", number) - number);
  const size_t close = list.find(']', number);
  const size_t next = list.find(',', close);
  return close == std::string::npos ? name : name + list.substr(close + 1, next - close - 1);
}

std::optional<ProcessPlace> find_process_place(const Variable& variable) {
  for (const LauncherNames& names : kLaunchers) {
    const auto rank = variable(names.rank), size = variable(names.size);
    if (!rank || !size) continue;
    ProcessPlace place;
    place.rank = parse_count(names.rank, *rank);
    place.size = parse_count(names.size, *size);
    if (place.size == 1 && place.rank == 0) return std::nullopt;
    SIMILE_CHECK(place.rank < place.size, ErrorKind::kUsage,
                 "{}={} in the environment: expected a rank below {}={}", names.rank, place.rank,
                 names.size, place.size);
    const auto local = variable(names.local_rank);
    place.local_rank = local ? parse_count(names.local_rank, *local) : 0;
    place.address = find_address(names, variable, place.size);
    if (const auto port = variable("MASTER_PORT")) {
      // At which torchrun itself listens then.
      const bool is_taken = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
      const int64_t beyond = is_taken ? 1 : 0;
      place.port = parse_count("MASTER_PORT", *port, 1, kMostPort - beyond) + beyond;
    } else {
      const auto job = names.job == nullptr ? std::nullopt : variable(names.job);
      place.port = kUsualPort + (job ? std::strtoll(job->c_str(), nullptr, 10) % 1000 : 0);
    }
    return place;
  }
  return std::nullopt;
}

std::string own_address_towards(const std::string& host) {
  const std::string address = own_address_towards(host, AF_INET);
  return address.empty() ? own_address_towards(host, AF_INET6) : address;
}

}  // namespace simile
