// SPDX-License-Identifier: Apache-2.0
#include "simile/data/download.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/data/web.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

constexpr double kLongestPause = 30;
constexpr int64_t kMostAttempts = 1000;  // in all: a server may break off at every byte
constexpr int kPartial = 206;
constexpr int kRangeNotSatisfiable = 416;

std::string algorithm_of(const std::string& checksum) {
  const std::string name = checksum.substr(0, checksum.find(':'));
  const size_t digits = name == "sha256" ? 64 : name == "md5" ? 32 : name == "git" ? 40 : 0;
  const std::string hex = checksum.substr(std::min(checksum.size(), name.size() + 1));
  SIMILE_CHECK(digits > 0 && hex.size() == digits &&
                   hex.find_first_not_of("0123456789abcdef") == std::string::npos,
               ErrorKind::kUsage,
               "'{}' is no checksum; expected sha256: and 64 digits 0-9a-f, or md5: and 32 of them",
               checksum);
  return name;
}

// A file that is only appended to; flushed to disk by finish().
class PartFile {
 public:
  explicit PartFile(const std::string& path) : path_(path) { open(O_APPEND); }
  ~PartFile() { close(); }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  int64_t size() const { return size_; }

  void restart() {
    close();
    open(O_TRUNC);
  }

  void write(const char* bytes, size_t count) {
    while (count > 0) {
      const ssize_t written = ::write(file_, bytes, count);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("write");
      bytes += written;
      count -= static_cast<size_t>(written);
      size_ += written;
    }
  }

  void finish() {
    if (fsync(file_) != 0 && errno != EINVAL) fail("write");
  }

 private:
  void open(int flags) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    if (file_ < 0) fail("open");
    const off_t end = lseek(file_, 0, SEEK_END);
    size_ = end < 0 ? 0 : end;
  }

  void close() {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }

  [[noreturn]] void fail(const char* what) const {
    const int code = errno;
    throw_error(
        ErrorKind::kIo, "cannot {} '{}': {}{}", what, path_, std::strerror(code),
        code == ENOSPC ? "; make room and repeat the command: it goes on from what it has" : "");
  }

  std::string path_;
  int file_ = -1;
  int64_t size_ = 0;
};

// Outcome of one request.
struct Attempt {
  bool is_complete = false;
  bool may_retry = true;
  std::string problem;
};

class Downloader {
 public:
  Downloader(const Download& download, const DownloadOptions& options, EventSink& events)
      : download_(download),
        options_(options),
        events_(events),
        part_path_(download.part.empty() ? download.path + ".part" : download.part) {
    if (!download.checksum.empty()) algorithm_ = algorithm_of(download.checksum);
    for (const std::string& checksum : download.accepted) algorithm_of(checksum);
    check_url(download.url);
  }

  std::string run() {
    if (file_exists(download_.path)) return check_old_file();
    make_folders(fs::absolute(download_.path).parent_path().string());
    bool resumed = file_exists(part_path_) && fs::file_size(part_path_) > 0;
    if (resumed) {
      const std::string checksum = file_checksum(part_path_, algorithm_);
      if (is_right(checksum)) return keep(checksum);
    }
    for (;;) {
      fetch();
      const std::string checksum = file_checksum(part_path_, algorithm_);
      if (is_right(checksum)) return keep(checksum);
      if (download_.checksum.empty()) ask_for_consent(checksum);
      const auto size = fs::file_size(part_path_);
      fs::remove(part_path_);
      if (!resumed) fail_checksum(checksum, static_cast<int64_t>(size));
      events_.warning(fmt::format("{}: the part that was there does not fit the file; fetched anew",
                                  download_.url));
      resumed = false;
    }
  }

 private:
  bool is_right(const std::string& checksum) const {
    return checksum == download_.checksum || download_.takes_any ||
           std::count(download_.accepted.begin(), download_.accepted.end(), checksum) > 0;
  }

  std::string check_old_file() {
    const std::string checksum = file_checksum(download_.path, algorithm_);
    SIMILE_CHECK(
        is_right(checksum), ErrorKind::kInput,
        download_.checksum.empty()
            ? fmt::format("'{0}' is there with the checksum {1}, and which is right is not known "
                          "here; remove it, or if you trust it add --accept-checksum {1}",
                          download_.path, checksum)
            : fmt::format("'{}' is there with the checksum {}, expected {}; remove it",
                          download_.path, checksum, download_.checksum));
    events_.info(fmt::format("{}: is there already", download_.path));
    return checksum;
  }

  std::string keep(const std::string& checksum) {
    PartFile(part_path_).finish();
    std::error_code code;
    fs::rename(part_path_, download_.path, code);
    SIMILE_CHECK(!code, ErrorKind::kIo, "cannot rename '{}': {}", part_path_, code.message());
    return checksum;
  }

