// SPDX-License-Identifier: Apache-2.0
#include "simile/report/run_log.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/data/line_reader.h"
#include "simile/report/run_files.h"

namespace simile {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kStage = "stage";
constexpr const char* kObjective = "objective";
constexpr const char* kStep = "step";
constexpr const char* kEpoch = "epoch";
constexpr const char* kLoss = "loss";
constexpr const char* kGradientNorm = "gradient_norm";
constexpr const char* kLearningRate = "learning_rate";
constexpr const char* kEvaluation = "evaluation";
constexpr const char* kMetrics = "metrics";

// Adds a line, its step counted through all stages.
void add_line(const Json& line, RunLog& log) {
  const std::string stage = line.at(kStage).get<std::string>();
  if (log.stages.empty() || log.stages.back().name != stage) {
    log.stages.push_back({stage, log.steps});
  }
  const int64_t step = log.stages.back().first_step + line.at(kStep).get<int64_t>();
  log.steps = std::max(log.steps, step);
  const auto add_point = [step](std::vector<Curve>& curves, const std::string& name,
                                const Json& value) {
    if (!value.is_number()) return;
    auto curve = std::find_if(curves.begin(), curves.end(),
                              [&name](const Curve& other) { return other.name == name; });
    if (curve == curves.end()) curve = curves.insert(curve, Curve{name, {}});
    curve->points.push_back({static_cast<double>(step), value.get<double>()});
  };
  if (line.contains(kEvaluation)) {
    const std::string prefix = line.at(kEvaluation).get<std::string>() + ".";
    for (const auto& [name, value] : line.at(kMetrics).items()) {
      add_point(log.evaluations, prefix + name, value);
    }
    return;
  }
  const std::string objective =
      line.contains(kObjective) ? " (" + line[kObjective].get<std::string>() + ")" : "";
  for (const auto& [name, value] : line.items()) {
    if (name == kStage || name == kObjective || name == kStep || name == kEpoch) continue;
    const bool is_shared = name == kGradientNorm || name == kLearningRate;
    add_point(log.training, is_shared ? name : name + objective, value);
  }
}

// Appends the points of one part that thin_curve() keeps.
void keep_extremes(const std::vector<CurvePoint>& points, size_t begin, size_t end,
                   std::vector<CurvePoint>& kept) {
  const auto lower = [&points](size_t a, size_t b) { return points[a].y < points[b].y; };
  std::vector<size_t> places(end - begin);
  for (size_t i = begin; i < end; ++i) places[i - begin] = i;
  std::vector<size_t> chosen = {begin, *std::min_element(places.begin(), places.end(), lower),
                                *std::max_element(places.begin(), places.end(), lower), end - 1};
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  for (const size_t i : chosen) kept.push_back(points[i]);
}

}  // namespace

std::string step_line(const std::string& stage, int64_t step, double epoch,
                      const StepResult& result) {
  Json line = {{kStage, stage}};
  if (!result.objective.empty()) line[kObjective] = result.objective;
  line.update({{kStep, step},
               {kEpoch, epoch},
               {kLoss, result.loss},
               {kGradientNorm, result.gradient_norm},
               {kLearningRate, result.learning_rate}});
  for (const auto& [name, value] : result.values) line[name] = value;
  return line.dump();
}

std::string evaluation_line(const std::string& stage, int64_t step, double epoch,
                            const Report& report) {
  Json line = {{kStage, stage}, {kStep, step}, {kEpoch, epoch}, {kEvaluation, report.name}};
  for (const auto& [name, value] : report.metrics) line[kMetrics][name] = value;
  return line.dump();
}

RunLog read_run_log(const std::string& path, const std::string& stage) {
  RunLog log;
  LineReader lines(path);
  std::string broken;  // what was wrong with the last line read
  for (std::string line; lines.next(line);) {
    SIMILE_CHECK(broken.empty(), ErrorKind::kInput, broken);
    if (line.empty()) continue;
    try {
      const Json parsed = Json::parse(line);
      if (stage.empty() || parsed.at(kStage) == stage) add_line(parsed, log);
    } catch (const Json::exception& error) {
      broken = fmt::format("{}: not a line of a run's log: {}", lines.where(), error.what());
    }
  }
  return log;
}

