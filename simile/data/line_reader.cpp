// SPDX-License-Identifier: Apache-2.0
#include "simile/data/line_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <istream>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {

// Bytes from a gzip or plain file (zlib reads both), or from a stream.
class LineReader::Source {
 public:
  Source(const std::string& path, const std::string& name) : name_(name) {
    SIMILE_CHECK(!folder_exists(path), ErrorKind::kInput,
                 fmt::format("cannot read {}: expected a file, found a folder", path));
    errno = 0;
    file_ = gzopen(path.c_str(), "rb");
    SIMILE_CHECK(file_ != nullptr, kind_of(errno),
                 fmt::format("cannot read {}: {}", path,
                             errno != 0 ? std::strerror(errno) : "out of memory"));
    gzbuffer(file_, 1 << 17);
  }
  Source(std::istream& stream, const std::string& name) : name_(name), stream_(&stream) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() {
    if (file_ != nullptr) gzclose_r(file_);
  }

  // Up to `size` bytes; 0 at the end.
  size_t read(char* bytes, size_t size) {
    if (stream_ != nullptr) {
      stream_->read(bytes, static_cast<std::streamsize>(size));
      SIMILE_CHECK(!stream_->bad(), ErrorKind::kInput, fmt::format("cannot read {}", name_));
      return static_cast<size_t>(stream_->gcount());
    }
    const int count = gzread(file_, bytes, static_cast<unsigned>(size));
    int code = Z_OK;
    const char* reason = gzerror(file_, &code);
    // A cut gzip file ends with fewer bytes and Z_BUF_ERROR, not with a negative count.
    SIMILE_CHECK(
        count >= 0 && (code == Z_OK || code == Z_STREAM_END),
        code == Z_ERRNO ? kind_of(errno) : ErrorKind::kInput,
        fmt::format("cannot read {}: {}", name_, code == Z_ERRNO ? std::strerror(errno) : reason));
    return static_cast<size_t>(count);
  }

 private:
  // A signal interrupts reading from a pipe.
  static ErrorKind kind_of(int code) {
    return code == EINTR ? ErrorKind::kInterrupted : ErrorKind::kInput;
  }

  std::string name_;
  std::istream* stream_ = nullptr;
  gzFile file_ = nullptr;
};

LineReader::LineReader(const std::string& path)
    : source_(std::make_unique<Source>(path, path)), name_(path) {}
LineReader::LineReader(std::istream& stream, const std::string& name)
    : source_(std::make_unique<Source>(stream, name)), name_(name) {}
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
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (++line_number_ == 1 && line.compare(0, 3, "\xEF\xBB\xBF") == 0) line.erase(0, 3);
  replaced_bytes_ += repair_utf8(line);
  return true;
}

}  // namespace simile
