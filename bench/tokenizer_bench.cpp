// SPDX-License-Identifier: Apache-2.0
// Characters a second that a tokenizer takes on one thread: simile_tokenizer_bench --model M
// --input TEXTS [--limit N] [--repeat N] prints {"characters", "load_seconds", "encode",
// "encode_ids"}; with --ids 1 it prints {"ids": [[...], ...]} instead, which
// tools/conformance/speed.js checks.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/text/tokenizer.h"
#include "simile/text/utf8.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<std::string> read_lines(const std::string& path, size_t limit) {
  const std::string text = simile::read_file(path);
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size() && (limit == 0 || lines.size() < limit);) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// Characters a second of the fastest of `repeat` passes over `lines`.
template <typename Encode>
double measure(const std::vector<std::string>& lines, int repeat, double characters,
               const Encode& encode) {
  double best = 0;
  for (int i = 0; i < repeat; ++i) {
    const auto start = Clock::now();
    for (const std::string& line : lines) encode(line);
    best = std::max(best, characters / seconds_since(start));
  }
  return best;
}

nlohmann::json run(std::map<std::string, std::string> options) {
  const auto number = [&](const char* name, int fallback) {
    return options.count(name) ? std::stoi(options[name]) : fallback;
  };
  const auto start = Clock::now();
  const auto tokenizer = simile::Tokenizer::load(options["--model"]);
  const double load_seconds = seconds_since(start);
  const auto lines = read_lines(options["--input"], static_cast<size_t>(number("--limit", 0)));
  if (number("--ids", 0) != 0) {
    nlohmann::json ids = nlohmann::json::array();
    for (const std::string& line : lines) ids.push_back(tokenizer.encode(line).ids);
    return {{"ids", ids}};
  }
  double characters = 0;
  for (const std::string& line : lines) {
    characters += static_cast<double>(simile::count_characters(line));
  }
  const int repeat = number("--repeat", 3);
  std::vector<int32_t> ids;
  const double encode =
      measure(lines, repeat, characters, [&](const std::string& line) { tokenizer.encode(line); });
  const double encode_ids = measure(lines, repeat, characters, [&](const std::string& line) {
    ids.clear();
    tokenizer.encode_ids(line, ids);
  });
  return {{"characters", characters},
          {"load_seconds", load_seconds},
          {"encode", encode},
          {"encode_ids", encode_ids}};
}

}  // namespace

int main(int count, char** words) {
  try {
    std::map<std::string, std::string> options;
    for (int i = 1; i + 1 < count; i += 2) options[words[i]] = words[i + 1];
    std::printf("%s\n", run(options).dump().c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
