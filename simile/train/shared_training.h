// SPDX-License-Identifier: Apache-2.0
// What a training step in several processes does beside that of one: the gradients of all shares of
// a batch become one sum, and a wish to stop is granted to all after the same step.
//
// Every process computes the losses from all vectors of a batch, so that what is trained beside the
// encoder, heads and temperatures, gets its whole gradient in each of them; that of rank 0 counts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simile/core/event.h"
#include "simile/core/matrix.h"
#include "simile/nn/trainable_encoder.h"
#include "simile/train/optimizer.h"
#include "simile/train/process_group.h"

namespace simile {

// Passes on what it is told. ErrorKind::kInterrupted, which `events` may throw from progress(),
// waits until all processes have heard of it in a step's sum; then it is thrown in all of them.
class SharedEvents : public EventSink {
 public:
  explicit SharedEvents(EventSink& events) : events_(events) {}
  void info(const std::string& message) override { events_.info(message); }
  void warning(const std::string& message) override { events_.warning(message); }
  void progress(const Progress& progress) override;

  // False: interruptions are passed on at once, as the others do not take part in what follows.
  void share(bool shares) { shares_ = shares; }

  bool wants_to_stop() const { return wants_; }
  void agree_to_stop() { agreed_ = true; }

 private:
  EventSink& events_;
  bool shares_ = true, wants_ = false, agreed_ = false;
  std::string message_ = "another process was interrupted";
};

struct SharedProcesses {
  ProcessGroup& group;
  SharedEvents& events;
};

class SharedGradients {
 public:
  // `encoder` is null when it is frozen. All outlive this.
  SharedGradients(const SharedProcesses& processes, TrainableEncoder* encoder,
                  std::vector<TrainedTensor> extras);

  // The ids of all texts of a batch, this process's or not: of the first of the encoder's tensors,
  // a table by token ids, the rows that may have a gradient. Several calls before add_up() add up.
  void note_rows(const std::vector<int32_t>& ids);

  // After the backward pass of all parts of a step, before the optimiser's.
  void add_up();

 private:
  void move_rows(const std::vector<int64_t>& rows, float* buffer, bool back) const;

  SharedProcesses processes_;
  TrainableEncoder* encoder_;
  std::vector<TrainedTensor> extras_;
  int64_t columns_ = 0, table_end_ = 0;  // of the table; floats of it
  std::vector<char> is_noted_;           // [rows]
};

// `encode` of each process's share of the texts, put together: [texts, D] in all of them.
Matrix<float> embed_in_shares(
    ProcessGroup& group, const std::vector<std::vector<int32_t>>& texts,
    const std::function<Matrix<float>(const std::vector<std::vector<int32_t>>&)>& embed);

// Errors (kFailed): what `ours` is not the same in all processes; `what` names it: "the training
// data".
void check_equal(ProcessGroup& group, const std::string& what, const std::string& ours);

}  // namespace simile
