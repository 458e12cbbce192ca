// SPDX-License-Identifier: Apache-2.0
#include "simile/model/hub.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/file.h"
#include "simile/model/model_folder.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(HubName, IsToldFromPaths) {
  const auto text = [](const std::string& name) {
    const std::optional<HubName> hub = parse_hub_name(name);
    return hub ? hub->repository + " " + hub->revision : "";
  };
  EXPECT_EQ(text("sentence-transformers/all-MiniLM-L6-v2"),
            "sentence-transformers/all-MiniLM-L6-v2 main");
  EXPECT_EQ(text("bert-base-uncased"), "bert-base-uncased main");
  EXPECT_EQ(text("BAAI/bge-small-en-v1.5@5c38ec7"), "BAAI/bge-small-en-v1.5 5c38ec7");
  EXPECT_EQ(text("a/b@refs/pr/1"), "a/b refs/pr/1");
  for (const char* path : {"", ".", "..", "./a", "../a", "/a/b", "a/b/c", "a/../b", "a/.b", "a b/c",
                           "a/b@", "a/b@../c", "a/b.git", "a--b/c", "-a/b", "http://a/b"}) {
    EXPECT_EQ(text(path), "") << path;
  }
}

// A cache in which models are found by the environment, as the hub's own clients find them.
class HubCache : public ::testing::Test {
 protected:
  HubCache() : folder_("simile-hub") {
    for (const char* name : {"HF_HUB_CACHE", "HF_TOKEN", "HF_TOKEN_PATH", "HF_ENDPOINT"}) {
      unsetenv(name);
    }
    setenv("HF_HOME", folder_.path().c_str(), 1);
  }
  ~HubCache() override { unsetenv("HF_HOME"); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = join_path(folder_.path(), name);
    make_folders(fs::path(path).parent_path().string());
    write_file_atomic(path, text);
    return path;
  }

  ScratchFolder folder_;
};

TEST_F(HubCache, SettingsAreThoseOfTheEnvironment) {
  EXPECT_EQ(hub_settings().endpoint, "https://huggingface.co");
  EXPECT_EQ(hub_settings().cache, folder_.path() + "/hub");
  EXPECT_EQ(hub_settings().token, "");
  write("token", "hf_abc\n");
  EXPECT_EQ(hub_settings().token, "hf_abc");
  setenv("HF_TOKEN", "hf_def", 1);
  setenv("HF_ENDPOINT", "http://mirror/", 1);
  setenv("HF_HUB_CACHE", "/cache", 1);
  setenv("HF_HUB_OFFLINE", "True", 1);
  EXPECT_EQ(hub_settings().token, "hf_def");
  EXPECT_EQ(hub_settings().endpoint, "http://mirror");
  EXPECT_EQ(hub_settings().cache, "/cache");
  EXPECT_TRUE(hub_settings().is_offline);
  for (const char* name : {"HF_TOKEN", "HF_ENDPOINT", "HF_HUB_CACHE", "HF_HUB_OFFLINE"}) {
    unsetenv(name);
  }
  EXPECT_FALSE(hub_settings().is_offline);
}

TEST_F(HubCache, AModelIsFoundByItsNameAndRevision) {
  const std::string model = "hub/models--a--b/";
  write(model + "refs/main", "0123abc");
  const std::string config = write(model + "snapshots/0123abc/config.json", "{}");
  EXPECT_THAT(error_of([] { resolve_model("a/b"); }),
              testing::AllOf(HasSubstr("without weights"), HasSubstr("simile get a/b")));
  write(model + "snapshots/0123abc/model.safetensors", "");
  const std::string snapshot = fs::path(config).parent_path().string();
  EXPECT_EQ(resolve_model("a/b"), snapshot);
  EXPECT_EQ(resolve_model("a/b@0123abc"), snapshot);
  EXPECT_THAT(error_of([] { resolve_model("a/b@v1"); }), HasSubstr("simile get a/b@v1"));
  EXPECT_THAT(error_of([] { resolve_model("a/c"); }),
              testing::AllOf(HasSubstr("there is no folder 'a/c'"), HasSubstr("simile get a/c")));
  EXPECT_EQ(resolve_model("./a/c"), "./a/c");
}

}  // namespace
}  // namespace simile
