// SPDX-License-Identifier: Apache-2.0
#include "simile/data/detail/byte_source.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <istream>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/line_reader.h"

namespace simile {
namespace {

// A signal interrupts reading from a pipe.
ErrorKind kind_of(int code) { return code == EINTR ? ErrorKind::kInterrupted : ErrorKind::kInput; }

void check_opened(bool opened, const std::string& path) {
  SIMILE_CHECK(
      opened, kind_of(errno),
      fmt::format("cannot read {}: {}", path, errno != 0 ? std::strerror(errno) : "out of memory"));
}

class GzipSource : public ByteSource {
 public:
  explicit GzipSource(const std::string& path) : path_(path) {
    errno = 0;
    file_ = gzopen(path.c_str(), "rb");
    check_opened(file_ != nullptr, path);
    gzbuffer(file_, 1 << 17);
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override { gzclose_r(file_); }

  size_t read(char* bytes, size_t size) override {
    const int count = gzread(file_, bytes, static_cast<unsigned>(size));
    int code = Z_OK;
    const char* reason = gzerror(file_, &code);
    SIMILE_CHECK(code != Z_ERRNO, kind_of(errno),
                 fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
    // A cut gzip file ends with fewer bytes and Z_BUF_ERROR, not with a negative count.
    SIMILE_CHECK(count >= 0 && (code == Z_OK || code == Z_STREAM_END), ErrorKind::kInput,
                 fmt::format("cannot read {}, damaged or cut after {} bytes of text: {}", path_,
                             given_, reason));
    if (given_ == 0) check_magic({bytes, static_cast<size_t>(count)});
    given_ += count;
    return static_cast<size_t>(count);
  }

 private:
  void check_magic(std::string_view bytes) const {
    constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";
    SIMILE_CHECK(
        bytes.substr(0, kZstdMagic.size()) != kZstdMagic, ErrorKind::kInput,
        fmt::format("cannot read {}: it is a zstd file; give it a name that ends in .zst", path_));
  }

  std::string path_;
  gzFile file_ = nullptr;
  int64_t given_ = 0;
};

class ZstdSource : public ByteSource {
 public:
  explicit ZstdSource(const std::string& path)
      : path_(path), file_(nullptr, &std::fclose), packed_(ZSTD_DStreamInSize()) {
    errno = 0;
    file_.reset(std::fopen(path.c_str(), "rb"));
    check_opened(file_ != nullptr, path);
    SIMILE_CHECK(stream_ != nullptr, ErrorKind::kInput,
                 fmt::format("cannot read {}: out of memory", path));
    int log = 0;
    while ((int64_t{1} << log) < kMaximumZstdWindowBytes) ++log;
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, log);
  }

  size_t read(char* bytes, size_t size) override {
    ZSTD_outBuffer out{bytes, size, 0};
    while (out.pos == 0) {
      // Bytes may wait inside although all that was read of the file is taken.
      if (in_.pos == in_.size && !may_hold_more_ && !refill()) return 0;
      const size_t state = ZSTD_decompressStream(stream_.get(), &out, &in_);
      SIMILE_CHECK(ZSTD_isError(state) == 0, ErrorKind::kInput, describe(state));
      is_inside_ = state != 0;
      may_hold_more_ = is_inside_ && out.pos == out.size;
    }
    given_ += static_cast<int64_t>(out.pos);
    return out.pos;
  }

 private:
  bool refill() {
    errno = 0;
    const size_t count = std::fread(packed_.data(), 1, packed_.size(), file_.get());
    SIMILE_CHECK(std::ferror(file_.get()) == 0, kind_of(errno),
                 fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
    SIMILE_CHECK(count > 0 || (!is_inside_ && taken_ > 0), ErrorKind::kInput,
                 fmt::format("cannot read {}: the zstd file is cut after {} bytes ({} of text)",
                             path_, taken_, given_));
    in_ = {packed_.data(), count, 0};
    taken_ += static_cast<int64_t>(count);
    return count > 0;
  }

  std::string describe(size_t state) const {
    const bool window = ZSTD_getErrorCode(state) == ZSTD_error_frameParameter_windowTooLarge;
    return fmt::format(
        "cannot read {}, damaged at or before byte {} ({} of text): {}{}", path_,
        taken_ - static_cast<int64_t>(in_.size - in_.pos), given_, ZSTD_getErrorName(state),
        window ? fmt::format("; at most {} bytes are set aside: compress it again without --long",
                             kMaximumZstdWindowBytes)
               : "");
  }

  struct FreeStream {
    void operator()(ZSTD_DCtx* stream) const { ZSTD_freeDCtx(stream); }
  };

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::unique_ptr<ZSTD_DCtx, FreeStream> stream_{ZSTD_createDCtx()};
  std::vector<char> packed_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  bool is_inside_ = false;  // a frame that has begun and not ended
  bool may_hold_more_ = false;
  int64_t taken_ = 0, given_ = 0;  // bytes of the file, and of what it holds
};

class StreamSource : public ByteSource {
 public:
  StreamSource(std::istream& stream, const std::string& name) : stream_(stream), name_(name) {}

  size_t read(char* bytes, size_t size) override {
    stream_.read(bytes, static_cast<std::streamsize>(size));
    SIMILE_CHECK(!stream_.bad(), ErrorKind::kInput, fmt::format("cannot read {}", name_));
    return static_cast<size_t>(stream_.gcount());
  }

 private:
  std::istream& stream_;
  std::string name_;
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  SIMILE_CHECK(!folder_exists(path), ErrorKind::kInput,
               fmt::format("cannot read {}: expected a file, found a folder", path));
  if (ends_with(path, ".zst")) return std::make_unique<ZstdSource>(path);
  return std::make_unique<GzipSource>(path);
}

std::unique_ptr<ByteSource> stream_bytes(std::istream& stream, const std::string& name) {
  return std::make_unique<StreamSource>(stream, name);
}

}  // namespace simile
