// SPDX-License-Identifier: Apache-2.0
#include "simile/data/download.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <httplib.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

constexpr double kLongestPause = 30;
constexpr int64_t kMostAttempts = 1000;  // in all: a server may break off at every byte
constexpr int kPartial = 206;
constexpr int kRangeNotSatisfiable = 416;

struct Address {
  std::string server;  // "https://host:port"
  std::string target;  // "/path?query"
};

Address split_url(const std::string& url) {
  const size_t scheme = url.find("://");
  const std::string name = url.substr(0, scheme);
  SIMILE_CHECK(
      scheme != std::string::npos && (name == "http" || name == "https") && url.size() > scheme + 3,
      ErrorKind::kUsage,
      fmt::format("'{}' is no address to download from; expected http:// or https://", url));
  const size_t slash = url.find('/', scheme + 3);
  if (slash == std::string::npos) return {url, "/"};
  return {url.substr(0, slash), url.substr(slash)};
}

std::string algorithm_of(const std::string& checksum) {
  const std::string name = checksum.substr(0, checksum.find(':'));
  const size_t digits = name == "sha256" ? 64 : name == "md5" ? 32 : 0;
  const std::string hex = checksum.substr(std::min(checksum.size(), name.size() + 1));
  SIMILE_CHECK(
      digits > 0 && hex.size() == digits &&
          hex.find_first_not_of("0123456789abcdef") == std::string::npos,
      ErrorKind::kUsage,
      fmt::format("'{}' is no checksum; expected sha256: and 64 digits 0-9a-f, or md5: and "
                  "32 of them",
                  checksum));
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
    throw Error(ErrorKind::kIo,
                fmt::format("cannot {} '{}': {}{}", what, path_, std::strerror(code),
                            code == ENOSPC ? "; make room and repeat the command: it goes on from "
                                             "what it has"
                                           : ""));
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
        part_path_(download.path + ".part") {
    if (!download.checksum.empty()) algorithm_ = algorithm_of(download.checksum);
    for (const std::string& checksum : download.accepted) algorithm_of(checksum);
    split_url(download.url);
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
    return checksum == download_.checksum ||
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
            : fmt::format("'{}' is there with the checksum {}, expected {}; remove it, or choose "
                          "another folder",
                          download_.path, checksum, download_.checksum));
    events_.info(fmt::format("{}: is there already", download_.path));
    return checksum;
  }

  std::string keep(const std::string& checksum) {
    PartFile(part_path_).finish();
    std::error_code code;
    fs::rename(part_path_, download_.path, code);
    SIMILE_CHECK(!code, ErrorKind::kIo,
                 fmt::format("cannot rename '{}': {}", part_path_, code.message()));
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
      SIMILE_CHECK(attempt.may_retry && idle < options_.attempts && number < kMostAttempts,
                   ErrorKind::kFailed,
                   fmt::format("{}: {}{}", download_.url, attempt.problem,
                               attempt.may_retry
                                   ? fmt::format(" ({} attempts); repeat the command to go on from "
                                                 "the {} bytes that are there",
                                                 number, part.size())
                                   : ""));
      events_.warning(fmt::format("{}: {}; trying again from byte {}", download_.url,
                                  attempt.problem, part.size()));
      pause(idle);
    }
    part.finish();
  }

  Attempt request(PartFile& part) {
    const Address address = split_url(download_.url);
    httplib::Client client(address.server);
    const auto seconds = static_cast<time_t>(std::ceil(options_.timeout_seconds));
    client.set_connection_timeout(seconds, 0);
    client.set_read_timeout(seconds, 0);
    client.set_follow_location(true);
    httplib::Headers headers = {{"Accept-Encoding", "identity"}, {"User-Agent", "simile"}};
    if (part.size() > 0) headers.emplace("Range", fmt::format("bytes={}-", part.size()));

    int status = 0;
    int64_t total = 0;
    std::exception_ptr stopped;
    const auto guard = [&](const auto& work) {
      try {
        return work();
      } catch (...) {
        stopped = std::current_exception();  // it must not pass through the client
        return false;
      }
    };
    const auto result = client.Get(
        address.target, headers,
        [&](const httplib::Response& response) {
          return guard([&] {
            status = response.status;
            if (status != 200 && status != kPartial) return false;
            if (!continues(response, part.size())) part.restart();
            const int64_t length = declared_length(response);
            total = length == 0 ? 0 : part.size() + length;
            return true;
          });
        },
        [&](const char* bytes, size_t count) {
          return guard([&] {
            part.write(bytes, count);
            events_.progress({"download", part.size(), total, "bytes", {}});
            return true;
          });
        });
    if (stopped) std::rethrow_exception(stopped);
    if (result) {
      if (total == 0) events_.progress({"download", part.size(), part.size(), "bytes", {}});
      return {true, false, ""};
    }
    return explain(status, result.error(), part);
  }

  // Does the body begin where the part ends?
  static bool continues(const httplib::Response& response, int64_t size) {
    if (response.status != kPartial) return size == 0;
    return response.get_header_value("Content-Range").rfind(fmt::format("bytes {}-", size), 0) == 0;
  }

  static int64_t declared_length(const httplib::Response& response) {
    const std::string length = response.get_header_value("Content-Length");
    return length.empty() ? 0 : std::atoll(length.c_str());
  }

  static Attempt explain(int status, httplib::Error error, PartFile& part) {
    if (status == kRangeNotSatisfiable) {
      // All of it was there, as the checksum will tell; else the part belongs to another file.
      return {true, false, ""};
    }
    if (status == 200 || status == kPartial) {
      return {false, true, fmt::format("the connection broke off after {} bytes", part.size())};
    }
    if (status != 0) {
      const bool is_busy = status >= 500 || status == 408 || status == 429;
      return {false, is_busy,
              fmt::format("the server answers {}{}", status,
                          is_busy ? "" : ": the file is not there, or not for everyone")};
    }
    const bool is_certificate =
        error == httplib::Error::SSLServerVerification || error == httplib::Error::SSLLoadingCerts;
    if (is_certificate) {
      return {false, false,
              "the server's certificate cannot be verified (package ca-certificates)"};
    }
    if (error == httplib::Error::ExceedRedirectCount) {
      return {false, false, "the server sends from one address to the next without end"};
    }
    return {false, true,
            fmt::format("the server cannot be reached ({}); is there a network?",
                        httplib::to_string(error))};
  }

  void pause(int64_t idle) {
    const double seconds =
        idle == 0 ? 0 : std::min(kLongestPause, options_.pause_seconds * std::pow(2, idle - 1));
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < end) {
      events_.progress({"wait", 0, 1, "bytes", {}});  // a signal ends it
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  [[noreturn]] void fail_checksum(const std::string& checksum, int64_t size) const {
    throw Error(
        ErrorKind::kFailed,
        fmt::format("{}: the file received has {} bytes and the checksum {}, expected {}; it "
                    "was removed. The publisher may have changed it: compare, then add "
                    "--accept-checksum {}",
                    download_.url, size, checksum, download_.checksum, checksum));
  }

  [[noreturn]] void ask_for_consent(const std::string& checksum) const {
    throw Error(ErrorKind::kFailed,
                fmt::format("{}: its checksum is not known here; the file received has {}. If that "
                            "is what its publisher says, or you trust the connection, repeat the "
                            "command with --accept-checksum {}",
                            download_.url, checksum, checksum));
  }

  const Download& download_;
  const DownloadOptions& options_;
  EventSink& events_;
  std::string part_path_, algorithm_ = "sha256";
};

}  // namespace

std::string download(const Download& download, const DownloadOptions& options, EventSink& events) {
  return Downloader(download, options, events).run();
}

std::string file_checksum(const std::string& path, const std::string& algorithm) {
  std::ifstream file(path, std::ios::binary);
  SIMILE_CHECK(file.good(), ErrorKind::kInput, fmt::format("cannot read '{}'", path));
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   EVP_MD_CTX_free);
  const EVP_MD* digest = EVP_get_digestbyname(algorithm.c_str());
  bool good = digest != nullptr && EVP_DigestInit_ex(context.get(), digest, nullptr) == 1;
  std::vector<char> buffer(1 << 16);
  while (good && file.good()) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    good = EVP_DigestUpdate(context.get(), buffer.data(), static_cast<size_t>(file.gcount())) == 1;
  }
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  good = good && EVP_DigestFinal_ex(context.get(), bytes, &size) == 1;
  SIMILE_CHECK(good && !file.bad(), ErrorKind::kInput,
               fmt::format("cannot compute the {} of '{}'", algorithm, path));
  std::string checksum = algorithm + ":";
  for (unsigned i = 0; i < size; ++i) checksum += fmt::format("{:02x}", bytes[i]);
  return checksum;
}

}  // namespace simile
