// SPDX-License-Identifier: Apache-2.0
#include "simile/train/flat_optimizer.h"

#include <torch/types.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <cmath>

#include "simile/core/check.h"
#include "simile/kernel/optimizer_update.h"

namespace simile {
namespace {

constexpr int64_t kPieceFloats = 16384;
constexpr int64_t kRowsPerTask = 16;
constexpr int64_t kStepsPerCheck = 64;
constexpr double kClipEpsilon = 1e-6;  // as torch's clip_grad_norm_

// Moments of rows that are never used again decay for ever. Below the smallest normal float that
// would cost a hundred times the usual, so such numbers become zero while this object lives.
class FlushDenormals {
 public:
#if defined(__SSE2__)
  FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040); }
  ~FlushDenormals() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#endif
};

}  // namespace

DeferredTable deferred_table(const ParameterSlot& slot) {
  SIMILE_CHECK(slot.shape.size() == 2, ErrorKind::kInput,
               "optimiser: '{}' should be a matrix to be updated by rows, it has {} dimensions",
               slot.name, slot.shape.size());
  return {slot.offset, slot.shape[0], slot.shape[1]};
}

FlatOptimizer::FlatOptimizer(const OptimizerOptions& options,
                             const std::vector<ParameterSlot>& slots,
                             const torch::Tensor& parameters, const torch::Tensor& gradients,
                             const DeferredTable& table, const std::vector<TrainedTensor>& extras)
    : rule_(options),
      clip_norm_(options.clip_norm),
      used_rows_(options.used_rows()),
      table_(table),
      parameters_(parameters),
      gradients_(gradients),
      extras_(extras) {
  int64_t next = 0;
  bool found_table = table.rows == 0;
  for (const ParameterSlot& slot : slots) {
    SIMILE_CHECK(slot.offset == next && slot.size > 0, ErrorKind::kInput,
                 "optimiser: '{}' should begin at float {} of the weights, found {}", slot.name,
                 next, slot.offset);
    next += slot.size;
    if (table.rows > 0 && slot.offset == table.offset && slot.size == table.rows * table.columns) {
      table_section_ = sections_.size();
      found_table = true;
    }
    const int64_t rows = slot.shape.size() == 2 ? slot.shape[0] : 1;
    add_section(parameters.data_ptr<float>() + slot.offset,
                gradients.data_ptr<float>() + slot.offset, rows, slot.size / rows, 1.0,
                slot.decays);
  }
  SIMILE_CHECK(found_table, ErrorKind::kInput, "optimiser: no weight of {} x {} begins at float {}",
               table.rows, table.columns, table.offset);
  for (const TrainedTensor& extra : extras) {
    add_section(extra.values.data_ptr<float>(), extra.gradient.data_ptr<float>(), 1,
                extra.values.numel(), extra.learning_rate_factor, extra.decays);
  }
  zeros_.assign(static_cast<size_t>(table.columns), 0.0f);
  for (size_t s = 0; s < sections_.size(); ++s) {
    if (table_.rows > 0 && s == table_section_) continue;
    const int64_t step = std::max<int64_t>(1, kPieceFloats / sections_[s].columns);
    for (int64_t row = 0; row < sections_[s].rows; row += step) {
      pieces_.push_back({s, row, std::min(step, sections_[s].rows - row)});
    }
  }
  if (!used_rows_) state_.row_steps.assign(static_cast<size_t>(table.rows), 0);
  is_touched_.assign(static_cast<size_t>(table.rows), 0);
}

void FlatOptimizer::add_section(float* values, float* gradient, int64_t rows, int64_t columns,
                                double factor, bool decays) {
  const int64_t moments = static_cast<int64_t>(state_.first_moment.size());
  const int64_t sums = static_cast<int64_t>(row_sums_.size());
  sections_.push_back({values, gradient, moments, rows, columns, sums, factor, decays});
  state_.first_moment.resize(static_cast<size_t>(moments + rows * columns));
  if (rule_.has_second_moment()) state_.second_moment.resize(state_.first_moment.size());
  row_sums_.resize(static_cast<size_t>(sums + rows));
}

StepConstants FlatOptimizer::make_constants(int64_t step, double learning_rate,
                                            const Section& section) const {
  return rule_.constants(step, learning_rate * section.learning_rate_factor, section.decays);
}

float* FlatOptimizer::second_moment(int64_t offset) {
  return state_.second_moment.empty() ? nullptr : state_.second_moment.data() + offset;
}

void FlatOptimizer::prepare_rows(const std::vector<int32_t>& ids) {
  if (table_.rows == 0) return;
  const size_t first_new = touched_.size();
  for (const int32_t id : ids) {
    SIMILE_CHECK(id >= 0 && id < table_.rows, ErrorKind::kInput,
                 "optimiser: row {} of a table of {} rows", id, table_.rows);
    if (is_touched_[id] != 0) continue;
    is_touched_[id] = 1;
    touched_.push_back(id);
  }
  if (used_rows_) return;
  const int64_t count = static_cast<int64_t>(touched_.size());
#pragma omp parallel
  {
    const FlushDenormals flush;
#pragma omp for schedule(dynamic, kRowsPerTask)
    for (int64_t i = static_cast<int64_t>(first_new); i < count; ++i) replay_row(touched_[i]);
  }
}

void FlatOptimizer::flush_rows() {
  if (used_rows_) return;
#pragma omp parallel
  {
    const FlushDenormals flush;
#pragma omp for schedule(dynamic, kRowsPerTask)
    for (int64_t row = 0; row < table_.rows; ++row) replay_row(row);
  }
  history_.clear();
  state_.learning_rates.clear();
}

