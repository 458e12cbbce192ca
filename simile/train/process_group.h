// SPDX-License-Identifier: Apache-2.0
// Processes that train together, and their communication: torch.distributed's Gloo over TCP. Only
// process_group.cpp includes its headers.
//
// All processes make every call, in the same order, and get results with the same bits. Tensors on
// a device travel through the host's memory.
//
// Errors of every call (kFailed): a process that ended or was killed, as soon as its connection
// breaks; a process that hangs, after the time-out, with its rank in the message. The group is
// unusable afterwards. A build without Gloo's headers (libgloo-dev) cannot make a group: kUsage.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simile/train/process_place.h"

namespace at {
class Tensor;
}

namespace simile {

class ProcessGroup {
 public:
  // Waits for all others, at most `timeout` seconds; this is then the time-out of every call.
  // Errors (kFailed): a port in use, processes that did not come, with how many.
  static std::unique_ptr<ProcessGroup> connect(const ProcessPlace& place, double timeout);

  // For processes, or threads, of one machine: they meet at a file that does not exist yet.
  static std::unique_ptr<ProcessGroup> meet(const std::string& file, int64_t rank, int64_t size,
                                            double timeout);

  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  static bool is_available();  // whether this build has Gloo

  int64_t rank() const { return rank_; }
  int64_t size() const { return size_; }

  // Rows bounds[r] .. bounds[r + 1] - 1 of the result are those that rank r gives, `own` [rows, D]
  // of floats; bounds [size + 1]. All on the device of `own`.
  at::Tensor gather_rows(const at::Tensor& own, const std::vector<int64_t>& bounds);

  // The sum over all processes, in place: floats, contiguous. begin_sum() runs beside the caller,
  // which must not touch `values` until finish_sums(). That waits for all sums that were begun, and
  // so does sum(). All processes begin sums in the same order, also relative to the other calls. A
  // process that throws before the sums are finished cannot use the group again.
  void sum(const at::Tensor& values);
  void begin_sum(const at::Tensor& values);
  void finish_sums();

  // Returns the bytes of rank 0.
  std::string broadcast(const std::string& bytes);

  // Returns the bytes of every rank.
  std::vector<std::string> gather(const std::string& bytes);

  // Waits for rank 0 to finish work that it does alone. Rank 0 reports that it is done; the others
  // wait for any length of time while it is alive, and call `check`, whose exceptions end the wait.
  // Errors (kFailed): rank 0 ended, left, or showed no sign of life for the time-out.
  void await_first(const std::function<void()>& check);

  // The last call; a process may end after it. Waits at most a minute for all others, because a
  // process that ends while another is still in the call before would look lost to it. No errors.
  void leave();

 private:
  struct Connection;
  ProcessGroup(int64_t rank, int64_t size, std::unique_ptr<Connection> connection);

  std::unique_ptr<Connection> connection_;
  int64_t rank_, size_;
};

}  // namespace simile
