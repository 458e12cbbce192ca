// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/model.h"
#include "simile/core/check.h"
#include "simile/index/index_folder.h"
#include "simile/serve/server.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::string model, index, reranker;
  ModelOptions arithmetic = index_model_options();
  ServeOptions serve;

  void visit(OptionVisitor& v) {
    v.field("model", model, {std::string(kModelHelp) + "; the one the index names by default"});
    v.field("index", index, {"Index folder to search"});
    v.field("rerank_model", reranker,
            {"Model with a head that reads query and text together, for /rerank and searches with "
             "\"rerank\"; the served one, if it has such a head, by default"});
    arithmetic.visit_arithmetic(v);
    serve.visit(v);
  }
};

constexpr const char* kModelBesideRuns = "simile-mini-2";  // where there is nothing else to serve

volatile std::sig_atomic_t hangup_received = 0;

// While one lives, signals wait: new threads never get them, and the waiting here alone lets them
// in.
class HeldSignals {
 public:
  HeldSignals() {
    struct sigaction action = {};
    action.sa_handler = [](int) { hangup_received = 1; };
    sigemptyset(&action.sa_mask);
    sigaction(SIGHUP, &action, nullptr);
    sigset_t held;
    sigemptyset(&held);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&held, number);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  ~HeldSignals() { let_in(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // Waits for SIGHUP (true), or for a signal to end.
  bool await_hangup() const {
    while (signal_received() == 0 && hangup_received == 0) sigsuspend(&before_);
    hangup_received = 0;
    return signal_received() == 0;
  }

  // From here on the next signal ends the program at once.
  void let_in() const { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

ServedModel load(Arguments arguments, Terminal& terminal) {
  ServedModel served;
  std::string model = arguments.model;
  if (model.empty() && arguments.index.empty()) model = kModelBesideRuns;
  if (!arguments.index.empty()) {
    const IndexInfo info = read_index_info(arguments.index);
    if (arguments.arithmetic.precision.empty()) {
      arguments.arithmetic.precision = info.model.precision;
    }
    // Vectors of one index are computed alike.
    SIMILE_CHECK(
        !arguments.serve.allow_changes || arguments.arithmetic.precision == info.model.precision,
        ErrorKind::kUsage,
        "--precision {} with --allow-changes: the vectors of {} were computed in {}; "
        "leave the option out, or build the index anew",
        arguments.arithmetic.precision, arguments.index, info.model.precision);
    model = model_of_index(arguments.index, info.model, model);
  }
  if (arguments.arithmetic.precision.empty()) arguments.arithmetic.precision = "fp32";
  const ModelFolder folder = open_model_folder(model, silent_events());
  served.encoder =
      std::make_shared<const SentenceEncoder>(load_encoder(model, terminal, arguments.arithmetic));
  served.fingerprint = fingerprint_of(model);
  served.heads = load_heads(folder);
  if (!arguments.reranker.empty()) {
    served.reranker = load_reranker(arguments.reranker, loader_for(arguments.arithmetic), terminal);
  }
  served.names = arguments.serve.served_model_name;
  if (served.names.empty()) {
    const std::string name = std::filesystem::path(model).lexically_normal().filename();
    served.names = {name.empty() || name == "." ? model : name};
  }
  served.precision = arguments.arithmetic.precision;
  served.device = arguments.arithmetic.device;
  served.version = SIMILE_VERSION;
  if (!arguments.index.empty()) {
    const bool changes = arguments.serve.allow_changes;
    const auto access = changes ? SearchIndex::Access::kWrite : SearchIndex::Access::kRead;
    served.index = std::make_shared<ServedIndex>(
        SearchIndex::open(arguments.index, served.fingerprint, model, access),
        read_search_settings(arguments.index), changes);
  }
  if (!arguments.serve.runs.empty()) {
    served.runs = std::make_shared<ServedRuns>(arguments.serve.runs);
  }
  return served;
}

ApiKeys load_keys(const Arguments& arguments) {
  const std::string& file = arguments.serve.api_key_file;
  return file.empty() ? ApiKeys() : ApiKeys::load(file);
}

// What cannot be read does not end a server that has what it needs, and a certificate that was
// renewed does not wait for an index.
void reload(const Arguments& arguments, Service& service, Server& server, Terminal& terminal) {
  bool whole = true;
  const auto attempt = [&](const std::string& what, const auto& read) {
    try {
      read();
      service.note("reload", what + " read again");
    } catch (const Error& error) {
      service.note("reload failed", error.what());
      whole = false;
    }
  };
  if (!arguments.serve.tls_certificate.empty()) {
    attempt("the certificate was", [&] { server.renew_certificates(); });
  }
  attempt("model, index and keys were",
          [&] { service.replace(load(arguments, terminal), load_keys(arguments)); });
  service.count_reload(whole);
}

void run(const Arguments& arguments, Terminal& terminal) {
  const bool quiet = terminal.is_quiet();
  SIMILE_CHECK(
      !arguments.model.empty() || !arguments.index.empty() || !arguments.serve.runs.empty(),
      ErrorKind::kUsage, "give --model DIR, or --index DIR, which names its model");
  SIMILE_CHECK(!arguments.serve.allow_changes || !arguments.index.empty(), ErrorKind::kUsage,
               "--allow-changes is for an index; give --index DIR");
  check_exposure(arguments.serve);
  ApiKeys keys = load_keys(arguments);
  const HeldSignals signals;
  ServedModel model = load(arguments, terminal);
  const std::string name = model.names.front();
  Terminal log(quiet);  // of the connections' threads
  EventSink& calls = quiet ? silent_events() : log;
  Service service(std::move(model), arguments.serve, std::move(keys), calls,
                  AllowedHosts(arguments.serve));
  Server server(service, arguments.serve);
  server.start();
  write_result(fmt::format("{} serves at {}\n", name, server.url()));
  while (signals.await_hangup()) reload(arguments, service, server, terminal);
  signals.let_in();
  server.stop();
  forget_signal();  // it ended the work as it should
}

}  // namespace

void add_serve(const Commands& commands) {
  commands.add<Arguments>("serve", "Answer over HTTP: vectors, similarities, search", run);
}

}  // namespace simile::cli