void FlatOptimizer::replay_row(int64_t row) {
  const int64_t missed = state_.step - state_.row_steps[row];
  if (missed == 0) return;
  const Section& section = sections_[table_section_];
  const int64_t columns = section.columns, offset = section.moment_offset + row * columns;
  float* weight = section.values + row * columns;
  float* first = state_.first_moment.data() + offset;
  float* second = second_moment(offset);
  const StepConstants* c = history_.data() + history_.size() - missed;
  bool still = false;
  for (int64_t k = 0; k < missed; ++k) {
    if (!still && k % kStepsPerCheck == 0) {
      still = c[k].l2 == 0.0f &&
              std::all_of(first, first + columns, [](float value) { return value == 0.0f; });
    }
    if (still) {
      rule_.update_still(c[k], columns, weight, second);
    } else {
      rule_.update(c[k], columns, zeros_.data(), weight, first, second);
    }
  }
  state_.row_steps[row] = state_.step;
}

double FlatOptimizer::gradient_norm() {
  const auto sum_rows = [&](const Section& section, int64_t row, int64_t rows) {
    for (int64_t i = row; i < row + rows; ++i) {
      row_sums_[section.first_sum + i] =
          sum_of_squares(section.gradient + i * section.columns, section.columns);
    }
  };
  std::fill(row_sums_.begin(), row_sums_.end(), 0.0);
  const int64_t pieces = static_cast<int64_t>(pieces_.size());
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < pieces; ++i) {
    sum_rows(sections_[pieces_[i].section], pieces_[i].first_row, pieces_[i].rows);
  }
  // Rows of the table that were not touched stay zero, which does not change the sum.
  const int64_t touched = static_cast<int64_t>(touched_.size());
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < touched; ++i) sum_rows(sections_[table_section_], touched_[i], 1);
  double sum = 0.0;
  for (const double row_sum : row_sums_) sum += row_sum;
  return std::sqrt(sum);
}

void FlatOptimizer::update_rows(const Section& section, int64_t row, int64_t rows,
                                const StepConstants& constants) {
  const int64_t begin = row * section.columns, size = rows * section.columns;
  const int64_t moments = section.moment_offset + begin;
  float* const gradient = section.gradient + begin;
  rule_.update(constants, size, gradient, section.values + begin,
               state_.first_moment.data() + moments, second_moment(moments));
  std::fill(gradient, gradient + size, 0.0f);
}

double FlatOptimizer::step(double learning_rate) {
  std::sort(touched_.begin(), touched_.end());  // as they lie in memory
  const double norm = gradient_norm();
  if (!std::isfinite(norm)) {
    clear_gradients();
    forget_touched();
    return norm;
  }
  ++state_.step;
  const bool clips = clip_norm_ > 0.0;
  const double clip = clips ? std::min(1.0, clip_norm_ / (norm + kClipEpsilon)) : 1.0;
  std::vector<StepConstants> constants;
  for (const Section& section : sections_) {
    constants.push_back(make_constants(state_.step, learning_rate, section));
  }
  if (table_.rows > 0 && !used_rows_) {
    history_.push_back(constants[table_section_]);
    state_.learning_rates.push_back(learning_rate);
  }
  for (StepConstants& c : constants) c.gradient_scale = static_cast<float>(clip);
  const int64_t pieces = static_cast<int64_t>(pieces_.size());
  const int64_t touched = static_cast<int64_t>(touched_.size());
#pragma omp parallel
  {
    const FlushDenormals flush;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < pieces; ++i) {
      const Piece& piece = pieces_[i];
      update_rows(sections_[piece.section], piece.first_row, piece.rows, constants[piece.section]);
    }
#pragma omp for schedule(static)
    for (int64_t i = 0; i < touched; ++i) {
      update_rows(sections_[table_section_], touched_[i], 1, constants[table_section_]);
    }
  }
  if (!used_rows_) {
    for (const int64_t row : touched_) state_.row_steps[row] = state_.step;
  }
  forget_touched();
  return norm;
}

void FlatOptimizer::clear_gradients() {
  if (gradients_.defined()) gradients_.zero_();
  for (const TrainedTensor& extra : extras_) extra.gradient.zero_();
}

void FlatOptimizer::forget_touched() {
  for (const int64_t row : touched_) is_touched_[row] = 0;
  touched_.clear();
}

void FlatOptimizer::load_state(OptimizerState state) {
  state.check_sizes(state_);
  const int64_t remembered = static_cast<int64_t>(state.learning_rates.size());
  SIMILE_CHECK(state.step >= 0 && remembered <= (state_.row_steps.empty() ? 0 : state.step),
               ErrorKind::kInput,
               "checkpoint: {} learning rates after {} optimiser steps; it is damaged", remembered,
               state.step);
  for (const int64_t row_step : state.row_steps) {
    SIMILE_CHECK(row_step >= state.step - remembered && row_step <= state.step, ErrorKind::kInput,
                 "checkpoint damaged: a row stands at step {} of {}, with {} learning rates kept",
                 row_step, state.step, remembered);
  }
  state_ = std::move(state);
  history_.clear();
  for (int64_t i = 0; i < remembered; ++i) {
    history_.push_back(make_constants(state_.step - remembered + 1 + i, state_.learning_rates[i],
                                      sections_[table_section_]));
  }
  forget_touched();
}

}  // namespace simile
