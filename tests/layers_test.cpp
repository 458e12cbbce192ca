// SPDX-License-Identifier: Apache-2.0
// The order of the modules, held by scanning every #include.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// Each module may include itself and those before it.
const std::vector<std::string> kModules = {
    "core",   "text",  "data", "metric", "kernel", "neighbours", "batch", "model", "encode",
    "derive", "index", "eval", "report", "serve",  "nn",         "loss",  "train", "experiment"};

// Headers that only sources may include, so that they do not reach every file.
const std::vector<std::string> kPrivateHeaders = {"nlohmann/", "httplib",  "boost/",
                                                  "xxhash.h",  "oneapi/",  "yaml-cpp/",
                                                  "sqlite3",   "unicode/", "Eigen/"};

int level(const std::string& module) {
  const auto found = std::find(kModules.begin(), kModules.end(), module);
  return found == kModules.end() ? -1 : static_cast<int>(found - kModules.begin());
}

struct Include {
  fs::path file;  // relative to the source tree
  std::string target;
};

std::vector<Include> scan(const std::string& folder) {
  static const std::regex pattern("^\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"]");
  std::vector<Include> includes;
  const fs::path root(SIMILE_SOURCE_DIR);
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp" && extension != ".inc") continue;
    std::ifstream file(entry.path());
    std::string line;
    std::smatch match;
    while (std::getline(file, line)) {
      if (std::regex_search(line, match, pattern)) {
        includes.push_back({fs::relative(entry.path(), root), match[1]});
      }
    }
  }
  return includes;
}

std::string module_of(const fs::path& path) { return (++path.begin())->string(); }

TEST(Layers, TheDrawingInHackingShowsThisOrder) {
  std::ifstream file(fs::path(SIMILE_SOURCE_DIR) / "HACKING.md");
  std::string line, drawing;
  while (std::getline(file, line) && line.rfind("without torch", 0) != 0) continue;
  for (; line.rfind("the door", 0) != 0 && file; std::getline(file, line)) drawing += line + " ";
  static const std::regex names("without torch|with torch|[a-z]+");
  std::vector<std::string> drawn;
  for (std::sregex_iterator word(drawing.begin(), drawing.end(), names), end; word != end; ++word) {
    if (word->str().find(' ') == std::string::npos) drawn.push_back(word->str());
  }
  EXPECT_EQ(drawn, kModules);
}

TEST(Layers, EveryModuleFolderHasItsPlaceInTheOrder) {
  for (const auto& entry : fs::directory_iterator(fs::path(SIMILE_SOURCE_DIR) / "simile")) {
    EXPECT_GE(level(entry.path().filename()), 0) << entry.path().filename();
  }
}

TEST(Layers, ModulesIncludeOnlyThoseAboveThem) {
  int checked = 0;
  for (const Include& include : scan("simile")) {
    if (include.target.rfind("simile/", 0) != 0) {
      EXPECT_NE(include.target.rfind("cli/", 0), 0u)
          << include.file << " includes " << include.target;
      continue;
    }
    ++checked;
    EXPECT_LE(level(module_of(include.target)), level(module_of(include.file)))
        << include.file << " includes " << include.target << ", which is further down";
  }
  EXPECT_GT(checked, 100);
}

TEST(Layers, OnlyTrainingIncludesTorch) {
  for (const Include& include : scan("simile")) {
    if (include.target.rfind("torch/", 0) == 0) {
      EXPECT_GE(level(module_of(include.file)), level("nn")) << include.file;
    }
  }
}

// All of torch takes 13 seconds a file; what sources need of it is precompiled (simile_use_torch).
TEST(Layers, NobodyIncludesAllOfTorch) {
  for (const char* folder : {"simile", "cli", "bench"}) {
    for (const Include& include : scan(folder)) {
      EXPECT_NE(include.target, "torch/torch.h") << include.file;
    }
  }
}

TEST(Layers, PublicHeadersKeepLibrariesOut) {
  for (const Include& include : scan("simile")) {
    if (include.file.extension() != ".h" ||
        include.file.string().find("/detail/") != std::string::npos) {
      continue;
    }
    for (const std::string& header : kPrivateHeaders) {
      EXPECT_NE(include.target.rfind(header, 0), 0u)
          << include.file << " includes " << include.target;
    }
  }
}

TEST(Layers, PublicHeadersIncludeNothingFromDetail) {
  for (const Include& include : scan("simile")) {
    if (include.file.extension() != ".h" || include.file.parent_path().filename() == "detail") {
      continue;
    }
    EXPECT_EQ(include.target.find("/detail/"), std::string::npos)
        << include.file << " includes " << include.target;
  }
}

TEST(Layers, DetailHeadersStayInsideTheLibrary) {
  for (const Include& include : scan("cli")) {
    EXPECT_EQ(include.target.find("/detail/"), std::string::npos) << include.file;
  }
}

}  // namespace
