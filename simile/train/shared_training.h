// SPDX-License-Identifier: Apache-2.0
// The additional work of several processes. Before the first step, all check that they have the
// same recipe and program, and take the state that rank 0 resumes from. In each step, the gradients
// of a batch's shares become one sum, and a request to stop takes effect in all after the same
// step.
//
// Every process computes the losses from all vectors of a batch, so heads and temperatures get
// their whole gradient in each process; that of rank 0 counts.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/matrix.h"
#include "simile/model/model_settings.h"
#include "simile/nn/trainable_encoder.h"
#include "simile/train/flat_optimizer.h"
#include "simile/train/optimizer.h"
#include "simile/train/process_group.h"
#include "simile/train/train_options.h"

namespace simile {

// Forwards all events. ErrorKind::kInterrupted, which `events` may throw from progress(), waits
// until all processes have heard of it in a step's sum; then it is thrown in all of them.
class SharedEvents : public EventSink {
 public:
  explicit SharedEvents(EventSink& events) : events_(events) {}
  void info(const std::string& message) override { events_.info(message); }
  void warning(const std::string& message) override { events_.warning(message); }
  void progress(const Progress& progress) override;

  // False: interruptions are forwarded at once, as the others do not take part in what follows.
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
  ~SharedGradients();
  SharedGradients(const SharedGradients&) = delete;
  SharedGradients& operator=(const SharedGradients&) = delete;

  // The ids of all texts of a batch, this process's or not: the rows of the table by token ids that
  // may have a gradient. Several calls before add_up() add up.
  void note_rows(const std::vector<int32_t>& ids);

  // Call before the last backward pass of a step, through one forward pass, in the processes that
  // have one: the sums of finished layers begin while it continues with the layers below.
  void overlap();

  // After the backward pass of all parts of a step, before the optimiser's.
  void add_up();

 private:
  struct Range {  // floats of the encoder's gradients
    int64_t begin, end, layer;
  };
  void cut_ranges();
  void finish(int64_t begin, int64_t end);
  void send(size_t ranges);
  void move_rows(const std::vector<int64_t>& rows, float* buffer, bool back) const;

  SharedProcesses processes_;
  TrainableEncoder* encoder_;
  std::vector<TrainedTensor> extras_;
  DeferredTable table_;            // whose noted rows alone are summed; none on a device
  std::vector<Range> ranges_;      // all else, in the order of their sums, the same everywhere
  std::vector<char> is_finished_;  // [ranges]
  size_t sent_ = 0;                // ranges whose sum has begun
  std::vector<char> is_noted_;     // [rows of the table]
};

// The vectors [0, E] of a process without a text, where the others' are.
torch::Tensor no_vectors(const ModelSettings& settings, torch::Device device);

// The rows of all processes (ProcessGroup::gather_rows()), as a step of autograd: every process
// computes the same of the result, and `own` gets its rows' part of the gradient.
torch::Tensor gather_with_gradient(ProcessGroup& group, const torch::Tensor& own,
                                   const std::vector<int64_t>& bounds);

// `encode` of each process's share of the texts, put together: [texts, D] in all of them.
Matrix<float> embed_in_shares(
    ProcessGroup& group, const std::vector<std::vector<int32_t>>& texts,
    const std::function<Matrix<float>(const std::vector<std::vector<int32_t>>&)>& embed);

// Errors (kFailed): `ours` is not the same in all processes; `what` names it: "the training data".
void check_equal(ProcessGroup& group, const std::string& what, const std::string& ours);

// Errors (kRecipe): recipes that so many processes cannot train: a batch of fewer examples.
void check_shared_options(const TrainOptions& options, int64_t processes);

// Errors (kInput): another recipe or program than rank 0's, with the first keys that differ.
void check_shared_recipe(ProcessGroup& group, const TrainOptions& options);

// Rank 0 sends the files that a run in `folder` resumes from (states, kept stages and mined
// negatives) to the others, which write them to their folders. No shared file system is needed.
// Errors: kIo.
void send_run(ProcessGroup& group, const std::string& folder);

}  // namespace simile
