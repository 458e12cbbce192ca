// SPDX-License-Identifier: Apache-2.0
#include "simile/train/shared_training.h"

#include <torch/autograd.h>
#include <torch/utils.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/report/run_files.h"
#include "simile/train/gradient_cache.h"

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
  if (encoder_ != nullptr) cut_ranges();
}

SharedGradients::~SharedGradients() {
  if (encoder_ != nullptr) encoder_->watch_gradients({});
}

// Layers before all else, from the last to the first, as a backward pass finishes them.
void SharedGradients::cut_ranges() {
  if (!encoder_->device().is_cpu()) {
    ranges_ = {{0, encoder_->parameter_count(), -1}};
    return is_finished_.assign(1, 0);
  }
  std::vector<Range> others;
  for (const ParameterSlot& slot : encoder_layout(encoder_->shape())) {
    const int64_t end = slot.offset + slot.size;
    std::vector<Range>& ranges = slot.layer < 0 ? others : ranges_;
    if (slot.offset == 0) {
      table_ = deferred_table(slot);
    } else if (!ranges.empty() && ranges.back().layer == slot.layer &&
               ranges.back().end == slot.offset) {
      ranges.back().end = end;
    } else {
      ranges.push_back({slot.offset, end, slot.layer});
    }
  }
  std::reverse(ranges_.begin(), ranges_.end());
  ranges_.insert(ranges_.end(), others.begin(), others.end());
  is_finished_.assign(ranges_.size(), 0);
  is_noted_.assign(static_cast<size_t>(table_.rows), 0);
}

void SharedGradients::note_rows(const std::vector<int32_t>& ids) {
  if (table_.rows == 0) return;
  for (const int32_t id : ids) is_noted_[static_cast<size_t>(id)] = 1;
}

void SharedGradients::overlap() {
  encoder_->watch_gradients([this](int64_t begin, int64_t end) { finish(begin, end); });
}

void SharedGradients::finish(int64_t begin, int64_t end) {
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (begin <= ranges_[i].begin && ranges_[i].end <= end) is_finished_[i] = 1;
  }
  size_t ready = sent_;
  while (ready < ranges_.size() && is_finished_[ready] != 0) ++ready;
  send(ready);
}

// Begins the sums up to that of range `end`.
void SharedGradients::send(size_t end) {
  for (; sent_ < end; ++sent_) {
    const Range& range = ranges_[sent_];
    processes_.group.begin_sum(
        encoder_->gradients().narrow(0, range.begin, range.end - range.begin));
  }
}

void SharedGradients::move_rows(const std::vector<int64_t>& rows, float* buffer, bool back) const {
  float* const gradients = encoder_->gradients().data_ptr<float>();
  for (size_t i = 0; i < rows.size(); ++i) {
    float* const copy = buffer + static_cast<int64_t>(i) * table_.columns;
    float* const row = gradients + table_.offset + rows[i] * table_.columns;
    std::copy_n(back ? copy : row, table_.columns, back ? row : copy);
  }
}

// The used rows, the extras and the wish to stop in one buffer, all other weights where they are.
void SharedGradients::add_up() {
  if (encoder_ != nullptr) encoder_->watch_gradients({});
  send(ranges_.size());
  std::vector<int64_t> rows;
  for (size_t row = 0; row < is_noted_.size(); ++row) {
    if (is_noted_[row] != 0) rows.push_back(static_cast<int64_t>(row));
  }
  const int64_t in_rows = static_cast<int64_t>(rows.size()) * table_.columns;
  int64_t in_extras = 0;
  for (const TrainedTensor& extra : extras_) in_extras += extra.gradient.numel();
  const torch::Tensor buffer = torch::zeros({in_rows + in_extras + 1});
  if (in_rows > 0) move_rows(rows, buffer.data_ptr<float>(), false);
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
  processes_.group.begin_sum(buffer);
  processes_.group.finish_sums();
  if (in_rows > 0) move_rows(rows, buffer.data_ptr<float>(), true);
  each_extra([](const torch::Tensor& part, const torch::Tensor& own) { own.copy_(part); });
  if (buffer[-1].item<float>() > 0) processes_.events.agree_to_stop();
  std::fill(is_noted_.begin(), is_noted_.end(), 0);
  std::fill(is_finished_.begin(), is_finished_.end(), 0);
  sent_ = 0;
}

