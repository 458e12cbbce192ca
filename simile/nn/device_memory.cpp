// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/device_memory.h"

#include <fmt/format.h>

#include "simile/core/error.h"

namespace simile {

void tell_device_memory(const c10::Error& error, const std::string& advice) {
  const std::string said = error.what_without_backtrace();
  throw Error(ErrorKind::kFailed, fmt::format("the device's memory does not suffice: {}; {}",
                                              said.substr(0, said.find('\n')), advice));
}

}  // namespace simile
