// SPDX-License-Identifier: Apache-2.0
#include "simile/data/line_reader.h"

#include <fnmatch.h>
#include <unicode/ucnv.h>
#include <unicode/ustring.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <istream>
#include <set>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/file_kind.h"
#include "simile/text/utf8.h"

namespace simile {

// Bytes of a file or of a stream, in order.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Up to `size` bytes; 0 at the end.
  virtual size_t read(char* bytes, size_t size) = 0;
};

namespace {

constexpr int64_t kMaximumZstdWindowBytes = int64_t{128} << 20;

// A signal interrupts reading from a pipe.
ErrorKind kind_of(int code) { return code == EINTR ? ErrorKind::kInterrupted : ErrorKind::kInput; }

void check_opened(bool opened, const std::string& path) {
  SIMILE_CHECK(
      opened, kind_of(errno),
      fmt::format("cannot read {}: {}", path, errno != 0 ? std::strerror(errno) : "out of memory"));
}

// The bytes of a file as they are.
class FileSource : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : path_(path), file_(nullptr, &std::fclose) {
    errno = 0;
    file_.reset(std::fopen(path.c_str(), "rb"));
    check_opened(file_ != nullptr, path);
  }

  size_t read(char* bytes, size_t size) override {
    errno = 0;
    const size_t count = std::fread(bytes, 1, size, file_.get());
    SIMILE_CHECK(std::ferror(file_.get()) == 0, kind_of(errno),
                 fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
    return count;
  }

 private:
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

// gzip or plain, as the first bytes show; of gzip one member or several and nothing else, where
// gzread() would leave out what follows.
class GzipSource : public ByteSource {
 public:
  explicit GzipSource(const std::string& path) : path_(path), file_(path), packed_(1 << 17) {
    refill();
    is_packed_ = stream_.avail_in >= 2 && packed_[0] == '\x1f' && packed_[1] == '\x8b';
    check_opened(inflateInit2(&stream_, MAX_WBITS + 16) == Z_OK, path);
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override { inflateEnd(&stream_); }

  size_t read(char* bytes, size_t size) override {
    if (!is_packed_) return read_plain(bytes, size);
    stream_.next_out = reinterpret_cast<Bytef*>(bytes);
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out == size) {
      if (stream_.avail_in == 0 && !may_hold_more_ && !refill()) {
        if (is_inside_) fail("unexpected end of file");
        return 0;
      }
      if (!is_inside_ && !begin_member()) continue;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      const bool is_good = code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR;
      if (!is_good) fail(stream_.msg != nullptr ? stream_.msg : "out of memory");
      is_inside_ = code != Z_STREAM_END;
      may_hold_more_ = is_inside_ && stream_.avail_out == 0;
    }
    given_ += static_cast<int64_t>(size - stream_.avail_out);
    return size - stream_.avail_out;
  }

 private:
  bool refill() {
    stream_.avail_in = static_cast<uInt>(file_.read(packed_.data(), packed_.size()));
    stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
    return stream_.avail_in > 0;
  }

  size_t read_plain(char* bytes, size_t size) {
    if (stream_.avail_in == 0) return file_.read(bytes, size);
    const size_t count = std::min<size_t>(size, stream_.avail_in);
    std::memcpy(bytes, stream_.next_in, count);
    stream_.next_in += count;
    stream_.avail_in -= static_cast<uInt>(count);
    return count;
  }

  // Skips the zeros that tapes add. False where they are all that is left of the buffer.
  bool begin_member() {
    for (; stream_.avail_in > 0 && *stream_.next_in == 0; --stream_.avail_in) ++stream_.next_in;
    inflateReset(&stream_);
    return stream_.avail_in > 0;
  }

  [[noreturn]] void fail(const char* reason) const {
    throw_error(ErrorKind::kInput, "cannot read {}, damaged or cut after {} bytes of text: {}",
                path_, given_, reason);
  }

  std::string path_;
  FileSource file_;
  std::vector<char> packed_;
  z_stream stream_ = {};
  bool is_packed_ = false;
  bool is_inside_ = false;  // a member that has begun and not ended
  bool may_hold_more_ = false;
  int64_t given_ = 0;  // bytes of text
};

// One zstd frame or several. Memory: the window, at most kMaximumZstdWindowBytes.
class ZstdSource : public ByteSource {
 public:
  explicit ZstdSource(const std::string& path)
      : path_(path), file_(path), packed_(ZSTD_DStreamInSize()) {
    SIMILE_CHECK(stream_ != nullptr, ErrorKind::kInput, "cannot read {}: out of memory", path);
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
    const size_t count = file_.read(packed_.data(), packed_.size());
    SIMILE_CHECK(count > 0 || (!is_inside_ && taken_ > 0), ErrorKind::kInput,
                 "cannot read {}: the zstd file is cut after {} bytes ({} of text)", path_, taken_,
                 given_);
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
  FileSource file_;
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
    SIMILE_CHECK(!stream_.bad(), ErrorKind::kInput, "cannot read {}", name_);
    return static_cast<size_t>(stream_.gcount());
  }

 private:
  std::istream& stream_;
  std::string name_;
};

// The bytes of another source, which are in `encoding`, as UTF-8.
class ConvertedSource : public ByteSource {
 public:
  // `read`: the few bytes that were taken from the source already.
  ConvertedSource(std::unique_ptr<ByteSource> source, const std::string& encoding, std::string read,
                  const std::string& name)
      : source_(std::move(source)), encoding_(encoding), name_(name), read_(std::move(read)) {
    UErrorCode code = U_ZERO_ERROR;
    converter_.reset(ucnv_open(encoding.c_str(), &code));
    SIMILE_CHECK(U_SUCCESS(code), ErrorKind::kRecipe,
                 "encoding: '{}' is not known; expected such as windows-1252, latin1 or utf-16le",
                 encoding);
    if (std::string_view(ucnv_getName(converter_.get(), &code)) == "ISO-8859-1") {
      converter_.reset(ucnv_open("windows-1252", &code));
    }
    ucnv_setToUCallBack(converter_.get(), UCNV_TO_U_CALLBACK_STOP, nullptr, nullptr, nullptr,
                        &code);
  }

  // A byte read makes three at most.
  size_t read(char* bytes, size_t size) override {
    std::vector<UChar> characters(size / 4 + 8);
    int32_t written = 0;
    for (bool is_end = false; written == 0 && !is_end;) {
      std::string raw = std::exchange(read_, "");
      if (raw.empty()) {
        raw.resize(size / 4);
        raw.resize(source_->read(&raw[0], raw.size()));
      }
      is_end = raw.empty();
      const char* begin = raw.data();
      UChar* end = characters.data();
      UErrorCode code = U_ZERO_ERROR;
      ucnv_toUnicode(converter_.get(), &end, end + characters.size(), &begin, begin + raw.size(),
                     nullptr, is_end, &code);
      const bool is_good = U_SUCCESS(code);
      lines_ += std::count(characters.data(), end, u'\n');
      SIMILE_CHECK(is_good, ErrorKind::kInput,
                   "{}:{}: its bytes are not {}; name the file's encoding (--encoding)", name_,
                   lines_, encoding_);
      u_strToUTF8(bytes, static_cast<int32_t>(size), &written, characters.data(),
                  static_cast<int32_t>(end - characters.data()), &code);
    }
    return static_cast<size_t>(written);
  }

 private:
  struct Close {
    void operator()(UConverter* converter) const { ucnv_close(converter); }
  };

  std::unique_ptr<ByteSource> source_;
  std::string encoding_, name_, read_;
  std::unique_ptr<UConverter, Close> converter_;
  int64_t lines_ = 1;
};

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  SIMILE_CHECK(!folder_exists(path), ErrorKind::kInput,
               "cannot read {}: expected a file, found a folder", path);
  if (ends_with(path, ".zst")) return std::make_unique<ZstdSource>(path);
  return std::make_unique<GzipSource>(path);
}

constexpr size_t kKindBytes = 512;

// Checks that a file that begins with `start` is text, and not in UTF-16.
void check_first_bytes(std::string_view start, const std::string& name) {
  const auto zero_at = [&](size_t i) {
    return start.size() > 3 && start[i] == 0 && start[i + 2] == 0 && start[1 - i] != 0 &&
           start[3 - i] != 0;
  };
  SIMILE_CHECK(
      !zero_at(0) && !zero_at(1), ErrorKind::kInput,
      "{}: the file is UTF-16 without a byte order mark; name its encoding: utf-16{}e (--encoding)",
      name, zero_at(0) ? 'b' : 'l');
  SIMILE_CHECK(!is_binary(start), ErrorKind::kInput,
               "{}: its first bytes are not text; if they are in UTF-16, name it (--encoding)",
               name);
}

// Checks that the first line, as it is in the file, ends in LF.
void check_first_line(const std::string& line, bool is_all, const std::string& name) {
  const size_t carriage = line.find('\r');
  SIMILE_CHECK(
      !is_all || carriage == std::string::npos || carriage + 1 == line.size(), ErrorKind::kInput,
      "{}: its lines end in CR alone, expected LF or CRLF; convert it: tr '\\r' '\\n' < FILE > NEW",
      name);
}

std::vector<std::string> list_fitting(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::string name = whole.filename().string();
  std::string pattern;  // in which a star alone is special
  for (const char c : name) pattern += c == '*' ? "*" : std::string({'\\', c});
  const std::filesystem::path folder = whole.parent_path();
  SIMILE_CHECK(folder.string().find('*') == std::string::npos, ErrorKind::kRecipe,
               "{}: a * may stand for characters of the file's name only, not of a folder's", path);
  std::vector<std::string> found;
  std::error_code code;
  for (std::filesystem::directory_iterator it(folder.empty() ? "." : folder, code), end;
       !code && it != end; it.increment(code)) {
    const std::filesystem::path file = it->path().filename();
    const bool fits = fnmatch(pattern.c_str(), file.c_str(), FNM_PERIOD) == 0;
    if (fits && !folder_exists(it->path().string())) found.push_back((folder / file).string());
  }
  SIMILE_CHECK(!code, ErrorKind::kInput, "{}: cannot list the folder {}: {}", path, folder.string(),
               code.message());
  SIMILE_CHECK(!found.empty(), ErrorKind::kInput,
               "{}: no file of the folder has a name that fits '{}'", path, name);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

int64_t count_rows(const std::string& path) {
  if (!file_exists(path) || without_compression(path) != path) return 0;
  const MappedFile file(path);
  const std::string_view bytes = file.bytes();
  int64_t rows = !bytes.empty() && bytes.back() != '\n' ? 1 : 0;
  const bool has_quotes = ends_with(path, ".csv");
  bool is_quoted = false;
  for (const char c : bytes) {
    if (c == '"') is_quoted = has_quotes && !is_quoted;
    rows += c == '\n' && !is_quoted ? 1 : 0;
  }
  return rows;
}

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

LineReader::LineReader(const std::string& path, const std::string& encoding)
    : source_(open_bytes(path)), name_(path) {
  if (!encoding.empty()) convert(encoding, "");
}
LineReader::LineReader(std::istream& stream, const std::string& name, const std::string& encoding)
    : source_(std::make_unique<StreamSource>(stream, name)), name_(name) {
  if (!encoding.empty()) convert(encoding, "");
}
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

std::string LineReader::where() const { return fmt::format("{}:{}", name_, line_number_); }

void LineReader::convert(const std::string& encoding, const std::string& read) {
  is_converted_ = true;
  source_ = std::make_unique<ConvertedSource>(std::move(source_), encoding, read, name_);
}

bool LineReader::fill() {
  const bool is_start = line_number_ == 0 && buffer_.empty() && !is_converted_;
  const size_t chunk_bytes = is_start ? 4 : 1 << 16;  // a byte order mark has up to four
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t size = buffer_.size();
  SIMILE_CHECK(static_cast<int64_t>(size) <= kMaximumLineBytes, ErrorKind::kInput,
               "{}:{}: the line is longer than {} bytes; is this a text file?", name_,
               line_number_ + 1, kMaximumLineBytes);
  buffer_.resize(size + chunk_bytes);
  buffer_.resize(size + source_->read(&buffer_[size], chunk_bytes));
  UErrorCode code = U_ZERO_ERROR;
  const char* marked = ucnv_detectUnicodeSignature(
      buffer_.data(), is_start ? static_cast<int32_t>(buffer_.size()) : 0, nullptr, &code);
  if (marked != nullptr && std::string_view(marked) != "UTF-8") {
    convert(marked, std::exchange(buffer_, ""));
    return fill();
  }
  return buffer_.size() > size;
}

void check_no_pipe(const std::string& path) {
  SIMILE_CHECK(!stream_exists(path) || folder_exists(path), ErrorKind::kInput,
               "'{}' is a pipe, which can be read only once; write it to a file", path);
}

std::string encoding_beside(const std::string& path, const std::string& encoding) {
  if (encoding.empty() || !file_exists(path)) return encoding;
  LineReader lines(path);
  try {
    for (std::string line; lines.next(line);) {
      if (lines.replaced_bytes() > 0) return encoding;
    }
  } catch (const Error&) {  // such as UTF-16 without a byte order mark
    return encoding;
  }
  return "";
}

bool LineReader::next(std::string& line) {
  // The first bytes tell the kind of the file, however short its first line is.
  while (line_number_ == 0 && !is_converted_ && buffer_.size() < kKindBytes && fill()) {
  }
  size_t searched = begin_;
  size_t end = std::string::npos;
  while ((end = buffer_.find('\n', searched)) == std::string::npos) {
    searched = buffer_.size() - begin_;  // fill() moves what is left to the front
    if (!fill()) break;
  }
  const bool last = end == std::string::npos;
  if (last && begin_ == buffer_.size()) return false;
  if (line_number_ == 0 && !is_converted_) {
    const std::string_view start = std::string_view(buffer_).substr(0, kKindBytes);
    const std::string foreign = describe_foreign(start);
    SIMILE_CHECK(foreign.empty(), ErrorKind::kInput, "cannot read {}: it {}", name_, foreign);
    check_first_bytes(start, name_);
  }
  line.assign(buffer_, begin_, last ? std::string::npos : end - begin_);
  begin_ = last ? buffer_.size() : end + 1;
  if (line_number_ == 0) check_first_line(line, last, name_);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (++line_number_ == 1 && line.compare(0, 3, "\xEF\xBB\xBF") == 0) line.erase(0, 3);
  const int64_t replaced = repair_utf8(line);
  replaced_bytes_ += replaced;
  if (replaced > 0 && first_replaced_ == 0) first_replaced_ = line_number_;
  return true;
}

std::vector<std::string> expand_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (path.find('*') == std::string::npos || file_exists(path)) {
      files.push_back(path);
      continue;
    }
    for (std::string& file : list_fitting(path)) files.push_back(std::move(file));
  }
  std::set<std::string> seen;
  for (const std::string& file : files) {
    SIMILE_CHECK(seen.insert(std::filesystem::path(file).lexically_normal().string()).second,
                 ErrorKind::kRecipe, "{}: the file is named twice; its rows would count double",
                 file);
  }
  return files;
}

std::string name_paths(const std::vector<std::string>& paths) {
  if (paths.empty()) return "";
  if (paths.size() == 1) return paths[0];
  return fmt::format("{} and {} more file{}", paths[0], paths.size() - 1,
                     paths.size() == 2 ? "" : "s");
}

}  // namespace simile
