// SPDX-License-Identifier: Apache-2.0
#include "simile/data/pair_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/data/detail/pair_rows.h"

namespace simile {
namespace {

void check_data(const PairDataOptions& data) {
  SIMILE_CHECK(data.format == "table", ErrorKind::kRecipe,
               fmt::format("a stream of pairs reads the format table, found {}", data.format));
  const bool needs_all = data.folds.is_set() || !data.exclude.empty() || data.keep_words != 1;
  SIMILE_CHECK(!needs_all, ErrorKind::kRecipe,
               fmt::format("{}: folds, exclude and keep_words need the whole set in memory, and a "
                           "stream never has it; remove them",
                           data.file()));
  check_on_error(data.on_error);
}

}  // namespace

class PairStream::Implementation {
 public:
  Implementation(const PairDataOptions& data, const PairStreamOptions& options,
                 PairStreamPosition start)
      : data_(data),
        capacity_(static_cast<size_t>(std::max<int64_t>(options.buffer, 1))),
        seed_(static_cast<uint64_t>(options.seed)),
        random_(seed_, "pair stream") {
    check_data(data);
    begin_epoch(start.epoch);
    for (PairRow pair; position_.pairs < start.pairs;) {
      SIMILE_CHECK(draw(pair), ErrorKind::kInput,
                   fmt::format("{}: the epoch has {} pairs and cannot be resumed after {}; the "
                               "files were changed",
                               data_.file(), position_.pairs, start.pairs));
    }
    fill();
  }

  PairDataset next_block(int64_t size) {
    if (buffer_.empty()) end_epoch();
    PairDataset block;
    for (PairRow pair; block.size() < std::max<int64_t>(size, 1) && draw(pair);) {
      append_pair(std::move(pair), data_, block);
    }
    fill();
    block.report = reader_->report();
    return block;
  }

  PairStreamPosition position() const {
    return buffer_.empty() ? PairStreamPosition{position_.epoch + 1, 0} : position_;
  }

 private:
  void begin_epoch(int64_t epoch) {
    position_ = {epoch, 0};
    random_ = RandomStream(seed_, "pair stream", static_cast<uint64_t>(epoch));
    reader_.emplace(data_);
    is_read_ = false;
    fill();
    SIMILE_CHECK(!buffer_.empty(), ErrorKind::kInput,
                 fmt::format("{}: skip passes over all of its {} pairs", data_.file(),
                             reader_->report().rows));
  }

  void end_epoch() {
    SIMILE_CHECK(length_ == 0 || length_ == position_.pairs, ErrorKind::kInput,
                 fmt::format("{}: epoch {} has {} pairs and the one before had {}; files must not "
                             "be changed meanwhile",
                             data_.file(), position_.epoch, position_.pairs, length_));
    length_ = position_.pairs;
    begin_epoch(position_.epoch + 1);
  }

  // The buffer is empty only at the end of the epoch.
  void fill() {
    while (!is_read_ && buffer_.size() < capacity_) {
      PairRow pair;
      is_read_ = !reader_->next(pair);
      if (!is_read_) buffer_.push_back(std::move(pair));
    }
  }

  bool draw(PairRow& pair) {
    fill();
    if (buffer_.empty()) return false;
    const auto place = static_cast<size_t>(random_.below(buffer_.size()));
    pair = std::move(buffer_[place]);
    if (place + 1 != buffer_.size()) buffer_[place] = std::move(buffer_.back());
    buffer_.pop_back();
    ++position_.pairs;
    return true;
  }

  const PairDataOptions data_;
  size_t capacity_;
  uint64_t seed_;
  RandomStream random_;
  std::optional<PairRowReader> reader_;
  bool is_read_ = false;  // to its end
  std::vector<PairRow> buffer_;
  PairStreamPosition position_;
  int64_t length_ = 0;  // pairs of the epoch before, if it was read here
};

PairStream::PairStream(const PairDataOptions& data, const PairStreamOptions& options,
                       PairStreamPosition start)
    : implementation_(std::make_unique<Implementation>(data, options, start)) {}
PairStream::PairStream(PairStream&&) noexcept = default;
PairStream::~PairStream() = default;

PairDataset PairStream::next_block(int64_t size) { return implementation_->next_block(size); }
PairStreamPosition PairStream::position() const { return implementation_->position(); }

}  // namespace simile
