// SPDX-License-Identifier: Apache-2.0
#include "simile/train/process_group.h"

#ifdef SIMILE_WITH_GLOO
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#endif
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>

#include "simile/core/check.h"
#include "simile/nn/trainable_encoder.h"
#ifdef SIMILE_WITH_GLOO
#include "simile/train/detail/signs_of_life.h"
#endif

namespace simile {

#ifdef SIMILE_WITH_GLOO

namespace {

using Seconds = std::chrono::duration<double>;
using detail::FirstWatch;
using detail::Pulse;
using detail::StorePointer;

constexpr const char* kSumming = "adding gradients";
constexpr auto kLongest = std::chrono::minutes(1);  // to leave
// A process that lost another reports later than the failed one, whose message has the cause.
constexpr auto kLetOtherSpeak = std::chrono::seconds(2);

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(std::max<int64_t>(1, static_cast<int64_t>(seconds * 1000)));
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::shared_ptr<::gloo::transport::Device> find_device(const std::string& address) {
  if (const auto name = environment_variable("GLOO_SOCKET_IFNAME")) {
    return c10d::ProcessGroupGloo::createDeviceForInterface(*name);
  }
  if (address == "localhost") return c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  // Gloo's default is the address of the machine's own name, often the loopback.
  const std::string own = own_address_towards(address);
  return own.empty() ? c10d::ProcessGroupGloo::createDefaultDevice()
                     : c10d::ProcessGroupGloo::createDeviceForHostname(own);
}

}  // namespace

struct ProcessGroup::Connection {
  Connection(const StorePointer& for_meeting, StorePointer for_signs, int64_t rank, int64_t ranks,
             const std::string& address, double seconds)
      : store(for_meeting), signs(std::move(for_signs)), size(ranks), timeout(seconds) {
    keep_thread_count();  // which what is compared before the first encoder would change
    auto options = c10d::ProcessGroupGloo::Options::create(milliseconds(seconds));
    options->devices.push_back(find_device(address));
    options->threads = 2;
    gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store, static_cast<int>(rank),
                                                       static_cast<int>(ranks), options);
    pulse = std::make_unique<Pulse>(signs, rank);
  }

  template <typename Begin>
  void call(const char* what, const Begin& begin) {
    pulse->begin_call();
    tell_errors(what, [&] { begin()->wait(); });
  }

  template <typename Work>
  void tell_errors(const char* what, const Work& work) {
    std::string message;
    try {
      work();
      return;
    } catch (const std::exception& error) {
      message = error.what();
    }
    const auto says = [&](const char* words) { return message.find(words) != std::string::npos; };
    if (says("imed out") || says("imeout")) {
      const std::string who = detail::find_silent(signs, size, pulse->calls());
      throw_error(ErrorKind::kFailed,
                  "{}: the other processes kept this one waiting for {} s{}{}; the "
                  "last checkpoint is kept",
                  what, timeout, who.empty() ? "" : "; ", who);
    }
    std::this_thread::sleep_for(kLetOtherSpeak);
    throw_error(ErrorKind::kFailed,
                "{}: another process ended or was killed, and what it said tells why "
                "({}); the last checkpoint is kept",
                what, first_line(message));
  }

  // [ranks, bytes] of tensors of equal sizes.
  torch::Tensor gather_equal(const char* what, const torch::Tensor& own) {
    std::vector<int64_t> sizes = own.sizes().vec();
    sizes.insert(sizes.begin(), size);
    const torch::Tensor all = torch::empty(sizes, own.options());
    std::vector<std::vector<torch::Tensor>> outputs = {all.unbind(0)};
    std::vector<torch::Tensor> inputs = {own.contiguous()};
    call(what, [&] { return gloo->allgather(outputs, inputs); });
    return all;
  }

  struct BegunSum {
    c10::intrusive_ptr<c10d::Work> work;
    torch::Tensor on_host, values;
  };

  StorePointer store, signs;
  std::vector<BegunSum> begun;
  bool has_left = false;
  int64_t awaited = 0;  // calls of await_first()
  int64_t size;
  double timeout;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
  std::unique_ptr<Pulse> pulse;
};

