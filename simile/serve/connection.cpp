// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/detail/connection.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <malloc.h>
#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/status.hpp>
#include <utility>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/serve/request_error.h"

namespace simile::detail {
namespace {

using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kUsualRead = 4096, kBodyRead = 16384;
constexpr auto kGraceOfRequest = seconds(2);  // from the stop on
constexpr auto kGraceOfFresh = seconds(1);
constexpr auto kLingerTime = seconds(2);
constexpr auto kTidyAfter = seconds(1);

// TLS 1.2 with a key exchange that a stolen key of the server does not open; TLS 1.3 has no other.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

std::string http_date() {
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(std::time(nullptr)));
}

}  // namespace

std::shared_ptr<TlsContext> load_tls(const std::string& certificates, const std::string& key) {
  auto tls = std::make_shared<TlsContext>(TlsContext::tls_server);
  SSL_CTX* const raw = tls->native_handle();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(raw, kCiphers);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  const auto is_encrypted = std::make_shared<bool>(false);
  tls->set_password_callback([is_encrypted](size_t, TlsContext::password_purpose) {
    *is_encrypted = true;
    return std::string();
  });
  ERR_clear_error();
  error_code error;
  tls->use_certificate_chain(asio::buffer(read_file(certificates)), error);
  SIMILE_CHECK(!error, ErrorKind::kInput,
               "{}: no PEM file with a certificate that can be used ({})", certificates,
               error.message());
  tls->use_private_key(asio::buffer(read_file(key)), TlsContext::pem, error);
  SIMILE_CHECK(!*is_encrypted, ErrorKind::kInput,
               "{}: the private key is encrypted; give one without a pass phrase, which "
               "openssl pkey -in FILE -out NEW writes",
               key);
  SIMILE_CHECK(!error, ErrorKind::kInput,
               "{}: no PEM file with the private key of the certificate ({})", key,
               error.message());
  return tls;
}

bool Shared::run(std::function<void()> work, std::function<void()> done) {
  if (busy_ == static_cast<size_t>(options.requests)) return false;
  if (busy_ == threads_.size()) {
    try {
      threads_.emplace_back([this] { work_.run(); });
    } catch (const std::system_error&) {  // the system has no more threads
      if (threads_.empty()) return false;
    }
  }
  ++busy_;
  asio::post(work_, [this, work = std::move(work), done = std::move(done),
                     guard = asio::make_work_guard(connections)]() mutable {
    work();
    // Hand over both: a connection that they hold must not end on this thread.
    asio::post(connections, [this, work = std::move(work), done = std::move(done)] {
      --busy_;
      touch();
      done();
    });
  });
  return true;
}

void Shared::tidy(ServeClock::time_point now) {
  if (!is_untidy_ || busy_ > 0 || now - last_touch_ < kTidyAfter) return;
  run([] { malloc_trim(0); }, [this] { is_untidy_ = false; });
}

