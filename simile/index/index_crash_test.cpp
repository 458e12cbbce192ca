// SPDX-License-Identifier: Apache-2.0
// An index whose writer is killed (SIGKILL: no handler runs) at random moments, again and again:
// every acknowledged change is there, and the one in progress is there as a whole or not at all.
// SIMILE_KILLS=200 in the environment kills so many times (tests/kill_index.sh).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/index/detail/index_setup_test.h"
#include "simile/index/detail/manifest.h"

namespace simile {
namespace {

using detail::vectors_of_texts;
namespace fs = std::filesystem;

constexpr int64_t kD = 16;
constexpr int kIds = 400;
using Texts = std::map<std::string, std::pair<std::string, std::string>>;  // and metadata, by id

bool with_passages() { return std::getenv("SIMILE_CRASH_PASSAGES") != nullptr; }

Document make_document(const std::string& id, const std::string& text) {
  Document document{id, text};
  const auto size = static_cast<int64_t>(text.size());
  if (with_passages() && id.back() % 2 == 0) {
    document.passages = {{0, 8}, {4, size - 4}, {6, size - 2}, {9, size}};
  }
  return document;
}

// A change in one line: `add VERSION id...`, `patch VERSION id...`, `remove id...` or `merge`.
struct Operation {
  std::string name, version;
  std::vector<std::string> ids;

  static Operation parse(const std::string& line) {
    std::istringstream words(line);
    Operation operation;
    words >> operation.name;
    if (operation.has_version()) words >> operation.version;
    for (std::string id; words >> id;) operation.ids.push_back(id);
    return operation;
  }

  std::string line() const {
    std::string text = name + (version.empty() ? "" : " " + version);
    for (const std::string& id : ids) text += " " + id;
    return text;
  }

  std::vector<Document> documents() const {
    std::vector<Document> documents;
    for (const std::string& id : ids) {
      documents.push_back(make_document(id, fmt::format("version {} of {}", version, id)));
    }
    return documents;
  }

  bool has_version() const { return name == "add" || name == "patch"; }
  std::string metadata() const { return fmt::format(R"({{"v":{}}})", version); }

  void apply(Texts& texts) const {
    for (const std::string& id : ids) {
      if (name == "patch") {
        texts[id].second = metadata();
      } else {
        texts.erase(id);
      }
    }
    if (name != "add") return;
    for (const Document& document : documents()) texts[document.id] = {document.text, ""};
  }

  void apply(SearchIndex& index) const {
    if (name == "add") index.add(documents(), vectors_of_texts(documents(), kD));
    if (name == "remove") index.remove(ids);
    if (name == "merge") index.merge();
    std::vector<SearchIndex::MetadataPatch> patches;
    for (const std::string& id : ids) patches.push_back({id, metadata()});
    if (name == "patch") index.change_metadata(patches);
  }
};

Texts read_texts(const std::string& folder) {
  Texts texts;
  DocumentStore(detail::documents_path(folder), DocumentStore::Access::kRead)
      .for_each(0, std::numeric_limits<int64_t>::max(), [&](int64_t, const Document& document) {
        texts[document.id] = {document.text, document.metadata};
      });
  return texts;
}

Operation next_operation(std::mt19937& random, const Texts& texts) {
  Operation operation;
  const unsigned kind = random() % 16;
  std::set<std::string> ids;
  if (kind == 0) {
    operation.name = "merge";
  } else if (kind < 8 && !texts.empty()) {
    operation.name = kind < 5 ? "remove" : "patch";
    if (kind >= 5) operation.version = std::to_string(random());
    for (const auto& entry : texts) {
      if (ids.size() < 8 && random() % 16 == 0) ids.insert(entry.first);
    }
    if (ids.empty()) ids.insert(texts.begin()->first);
  } else {
    operation.name = "add";
    operation.version = std::to_string(random());
    const unsigned count = kind < 14 ? 1 + random() % 4 : 1 + random() % 100;
    for (unsigned i = 0; i < count; ++i) ids.insert(fmt::format("d{}", random() % kIds));
  }
  operation.ids.assign(ids.begin(), ids.end());
  return operation;
}

// The work of the killed process: it reports each change before it begins and when it is done.
TEST(IndexCrashWorker, DISABLED_ChangesAnIndexUntilItIsKilled) {
  const char* const folder = std::getenv("SIMILE_CRASH_FOLDER");
  const char* const seed = std::getenv("SIMILE_CRASH_SEED");
  if (folder == nullptr || seed == nullptr) GTEST_SKIP() << "skipped: IndexCrashSlow starts it";
  std::mt19937 random(static_cast<unsigned>(std::atoll(seed)));
  SearchIndex index = SearchIndex::open(folder, "f", "m", SearchIndex::Access::kWrite);
  Texts texts = read_texts(folder);
  for (;;) {
    const Operation operation = next_operation(random, texts);
    std::cout << "op " << operation.line() << std::endl;
    operation.apply(index);
    std::cout << "done" << std::endl;
    operation.apply(texts);
  }
}

class IndexCrashSlow : public testing::Test {
 protected:
  IndexCrashSlow() {
    fs::remove_all(folder_);
    IndexedModel model{"f", "m", kD, VectorMetric::kInnerProduct};
    if (with_passages()) model.passages = {16, 4};
    SearchSettings settings;
    settings.approximate.approximate = "always";  // each merge makes a graph
    IndexBuilder(folder_, model, true, settings).commit();
  }
  ~IndexCrashSlow() override { fs::remove_all(folder_); }

  void kill_again_and_again();