namespace {

StorePointer open_tcp_store(const ProcessPlace& place, bool is_server, double timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(place.port);
  options.isServer = is_server;
  options.waitWorkers = false;
  options.timeout = milliseconds(timeout);
  return c10::make_intrusive<c10d::TCPStore>(place.address, options);
}

std::string bytes_text(const torch::Tensor& bytes) {
  return {reinterpret_cast<const char*>(bytes.data_ptr<uint8_t>()),
          static_cast<size_t>(bytes.numel())};
}

torch::Tensor text_bytes(const std::string& text, int64_t size) {
  torch::Tensor bytes = torch::zeros({size}, torch::kUInt8);
  if (!text.empty()) std::memcpy(bytes.data_ptr<uint8_t>(), text.data(), text.size());
  return bytes;
}

}  // namespace

bool ProcessGroup::is_available() { return true; }

std::unique_ptr<ProcessGroup> ProcessGroup::connect(const ProcessPlace& place, double timeout) {
  const std::string where =
      fmt::format("rank {} of {} ({}:{})", place.rank, place.size, place.address, place.port);
  try {
    const StorePointer store = open_tcp_store(place, place.rank == 0, timeout);
    // The groups' own wait would not say how many came.
    store->add("come", 1);
    const auto begun = std::chrono::steady_clock::now();
    for (int64_t came = 0; came < place.size;) {
      came = store->add("come", 0);
      if (came >= place.size) break;
      const Seconds waited = std::chrono::steady_clock::now() - begun;
      SIMILE_CHECK(waited.count() < timeout, ErrorKind::kFailed,
                   "{}: only {} processes of {} came within {} s; were all started, "
                   "with the same MASTER_ADDR and MASTER_PORT?",
                   where, came, place.size, timeout);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    auto connection = std::make_unique<Connection>(store, open_tcp_store(place, false, timeout),
                                                   place.rank, place.size, place.address, timeout);
    return std::unique_ptr<ProcessGroup>(
        new ProcessGroup(place.rank, place.size, std::move(connection)));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw_error(ErrorKind::kFailed,
                "{}: cannot meet the other processes: {}; is the port free, and is the "
                "machine of rank 0 reached by this name?",
                where, first_line(error.what()));
  }
}

std::unique_ptr<ProcessGroup> ProcessGroup::meet(const std::string& file, int64_t rank,
                                                 int64_t size, double timeout) {
  try {
    const StorePointer store = c10::make_intrusive<c10d::FileStore>(file, static_cast<int>(size));
    auto connection = std::make_unique<Connection>(store, store, rank, size, "127.0.0.1", timeout);
    return std::unique_ptr<ProcessGroup>(new ProcessGroup(rank, size, std::move(connection)));
  } catch (const std::exception& error) {
    throw_error(ErrorKind::kFailed, "rank {} of {}: cannot meet the others at '{}': {}", rank, size,
                file, first_line(error.what()));
  }
}

torch::Tensor ProcessGroup::gather_rows(const torch::Tensor& own,
                                        const std::vector<int64_t>& bounds) {
  int64_t most = 0;
  for (int64_t r = 0; r < size_; ++r) most = std::max(most, bounds[r + 1] - bounds[r]);
  torch::Tensor padded = torch::zeros({most, own.size(1)}, torch::kFloat32);
  padded.narrow(0, 0, own.size(0)).copy_(own.detach());
  const torch::Tensor all = connection_->gather_equal("gathering vectors", padded);
  std::vector<torch::Tensor> parts;
  for (int64_t r = 0; r < size_; ++r) {
    parts.push_back(all[r].narrow(0, 0, bounds[r + 1] - bounds[r]));
  }
  return torch::cat(parts, 0).to(own.device());
}

void ProcessGroup::sum(const torch::Tensor& values) {
  begin_sum(values);
  finish_sums();
}

void ProcessGroup::begin_sum(const torch::Tensor& values) {
  if (values.numel() == 0) return;
  connection_->pulse->begin_call();
  std::vector<torch::Tensor> tensors = {values.cpu()};
  connection_->tell_errors(kSumming, [&] {
    connection_->begun.push_back({connection_->gloo->allreduce(tensors), tensors[0], values});
  });
}

void ProcessGroup::finish_sums() {
  for (const auto& sum : std::exchange(connection_->begun, {})) {
    connection_->tell_errors(kSumming, [&] { sum.work->wait(); });
    if (!sum.values.is_cpu()) sum.values.copy_(sum.on_host);
  }
}

std::string ProcessGroup::broadcast(const std::string& bytes) {
  std::vector<torch::Tensor> size = {torch::tensor({static_cast<int64_t>(bytes.size())})};
  connection_->call("sending files", [&] { return connection_->gloo->broadcast(size); });
  const int64_t count = size[0].item<int64_t>();
  if (count == 0) return "";
  std::vector<torch::Tensor> content = {rank_ == 0 ? text_bytes(bytes, count)
                                                   : torch::empty({count}, torch::kUInt8)};
  connection_->call("sending files", [&] { return connection_->gloo->broadcast(content); });
  return bytes_text(content[0]);
}

std::vector<std::string> ProcessGroup::gather(const std::string& bytes) {
  const char* const what = "comparing processes";
  const torch::Tensor sizes =
      connection_->gather_equal(what, torch::tensor({static_cast<int64_t>(bytes.size())}));
  const int64_t most = std::max<int64_t>(1, sizes.max().item<int64_t>());
  const torch::Tensor all = connection_->gather_equal(what, text_bytes(bytes, most));
  std::vector<std::string> texts;
  for (int64_t r = 0; r < size_; ++r) {
    texts.push_back(bytes_text(all[r]).substr(0, sizes[r].item<int64_t>()));
  }
  return texts;
}

void ProcessGroup::await_first(const std::function<void()>& check) {
  const int64_t time = ++connection_->awaited;
  if (rank_ == 0)
    return connection_->signs->set(detail::ready_key(time), std::vector<uint8_t>{'1'});
  const FirstWatch watch(connection_->signs, time);
  int64_t signs_seen = 0;
  auto alive = std::chrono::steady_clock::now();
  while (!watch.is_ready()) {
    check();
    const auto now = std::chrono::steady_clock::now();
    if (watch.signs_of_life() != signs_seen) {
      signs_seen = watch.signs_of_life();
      alive = now;
    }
    if (watch.is_gone() && !watch.is_ready()) {
      std::this_thread::sleep_for(kLetOtherSpeak);
      throw Error(ErrorKind::kFailed,
                  "rank 0 ended before it had measured the run, and what it said tells why");
    }
    SIMILE_CHECK(Seconds(now - alive).count() < connection_->timeout, ErrorKind::kFailed,
                 "rank 0 shows no sign of life for {} s: it hangs, or its machine is "
                 "gone; the last checkpoint is kept",
                 connection_->timeout);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void ProcessGroup::leave() {
  if (std::exchange(connection_->has_left, true)) return;
  const auto begun = std::chrono::steady_clock::now();
  const StorePointer& store = connection_->store;
  try {
    store->add("left", 1);
    while (store->add("left", 0) < size_ && std::chrono::steady_clock::now() - begun < kLongest) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  } catch (const std::exception&) {  // rank 0, which holds the store, has seen all leave, or died
  }
}

#else

namespace {

[[noreturn]] void lack_gloo() {
  throw Error(ErrorKind::kUsage,
              "this build cannot train in several processes: it was built without Gloo's headers; "
              "install libgloo-dev and build again");
}

}  // namespace

struct ProcessGroup::Connection {};

bool ProcessGroup::is_available() { return false; }
std::unique_ptr<ProcessGroup> ProcessGroup::connect(const ProcessPlace&, double) { lack_gloo(); }
std::unique_ptr<ProcessGroup> ProcessGroup::meet(const std::string&, int64_t, int64_t, double) {
  lack_gloo();
}
torch::Tensor ProcessGroup::gather_rows(const torch::Tensor&, const std::vector<int64_t>&) {
  lack_gloo();
}
void ProcessGroup::sum(const torch::Tensor&) { lack_gloo(); }
void ProcessGroup::begin_sum(const torch::Tensor&) { lack_gloo(); }
void ProcessGroup::finish_sums() {}
std::string ProcessGroup::broadcast(const std::string&) { lack_gloo(); }
std::vector<std::string> ProcessGroup::gather(const std::string&) { lack_gloo(); }
void ProcessGroup::await_first(const std::function<void()>&) { lack_gloo(); }
void ProcessGroup::leave() {}

#endif

ProcessGroup::ProcessGroup(int64_t rank, int64_t size, std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)), rank_(rank), size_(size) {}

ProcessGroup::~ProcessGroup() = default;

}  // namespace simile
