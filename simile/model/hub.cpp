// SPDX-License-Identifier: Apache-2.0
#include "simile/model/hub.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>
#include <thread>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/options.h"
#include "simile/data/web.h"
#include "simile/model/model_files.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The first word of a file; empty where there is none.
std::string first_word(const std::string& path) {
  std::istringstream text(file_exists(path) ? read_file(path) : "");
  std::string word;
  text >> word;
  return word;
}

std::string escape_path(const std::string& path, const std::string& kept) {
  std::string escaped;
  for (const char c : path) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || kept.find(c) != kept.npos;
    escaped += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return escaped;
}

std::string model_folder(const HubName& name, const HubSettings& settings) {
  std::string folder = "models--" + name.repository;
  const size_t slash = folder.find('/');
  if (slash != folder.npos) folder.replace(slash, 1, "--");
  return join_path(settings.cache, folder);
}

struct ModelInfo {
  struct File {
    std::string name;
    void visit(OptionVisitor& v) { v.required("rfilename", name); }
  };
  std::string commit;
  std::vector<File> files;

  void visit(OptionVisitor& v) {
    v.required("sha", commit);
    v.field("siblings", files, {"Files"});
  }
};

// A file to fetch.
struct HubFile {
  std::string name, etag, url;
  int64_t bytes = 0;
};

// Progress of one file as a part of all.
class PartOfAll : public EventSink {
 public:
  PartOfAll(int64_t before, int64_t total, EventSink& events)
      : before_(before), total_(total), events_(events) {}
  void info(const std::string& message) override { events_.info(message); }
  void warning(const std::string& message) override { events_.warning(message); }
  void progress(const Progress& progress) override {
    const int64_t done = std::min(before_ + progress.done, total_);
    events_.progress({"fetch", done, total_, "bytes", progress.values});
  }

 private:
  int64_t before_, total_;
  EventSink& events_;
};

class Fetch {
 public:
  Fetch(const HubName& name, const HubSettings& settings, const DownloadOptions& options,
        EventSink& events)
      : name_(name),
        settings_(settings),
        options_(options),
        events_(events),
        folder_(model_folder(name, settings)) {
    if (!settings.token.empty()) headers_.push_back("Authorization: Bearer " + settings.token);
  }

  std::string run() {
    const ModelInfo info = read_info();
    std::vector<std::string> names;
    for (const ModelInfo::File& file : info.files) names.push_back(file.name);
    const std::string problem = explain_no_model("", names);
    SIMILE_CHECK(problem.empty(), ErrorKind::kInput, "{} {}; nothing was fetched", name_.text(),
                 problem);
    std::vector<HubFile> files;
    int64_t total = 0, done = 0;
    for (const std::string& name : choose_model_files(names)) {
      files.push_back(ask_for(name, info.commit));
      total += files.back().bytes;
    }
    const std::string snapshot = join_path(folder_, "snapshots/" + info.commit);
    for (const HubFile& file : files) {
      PartOfAll events(done, total, events_);
      fetch(file, events);
      done += file.bytes;
      link(file, snapshot);
    }
    if (name_.revision != info.commit) {
      const std::string ref = join_path(folder_, "refs/" + name_.revision);
      make_folders(fs::path(ref).parent_path().string());
      write_file_atomic(ref, info.commit);
    }
    return snapshot;
  }

 private:
  std::string page() const { return settings_.endpoint + "/" + name_.repository; }

  // One answer that is kept in memory, after retries if needed.
  WebAnswer ask(const std::string& url, bool wants_body, std::string* body) const {
    for (int64_t attempt = 1;; ++attempt) {
      WebTaker taker;
      if (body != nullptr) body->clear();
      taker.take = [&](const char* bytes, size_t count) {
        constexpr size_t kMost = size_t{64} << 20;
        SIMILE_CHECK(body->size() + count <= kMost, ErrorKind::kFailed,
                     "{}: the answer has more than 64 MB", url);
        body->append(bytes, count);
      };
      taker.wait = [&] { events_.progress({"wait", 0, 1, "bytes", {}}); };
      const WebAnswer answer =
          send({url, headers_, wants_body, wants_body, options_.timeout_seconds}, taker);
      if (answer.problem.empty()) return answer;
      SIMILE_CHECK(answer.may_retry && attempt < options_.attempts, ErrorKind::kFailed,
                   "{}: {} ({} attempts)", url, answer.problem, attempt);
      wait_for_attempt(attempt, options_, events_);
    }
  }

