// SPDX-License-Identifier: Apache-2.0
#include "simile/data/web.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <exception>
#include <memory>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

// A request under way. libcurl calls the static functions, through which no exception may pass.
class Transfer {
 public:
  Transfer(const WebRequest& request, const WebTaker& taker)
      : taker_(taker), curl_(curl_easy_init(), curl_easy_cleanup), headers_(nullptr, free_list) {
    SIMILE_CHECK(curl_ != nullptr, ErrorKind::kFailed, "libcurl cannot be started");
    for (const std::string& header : request.headers) {
      headers_.reset(curl_slist_append(headers_.release(), header.c_str()));
    }
    const auto milliseconds = static_cast<long>(std::ceil(request.timeout_seconds * 1000));
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_USERAGENT, "simile");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_NOBODY, request.wants_body ? 0L : 1L);
    set(CURLOPT_FOLLOWLOCATION, request.follows ? 1L : 0L);
    set(CURLOPT_MAXREDIRS, 20L);
    set(CURLOPT_HTTPHEADER, headers_.get());
    set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);  // bytes a second
    set(CURLOPT_LOW_SPEED_TIME, std::max(1L, milliseconds / 1000));
    if (const char* file = std::getenv("SSL_CERT_FILE")) set(CURLOPT_CAINFO, file);
    set(CURLOPT_HEADERFUNCTION, take_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, take_bytes);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_XFERINFOFUNCTION, take_time);
    set(CURLOPT_XFERINFODATA, this);
    set(CURLOPT_NOPROGRESS, 0L);
  }

  WebAnswer run() {
    const CURLcode code = curl_easy_perform(curl_.get());
    if (code == CURLE_OK) guard([&] { return start(); });  // a body without bytes
    if (stopped_) std::rethrow_exception(stopped_);
    if (code != CURLE_OK && !is_refused_) explain(code);
    const int status = answer_.status;
    if (status >= 500 || status == 408 || status == 429) {
      answer_.problem = fmt::format("the server answers {}", status);
    }
    return answer_;
  }

 private:
  static void free_list(curl_slist* list) { curl_slist_free_all(list); }

  template <typename Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(curl_.get(), option, value);
  }

  bool guard(const std::function<bool()>& work) {
    try {
      return work();
    } catch (...) {
      stopped_ = std::current_exception();
      return false;
    }
  }

  bool start() {
    if (is_started_) return true;
    is_started_ = true;
    is_refused_ = taker_.start && !taker_.start(answer_);
    return !is_refused_;
  }

  static size_t take_header(char* bytes, size_t, size_t count, void* self) {
    WebAnswer& answer = static_cast<Transfer*>(self)->answer_;
    std::string_view line(bytes, count);
    while (ends_with(line, "\n") || ends_with(line, "\r")) line.remove_suffix(1);
    const size_t colon = line.find(':');
    if (starts_with(line, "HTTP/")) {  // of a redirect, too
      answer.headers.clear();
      const size_t space = line.find(' ');
      answer.status = space == line.npos ? 0 : std::atoi(std::string(line.substr(space)).c_str());
    } else if (colon != line.npos) {
      std::string name(line.substr(0, colon));
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      answer.headers[name] = trim(line.substr(colon + 1));
    }
    return count;
  }

  static size_t take_bytes(char* bytes, size_t, size_t count, void* self) {
    Transfer& transfer = *static_cast<Transfer*>(self);
    const bool goes_on = transfer.guard([&] {
      if (!transfer.start()) return false;
      if (transfer.taker_.take) transfer.taker_.take(bytes, count);
      return true;
    });
    return goes_on ? count : 0;
  }

  static int take_time(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    Transfer& transfer = *static_cast<Transfer*>(self);
    return transfer.guard([&] {
      if (transfer.taker_.wait) transfer.taker_.wait();
      return true;
    })
               ? 0
               : 1;
  }

  void explain(CURLcode code) {
    switch (code) {
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_CACERT_BADFILE:
        answer_.may_retry = false;
        answer_.problem =
            "the server's certificate cannot be verified (install the package ca-certificates, or "
            "name a file of certificates in SSL_CERT_FILE)";
        return;
      case CURLE_TOO_MANY_REDIRECTS:
        answer_.may_retry = false;
        answer_.problem = "the server sends from one address to the next without end";
        return;
      default:
        answer_.problem =
            is_started_ ? "the connection broke off"
                        : fmt::format("the server cannot be reached ({}); is there a network?",
                                      curl_easy_strerror(code));
    }
  }

  const WebTaker& taker_;
  std::unique_ptr<CURL, void (*)(CURL*)> curl_;
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers_;
  WebAnswer answer_;
  bool is_started_ = false, is_refused_ = false;
  std::exception_ptr stopped_;
};

}  // namespace

std::string WebAnswer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

void check_url(const std::string& url) {
  const size_t begin = starts_with(url, "http://") ? 7 : starts_with(url, "https://") ? 8 : 0;
  SIMILE_CHECK(begin > 0 && url.size() > begin, ErrorKind::kUsage,
               "'{}' is no address to download from; expected http:// or https://", url);
}

WebAnswer send(const WebRequest& request, const WebTaker& taker) {
  check_url(request.url);
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  SIMILE_CHECK(ready == CURLE_OK, ErrorKind::kFailed, "libcurl cannot be started");
  return Transfer(request, taker).run();
}

}  // namespace simile
