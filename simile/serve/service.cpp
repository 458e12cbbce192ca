// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/service.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <ctime>
#include <new>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "simile/core/file.h"
#include "simile/serve/routes.h"
#include "simile/text/words.h"

namespace simile {
namespace {

constexpr size_t kLongestRequestId = 128;
constexpr size_t kLongestLoggedPath = 100;
constexpr size_t kMostToldModels = 100;
constexpr std::string_view kPlaces = "/at/";
constexpr size_t kLeastPacked = 4096, kMostPacked = size_t{1} << 30;  // bytes of a body

// Different for each call of this process, and by all likelihood of others.
std::string make_request_id() {
  static const uint64_t process = std::random_device()() * uint64_t{0x9E3779B97F4A7C15};
  static std::atomic<uint64_t> calls{0};
  return fmt::format("{:08x}-{:x}", process >> 32, ++calls);
}

// The trace in "00-" trace "-" the caller's span "-" flags (W3C Trace Context, level 1; later versions
// may go on behind). Empty where the header is not that.
std::string trace_of(const std::string& parent) {
  static const std::regex form(
      "(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}");
  const bool ends = parent.size() == 55 ||
                    (parent.size() > 55 && parent[55] == '-' && parent.compare(0, 2, "00") != 0);
  return ends && std::regex_match(parent.substr(0, 55), form) ? parent.substr(3, 32) : "";
}

// Whether the header Accept-Encoding names gzip, and not with a weight of 0.
bool accepts_gzip(const std::string& header) {
  static const std::regex form("(^|.*,) *gzip *(; *q=(0?\\.0*[1-9][0-9]*|1(\\.0*)?) *)?(,.*|$)",
                               std::regex::icase);
  return std::regex_match(header.substr(0, kLongestLoggedPath), form);
}

// A large body as gzip packs it fastest: vectors become less than half of it.
void pack(Reply& reply) {
  if (reply.body.size() < kLeastPacked || reply.body.size() > kMostPacked) return;
  z_stream stream = {};
  const int begun = deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + 16, MAX_MEM_LEVEL,
                                 Z_DEFAULT_STRATEGY);
  if (begun != Z_OK) return;  // no memory: as it is
  std::string packed(deflateBound(&stream, reply.body.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(reply.body.data());
  stream.avail_in = static_cast<uInt>(reply.body.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  reply.body = std::move(packed);
  reply.headers.emplace_back("Content-Encoding", "gzip");
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

// The current exception as an error for the client; internal details stay inside.
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

// As the client wrote it.
std::string whole_path(const Call& call) {
  return call.at.empty() ? call.path : std::string(kPlaces) + call.at + call.path;
}

using LogLine = nlohmann::ordered_json;

LogLine begin_line() {
  return {{"time", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))}};
}

}  // namespace

void take_place(Call& call) {
  if (call.path.compare(0, kPlaces.size(), kPlaces) != 0) return;
  const size_t end = std::min(call.path.find('/', kPlaces.size()), call.path.size());
  if (end == kPlaces.size()) return;  // no name, which would mean the main index: no route
  call.at = call.path.substr(kPlaces.size(), end - kPlaces.size());
  call.path.erase(0, end);
}

const Engine* Service::State::find(const std::string& at) const {
  if (engines.empty()) return nullptr;
  const auto found = engines.find(at);
  if (found != engines.end()) return found->second.get();
  std::string places;
  for (const auto& [place, engine] : engines) {
    if (!place.empty()) places += fmt::format("; there is {}{}", kPlaces, place);
  }
  throw RequestError(Refusal::kUnknownRoute, fmt::format("nothing is served at {}{}{}", kPlaces,
                                                         at.substr(0, kLongestLoggedPath), places));
}

struct Service::Outcome {
  bool counts = false;  // in the metrics: it asks for work, not for what the server tells of itself
  RequestCost cost;
  const RefusalRow* refusal = nullptr;  // null: it was answered
  std::string body, cause;              // of the request; of an error that is not the client's
  double seconds = 0;
  std::shared_ptr<ApiKey> key;  // null: none was asked for, or none was right
  std::string trace, span;      // of the caller, and this call's in it; empty: there is none
};

Service::Service(ServedModel model, const ServeLimits& limits, ApiKeys keys, EventSink& log,
                 AllowedHosts hosts)
    : Service(limits, {}, log, std::move(hosts)) {
  replace(std::move(model), std::move(keys));
}

Service::Service(const ServeLimits& limits, ApiKeys keys, EventSink& log, AllowedHosts hosts)
    : limits_(limits), hosts_(std::move(hosts)), log_(log) {
  state_ = std::make_shared<const State>(State{{}, std::move(keys)});
}

void Service::count_reload(bool whole) {
  metrics_.count(whole ? "te_reload_success" : "te_reload_failure");
  if (!whole) return;
  metrics_.set("simile_last_reload_timestamp_seconds", static_cast<double>(std::time(nullptr)));
}

void Service::stop() {
  const std::shared_ptr<const State> now = std::atomic_load(&state_);
  for (const auto& [at, engine] : now->engines) engine->stop();
}

void Service::replace(std::vector<ServedModel> models, ApiKeys keys) {
  State next = {{}, std::move(keys)};
  for (ServedModel& model : models) {
    const std::string at = model.at;
    next.engines[at] = std::make_shared<Engine>(std::move(model), limits_, metrics_);
  }
  std::atomic_store(&state_, std::make_shared<const State>(std::move(next)));
}

void Service::replace(ServedModel model, ApiKeys keys) {
  std::vector<ServedModel> models;
  models.push_back(std::move(model));
  replace(std::move(models), std::move(keys));
}

Reply Service::refuse(const Call& call, const RequestError& error) {
  Outcome outcome;
  outcome.refusal = &refusal_row(error.refusal());
  outcome.counts = true;
  Reply reply = refusal_reply(error_style(call.path), call.path, error);
  finish(call, outcome, reply);
  return reply;
}

bool Service::lets_read(const std::string& origin) const {
  const std::vector<std::string>& all = limits_.cors_allow_origin;
  return !origin.empty() && std::any_of(all.begin(), all.end(), [&](const std::string& one) {
    return one == origin || one == "*";
  });
}

Admission Service::admit(const Call& call) {
  Outcome outcome;
  if (call.method == "OPTIONS" && lets_read(call.origin)) {
    Reply reply{204, ""};
    reply.headers = {{"Access-Control-Allow-Methods", allowed_methods(call.path)},
                     {"Access-Control-Allow-Headers", "Authorization, Content-Type, X-Request-Id"},
                     {"Access-Control-Max-Age", "3600"}};
    finish(call, outcome, reply);
    return {std::move(reply), false};
  }
  try {
    return {std::nullopt, check_head(call, *std::atomic_load(&state_), outcome).has_body()};
  } catch (const RequestError& error) {
    outcome.refusal = &refusal_row(error.refusal());
    Reply reply = refusal_reply(error_style(call.path), call.path, error);
    finish(call, outcome, reply);
    return {std::move(reply), false};
  }
}

bool Service::is_instant(const Call& call) const {
  return find_route(call.method, call.path).tell != nullptr;
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
  if (outcome.key != nullptr) outcome.key->take_tokens(outcome.cost.tokens);
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
  outcome.trace = trace_of(call.traceparent);
  if (!outcome.trace.empty()) {
    static std::atomic<uint64_t> spans{std::random_device()() * uint64_t{0x9E3779B97F4A7C15}};
    outcome.span = fmt::format("{:016x}", ++spans);
    reply.headers.emplace_back(
        "traceparent",
        fmt::format("00-{}-{}-{}", outcome.trace, outcome.span, call.traceparent.substr(53, 2)));
  }
  if (lets_read(call.origin)) {
    reply.headers.emplace_back("Access-Control-Allow-Origin", call.origin);
    reply.headers.emplace_back("Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
    reply.headers.emplace_back("Vary", "Origin");
  }
  if (outcome.refusal == nullptr && outcome.cost.texts + outcome.cost.searches > 0) {
    add_costs(outcome.cost, outcome.seconds, reply);
  }
  count(outcome);
  write_log(call, outcome, reply, id);
  if (!outcome.cost.other_model.empty()) warn_of_model(outcome.cost.other_model);
}

void Service::check_key(const Call& call, const Route& route, const ApiKeys& keys,
                        Outcome& outcome) const {
  SIMILE_REQUEST_CHECK(
      !keys.empty() || std::string_view("admin") != route.role, Refusal::kForbidden,
      "this needs an API key of the role admin, and the server has no keys (--api-key-file)");
  if (keys.empty()) return;
  outcome.key = keys.find(call.authorization);
  SIMILE_REQUEST_CHECK(outcome.key != nullptr, Refusal::kNoKey,
                       "no valid API key; send the header Authorization: Bearer KEY");
  SIMILE_REQUEST_CHECK(outcome.key->may(route.role), Refusal::kForbidden,
                       fmt::format("the API key \"{}\" has the role {}; this needs {}",
                                   outcome.key->name, outcome.key->role, route.role));
}

const Route& Service::check_head(const Call& call, const State& now, Outcome& outcome) const {
  // The page's links are relative: without the slash they would lead elsewhere.
  SIMILE_REQUEST_CHECK(
      !call.path.empty(), Refusal::kUnknownRoute,
      fmt::format("the page is at {}/", whole_path(call).substr(0, kLongestLoggedPath)));
  const Route& route = find_route(call.method, call.path);
  outcome.counts = route.has_body() || std::string_view(route.method) == "DELETE";
  hosts_.check(call.host, lets_read(call.origin) ? "" : call.origin);
  if (!route.open) check_key(call, route, now.keys, outcome);
  if (!route.has_body()) return route;
  std::string media = lower_text(call.content_type.substr(0, call.content_type.find(';')));
  media.erase(std::remove(media.begin(), media.end(), ' '), media.end());
  SIMILE_REQUEST_CHECK(media == "application/json" || ends_with(media, "+json"),
                       Refusal::kWrongType,
                       "send the body as Content-Type: application/json (curl has --json)");
  SIMILE_REQUEST_CHECK(call.content_encoding.empty() || call.content_encoding == "identity",
                       Refusal::kWrongType,
                       "send the body as it is: application/json, not compressed, in one part");
  SIMILE_REQUEST_CHECK(call.content_length <= limits_.body_bytes, Refusal::kTooLarge,
                       fmt::format("the body has {} bytes; it may have {}", call.content_length,
                                   limits_.body_bytes));
  return route;
}

Reply Service::answer_route(const Call& call, Outcome& outcome) {
  const std::shared_ptr<const State> now = std::atomic_load(&state_);
  const Route& route = check_head(call, *now, outcome);
  if (outcome.key != nullptr) outcome.key->begin_request(ServeClock::now());
  if (route.has_body()) outcome.body = call.body;
  const Engine* const engine = now->find(call.at);
  if (route.tell != nullptr) {
    return route.tell({call.path, call.if_none_match, engine, now->engines, metrics_, stopping_});
  }
  SIMILE_REQUEST_CHECK(engine != nullptr, Refusal::kUnready,
                       "the server is loading its model; try again later", "", 1);
  const std::string name = name_in_path(route, call.path);
  Reply reply = route.answer(
      *engine,
      {route.path, name, outcome.body, {call.deadline, call.has_left}, outcome.cost, call.query});
  if (accepts_gzip(call.accept_encoding)) pack(reply);
  reply.headers.emplace_back("Vary", "Accept-Encoding");
  return reply;
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
  for (const std::string& of : {kind, std::string("te_request")}) {
    metrics_.observe(of + "_duration", outcome.seconds);
    metrics_.observe(of + "_tokenization_duration", cost.tokenization_seconds);
    metrics_.observe(of + "_queue_duration", cost.times.queue_seconds);
    metrics_.observe(of + "_inference_duration", cost.times.compute_seconds);
  }
  metrics_.observe("te_request_input_length", static_cast<double>(cost.tokens));
}

void Service::write_log(const Call& call, const Outcome& outcome, const Reply& reply,
                        const std::string& request_id) {
  if (&log_ == &silent_events()) return;
  const RequestCost& cost = outcome.cost;
  LogLine line = begin_line();
  line["request_id"] = request_id;
  if (!outcome.trace.empty()) {
    line["trace_id"] = outcome.trace;
    line["span_id"] = outcome.span;
    line["parent_span_id"] = call.traceparent.substr(36, 16);
  }
  line["remote"] = call.remote;
  if (outcome.key != nullptr) line["key"] = outcome.key->name;
  line["method"] = call.method;
  line["path"] = whole_path(call).substr(0, kLongestLoggedPath);
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

// Once for each name, and never without end.
void Service::warn_of_model(const std::string& name) {
  {
    const std::lock_guard<std::mutex> lock(told_mutex_);
    if (told_models_.size() == kMostToldModels || !told_models_.insert(name).second) return;
  }
  note("warning", fmt::format("a client asks for the model \"{}\", which is not served here; it is "
                              "answered by the one that is. Give that name, too, by "
                              "--served-model-name, or refuse others by --strict-model-name",
                              name.substr(0, kLongestLoggedPath)));
}

void Service::write_line(const std::string& line) {
  const std::lock_guard<std::mutex> lock(log_mutex_);
  log_.info(line);
}

}  // namespace simile