  // Lets a worker run for `time` from one of its first four changes and kills it. Returns its report.
  std::string run_worker(unsigned seed, std::chrono::microseconds time) const {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      setenv("SIMILE_CRASH_FOLDER", folder_.c_str(), 1);
      setenv("SIMILE_CRASH_SEED", std::to_string(seed).c_str(), 1);
      execl("/proc/self/exe", "worker", "--gtest_also_run_disabled_tests",
            "--gtest_filter=IndexCrashWorker.*", static_cast<char*>(nullptr));
      _exit(9);
    }
    close(ends[1]);
    std::string told;
    bool started = false;
    std::thread killer;
    char buffer[4096];
    for (ssize_t size; (size = read(ends[0], buffer, sizeof buffer)) > 0;) {
      told.append(buffer, static_cast<size_t>(size));
      unsigned begun = 0;  // several, lest a slow disk only ever sees the first
      for (size_t at = 0; (at = told.find("\nop ", at)) != std::string::npos; ++at) ++begun;
      if (started || begun <= seed % 4) continue;
      started = true;
      killer = std::thread([child, time] {
        std::this_thread::sleep_for(time);
        kill(child, SIGKILL);
      });
    }
    if (killer.joinable()) killer.join();
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << told;
    return told;
  }

  // Applies what was done to `texts`; the change that was begun and not acknowledged, if any.
  static std::optional<Operation> replay(const std::string& told, Texts& texts, int& changes) {
    std::istringstream lines(told);
    std::optional<Operation> begun;
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("op ", 0) == 0) begun = Operation::parse(line.substr(3));
      if (line != "done" || !begun) continue;
      begun->apply(texts);
      begun.reset();
      ++changes;
    }
    return begun;
  }

  // Everything is whole, and a search by each document's vectors finds it.
  void expect_whole(const Texts& texts) const {
    const IndexCheck check = check_index(folder_);
    ASSERT_EQ(check.info.count, static_cast<int64_t>(texts.size()));
    std::vector<Document> documents;
    for (const auto& entry : texts) {
      documents.push_back(make_document(entry.first, entry.second.first));
    }
    const SearchIndex index = SearchIndex::open(folder_, "f", "m");
    const Matrix<float> vectors = vectors_of_texts(documents, kD);
    const auto found = index.search(vectors, check.info.count);
    ASSERT_EQ(check.info.vectors, vectors.rows);
    size_t row = 0;
    for (const Document& document : documents) {
      for (int64_t i = 0; i < document.vectors(); ++i, ++row) {
        float square = 0;
        const float* const vector = vectors.row(static_cast<int64_t>(row));
        for (int64_t d = 0; d < kD; ++d) square += vector[d] * vector[d];
        const auto hit =
            std::find_if(found[row].begin(), found[row].end(),
                         [&](const SearchHit& other) { return other.id == document.id; });
        ASSERT_NE(hit, found[row].end()) << document.id;
        ASSERT_GE(hit->score, square - 1e-4f);
        if (document.vectors() == 1) {
          ASSERT_EQ(hit->text, document.text);
          ASSERT_NEAR(hit->score, square, 1e-4f);
        }
      }
    }
  }

  const std::string folder_ = fmt::format("{}simile_index_crash_{}", testing::TempDir(), getpid());
};

void IndexCrashSlow::kill_again_and_again() {
  const char* const wanted = std::getenv("SIMILE_KILLS");
  const int kills = wanted == nullptr ? 25 : std::atoi(wanted);
  const auto seed = static_cast<unsigned>(getpid());
  std::mt19937 random(seed);
  Texts texts;
  int changes = 0, lost = 0, kept = 0, left_files = 0, journals = 0;
  for (int round = 0; round < kills; ++round) {
    const std::chrono::microseconds time(random() % 60000);
    const std::string told = run_worker(random(), time);
    if (HasFailure()) return;
    const std::optional<Operation> begun = replay(told, texts, changes);
    journals += file_exists(detail::documents_path(folder_) + "-journal") ? 1 : 0;
    const Texts found = read_texts(folder_);
    if (found != texts && begun) {
      begun->apply(texts);
      ++kept;
    } else if (begun) {
      ++lost;
    }
    ASSERT_EQ(found, texts) << "round " << round << " of seed " << seed << ": "
                            << (begun ? begun->line() : "");
    ASSERT_NO_FATAL_FAILURE(expect_whole(texts)) << "round " << round << " of seed " << seed;
    left_files += check_index(folder_).unused_files.empty() ? 0 : 1;
  }
  fmt::print(
      "{} kills, {} changes acknowledged; of those begun {} were there and {} not; {} times a "
      "journal and {} times files of segments were left\n",
      kills, changes, kept, lost, journals, left_files);
  EXPECT_GT(changes, 0);  // how many depends on the disk
  SearchIndex index = SearchIndex::open(folder_, "f", "m", SearchIndex::Access::kWrite);
  index.merge();
  EXPECT_TRUE(check_index(folder_).unused_files.empty());
  expect_whole(texts);
}

TEST_F(IndexCrashSlow, KilledAtAnyMomentItHasEachAcknowledgedChangeAndNoneInPart) {
  kill_again_and_again();
}

// The same of an index of passages. Set before the fixture makes the index.
struct WithPassages {
  WithPassages() { setenv("SIMILE_CRASH_PASSAGES", "1", 1); }
  ~WithPassages() { unsetenv("SIMILE_CRASH_PASSAGES"); }
};
class PassageCrashSlow : protected WithPassages, public IndexCrashSlow {};

TEST_F(PassageCrashSlow, KilledAtAnyMomentItHasAllPassagesOfEachAcknowledgedChange) {
  kill_again_and_again();
}

}  // namespace
}  // namespace simile
