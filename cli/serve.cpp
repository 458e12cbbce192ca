// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <malloc.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/model.h"
#include "simile/core/check.h"
#include "simile/index/index_folder.h"
#include "simile/serve/server.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::string model, index, reranker;
  std::vector<std::string> also;
  ModelOptions arithmetic = index_model_options();
  ServeOptions serve;

  void visit(OptionVisitor& v) {
    v.field("model", model, {std::string(kModelHelp) + "; the one the index names by default"});
    v.field("index", index, {"Index folder to search"});
    v.field("also", also,
            {"NAME=FOLDER: another index, or model, whose routes begin with /at/NAME; may be given "
             "several times"});
    v.field("rerank_model", reranker,
            {"Model that reads query and text together (a cross-encoder, or a head of its own), "
             "for /rerank and searches with \"rerank\"; the served one, if it has such a head, by "
             "default"});
    arithmetic.visit_arithmetic(v);
    serve.visit(v);
  }
};

constexpr const char* kModelBesideRuns = "simile-mini-3";  // where there is nothing else to serve

// While one exists, signals wait until they are requested: no thread gets them.
class HeldSignals {
 public:
  HeldSignals() {
    std::signal(SIGHUP, SIG_DFL);  // nohup ignores it
    sigemptyset(&held_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&held_, number);
    pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // The next one.
  int wait() const {
    int number = 0;
    sigwait(&held_, &number);
    return number;
  }

  // From here on the next signal ends the program at once.
  void let_in() const {
    for (const int number : {SIGINT, SIGTERM}) std::signal(number, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t held_, before_;
};

// By folder and precision: one encoder serves all indexes that were built with it.
using Encoders = std::map<std::string, std::shared_ptr<const SentenceEncoder>>;

ServedModel load(Arguments arguments, Encoders& encoders, Terminal& terminal) {
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
        "--precision {} with --allow-changes: the vectors of {} were computed in {}; leave the "
        "option out, or build the index anew",
        arguments.arithmetic.precision, arguments.index, info.model.precision);
    model = model_of_index(arguments.index, info.model, model);
  }
  if (arguments.arithmetic.precision.empty()) arguments.arithmetic.precision = "fp32";
  const ModelFolder folder = open_model_folder(model, silent_events());
  auto& encoder = encoders[std::filesystem::weakly_canonical(folder.path).string() +
                           arguments.arithmetic.precision];
  if (encoder == nullptr) {
    encoder = std::make_shared<const SentenceEncoder>(
        load_encoder(model, terminal, arguments.arithmetic));
  }
  served.encoder = encoder;
  served.fingerprint = fingerprint_of(model);
  served.heads = load_heads(folder);
  if (!arguments.reranker.empty()) {
    served.reranker = load_reranker(arguments.reranker, loader_for(arguments.arithmetic), terminal);
  }
  served.names = arguments.serve.served_model_name;
  if (served.names.empty()) {
    std::filesystem::path path = std::filesystem::path(model).lexically_normal();
    if (path.filename().empty()) path = path.parent_path();  // "FOLDER/"
    const std::filesystem::path run = path.parent_path();
    if (path.filename() == "model" && file_exists(run / "run.json")) path = run;
    const std::string name = path.filename();
    served.names = {name.empty() || name == "." ? model : name};
  }
  for (const std::string& file : {folder.weights_path, folder.tokenizer_path}) {
    if (!file.empty()) served.files.push_back(file);
  }
  served.snapshots = arguments.serve.snapshots;
  served.precision = arguments.arithmetic.precision;
  served.device = arguments.arithmetic.device;
  served.version = SIMILE_VERSION;
  if (!arguments.index.empty()) {
    const bool changes = arguments.serve.allow_changes;
    const auto access = changes ? SearchIndex::Access::kWrite : SearchIndex::Access::kRead;
    served.index = std::make_shared<ServedIndex>(
        SearchIndex::open(arguments.index, served.fingerprint, model, access),
        read_search_settings(arguments.index), changes, arguments.index);
  }
  if (!arguments.serve.runs.empty()) {
    served.runs = std::make_shared<ServedRuns>(arguments.serve.runs);
  }
  return served;
}

// The options of what is served at each place; the first is that of the routes without /at.
std::vector<std::pair<std::string, Arguments>> arguments_by_place(const Arguments& all) {
  std::vector<std::pair<std::string, Arguments>> places = {{"", all}};
  for (const std::string& written : all.also) {
    const size_t end = std::min(written.find('='), written.size());
    const std::string name = written.substr(0, end);
    const std::string folder = end < written.size() ? written.substr(end + 1) : "";
    SIMILE_CHECK(is_plain_name(name) && !folder.empty(), ErrorKind::kUsage,
                 "--also {}: expected NAME=FOLDER, where the name has letters, digits, - _ and . "
                 "alone, 100 at most",
                 written);
    for (const auto& [other, arguments] : places) {
      SIMILE_CHECK(other != name, ErrorKind::kUsage, "--also {}: the name {} is given twice",
                   written, name);
    }
    Arguments own = all;
    const bool is_index = simile::is_index(folder);
    own.model = is_index ? "" : folder;
    own.index = is_index ? folder : "";
    own.reranker.clear();
    own.serve.served_model_name.clear();
    own.serve.runs.clear();
    if (!own.serve.snapshots.empty())
      own.serve.snapshots = std::filesystem::path(own.serve.snapshots) / name;
    own.serve.allow_changes = own.serve.allow_changes && is_index;
    places.emplace_back(name, std::move(own));
  }
  return places;
}

ApiKeys load_keys(const Arguments& arguments) {
  const std::string& file = arguments.serve.api_key_file;
  return file.empty() ? ApiKeys() : ApiKeys::load(file);
}

void warn_of_open_keys(const Arguments& arguments, Terminal& terminal) {
  namespace fs = std::filesystem;
  for (const std::string& file : {arguments.serve.api_key_file, arguments.serve.tls_key}) {
    const fs::perms read_by_all = fs::status(file).permissions() & fs::perms::others_read;
    if (!file_exists(file) || read_by_all == fs::perms::none) continue;
    terminal.warning(fmt::format(
        "{}: all users of this machine can read it; `chmod 600 {}` lets only you", file, file));
  }
}

// Takes the names of the other indexes from the snapshots of the main one, which would be in a
// folder with theirs.
void make_snapshot_folders(const std::vector<std::pair<std::string, Arguments>>& places) {
  for (const auto& [at, own] : places) {
    const bool has_snapshots = !own.index.empty() && !own.serve.snapshots.empty();
    if (!at.empty() && has_snapshots) make_folders(own.serve.snapshots);
  }
}

// A part that cannot be read does not end a server that still has the old one, and a renewed
// certificate does not wait for an index. `keys` are replaced by the new ones. Returns whether
// everything was read.
bool reload(const Arguments& arguments, ApiKeys& keys, Service& service, Server& server,
            const std::function<std::vector<ServedModel>()>& load_all) {
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
  attempt("model, index and keys were", [&] {
    ApiKeys renewed = load_keys(arguments);
    renewed.keep_balances(keys);
    service.replace(load_all(), renewed);
    keys = std::move(renewed);
    if (!keys.empty()) service.note("reload", keys.describe());
  });
  service.count_reload(whole);
  return whole;
}

void run(const Arguments& arguments, Terminal& terminal) {
  mallopt(M_ARENA_MAX, 1);  // of others the idle server could not give all memory back
  const bool quiet = terminal.is_quiet();
  SIMILE_CHECK(
      !arguments.model.empty() || !arguments.index.empty() || !arguments.serve.runs.empty(),
      ErrorKind::kUsage, "give --model DIR, or --index DIR, which names its model");
  SIMILE_CHECK(!arguments.serve.allow_changes || !arguments.index.empty(), ErrorKind::kUsage,
               "--allow-changes is for an index; give --index DIR");
  const auto places = arguments_by_place(arguments);
  check_exposure(arguments.serve);
  make_snapshot_folders(places);
  ApiKeys keys = load_keys(arguments);
  warn_of_open_keys(arguments, terminal);
  const HeldSignals signals;
  Terminal log(quiet);  // of the connections' threads
  EventSink& calls = quiet ? silent_events() : log;
  Service service(arguments.serve, keys, calls, AllowedHosts(arguments.serve));
  Server server(service, arguments.serve);
  server.start();        // which says until the model is there that it is not
  std::mutex reloading;  // by a signal or by a client
  std::function<bool()> reload_all;
  const auto load_all = [&] {
    std::vector<ServedModel> models;
    Encoders encoders;
    for (const auto& [at, own] : places) {
      models.push_back(load(own, encoders, terminal));
      models.back().at = at;
      models.back().reload = reload_all;
    }
    return models;
  };
  reload_all = [&] {
    const std::lock_guard<std::mutex> lock(reloading);
    return reload(arguments, keys, service, server, load_all);
  };
  std::vector<ServedModel> models = load_all();
  const std::string name = models.front().names.front();
  for (const ServedModel& model : models) {
    if (model.at.empty()) continue;
    service.note("start", fmt::format("{} is at /at/{}", model.names.front(), model.at));
  }
  service.replace(std::move(models), keys);
  write_result(fmt::format("{} serves at {}\n", name, server.url()));
  while (signals.wait() == SIGHUP) reload_all();
  signals.let_in();
  service.note("stop", "answers accepted requests, then exits");
  server.stop();
}

}  // namespace

void add_serve(const Commands& commands) {
  const auto command = std::make_shared<CLI::App*>();
  *command = commands.add<Arguments>("serve", "Answer over HTTP: vectors, similarities, search",
                                     [command](const Arguments& arguments, Terminal& terminal) {
                                       warn_of_environment(**command, terminal);
                                       run(arguments, terminal);
                                     });
  take_environment(**command);
}

}  // namespace simile::cli
