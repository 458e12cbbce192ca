// SPDX-License-Identifier: Apache-2.0
// By which of its addresses this machine is reached by others.
#pragma once

#include <string>

namespace simile {

// The numeric address from which this machine sends to `host`, a name or a numeric address: others
// of that network reach it there. IPv4 where the host has both, as all machines must choose alike.
// Where that is the loopback (on a machine whose own name stands for it) the address of the first
// interface in use that is not; the loopback where there is no other, or `host` is numeric and
// means it. Empty where the host is not known or not reached. Sends nothing but a question to a
// name server.
std::string own_address_towards(const std::string& host);

}  // namespace simile