namespace {

class GatheredRows : public torch::autograd::Function<GatheredRows> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& own,
                               ProcessGroup* group, const std::vector<int64_t>& bounds) {
    const auto rank = static_cast<size_t>(group->rank());
    context->saved_data["begin"] = bounds[rank];
    context->saved_data["rows"] = bounds[rank + 1] - bounds[rank];
    return group->gather_rows(own, bounds);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& outputs) {
    const int64_t begin = context->saved_data["begin"].toInt();
    const int64_t rows = context->saved_data["rows"].toInt();
    return {outputs[0].narrow(0, begin, rows), torch::Tensor(), torch::Tensor()};
  }
};

namespace fs = std::filesystem;
using namespace run_format;

// The files of a run's folder that training resumes from.
std::vector<std::string> list_sent(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    const std::string parent = entry.path().parent_path().filename();
    const bool is_kept = (parent == kStates || parent == kStages || parent == kMined) &&
                         name.find(".tmp-") == std::string::npos;
    const bool is_sent = is_kept || name == kRecipe || name == kLog;
    if (!entry.is_regular_file() || !is_sent) continue;
    files.push_back(entry.path().lexically_relative(folder).generic_string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

torch::Tensor no_vectors(const ModelSettings& settings, torch::Device device) {
  return torch::empty({0, settings.embedding_size()}, torch::device(device));
}

torch::Tensor gather_with_gradient(ProcessGroup& group, const torch::Tensor& own,
                                   const std::vector<int64_t>& bounds) {
  return GatheredRows::apply(own, &group, bounds);
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
    throw_error(ErrorKind::kInput,
                "rank {} has {} other than rank 0; all processes of a training need "
                "the same recipe, files and program (rank 0: {}, rank {}: {})",
                rank, what, all[0], rank, all[rank]);
  }
}

void check_shared_options(const TrainOptions& options, int64_t processes) {
  for (const StageOptions& stage : options.stages) {
    SIMILE_CHECK(stage.minutes == 0, ErrorKind::kRecipe,
                 "stage '{}': `minutes` plans the steps by the speed of one process; give steps or "
                 "epochs to several",
                 stage.name);
    for (const ObjectiveOptions& objective : stage.objectives) {
      SIMILE_CHECK(objective.batch_size >= processes, ErrorKind::kRecipe,
                   "stage '{}': {} processes share each batch, and `batch_size: {}` "
                   "does not give each an example; start at most {}, or raise it",
                   stage.name, processes, objective.batch_size, objective.batch_size);
    }
  }
}

void check_shared_recipe(ProcessGroup& group, const TrainOptions& options) {
  check_equal(group, "a program (its hash)", hash_file("/proc/self/exe"));
  const std::vector<std::string> all = group.gather(options_to_json(options));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const std::vector<RecipeChange> changes = find_recipe_changes({all[0], all[rank]});
    if (changes.empty()) continue;
    const RecipeChange& first = changes.front();
    group.leave();
    throw_error(ErrorKind::kInput,
                "rank {} has another recipe than rank 0: {} is {} there and {} for "
                "rank 0{}; give all processes the same recipe and options",
                rank, first.key, first.values[1], first.values[0],
                changes.size() > 1 ? fmt::format(" (and {} more)", changes.size() - 1) : "");
  }
}

void send_run(ProcessGroup& group, const std::string& folder) {
  const bool sends = group.rank() == 0;
  const std::vector<std::string> files = sends ? list_sent(folder) : std::vector<std::string>();
  for (size_t i = 0;; ++i) {
    const bool has_more = i < files.size();
    const std::string name = group.broadcast(has_more ? files[i] : "");
    if (name.empty()) return;
    const std::string path = join_path(folder, name);
    const std::string bytes = group.broadcast(sends ? read_file(path) : "");
    if (sends) continue;
    make_folders(fs::path(path).parent_path().string());
    write_file_atomic(path, bytes);
  }
}

}  // namespace simile