void Shared::finish() {
  keep_.reset();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

Connection::Connection(Socket socket, std::shared_ptr<TlsContext> tls, Shared& shared)
    : socket_(std::move(socket)), context_(std::move(tls)), shared_(shared) {
  error_code error;
  const auto peer = socket_.remote_endpoint(error);
  if (!error) address_ = peer.address().to_string();
  socket_.set_option(asio::ip::tcp::no_delay(true), error);
  if (context_ != nullptr) tls_.emplace(socket_, *context_);
}

int Connection::idleness() const {
  if (!is_open()) return 3;
  if (state_ == State::kIdle || state_ == State::kClosing) return 2;
  return state_ == State::kHandshake || state_ == State::kHeaders ? 1 : 0;
}

void Connection::start() {
  if (!tls_) return begin_request();
  enter(State::kHandshake, seconds(shared_.options.handshake_seconds));
  tls_->async_handshake(asio::ssl::stream_base::server,
                        [self = shared_from_this()](error_code error) {
                          if (error) return self->close();
                          self->begin_request();
                        });
}

void Connection::begin_request() {
  reader_.emplace(shared_.options);
  hold(0);
  if (!reading_ && input_.size() == 0) input_ = {};  // nothing for those that are idle
  const auto limit = seconds(shared_.options.keep_alive_seconds);
  enter(State::kIdle, !shared_.stopping ? limit : fresh_ ? kGraceOfFresh : seconds(0));
  if (has_ended_) return close();
  if (input_.size() > 0) return parse();
  read();
}

void Connection::stop() {
  const bool idle = state_ == State::kIdle || state_ == State::kHandshake;
  if (idle && !fresh_) return close();
  if (state_ == State::kWriting) return;
  const ServeClock::time_point now = ServeClock::now();
  deadline_ = std::min(deadline_, now + (idle ? milliseconds(kGraceOfFresh) : kGraceOfRequest));
}

void Connection::check_time(ServeClock::time_point now) {
  if (state_ == State::kAnswering || now < deadline_) return;
  if (state_ != State::kHeaders && state_ != State::kBody) return close();
  refuse({Refusal::kTooSlow, "the request did not arrive within its time"});
}

void Connection::read() {
  if (reading_ || has_ended_) return;
  reading_ = true;
  on_stream([&](auto& stream) {
    const size_t size = state_ == State::kBody ? kBodyRead : kUsualRead;
    stream.async_read_some(input_.prepare(size), [self = shared_from_this()](auto error, size_t n) {
      self->reading_ = false;
      self->received(error, n);
    });
  });
}

void Connection::received(error_code error, size_t count) {
  if (state_ == State::kClosing || !is_open()) return;
  if (error) {
    const bool in_order = error == asio::error::eof || error == asio::ssl::error::stream_truncated;
    return ended(in_order);
  }
  input_.commit(count);
  if (state_ != State::kAnswering && state_ != State::kWriting) parse();
}

// Nothing more comes: the client has left, or waits for the last answer.
void Connection::ended(bool in_order) {
  has_ended_ = true;
  if (has_left_ != nullptr) *has_left_ = true;
  if (state_ == State::kAnswering || state_ == State::kWriting) return;
  if (!in_order || state_ == State::kIdle) return close();
  refuse({Refusal::kMalformed, reader_->incomplete()});
}

void Connection::parse() {
  try {
    if (state_ == State::kIdle) {
      const auto limit =
          seconds(std::min(shared_.options.header_seconds, shared_.options.request_seconds));
      enter(State::kHeaders, shared_.stopping ? std::min(limit, kGraceOfRequest) : limit);
      fresh_ = false;
    }
    const boost::asio::const_buffer bytes = input_.data();
    input_.consume(reader_->take({static_cast<const char*>(bytes.data()), bytes.size()}));
    if (state_ == State::kBody) {
      const size_t held = reader_->body_bytes();
      SIMILE_REQUEST_CHECK(shared_.has_room(held - held_), Refusal::kOverloaded,
                           "too many bodies are on their way; try again later", "", 1);
      hold(held);
    }
    if (state_ == State::kHeaders && reader_->has_head()) return look_at_head();
    if (reader_->has_head() && reader_->is_whole()) return answer();
    read();
  } catch (const RequestError& error) {
    refuse(error);
  }
}

void Connection::look_at_head() {
  Call& call = reader_->call;
  call.remote = address_;
  Admission admission = shared_.service.admit(call);
  closes_ = closes_ || !reader_->may_continue() || shared_.stopping;
  if (admission.reply) {
    closes_ |= reader_->announces_body();
    return write(std::move(*admission.reply));
  }
  if (!reader_->announces_body()) return answer();
  if (!admission.takes_body) {
    closes_ = true;
    return answer();
  }
  const auto limit = seconds(shared_.options.request_seconds);
  enter(State::kBody, shared_.stopping ? std::min(limit, kGraceOfRequest) : limit);
  reader_->take_body();
  if (input_.size() > 0) return parse();
  if (!reader_->expects_continue()) return read();
  static const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  state_ = State::kWriting;
  on_stream([&](auto& stream) {
    asio::async_write(stream, asio::buffer(go_on), [self = shared_from_this()](auto error, size_t) {
      if (error) return self->close();
      self->state_ = State::kBody;
      self->read();
    });
  });
}

void Connection::answer() {
  Call& call = reader_->call;
  call.deadline = ServeClock::now() + seconds(shared_.options.request_seconds);
  // A client without further requests may close its sending side and still wait for the answer.
  has_left_ = nullptr;
  if (!closes_ && !has_ended_) {
    has_left_ = std::make_shared<std::atomic<bool>>(false);
    call.has_left = [left = has_left_] { return left->load(); };
  }
  enter(State::kAnswering, seconds(0));
  if (shared_.service.is_instant(call)) return write(shared_.service.answer(call));
  const auto reply = std::make_shared<Reply>();
  const bool begun =
      shared_.run([self = shared_from_this(),
                   reply] { *reply = self->shared_.service.answer(self->reader_->call); },
                  [self = shared_from_this(), reply] { self->write(std::move(*reply)); });
  if (!begun) {
    return refuse(
        {Refusal::kOverloaded,
         fmt::format("{} requests are being answered; try again later", shared_.options.requests),
         "", 1});
  }
  if (has_left_ != nullptr && input_.size() == 0) read();
}

void Connection::refuse(const RequestError& error) {
  closes_ = closes_ || state_ != State::kAnswering;
  reader_->call.remote = address_;
  write(shared_.service.refuse(reader_->call, error));
}

std::string Connection::head_of(const Reply& reply) const {
  const auto status = boost::beast::http::int_to_status(static_cast<unsigned>(reply.status));
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", reply.status,
                  std::string(boost::beast::http::obsolete_reason(status)), http_date());
  for (const auto& [name, value] : reply.headers) head += fmt::format("{}: {}\r\n", name, value);
  if (!reply.body.empty()) head += fmt::format("Content-Type: {}\r\n", reply.content_type);
  if (reply.status != 304 && reply.status != 204) {
    head += fmt::format("Content-Length: {}\r\n", reply.body.size());
  }
  if (closes_) head += "Connection: close\r\n";
  if (!closes_ && reader_->is_http10()) head += "Connection: keep-alive\r\n";
  return head + "\r\n";
}

