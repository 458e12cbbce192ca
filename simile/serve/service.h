// SPDX-License-Identifier: Apache-2.0
// The work of the server without an HTTP library: one call in, one reply out. It finds the route
// (routes.h), checks the API key, reads the body, lets the route answer, and turns every error into
// a reply in the form that clients of the route expect. It counts each call and logs it as one line
// of JSON, without texts unless the limits say so.
//
//   Service service(model, limits, ApiKeys(), terminal);
//   const Reply reply = service.answer(call);
//
// answer() may be called by any number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simile/core/error.h"
#include "simile/serve/batching_worker.h"
#include "simile/serve/engine.h"
#include "simile/serve/metrics.h"
#include "simile/serve/request_error.h"
#include "simile/serve/serve_options.h"

namespace simile {

struct Route;

struct Call {
  std::string method, path;  // "POST", "/embed"
  std::string at;  // "faq" where the client wrote /at/faq/embed, see take_place(); empty: not there
  std::string authorization, content_type, request_id, if_none_match;  // headers; empty: not there
  std::string host, origin, content_encoding, accept_encoding;         // the same
  std::vector<std::pair<std::string, std::string>> query;              // behind ? in the address
  std::string traceparent;                                             // that header
  std::string remote;                                                  // address of the client
  int64_t content_length = 0;
  bool is_chunked = false;
  std::string body;
  ServeClock::time_point deadline;
  std::function<bool()> has_left;  // see Patience; null: nobody leaves
};

// The decision from the head of a call: the reply, if it is already known, and whether the body is
// wanted.
struct Admission {
  std::optional<Reply> reply;
  bool takes_body = false;
};

// Moves the beginning "/at/NAME" of the call's path to its member `at`. The path becomes the rest,
// which is empty if no slash follows the name.
void take_place(Call& call);

class Service {
 public:
  // `log` gets a line for each call, one at a time; silent_events() none, which are not made then.
  Service(ServedModel model, const ServeLimits& limits, ApiKeys keys, EventSink& log,
          AllowedHosts hosts = {});
  // Starts without a model: until replace(), /ready and routes that need one answer 503.
  Service(const ServeLimits& limits, ApiKeys keys, EventSink& log, AllowedHosts hosts = {});

  // Checks the head before the body comes, so that a rejected body need not be sent. A call that is
  // refused here is answered, as are a browser's questions whether it may send one (CORS).
  Admission admit(const Call& call);
  // Whether answer() takes no time to speak of: it computes nothing and waits for nobody.
  bool is_instant(const Call& call) const;
  Reply answer(const Call& call);

  // Calls that begin from now on are answered by other models, and their indexes, and under other
  // keys; those that have begun, by the ones before. Models have different places (`at`).
  void replace(std::vector<ServedModel> models, ApiKeys keys);
  void replace(ServedModel model, ApiKeys keys);
  // Once for each time that all was to be read again; `whole`: nothing had to stay as it was.
  void count_reload(bool whole);

  // A line in the log that is not about a call.
  void note(const std::string& event, const std::string& message);

  // The reply to input that is not a valid call. Uses the strings of `call` as far as they are
  // known. Counted and logged like a call.
  Reply refuse(const Call& call, const RequestError& error);

  // From here on /ready says that the server stops.
  void begin_stop() { stopping_ = true; }
  // Accepts no more work and computes the waiting requests.
  void stop();

  Metrics& metrics() { return metrics_; }

 private:
  // The state that answers a call.
  struct State {
    Engines engines;  // none: the models are being loaded
    ApiKeys keys;

    // The engine of a place; null: they are being loaded. Errors (RequestError): kUnknownRoute.
    const Engine* find(const std::string& at) const;
  };
  struct Outcome;
  bool lets_read(const std::string& origin) const;
  const Route& check_head(const Call& call, const State& now, Outcome& outcome) const;
  void check_key(const Call& call, const Route& route, const ApiKeys& keys, Outcome& outcome) const;
  Reply answer_route(const Call& call, Outcome& outcome);
  void finish(const Call& call, Outcome& outcome, Reply& reply);
  void count(const Outcome& outcome);
  void write_log(const Call& call, const Outcome& outcome, const Reply& reply,
                 const std::string& request_id);
  void write_line(const std::string& line);
  void warn_of_model(const std::string& name);

  const ServeLimits limits_;
  const AllowedHosts hosts_;
  Metrics metrics_;
  std::atomic<bool> stopping_{false};
  std::shared_ptr<const State> state_;  // of std::atomic_load() and std::atomic_store()
  EventSink& log_;
  std::mutex log_mutex_;
  std::mutex told_mutex_;
  std::set<std::string> told_models_;  // names of others that the log warned of
};

}  // namespace simile
