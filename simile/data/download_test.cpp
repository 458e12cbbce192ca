// SPDX-License-Identifier: Apache-2.0
#include "simile/data/download.h"

#include <gmock/gmock.h>
#include <httplib.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>

#include "simile/core/file.h"
#include "simile/data/catalogue.h"
#include "simile/data/detail/packed_files_test.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

// echo -n 'hello world' | sha256sum, md5sum
constexpr const char* kText = "hello world";
constexpr const char* kSha =
    "sha256:b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";
constexpr const char* kMd5 = "md5:5eb63bbbe01eeed093cb22bb8f5acdc3";
const std::string kWrong = "sha256:" + std::string(64, '0');

DownloadOptions quick() {
  DownloadOptions options;
  options.attempts = 3;
  options.pause_seconds = 0.01;
  options.timeout_seconds = 5;
  return options;
}

// Records what the server was asked for, and sets how it behaves.
class DownloadTest : public ::testing::Test {
 protected:
  DownloadTest() {
    server_.Get("/file", [this](const httplib::Request& request, httplib::Response& response) {
      note(request);
      response.set_content(kText, "text/plain");  // the server answers ranges itself
    });
    server_.Get("/norange", [this](const httplib::Request& request, httplib::Response& response) {
      note(request);
      const_cast<httplib::Request&>(request).ranges.clear();
      response.set_content(kText, "text/plain");
    });
    // The first two requests break off after four bytes of what they ask for.
    server_.Get("/cut", [this](const httplib::Request& request, httplib::Response& response) {
      note(request);
      const bool breaks = ++requests_ <= 2;
      response.set_content_provider(
          std::string(kText).size(), "text/plain",
          [breaks](size_t offset, size_t length, httplib::DataSink& sink) {
            sink.write(kText + offset, breaks ? std::min<size_t>(4, length) : length);
            return !breaks;
          });
    });
    server_.Get("/busy", [this](const httplib::Request& request, httplib::Response& response) {
      note(request);
      if (++requests_ <= 2) {
        response.status = 503;
      } else {
        response.set_content(kText, "text/plain");
      }
    });
    server_.Get("/moved", [](const httplib::Request&, httplib::Response& response) {
      response.set_redirect("/file");
    });
    server_.Get("/loop", [](const httplib::Request&, httplib::Response& response) {
      response.set_redirect("/loop");
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~DownloadTest() override {
    server_.stop();
    thread_.join();
  }

  // Requests come one after the other, but each on a thread of its own.
  void note(const httplib::Request& request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_.push_back(request.get_header_value("Range"));
  }
  std::vector<std::string> ranges() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return ranges_;
  }
  std::string url(const std::string& name) const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/" + name;
  }
  std::string path() const { return files_.path("got"); }
  std::string fetch(const std::string& name, const std::string& checksum = kSha,
                    const std::vector<std::string>& accepted = {}) const {
    return download({url(name), path(), checksum, accepted}, quick(), silent_events());
  }
  std::string error(const std::string& name, const std::string& checksum = kSha) const {
    return error_of([&] { fetch(name, checksum); });
  }

  TestFiles files_;
  httplib::Server server_;
  std::thread thread_;
  int port_ = 0;
  std::atomic<int> requests_{0};
  mutable std::mutex mutex_;
  std::vector<std::string> ranges_;  // headers
};

TEST_F(DownloadTest, AFileIsFetchedCheckedAndNotFetchedAgain) {
  EXPECT_EQ(fetch("file"), kSha);
  EXPECT_EQ(read_file(path()), kText);
  EXPECT_FALSE(file_exists(path() + ".part"));
  EXPECT_EQ(fetch("file"), kSha);
  EXPECT_EQ(ranges().size(), 1);
  fs::remove(path());
  EXPECT_EQ(fetch("file", kMd5), kMd5);
}

TEST_F(DownloadTest, ABrokenConnectionIsResumedWhereItBroke) {
  EXPECT_EQ(fetch("cut"), kSha);
  EXPECT_EQ(read_file(path()), kText);
  EXPECT_THAT(ranges(), ::testing::ElementsAre("", "bytes=4-", "bytes=8-"));
}

TEST_F(DownloadTest, APartOfAnEarlierCallIsResumed) {
  files_.write("got.part", "hello ");
  EXPECT_EQ(fetch("file"), kSha);
  EXPECT_THAT(ranges(), ::testing::ElementsAre("bytes=6-"));
  EXPECT_EQ(read_file(path()), kText);
}

TEST_F(DownloadTest, ACompletePartIsNotAskedForAgain) {
  files_.write("got.part", kText);
  EXPECT_EQ(fetch("file"), kSha);
  EXPECT_TRUE(ranges().empty());
}

TEST_F(DownloadTest, AServerWithoutRangesStartsAgain) {
  files_.write("got.part", "hello ");
  EXPECT_EQ(fetch("norange"), kSha);
  EXPECT_EQ(read_file(path()), kText);
}

TEST_F(DownloadTest, APartOfAnotherFileIsFetchedAnew) {
  files_.write("got.part", "HELLO ");
  EXPECT_EQ(fetch("file"), kSha);
  EXPECT_EQ(read_file(path()), kText);
  EXPECT_THAT(ranges(), ::testing::ElementsAre("bytes=6-", ""));
}

TEST_F(DownloadTest, APartLongerThanTheFileIsFetchedAnew) {
  files_.write("got.part", "a text that is longer than the file");
  EXPECT_EQ(fetch("file"), kSha);
}

TEST_F(DownloadTest, AWrongChecksumLeavesNothing) {
  EXPECT_THAT(error("file", kWrong),
              AllOf(HasSubstr("/file: the file received has 11 bytes and the checksum sha256:b94d"),
                    HasSubstr("expected " + kWrong), HasSubstr("--accept-checksum sha256:b94d")));
  EXPECT_FALSE(file_exists(path()));
  EXPECT_FALSE(file_exists(path() + ".part"));
  EXPECT_EQ(fetch("file", kWrong, {kSha}), kSha);
}

TEST_F(DownloadTest, AnUnknownChecksumIsToldAndAskedFor) {
  EXPECT_THAT(error("file", ""), AllOf(HasSubstr("its checksum is not known here"),
                                       HasSubstr(std::string("--accept-checksum ") + kSha)));
  EXPECT_FALSE(file_exists(path()));
  EXPECT_EQ(fetch("file", "", {kSha}), kSha);
  EXPECT_EQ(ranges().size(), 1) << "what was fetched is used";
  EXPECT_EQ(read_file(path()), kText);
}

TEST_F(DownloadTest, AFileThatIsNotThereIsAnErrorAtOnce) {
  EXPECT_THAT(error("missing"), HasSubstr("/missing: the server answers 404"));
  EXPECT_FALSE(file_exists(path()));
}

TEST_F(DownloadTest, ABusyServerIsAskedAgain) {
  EXPECT_EQ(fetch("busy"), kSha);
  EXPECT_EQ(requests_, 3);
  fs::remove(path());
  requests_ = -100;
  EXPECT_THAT(error("busy"), HasSubstr("the server answers 503 (3 attempts)"));
  EXPECT_EQ(requests_, -97);
}

TEST_F(DownloadTest, RedirectsAreFollowed) {
  EXPECT_EQ(fetch("moved"), kSha);
  EXPECT_EQ(read_file(path()), kText);
  fs::remove(path());
  EXPECT_THAT(error("loop"), HasSubstr("without end"));
}

TEST_F(DownloadTest, ARedirectKeepsWhereToResume) {
  files_.write("got.part", "hello ");
  EXPECT_EQ(fetch("moved"), kSha);
  EXPECT_EQ(read_file(path()), kText);
}

TEST_F(DownloadTest, NoServerIsAnErrorAfterTheLastAttempt) {
  EXPECT_THAT(error_of([&] {
                download({"http://127.0.0.1:1/file", path(), kSha, {}}, quick(), silent_events());
              }),
              AllOf(HasSubstr("cannot be reached"), HasSubstr("(3 attempts)")));
}

TEST_F(DownloadTest, AnotherFileInTheWayStays) {
  files_.write("got", "mine");
  EXPECT_THAT(error("file"),
              AllOf(HasSubstr("is there with the checksum"), HasSubstr("remove it")));
  EXPECT_EQ(read_file(path()), "mine");
  EXPECT_THAT(error("file", ""), AllOf(HasSubstr("which is right is not known"),
                                       HasSubstr("--accept-checksum sha256:")));
  EXPECT_EQ(read_file(path()), "mine");
}

TEST_F(DownloadTest, AFullDiskIsAnError) {
  fs::create_symlink("/dev/full", path() + ".part");
  EXPECT_THAT(error("file"), AllOf(HasSubstr("cannot write"), HasSubstr("make room")));
}

TEST_F(DownloadTest, ASignalEndsItAndThePartStays) {
  struct Stopper : EventSink {
    void progress(const Progress& progress) override {
      if (progress.done > 0) throw Error(ErrorKind::kInterrupted, "stopped");
    }
  } stopper;
  EXPECT_EQ(error_of([&] {
              download({url("file"), path(), kSha, {}}, quick(), stopper);
            }),
            "stopped");
  EXPECT_EQ(read_file(path() + ".part"), kText);
}

TEST_F(DownloadTest, MistakesInTheCallAreToldBeforeAnyRequest) {
  EXPECT_THAT(error_of([&] {
                download({"ftp://x/y", path(), "", {}}, quick(), silent_events());
              }),
              HasSubstr("expected http:// or https://"));
  EXPECT_THAT(error("file", "sha256:12"), HasSubstr("is no checksum"));
  EXPECT_TRUE(ranges().empty());
}

TEST_F(DownloadTest, ASetOfACatalogueFileIsFetched) {
  const std::string catalogue = files_.write(
      "catalogue.json",
      "{\"sets\": [{\"name\": \"tiny\", \"licence\": \"none\", \"files\": [{\"url\": \"" +
          url("moved") + "?download=1\", \"checksum\": \"" + kSha + "\"}, {\"url\": \"" +
          url("file") + "\", \"name\": \"b.txt\"}]}]}");
  const auto sets = read_catalogue(catalogue);
  const CatalogueSet& set = find_set(sets, "tiny");
  EXPECT_EQ(set.files[0].file_name(), "moved");
  const std::string folder = files_.path("data/tiny");
  EXPECT_THAT(
      error_of([&] { fetch_set(set, folder, {}, quick(), silent_events()); }),
      AllOf(HasSubstr("/file: its checksum is not known"), ::testing::Not(HasSubstr("/moved"))));
  const auto fetched = fetch_set(set, folder, {kSha}, quick(), silent_events());
  ASSERT_EQ(fetched.size(), 2U);
  EXPECT_EQ(read_file(folder + "/moved"), kText);
  EXPECT_EQ(read_file(folder + "/b.txt"), kText);
  EXPECT_THAT(error_of([&] { find_set(sets, "tinny"); }), HasSubstr("did you mean 'tiny'?"));
}

TEST(Catalogue, RefusesWhatCannotBeFetched) {
  const TestFiles files;
  const auto error = [&](const std::string& text) {
    return error_of([&] { read_catalogue(files.write("c.yaml", text)); });
  };
  EXPECT_THAT(error("sets: [{name: a, file: []}]"), HasSubstr("file"));
  EXPECT_THAT(error("sets: [{name: a}]"), HasSubstr("lists no `files`"));
  EXPECT_THAT(error("sets: [{name: a, files: {url: http://x/y}}, {name: a, files: {url: u}}]"),
              HasSubstr("'a' twice"));
  EXPECT_THAT(error("sets: [{name: a, files: {url: http://x/y, name: ../z}}]"),
              HasSubstr("cannot be a file's name"));
  EXPECT_THAT(error("sets: [{name: a, files: [{url: http://x/y}, {url: http://z/y}]}]"),
              HasSubstr("two files of the set 'a' would be stored as 'y'"));
}

TEST(Catalogue, EveryBuiltInSetIsComplete) {
  EXPECT_GE(builtin_catalogue().size(), 10u);
  for (const CatalogueSet& set : builtin_catalogue()) {
    EXPECT_EQ(&find_set(builtin_catalogue(), set.name), &set) << set.name << " stands twice";
    EXPECT_FALSE(set.description.empty() || set.licence.empty() || set.advice.empty()) << set.name;
    for (const CatalogueFile& file : set.files) {
      EXPECT_FALSE(file.file_name().empty()) << set.name;
      const size_t colon = file.checksum.find(':');
      if (file.checksum.empty()) continue;
      EXPECT_EQ(file.checksum.size() - colon - 1, file.checksum[0] == 's' ? 64u : 32u) << set.name;
    }
  }
}

}  // namespace
}  // namespace simile