void Connection::write(Reply reply) {
  if (!is_open()) return;
  closes_ = closes_ || shared_.stopping || has_ended_;
  enter(State::kWriting, seconds(shared_.options.request_seconds));
  head_ = head_of(reply);
  body_ = reader_->call.method == "HEAD" ? std::string() : std::move(reply.body);
  reader_->call.body = std::string();
  hold(body_.size());
  const std::array<asio::const_buffer, 2> bytes = {asio::buffer(head_), asio::buffer(body_)};
  on_stream([&](auto& stream) {
    asio::async_write(stream, bytes,
                      [self = shared_from_this()](auto error, size_t) { self->written(error); });
  });
}

void Connection::written(error_code error) {
  body_ = std::string();
  hold(0);
  if (error) return close();
  if (closes_) return linger();
  begin_request();
}

// Tells the client that no more comes, and lets it finish what it is sending, so that it reads the
// answer.
void Connection::linger() {
  enter(State::kClosing, kLingerTime);
  const auto end = [self = shared_from_this()](auto) {
    error_code ignored;
    self->socket_.shutdown(Socket::shutdown_send, ignored);
    self->drain();
  };
  if (tls_) return tls_->async_shutdown(end);
  end(error_code());
}

void Connection::drain() {
  if (has_ended_) return close();
  static std::array<char, kBodyRead> dropped;
  socket_.async_read_some(asio::buffer(dropped), [self = shared_from_this()](auto error, size_t) {
    if (error) return self->close();
    self->drain();
  });
}

}  // namespace simile::detail
