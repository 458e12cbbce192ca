// SPDX-License-Identifier: Apache-2.0
// Processes that train together, and what they say to each other: torch.distributed's Gloo over
// TCP. Its headers are seen by process_group.cpp alone.
//
// Every call is made by all of them, in the same order. What comes back has the same bits in all of
// them. Tensors on a device travel through the host's memory.
//
// Errors of every call (kFailed): a process that ended or was killed, as soon as its connection
// breaks; a process that hangs, after the time-out, with its rank in the message. Nothing can be
// said afterwards. A build without Gloo's headers (libgloo-dev) cannot make a group: kUsage.
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
  // Waits for all others, at most `timeout` seconds, which is then that of every call. Errors
  // (kFailed): a port in use, processes that did not come, with how many.
  static std::unique_ptr<ProcessGroup> connect(const ProcessPlace& place, double timeout);

  // Processes, or threads, of one machine that share a file which is not there yet.
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

  // The sum over all, in place: floats, contiguous. Begun, it goes on beside the caller, who leaves
  // `values` alone until finish_sums(), which waits for all that were begun; sum() does too. They
  // are begun in the same order everywhere, among the other calls too; who throws before they are
  // finished cannot use the group again.
  void sum(const at::Tensor& values);
  void begin_sum(const at::Tensor& values);
  void finish_sums();

  // What rank 0 gives.
  std::string broadcast(const std::string& bytes);

  // What each rank gives.
  std::vector<std::string> gather(const std::string& bytes);

  // Where rank 0 has done something alone, of whatever length: it says so, and the others wait as
  // long as it lives. `check` is called while they wait, and what it throws ends that. Errors
  // (kFailed): rank 0 ended, left, or showed no sign of life for the time-out.
  void await_first(const std::function<void()>& check);

  // The last call, after which a process may end: one that ended while another was still in the
  // call before would look lost to it. Waits for all others at most a minute; no errors.
  void leave();

 private:
  struct Connection;
  ProcessGroup(int64_t rank, int64_t size, std::unique_ptr<Connection> connection);

  std::unique_ptr<Connection> connection_;
  int64_t rank_, size_;
};

}  // namespace simile
