// SPDX-License-Identifier: Apache-2.0
// What a device without enough memory says.
#pragma once

#include <c10/util/Exception.h>

#include <string>

namespace simile {

// Throws kFailed: the memory that was asked for, in libtorch's words, and `advice`, a setting to
// change.
[[noreturn]] void tell_device_memory(const c10::Error& error, const std::string& advice);

// Runs `work`; libtorch's errors about memory become ours, all others stay.
template <typename Work>
auto within_device_memory(const std::string& advice, const Work& work) {
  try {
    return work();
  } catch (const c10::OutOfMemoryError& error) {
    tell_device_memory(error, advice);
  }
}

}  // namespace simile
