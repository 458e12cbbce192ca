// SPDX-License-Identifier: Apache-2.0
#include "simile/train/own_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

namespace simile {
namespace {

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

// What the system would send from: a datagram's socket is connected without a packet.
bool find_source(const addrinfo& to, sockaddr_storage& source) {
  const int socket = ::socket(to.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  socklen_t size = sizeof source;
  const bool found = connect(socket, to.ai_addr, to.ai_addrlen) == 0 &&
                     getsockname(socket, reinterpret_cast<sockaddr*>(&source), &size) == 0;
  close(socket);
  return found;
}

// Of the interfaces that are in use, in the system's order.
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
    sockaddr_storage storage = {};
    if (!find_source(*at, storage)) continue;
    const auto& source = reinterpret_cast<const sockaddr&>(storage);
    if (!is_loopback(source) || look_up(host, family, AI_NUMERICHOST)) return to_digits(source);
    const std::string outer = first_outer_address(family);
    return outer.empty() ? to_digits(source) : outer;
  }
  return "";
}

}  // namespace

std::string own_address_towards(const std::string& host) {
  const std::string address = own_address_towards(host, AF_INET);
  return address.empty() ? own_address_towards(host, AF_INET6) : address;
}

}  // namespace simile
