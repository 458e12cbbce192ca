// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/service.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <new>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "simile/core/file.h"
#include "simile/serve/routes.h"
#include "simile/text/words.h"

namespace simile {
namespace {

constexpr size_t kLongestRequestId = 128;
constexpr size_t kLongestLoggedPath = 100;

// Different for each call of this process, and by all likelihood of others.
std::string make_request_id() {
  static const uint64_t process = std::random_device()() * uint64_t{0x9E3779B97F4A7C15};
  static std::atomic<uint64_t> calls{0};
  return fmt::format("{:08x}-{:x}", process >> 32, ++calls);
}

int64_t milliseconds(double seconds) { return static_cast<int64_t>(seconds * 1e3 + 0.5); }

// In the form of `style`, of a call to `path`.
Reply refusal_reply(ErrorStyle style, const std::string& path, const RequestError& error) {
  Reply reply;
  reply.status = error_status(style, error);
  reply.body = error_body(style, error);
  if (error.refusal() == Refusal::kWrongMethod) {
    reply.headers.emplace_back("Allow", allowed_methods(path));
  }
  if (error.refusal() == Refusal::kNoKey) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.retry_seconds() > 0) {
    reply.headers.emplace_back("Retry-After", std::to_string(error.retry_seconds()));
  }
  return reply;
}

// The error being handled as the client is told it; what is our own stays inside.
RequestError current_request_error(std::string& cause) {
  try {
    throw;
  } catch (const RequestError& error) {
    return error;
  } catch (const Error& error) {
    cause = error.what();  // which may name files of this machine
    return {Refusal::kBackend,
            "the server could not compute this; its log says why, under the id of this answer's "
            "X-Request-Id"};
  } catch (const std::bad_alloc&) {
    cause = "out of memory";
    return {Refusal::kInternal, cause};
  } catch (const std::exception& error) {
    cause = error.what();
    return {Refusal::kInternal, "internal error"};
  }
}

void add_costs(const RequestCost& cost, double seconds, Reply& reply) {
  const auto add = [&](const char* name, int64_t value) {
    reply.headers.emplace_back(name, std::to_string(value));
  };
  reply.headers.emplace_back("x-compute-type", "cpu");
  add("x-compute-time", milliseconds(seconds));
  add("x-compute-characters", cost.characters);
  add("x-compute-tokens", cost.tokens);
  add("x-total-time", milliseconds(seconds));
  add("x-tokenization-time", milliseconds(cost.tokenization_seconds));
  add("x-queue-time", milliseconds(cost.times.queue_seconds));
  add("x-inference-time", milliseconds(cost.times.compute_seconds));
}

using LogLine = nlohmann::ordered_json;

LogLine begin_line() {
  return {{"time", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))}};
}

}  // namespace

struct Service::Outcome {
  bool counts = false;  // in the metrics: it asks for work, not for what the server tells of itself
  RequestCost cost;
  const RefusalRow* refusal = nullptr;  // null: it was answered
  std::string body, cause;              // of the request; of an error that is not the client's
  double seconds = 0;
};

Service::Service(ServedModel model, const ServeLimits& limits, ApiKeys keys, EventSink& log,
                 AllowedHosts hosts)
    : limits_(limits), hosts_(std::move(hosts)), log_(log) {
  replace(std::move(model), std::move(keys));
}

void Service::replace(ServedModel model, ApiKeys keys) {
  State next = {std::make_shared<Engine>(std::move(model), limits_, metrics_), std::move(keys)};
  std::atomic_store(&state_, std::make_shared<const State>(std::move(next)));
}

Reply Service::refuse(const Call& call, const RequestError& error, int status) {
  Outcome outcome;
  outcome.refusal = &refusal_row(error.refusal());
  outcome.counts = true;
  Reply reply = refusal_reply(ErrorStyle::kTei, call.path, error);
  if (status != 0) reply.status = status;
  finish(call, outcome, reply);
  return reply;
}

Reply Service::answer(const Call& call) {
  const ServeClock::time_point begin = ServeClock::now();
  Outcome outcome;
  Reply reply;
  try {
    reply = answer_route(call, outcome);
  } catch (...) {
    const RequestError error = current_request_error(outcome.cause);
    outcome.refusal = &refusal_row(error.refusal());
    reply = refusal_reply(error_style(call.path), call.path, error);
  }
  outcome.seconds = std::chrono::duration<double>(ServeClock::now() - begin).count();
  finish(call, outcome, reply);
  return reply;
}