  // Until all is there.
  void fetch() {
    PartFile part(part_path_);
    int64_t idle = 0;  // attempts without a byte
    for (int64_t number = 1;; ++number) {
      const int64_t before = part.size();
      const Attempt attempt = request(part);
      if (attempt.is_complete) break;
      idle = part.size() > before ? 0 : idle + 1;
      SIMILE_CHECK(
          attempt.may_retry && idle < options_.attempts && number < kMostAttempts,
          ErrorKind::kFailed, "{}: {}{}", download_.url, attempt.problem,
          attempt.may_retry
              ? fmt::format(
                    " ({} attempts); repeat the command to go on from the {} bytes that are there",
                    number, part.size())
              : "");
      events_.warning(fmt::format("{}: {}; trying again from byte {}", download_.url,
                                  attempt.problem, part.size()));
      wait_for_attempt(idle, options_, events_);
    }
    part.finish();
  }

  Attempt request(PartFile& part) {
    WebRequest request{download_.url, download_.headers, true, true, options_.timeout_seconds};
    request.headers.push_back("Accept-Encoding: identity");
    if (part.size() > 0) request.headers.push_back(fmt::format("Range: bytes={}-", part.size()));
    int64_t total = 0;
    const auto report = [&](int64_t of) {
      events_.progress({"download", part.size(), of, "bytes", {}});
    };
    WebTaker taker;
    taker.start = [&](const WebAnswer& answer) {
      if (answer.status != 200 && answer.status != kPartial) return false;
      if (!continues(answer, part.size())) part.restart();
      const int64_t length = std::atoll(answer.header("content-length").c_str());
      total = length == 0 ? 0 : part.size() + length;
      return true;
    };
    taker.take = [&](const char* bytes, size_t count) {
      part.write(bytes, count);
      report(total);
    };
    taker.wait = [&] { report(total); };
    const WebAnswer answer = send(request, taker);
    const int status = answer.status;
    // Either the file is complete, as the checksum will show, or the part belongs to another file.
    if (status == kRangeNotSatisfiable) return {true, false, ""};
    if (status == 200 || status == kPartial) {
      if (answer.problem.empty()) {
        if (total == 0) report(part.size());
        return {true, false, ""};
      }
      return {false, answer.may_retry,
              fmt::format("{} after {} bytes", answer.problem, part.size())};
    }
    if (!answer.problem.empty()) return {false, answer.may_retry, answer.problem};
    return {
        false, false,
        fmt::format("the server answers {}: the file is not there, or not for everyone", status)};
  }

  // Does the body begin where the part ends?
  static bool continues(const WebAnswer& answer, int64_t size) {
    if (answer.status != kPartial) return size == 0;
    return starts_with(answer.header("content-range"), fmt::format("bytes {}-", size));
  }

  [[noreturn]] void fail_checksum(const std::string& checksum, int64_t size) const {
    throw_error(
        ErrorKind::kFailed,
        "{}: the file received has {} bytes and the checksum {}, expected {}; it was removed. The "
        "publisher may have changed it: compare, then add --accept-checksum {}",
        download_.url, size, checksum, download_.checksum, checksum);
  }

  [[noreturn]] void ask_for_consent(const std::string& checksum) const {
    throw_error(
        ErrorKind::kFailed,
        "{}: its checksum is not known here; the file received has {}. If that is what its "
        "publisher says, or you trust the connection, repeat the command with --accept-checksum {}",
        download_.url, checksum, checksum);
  }

  const Download& download_;
  const DownloadOptions& options_;
  EventSink& events_;
  std::string part_path_, algorithm_ = "sha256";
};

}  // namespace

void wait_for_attempt(int64_t idle, const DownloadOptions& options, EventSink& events) {
  const double seconds =
      idle == 0 ? 0 : std::min(kLongestPause, options.pause_seconds * std::pow(2, idle - 1));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    events.progress({"wait", 0, 1, "bytes", {}});  // a signal ends it
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

std::string download(const Download& download, const DownloadOptions& options, EventSink& events) {
  return Downloader(download, options, events).run();
}

std::string file_checksum(const std::string& path, const std::string& algorithm) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  SIMILE_CHECK(file.good(), ErrorKind::kInput, "cannot read '{}'", path);
  const bool is_git = algorithm == "git";
  const std::string start =
      is_git ? fmt::format("blob {}", static_cast<int64_t>(file.tellg())) : "";
  file.seekg(0);
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   EVP_MD_CTX_free);
  const EVP_MD* digest = EVP_get_digestbyname(is_git ? "sha1" : algorithm.c_str());
  bool good = digest != nullptr && EVP_DigestInit_ex(context.get(), digest, nullptr) == 1;
  if (good && is_git) {  // with the zero byte at its end
    good = EVP_DigestUpdate(context.get(), start.c_str(), start.size() + 1) == 1;
  }
  std::vector<char> buffer(1 << 16);
  while (good && file.good()) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    good = EVP_DigestUpdate(context.get(), buffer.data(), static_cast<size_t>(file.gcount())) == 1;
  }
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  good = good && EVP_DigestFinal_ex(context.get(), bytes, &size) == 1;
  SIMILE_CHECK(good && !file.bad(), ErrorKind::kInput, "cannot compute the {} of '{}'", algorithm,
               path);
  std::string checksum = algorithm + ":";
  for (unsigned i = 0; i < size; ++i) checksum += fmt::format("{:02x}", bytes[i]);
  return checksum;
}

}  // namespace simile
