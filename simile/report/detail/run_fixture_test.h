// SPDX-License-Identifier: Apache-2.0
// For tests: small run folders, as training writes them.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "simile/core/file.h"
#include "simile/data/detail/packed_files_test.h"

namespace simile {

// How often `part` occurs in the text.
inline int count(const std::string& text, const std::string& part) {
  int times = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

// Pairs 0..9 with gold i and the score that `score(i)` gives.
template <typename Score>
std::string scored_pairs(const Score& score) {
  std::string text = "left\tright\tgold\tscore\n";
  for (int i = 0; i < 10; ++i) {
    text += fmt::format("left {0}\tright text {0}\t{0}\t{1}\n", i, score(i));
  }
  return text;
}

// Gold and score agree but for examples i and i + 1 changed places: spearman is 1 - 12 / 990.
inline std::string swapped_pairs(int i) {
  return scored_pairs([i](int k) { return k == i ? k + 1 : k == i + 1 ? k - 1 : k; });
}

class RunFixture : public TestFiles {
 public:
  std::string write_in(const std::string& folder, const std::string& name,
                       const std::string& bytes) const {
    std::filesystem::create_directories(
        std::filesystem::path(path(folder + "/" + name)).parent_path());
    return write(folder + "/" + name, bytes);
  }

  // A finished run with one sts evaluation "test" and the baseline bm25.
  std::string run(const std::string& folder, int seed, double spearman,
                  const std::string& predictions) const {
    write_in(
        folder, "run.json",
        fmt::format("{{\"name\":\"{}\",\"seed\":{},\"stages\":[{{\"name\":\"mse\",\"epochs\":2}}],"
                    "\"environment\":{{\"simile\":\"0.1.0\",\"threads\":2}}}}",
                    folder.substr(0, folder.find('/')), seed));
    write_in(folder, "metrics.jsonl",
             R"({"stage":"mse","step":0,"epoch":0.0,"evaluation":"test","metrics":{"spearman":0.25}}
{"stage":"mse","step":1,"epoch":0.5,"loss":0.5,"gradient_norm":2.0,"learning_rate":0.001}
{"stage":"mse","step":2,"epoch":1.0,"loss":0.25,"gradient_norm":1.0,"learning_rate":0.0005}
{"stage":"mse","step":2,"epoch":1.0,"evaluation":"test","metrics":{"spearman":0.75}}
)");
    write_in(folder, "results.json",
             fmt::format(
                 "{{\"seconds\":12.5,\"reports\":[{{\"task\":\"sts\",\"name\":\"test\",\"model\":"
                 "\"own\",\"examples\":10,\"metrics\":{{\"spearman\":{}}}}},{{\"task\":\"sts\","
                 "\"name\":\"test\",\"model\":\"bm25\",\"examples\":10,\"metrics\":{{"
                 "\"spearman\":0.125}}}}]}}",
                 spearman));
    if (!predictions.empty()) write_in(folder, "predictions/test.tsv", predictions);
    return path(folder);
  }

  // Runs of a seed on folds, each tested on other pairs: those of fold f get texts of their own.
  std::string folds(const std::string& name, int seed, double spearman,
                    std::vector<std::string> predictions) const {
    std::string runs;
    for (size_t fold = 0; fold < predictions.size(); ++fold) {
      std::string& pairs = predictions[fold];
      for (size_t at = pairs.find("text"); at != std::string::npos;
           at = pairs.find("text", at + 9)) {
        pairs.insert(at, fmt::format("{}00 ", fold));
      }
      run(fmt::format("{}/run-{}", name, fold + 1), seed, spearman, pairs);
      runs += fmt::format("{}{{\"folder\":\"run-{}\",\"seed\":{},\"fold\":{}}}",
                          fold > 0 ? "," : "", fold + 1, seed, fold);
    }
    write_in(name, "results.json",
             fmt::format("{{\"seconds\":1,\"reports\":[],\"runs\":[{}]}}", runs));
    return path(name);
  }

  // Gives a finished run a verdict: it kept the weights before the first step.
  void keep_start(const std::string& folder) const {
    const std::string results = read_file(path(folder + "/results.json"));
    write_in(folder, "results.json",
             R"({"verdict":{"line":"verdict: test <spearman> 50 -> 50","runs":1,"start_kept":1,)"
             R"("causes":["a rate < 0"]},)" +
                 results.substr(1));
  }
};

}  // namespace simile