std::vector<CurvePoint> thin_curve(const std::vector<CurvePoint>& points, size_t limit) {
  if (points.size() <= limit) return points;
  const size_t parts = std::max<size_t>(limit / 4, 1);
  const double first = points.front().x;
  const double width = (points.back().x - first) / static_cast<double>(parts);
  std::vector<CurvePoint> kept;
  size_t begin = 0;
  for (size_t part = 1; part <= parts && begin < points.size(); ++part) {
    const double right = first + width * static_cast<double>(part);
    size_t end = begin;
    while (end < points.size() && (part == parts || points[end].x < right)) ++end;
    if (end > begin) keep_extremes(points, begin, end, kept);
    begin = end;
  }
  return kept;
}

namespace {

enum class WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

template <typename T>
std::string little_endian(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  return bytes + static_cast<char>(value);
}

std::string field(int number, WireType type, const std::string& content) {
  const std::string key = varint(static_cast<uint64_t>(number) << 3 | static_cast<uint64_t>(type));
  return key + (type == WireType::kBytes ? varint(content.size()) : "") + content;
}

double now_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    constexpr uint32_t kReflectedPolynomial = 0x82F63B78u;
    std::array<uint32_t, 256> made{};
    for (uint32_t i = 0; i < 256; ++i) {
      made[i] = i;
      for (int bit = 0; bit < 8; ++bit) {
        made[i] = (made[i] >> 1) ^ ((made[i] & 1) != 0 ? kReflectedPolynomial : 0);
      }
    }
    return made;
  }();
  uint32_t crc = 0xFFFFFFFFu;
  for (const char byte : bytes) {
    crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  }
  return ~crc;
}

uint32_t masked_crc32c(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

std::string tensorboard_record(const std::string& payload) {
  const std::string length = little_endian(static_cast<uint64_t>(payload.size()));
  return length + little_endian(masked_crc32c(length)) + payload +
         little_endian(masked_crc32c(payload));
}

std::string tensorboard_version_event(double wall_time) {
  return field(1, WireType::kFixed64, little_endian(wall_time)) +
         field(3, WireType::kBytes, "brain.Event:2");
}

TensorboardWriter::TensorboardWriter(const std::string& folder) {
  utsname machine{};
  uname(&machine);
  path_ = join_path(folder,
                    fmt::format("{}{}.{}.{}", run_format::kTensorboard,
                                static_cast<int64_t>(now_seconds()), machine.nodename, getpid()));
  file_ = std::fopen(path_.c_str(), "ab");
  SIMILE_CHECK(file_ != nullptr, ErrorKind::kIo, "cannot write '{}': {}", path_,
               std::strerror(errno));
  write_record(tensorboard_version_event(now_seconds()));
}

TensorboardWriter::~TensorboardWriter() { std::fclose(file_); }

void TensorboardWriter::write(const std::string& tag, int64_t step, double value) {
  const std::string scalar = field(1, WireType::kBytes, tag) +
                             field(2, WireType::kFixed32, little_endian(static_cast<float>(value)));
  write_record(field(1, WireType::kFixed64, little_endian(now_seconds())) +
               field(2, WireType::kVarint, varint(static_cast<uint64_t>(step))) +
               field(5, WireType::kBytes, field(1, WireType::kBytes, scalar)));
}

void TensorboardWriter::write_record(const std::string& payload) {
  const std::string record = tensorboard_record(payload);
  const bool written = std::fwrite(record.data(), 1, record.size(), file_) == record.size();
  SIMILE_CHECK(written && std::fflush(file_) == 0, ErrorKind::kIo, "cannot write '{}': {}", path_,
               std::strerror(errno));
}

}  // namespace simile