void Service::finish(const Call& call, Outcome& outcome, Reply& reply) {
  const std::string& given = call.request_id;
  const bool is_id =
      !given.empty() && given.size() <= kLongestRequestId &&
      std::all_of(given.begin(), given.end(), [](char c) { return c > ' ' && c < 0x7F; });
  const std::string id = is_id ? given : make_request_id();
  reply.headers.emplace_back("X-Request-Id", id);
  if (outcome.refusal == nullptr && outcome.cost.texts + outcome.cost.searches > 0) {
    add_costs(outcome.cost, outcome.seconds, reply);
  }
  count(outcome);
  write_log(call, outcome, reply, id);
}

Reply Service::answer_route(const Call& call, Outcome& outcome) {
  const std::shared_ptr<const State> now = std::atomic_load(&state_);
  const Route& route = find_route(call.method, call.path);
  outcome.counts = route.has_body() || std::string_view(route.method) == "DELETE";
  hosts_.check(call.host, call.origin);
  SIMILE_REQUEST_CHECK(route.open || now->keys.accepts(call.authorization), Refusal::kNoKey,
                       "no valid API key; send the header Authorization: Bearer KEY");
  if (route.has_body()) {
    std::string media = lower_text(call.content_type.substr(0, call.content_type.find(';')));
    media.erase(std::remove(media.begin(), media.end(), ' '), media.end());
    SIMILE_REQUEST_CHECK(media == "application/json" || ends_with(media, "+json"),
                         Refusal::kWrongType,
                         "send the body as Content-Type: application/json (curl has --json)");
    outcome.body = call.read_body();
  }
  const std::string name = name_in_path(route, call.path);
  return route.answer(*now->engine, {route.path,
                                     name,
                                     call.if_none_match,
                                     outcome.body,
                                     {call.deadline, call.has_left},
                                     outcome.cost});
}

void Service::count(const Outcome& outcome) {
  if (!outcome.counts) return;
  const RequestCost& cost = outcome.cost;
  const bool several = std::max(cost.texts, cost.searches) > 1;
  const std::string method = several ? "method=\"batch\"" : "method=\"single\"";
  metrics_.count("te_request_count", method);
  const std::string kind = cost.ranks ? "te_predict" : "te_embed";
  if (cost.texts > 0) metrics_.count(kind + "_count", "", cost.texts);
  if (cost.searches > 0) metrics_.count("te_search_count", "", cost.searches);
  if (outcome.refusal != nullptr) {
    metrics_.count("te_request_failure", fmt::format("err=\"{}\"", outcome.refusal->counted_as));
    return;
  }
  metrics_.count("te_request_success", method);
  if (cost.searches > 0) {
    metrics_.count("te_search_success", "", cost.searches);
    metrics_.observe("te_search_duration", outcome.seconds);
  }
  if (cost.texts == 0) return;
  metrics_.count(kind + "_success", "", cost.texts);
  metrics_.observe(kind + "_duration", outcome.seconds);
  metrics_.observe(kind + "_tokenization_duration", cost.tokenization_seconds);
  metrics_.observe(kind + "_queue_duration", cost.times.queue_seconds);
  metrics_.observe(kind + "_inference_duration", cost.times.compute_seconds);
  metrics_.observe("te_request_input_length", static_cast<double>(cost.tokens));
}

void Service::write_log(const Call& call, const Outcome& outcome, const Reply& reply,
                        const std::string& request_id) {
  if (&log_ == &silent_events()) return;
  const RequestCost& cost = outcome.cost;
  LogLine line = begin_line();
  line["request_id"] = request_id;
  line["remote"] = call.remote;
  line["method"] = call.method;
  line["path"] = call.path.substr(0, kLongestLoggedPath);
  line["status"] = reply.status;
  if (outcome.refusal != nullptr) line["error_type"] = outcome.refusal->type;
  if (!outcome.cause.empty()) line["error"] = outcome.cause;
  if (cost.searches > 0) line["searches"] = cost.searches;
  if (cost.texts + cost.searches > 0) {
    line["texts"] = cost.texts;
    line["tokens"] = cost.tokens;
    if (cost.truncated > 0) line["truncated"] = cost.truncated;
    line["queue_ms"] = milliseconds(cost.times.queue_seconds);
    line["compute_ms"] = milliseconds(cost.times.compute_seconds);
  }
  line["ms"] = milliseconds(outcome.seconds);
  if (limits_.log_texts && !outcome.body.empty()) line["body"] = outcome.body;
  write_line(line.dump(-1, ' ', false, LogLine::error_handler_t::replace));
}

void Service::note(const std::string& event, const std::string& message) {
  LogLine line = begin_line();
  line["event"] = event;
  line["message"] = message;
  write_line(line.dump(-1, ' ', false, LogLine::error_handler_t::replace));
}

void Service::write_line(const std::string& line) {
  const std::lock_guard<std::mutex> lock(log_mutex_);
  log_.info(line);
}

}  // namespace simile
