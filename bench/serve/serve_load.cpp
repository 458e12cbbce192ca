// SPDX-License-Identifier: Apache-2.0
// Load for `simile serve`, beside the encoder in this process on the same texts:
//
//   simile_serve_load MODEL TEXTS encode                          # without a server
//   simile_serve_load MODEL TEXTS PORT CONNECTIONS SECONDS TEXTS_PER_REQUEST [RATE] [PID] [HOSTILE] [PEER]
//
// RATE requests a second are begun whatever becomes of them; 0: each connection sends one after the
// other. PID: of the server; its memory is reported. HOSTILE: that many clients send what is
// malformed, slow, aborted or huge meanwhile. Every answer must have the bits of
// SentenceEncoder::encode(). PEER: another program's server, whose route this is; /embed takes what
// ours takes, any other the form of OpenAI. The first vector of its first answer to each request is
// compared, to 1e-4. One JSON object on stdout.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/serve/hostile_clients.h"
#include "bench/serve/http_load.h"
#include "simile/core/parallel.h"
#include "simile/encode/sentence_encoder.h"

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  if (lines.empty()) throw std::runtime_error(path + ": no texts");
  return lines;
}

double percentile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

double milliseconds(double seconds) { return std::round(seconds * 1e6) / 1e3; }

simile::EncodeOptions options() {
  simile::EncodeOptions options;
  options.normalize = true;
  return options;
}

// All texts in one call, and single ones one after the other.
Json measure_encoder(const simile::SentenceEncoder& encoder,
                     const std::vector<std::string>& texts) {
  const auto time = [&](const std::vector<std::string>& some) {
    const Clock::time_point begin = Clock::now();
    encoder.encode(some, options(), simile::silent_events());
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  std::vector<double> all, single;
  for (int round = 0; round < 5; ++round) all.push_back(time(texts));
  for (size_t i = 0; i < 3000; ++i) single.push_back(time({texts[i % texts.size()]}));
  return {
      {"threads", simile::thread_count()},
      {"texts_per_second", std::round(static_cast<double>(texts.size()) / percentile(all, 0.5))},
      {"one_text_p50_ms", milliseconds(percentile(single, 0.5))}};
}

std::string json_of(const float* vector, int64_t D) {
  std::string out = "[";
  for (int64_t i = 0; i < D; ++i) out += fmt::format("{}{}", i > 0 ? "," : "", vector[i]);
  return out + "]";
}

std::vector<LoadRequest> make_requests(const simile::SentenceEncoder& encoder,
                                       const std::vector<std::string>& texts, size_t per_request,
                                       const std::string& route) {
  const simile::Matrix<float> vectors = encoder.encode(texts, options(), simile::silent_events());
  std::vector<LoadRequest> requests;
  for (size_t first = 0; first + per_request <= texts.size(); first += per_request) {
    Json inputs = Json::array();
    LoadRequest request;
    for (size_t i = first; i < first + per_request; ++i) {
      inputs.push_back(texts[i]);
      request.answer +=
          (i > first ? "," : "[") + json_of(vectors.row(static_cast<int64_t>(i)), vectors.cols);
    }
    request.answer += "]";
    const float* vector = vectors.row(static_cast<int64_t>(first));
    request.vector.assign(vector, vector + vectors.cols);
    const Json openai = {{"model", "default"}, {"input", inputs}};
    const std::string body = (route == "/embed" ? Json{{"inputs", inputs}} : openai).dump();
    request.bytes = fmt::format(
        "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: {}\r\n\r\n{}",
        route, body.size(), body);
    requests.push_back(std::move(request));
  }
  return requests;
}

Json show(LoadResult& result, size_t per_request, int64_t hostile) {
  Json statuses;
  for (const auto& [status, count] : result.statuses) statuses[std::to_string(status)] = count;
  Json shown = {{"seconds", std::round(result.seconds * 10) / 10},
                {"begun", result.begun},
                {"statuses", statuses},
                {"wrong", result.wrong},
                {"broken", result.broken},
                {"not_begun", result.not_begun},
                {"texts_per_second",
                 std::round(result.answers_per_second * static_cast<double>(per_request))},
                {"p50_ms", milliseconds(percentile(result.latencies, 0.5))},
                {"p99_ms", milliseconds(percentile(result.latencies, 0.99))},
                {"max_ms", milliseconds(percentile(result.latencies, 1))}};
  if (hostile > 0) shown["hostile_requests"] = hostile;
  for (size_t tenth = 1; tenth <= 10 && !result.resident.empty(); ++tenth) {
    shown["resident_mb"].push_back(result.resident[(result.resident.size() - 1) * tenth / 10] >>
                                   20);
  }
  return shown;
}

Json measure_server(const simile::SentenceEncoder& encoder, const std::vector<std::string>& texts,
                    int argc, char** argv) {
  LoadPlan plan;
  plan.port = std::atoi(argv[3]);
  plan.connections = std::atoi(argv[4]);
  plan.seconds = std::atof(argv[5]);
  const size_t per_request = std::strtoull(argv[6], nullptr, 10);
  if (argc > 7) plan.rate = std::atof(argv[7]);
  if (argc > 8) plan.pid = std::atoi(argv[8]);
  if (argc > 10) plan.tolerance = 1e-4;
  const std::vector<LoadRequest> requests =
      make_requests(encoder, texts, per_request, argc > 10 ? argv[10] : "/embed");
  std::optional<HostileClients> hostile;
  if (argc > 9 && std::atoi(argv[9]) > 0) hostile.emplace(plan.port, std::atoi(argv[9]));
  LoadResult result = run_load(requests, plan);
  return show(result, per_request, hostile ? hostile->requests() : 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc < 7) {
    std::fprintf(stderr, "usage: at the head of serve_load.cpp\n");
    return 2;
  }
  try {
    const simile::SentenceEncoder encoder =
        simile::SentenceEncoder::load(argv[1], simile::silent_events());
    const std::vector<std::string> texts = read_lines(argv[2]);
    const Json shown =
        argc == 4 ? measure_encoder(encoder, texts) : measure_server(encoder, texts, argc, argv);
    std::printf("%s\n", shown.dump().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simile_serve_load: %s\n", error.what());
    return 1;
  }
}
