// SPDX-License-Identifier: Apache-2.0
#include "simile/data/line_reader.h"

#include <fmt/format.h>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/detail/byte_source.h"
#include "simile/text/utf8.h"

namespace simile {

std::string without_compression(const std::string& path) {
  const size_t ending = ends_with(path, ".gz") ? 3 : ends_with(path, ".zst") ? 4 : 0;
  return path.substr(0, path.size() - ending);
}

bool is_json_lines(const std::string& path) {
  return ends_with(without_compression(path), ".jsonl");
}

bool is_table(const std::string& path) {
  const std::string name = without_compression(path);
  return ends_with(name, ".tsv") || ends_with(name, ".csv") || ends_with(name, ".jsonl");
}

namespace {

// A first line, as it stands in the file, that is none of UTF-8 text with LF line ends.
void check_first_line(const std::string& line, bool is_all, const std::string& name) {
  const auto zero_at = [&](size_t i) {
    return line.size() > i + 2 && line[i] == 0 && line[i + 2] == 0;
  };
  const bool is_marked = starts_with(line, "\xFF\xFE") || starts_with(line, "\xFE\xFF");
  SIMILE_CHECK(
      !is_marked && !zero_at(0) && !zero_at(1), ErrorKind::kInput,
      fmt::format("{}: the file is UTF-16, expected UTF-8; convert it: iconv -f UTF-16 -t UTF-8 "
                  "FILE > NEW",
                  name));
  const size_t carriage = line.find('\r');
  SIMILE_CHECK(!is_all || carriage == std::string::npos || carriage + 1 == line.size(),
               ErrorKind::kInput,
               fmt::format("{}: its lines end in CR alone, expected LF or CRLF; convert it: tr "
                           "'\\r' '\\n' < FILE > NEW",
                           name));
}

}  // namespace

LineReader::LineReader(const std::string& path) : source_(open_bytes(path)), name_(path) {}
LineReader::LineReader(std::istream& stream, const std::string& name)
    : source_(stream_bytes(stream, name)), name_(name) {}
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

std::string LineReader::where() const { return fmt::format("{}:{}", name_, line_number_); }

bool LineReader::fill() {
  constexpr size_t kChunkBytes = 1 << 16;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t size = buffer_.size();
  SIMILE_CHECK(static_cast<int64_t>(size) <= kMaximumLineBytes, ErrorKind::kInput,
               fmt::format("{}:{}: the line is longer than {} bytes; is this a text file?", name_,
                           line_number_ + 1, kMaximumLineBytes));
  buffer_.resize(size + kChunkBytes);
  buffer_.resize(size + source_->read(&buffer_[size], kChunkBytes));
  return buffer_.size() > size;
}

bool LineReader::next(std::string& line) {
  size_t searched = begin_;
  size_t end = std::string::npos;
  while ((end = buffer_.find('\n', searched)) == std::string::npos) {
    searched = buffer_.size() - begin_;  // fill() moves what is left to the front
    if (!fill()) break;
  }
  const bool last = end == std::string::npos;
  if (last && begin_ == buffer_.size()) return false;
  line.assign(buffer_, begin_, last ? std::string::npos : end - begin_);
  begin_ = last ? buffer_.size() : end + 1;
  if (line_number_ == 0) check_first_line(line, last, name_);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (++line_number_ == 1 && line.compare(0, 3, "\xEF\xBB\xBF") == 0) line.erase(0, 3);
  replaced_bytes_ += repair_utf8(line);
  return true;
}

}  // namespace simile