  ModelInfo read_info() const {
    const std::string url = fmt::format("{}/api/models/{}/revision/{}", settings_.endpoint,
                                        name_.repository, escape_path(name_.revision, "-._~"));
    std::string body;
    const WebAnswer answer = ask(url, true, &body);
    check_answer(answer, url);
    ModelInfo info;
    read_json_options(body, url, info);
    SIMILE_CHECK(std::regex_match(info.commit, std::regex("[0-9a-f]{7,64}")), ErrorKind::kFailed,
                 "{}: '{}' is no commit", url, info.commit);
    return info;
  }

  void check_answer(const WebAnswer& answer, const std::string& url) const {
    if (answer.status == 200) return;
    const std::string code = answer.header("x-error-code");
    const std::string with_token = settings_.token.empty()
                                       ? "set HF_TOKEN to a token that may read it"
                                       : "the token in HF_TOKEN does not allow it";
    std::string problem;
    if (code == "GatedRepo") {
      problem = fmt::format("the model is gated: accept its conditions at {}, then {}", page(),
                            with_token);
    } else if (code == "RevisionNotFound") {
      problem = fmt::format("the model has no revision '{}'", name_.revision);
    } else if (code == "RepoNotFound" || answer.status == 401 || answer.status == 403 ||
               answer.status == 404) {
      problem =
          fmt::format("{} has no such model, or it is private: {}", settings_.endpoint, with_token);
    }
    throw Error(problem.empty() ? ErrorKind::kFailed : ErrorKind::kInput,
                problem.empty() ? fmt::format("{}: the server answers {}", url, answer.status)
                                : fmt::format("{}: {}", name_.text(), problem));
  }

  // Asks the server about a file without downloading it. Large files are stored on another server;
  // the hub sends their SHA-256 and size before it redirects there.
  HubFile ask_for(const std::string& name, const std::string& commit) const {
    check_file_name(name);
    HubFile file{name, "",
                 fmt::format("{}/resolve/{}/{}", page(), commit, escape_path(name, "-._~/")), 0};
    WebAnswer answer = ask(file.url, false, nullptr);
    for (int hops = 0; hops < 5 && answer.status >= 300 && answer.status < 400; ++hops) {
      const std::string location = answer.header("location");
      if (!starts_with(location, "/")) break;  // of another server
      file.url = settings_.endpoint + location;
      answer = ask(file.url, false, nullptr);
    }
    if (answer.status < 300 || answer.status >= 400) check_answer(answer, file.url);
    const auto either = [&](const char* linked, const char* plain) {
      const std::string value = answer.header(linked);
      return value.empty() ? answer.header(plain) : value;
    };
    file.etag = either("x-linked-etag", "etag");
    if (starts_with(file.etag, "W/")) file.etag.erase(0, 2);
    file.etag.erase(std::remove(file.etag.begin(), file.etag.end(), '"'), file.etag.end());
    SIMILE_CHECK(std::regex_match(file.etag, std::regex("[0-9A-Za-z._-]{1,128}")),
                 ErrorKind::kFailed,
                 "{}: the server names no ETag, so the file has no place in the cache", file.url);
    file.bytes = std::atoll(either("x-linked-size", "content-length").c_str());
    return file;
  }

  void check_file_name(const std::string& name) const {
    bool is_good = !name.empty() && name.front() != '/' && name.find('\0') == name.npos;
    for (const fs::path& part : fs::path(name)) is_good = is_good && part != ".." && part != ".";
    SIMILE_CHECK(is_good, ErrorKind::kFailed, "{}: '{}' cannot be a file's name", name_.text(),
                 name);
  }

