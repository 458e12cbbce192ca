// SPDX-License-Identifier: Apache-2.0
#include "simile/train/shared_training.h"

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "simile/core/error.h"
#include "simile/train/text_shares.h"

namespace simile {

void SharedEvents::progress(const Progress& progress) {
  if (shares_ && agreed_) throw Error(ErrorKind::kInterrupted, message_);
  try {
    events_.progress(progress);
  } catch (const Error& error) {
    if (!shares_ || error.kind() != ErrorKind::kInterrupted) throw;
    wants_ = true;
    message_ = error.what();
  }
}

SharedGradients::SharedGradients(const SharedProcesses& processes, TrainableEncoder* encoder,
                                 std::vector<TrainedTensor> extras)
    : processes_(processes), encoder_(encoder), extras_(std::move(extras)) {
  if (encoder_ == nullptr) return;
  const ParameterSlot table = encoder_layout(encoder_->shape()).front();
  columns_ = table.shape[1];
  table_end_ = table.size;
  is_noted_.resize(static_cast<size_t>(table.shape[0]));
}

void SharedGradients::note_rows(const std::vector<int32_t>& ids) {
  for (const int32_t id : ids) is_noted_[static_cast<size_t>(id)] = 1;
}

void SharedGradients::move_rows(const std::vector<int64_t>& rows, float* buffer, bool back) const {
  float* const table = encoder_->gradients().data_ptr<float>();
  for (size_t i = 0; i < rows.size(); ++i) {
    float* const row = table + rows[i] * columns_;
    float* const copy = buffer + static_cast<int64_t>(i) * columns_;
    std::copy_n(back ? copy : row, columns_, back ? row : copy);
  }
}

// The used rows, the extras and the wish to stop in one buffer, all other weights where they are.
void SharedGradients::add_up() {
  std::vector<int64_t> rows;
  for (size_t row = 0; row < is_noted_.size(); ++row) {
    if (is_noted_[row] != 0) rows.push_back(static_cast<int64_t>(row));
  }
  std::fill(is_noted_.begin(), is_noted_.end(), 0);
  const bool on_host = encoder_ != nullptr && encoder_->device().is_cpu();
  const int64_t in_rows = on_host ? static_cast<int64_t>(rows.size()) * columns_ : 0;
  int64_t in_extras = 0;
  for (const TrainedTensor& extra : extras_) in_extras += extra.gradient.numel();
  const torch::Tensor buffer = torch::zeros({in_rows + in_extras + 1});
  if (on_host) move_rows(rows, buffer.data_ptr<float>(), false);
  const auto each_extra = [&](const auto& visit) {
    int64_t next = in_rows;
    for (const TrainedTensor& extra : extras_) {
      const int64_t size = extra.gradient.numel();
      visit(buffer.narrow(0, next, size), extra.gradient.view({size}));
      next += size;
    }
  };
  if (processes_.group.rank() == 0) {
    each_extra([](const torch::Tensor& part, const torch::Tensor& own) { part.copy_(own); });
  }
  buffer[-1] = processes_.events.wants_to_stop() ? 1.0f : 0.0f;
  processes_.group.sum(buffer);
  if (encoder_ != nullptr) {
    const int64_t first = on_host ? table_end_ : 0;
    processes_.group.sum(
        encoder_->gradients().narrow(0, first, encoder_->parameter_count() - first));
  }
  if (on_host) move_rows(rows, buffer.data_ptr<float>(), true);
  each_extra([](const torch::Tensor& part, const torch::Tensor& own) { own.copy_(part); });
  if (buffer[-1].item<float>() > 0) processes_.events.agree_to_stop();
}

Matrix<float> embed_in_shares(
    ProcessGroup& group, const std::vector<std::vector<int32_t>>& texts,
    const std::function<Matrix<float>(const std::vector<std::vector<int32_t>>&)>& embed) {
  std::vector<int32_t> which(texts.size());
  std::iota(which.begin(), which.end(), 0);
  const std::vector<int64_t> bounds = cut_shares(texts, which, group.size());
  const auto rank = static_cast<size_t>(group.rank());
  // One text at least, so that every share has vectors of the same size.
  const int64_t begin = std::min(bounds[rank], static_cast<int64_t>(texts.size()) - 1);
  const int64_t end = std::max(bounds[rank + 1], begin + 1);
  Matrix<float> own = embed({texts.begin() + begin, texts.begin() + end});
  const torch::Tensor rows = torch::from_blob(own.values.data(), {own.rows, own.cols})
                                 .narrow(0, 0, bounds[rank + 1] - bounds[rank]);
  const torch::Tensor all = group.gather_rows(rows, bounds).contiguous();
  Matrix<float> vectors(all.size(0), all.size(1));
  std::copy_n(all.data_ptr<float>(), all.numel(), vectors.values.data());
  return vectors;
}

void check_equal(ProcessGroup& group, const std::string& what, const std::string& ours) {
  const std::vector<std::string> all = group.gather(ours);
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    group.leave();
    throw Error(ErrorKind::kInput,
                fmt::format("rank {} has {} other than rank 0; all processes of a training need "
                            "the same recipe, files and program (rank 0: {}, rank {}: {})",
                            rank, what, all[0], rank, all[rank]));
  }
}

}  // namespace simile
