// SPDX-License-Identifier: Apache-2.0
// What the server does, without HTTP's library: one call in, one reply out. It finds the route
// (routes.h), checks the API key, reads the body, lets the route answer, and turns every error into
// a reply in the form that clients of the route expect; it counts and writes one line of JSON for
// each call into the log, without texts unless the limits say so.
//
//   Service service(model, limits, ApiKeys(), terminal);
//   const Reply reply = service.answer(call);
//
// answer() may be called by any number of threads.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "simile/core/error.h"
#include "simile/serve/batching_worker.h"
#include "simile/serve/engine.h"
#include "simile/serve/metrics.h"
#include "simile/serve/request_error.h"
#include "simile/serve/serve_options.h"

namespace simile {

struct Call {
  std::string method, path;                                            // "POST", "/embed"
  std::string authorization, content_type, request_id, if_none_match;  // headers; empty: not there
  std::string host, origin;                                            // the same
  std::string remote;                                                  // address of the client
  // Called at most once, and only for a route that takes a body. Throws RequestError.
  std::function<std::string()> read_body;
  ServeClock::time_point deadline;
  std::function<bool()> has_left;  // see Patience; null: nobody leaves
};

class Service {
 public:
  // `log` gets a line for each call, one at a time; silent_events() none, which are not made then.
  Service(ServedModel model, const ServeLimits& limits, ApiKeys keys, EventSink& log,
          AllowedHosts hosts = {});

  Reply answer(const Call& call);

  // Calls that begin from now on are answered by another model, and its index, and under other
  // keys; those that have begun, by the one before.
  void replace(ServedModel model, ApiKeys keys);
  // Once for each time that all was to be read again; `whole`: nothing had to stay as it was.
  void count_reload(bool whole) {
    metrics_.count(whole ? "te_reload_success" : "te_reload_failure");
  }

  // A line in the log that is no call.
  void note(const std::string& event, const std::string& message);

  // The reply to what is no call that could be answered, in TEI's form. Of `call` the strings are
  // looked at, as far as they are known. Counted and logged as a call is; `status`, where it is
  // not 0, stands in place of the error's.
  Reply refuse(const Call& call, const RequestError& error, int status = 0);

  // Computes what waits and takes nothing more.
  void stop() { std::atomic_load(&state_)->engine->stop(); }

 private:
  // What a call is answered with.
  struct State {
    std::shared_ptr<Engine> engine;
    ApiKeys keys;
  };
  struct Outcome;
  Reply answer_route(const Call& call, Outcome& outcome);
  void finish(const Call& call, Outcome& outcome, Reply& reply);
  void count(const Outcome& outcome);
  void write_log(const Call& call, const Outcome& outcome, const Reply& reply,
                 const std::string& request_id);
  void write_line(const std::string& line);

  const ServeLimits limits_;
  const AllowedHosts hosts_;
  Metrics metrics_;
  std::shared_ptr<const State> state_;  // of std::atomic_load() and std::atomic_store()
  EventSink& log_;
  std::mutex log_mutex_;
};

}  // namespace simile