  void fetch(const HubFile& file, EventSink& events) const {
    const std::string blob = join_path(folder_, "blobs/" + file.etag);
    const std::string locks =
        join_path(settings_.cache, ".locks/" + fs::path(folder_).filename().string());
    make_folders(locks);
    for (;;) {  // as huggingface_hub does
      const FileLock lock(join_path(locks, file.etag + ".lock"), FileLock::On::kFile);
      if (lock.is_held()) {
        if (!file_exists(blob)) download(as_download(file, blob), options_, events);
        return;
      }
      events.progress({"wait", 0, file.bytes, "bytes", {}});
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  Download as_download(const HubFile& file, const std::string& blob) const {
    Download download;
    download.url = file.url;
    download.path = blob;
    download.part = blob + ".incomplete";
    download.headers = headers_;
    const size_t digits =
        file.etag.find_first_not_of("0123456789abcdef") == file.etag.npos ? file.etag.size() : 0;
    download.checksum = digits == 64   ? "sha256:" + file.etag
                        : digits == 40 ? "git:" + file.etag
                                       : "";
    download.takes_any = download.checksum.empty();
    return download;
  }

  void link(const HubFile& file, const std::string& snapshot) const {
    const fs::path path = join_path(snapshot, file.name);
    const fs::path blob = join_path(folder_, "blobs/" + file.etag);
    std::error_code error;
    if (fs::equivalent(path, blob, error)) return;
    make_folders(path.parent_path().string());
    fs::remove(path, error);
    fs::create_symlink(blob.lexically_relative(path.parent_path()), path, error);
    if (error)
      fs::copy_file(blob, path, fs::copy_options::overwrite_existing, error);  // no links there
    SIMILE_CHECK(!error, ErrorKind::kIo, "cannot write '{}': {}", path.string(), error.message());
  }

  const HubName& name_;
  const HubSettings& settings_;
  const DownloadOptions& options_;
  EventSink& events_;
  std::string folder_;
  std::vector<std::string> headers_;
};

bool is_set(const char* name) {
  std::string value = variable(name);
  std::transform(value.begin(), value.end(), value.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

}  // namespace

std::string HubName::text() const {
  return revision == "main" ? repository : repository + "@" + revision;
}

std::optional<HubName> parse_hub_name(const std::string& name) {
  static const std::regex form("((?:[\\w.-]+/)?[\\w.-]{1,96})(?:@([\\w./-]+))?");
  std::smatch parts;
  if (!std::regex_match(name, parts, form)) return std::nullopt;
  HubName hub{parts[1].str()};
  if (parts[2].matched) hub.revision = parts[2].str();
  const auto has = [&](const char* text) { return name.find(text) != name.npos; };
  const bool is_path = name.front() == '.' || name.front() == '-' || has("/.") || has("--") ||
                       has("..") || ends_with(hub.repository, ".git");
  if (is_path) return std::nullopt;
  return hub;
}

HubSettings hub_settings() {
  HubSettings settings;
  const std::string home = variable("HOME"), caches = variable("XDG_CACHE_HOME");
  std::string hub_home = variable("HF_HOME");
  if (hub_home.empty()) hub_home = (caches.empty() ? home + "/.cache" : caches) + "/huggingface";
  settings.cache = variable("HF_HUB_CACHE");
  if (settings.cache.empty()) settings.cache = join_path(hub_home, "hub");
  if (const std::string endpoint = variable("HF_ENDPOINT"); !endpoint.empty())
    settings.endpoint = endpoint;
  while (ends_with(settings.endpoint, "/")) settings.endpoint.pop_back();
  settings.token = variable("HF_TOKEN");
  const std::string token_file = variable("HF_TOKEN_PATH");
  if (settings.token.empty())
    settings.token = first_word(token_file.empty() ? join_path(hub_home, "token") : token_file);
  settings.is_offline = is_set("HF_HUB_OFFLINE") || is_set("TRANSFORMERS_OFFLINE");
  return settings;
}

std::optional<std::string> find_hub_model(const HubName& name, const HubSettings& settings) {
  const std::string folder = model_folder(name, settings);
  const std::string commit = first_word(join_path(folder, "refs/" + name.revision));
  const std::string snapshot =
      join_path(folder, "snapshots/" + (commit.empty() ? name.revision : commit));
  if (!folder_exists(snapshot)) return std::nullopt;
  const std::vector<std::string> files = list_model_files(snapshot);
  SIMILE_CHECK(std::any_of(files.begin(), files.end(), is_weight_file), ErrorKind::kInput,
               "'{}' holds only a part of {}, without weights; fetch the rest: simile get {}",
               snapshot, name.text(), name.text());
  return snapshot;
}

std::string fetch_hub_model(const HubName& name, const HubSettings& settings,
                            const DownloadOptions& options, EventSink& events) {
  if (settings.is_offline) {
    const std::optional<std::string> found = find_hub_model(name, settings);
    SIMILE_CHECK(found, ErrorKind::kInput,
                 "{} is not in {}, and HF_HUB_OFFLINE forbids to fetch it", name.text(),
                 settings.cache);
    return *found;
  }
  return Fetch(name, settings, options, events).run();
}

}  // namespace simile
