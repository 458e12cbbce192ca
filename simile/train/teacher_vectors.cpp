// SPDX-License-Identifier: Apache-2.0
#include "simile/train/teacher_vectors.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <unordered_map>

#include "simile/core/block_progress.h"
#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/derive/whiten.h"
#include "simile/loss/loss_input.h"
#include "simile/nn/row_products.h"
#include "simile/train/train_options.h"
#include "simile/train/training_set.h"

namespace simile {
namespace {

constexpr size_t kTextsInBlock = 8192;
constexpr int64_t kTextsForAxes = 20000;
constexpr std::pair<int32_t, int32_t> kNowhere = {-1, -1};

struct KeyHash {
  size_t operator()(const HashKey& key) const { return key.low; }
};

HashKey text_key(const Teacher& teacher, const TrainingSet& set, size_t text) {
  return hash_key(teacher.reads_ids ? bytes_of(set.texts[text]) : set.originals[text]);
}

std::string keys_path(const std::string& vectors) {
  return vectors.substr(0, vectors.size() - 4) + ".keys";
}

std::string block_fingerprint(const std::string& teacher, std::string_view keys) {
  return hash_bytes(fmt::format("{} {}", teacher, hash_bytes(keys)));
}

}  // namespace

torch::Tensor TeacherVectors::read_parts(const std::vector<int32_t>& texts) const {
  std::vector<torch::Tensor> sides;
  for (const Part& part : parts_) {
    sides.push_back(
        torch::empty({static_cast<int64_t>(texts.size()), part.dimension}, torch::kFloat32));
    float* out = sides.back().data_ptr<float>();
    for (const int32_t text : texts) {
      const auto& [block, row] = part.places[static_cast<size_t>(text)];
      part.blocks[static_cast<size_t>(block)]->row(row, out);
      out += part.dimension;
    }
  }
  if (parts_.size() == 1) return sides[0];
  for (torch::Tensor& side : sides) side = normalize_embeddings(side, "l2");
  return torch::cat(sides, 1);
}

torch::Tensor TeacherVectors::read(const std::vector<int32_t>& texts) const {
  const torch::Tensor vectors = read_parts(texts);
  return axes_.defined() ? inner_products(vectors, axes_) : vectors;
}

TeacherFolder::TeacherFolder(std::string folder, const ObjectiveOptions& options, EventSink& events)
    : folder_(std::move(folder)), options_(options), events_(events) {
  make_folders(folder_);
}

std::string TeacherFolder::marked(const Teacher& teacher) const {
  return hash_bytes(fmt::format("{} {}", teacher.fingerprint, options_.teacher_storage));
}

// The blocks that are in the folder already.
const std::vector<TeacherFolder::Block>& TeacherFolder::blocks(const Teacher& teacher) {
  const std::string mark = marked(teacher);
  const auto [found, is_new] = blocks_.try_emplace(mark);
  if (!is_new) return found->second;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (starts_with(name, mark + "-") && ends_with(name, ".npy")) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    const std::string bytes = file_exists(keys_path(path)) ? read_file(keys_path(path)) : "";
    std::vector<HashKey> keys(bytes.size() / sizeof(HashKey));
    std::memcpy(keys.data(), bytes.data(), keys.size() * sizeof(HashKey));
    auto store = EmbeddingStore::open_current(path, block_fingerprint(mark, bytes));
    if (!store || store->rows() != static_cast<int64_t>(keys.size())) {
      events_.warning(
          fmt::format("'{}' is damaged or not complete: its texts will be encoded again", path));
      continue;
    }
    found->second.emplace_back(std::make_shared<EmbeddingStore>(std::move(*store)),
                               std::move(keys));
  }
  return found->second;
}

TeacherFolder::Block TeacherFolder::write_block(const Teacher& teacher,
                                                const std::vector<HashKey>& keys,
                                                const Matrix<float>& vectors) {
  const std::string mark = marked(teacher);
  const std::string fingerprint = block_fingerprint(mark, bytes_of(keys));
  const std::string path = join_path(folder_, fmt::format("{}-{}.npy", mark, fingerprint));
  write_file_atomic(keys_path(path), bytes_of(keys));
  EmbeddingStoreWriter writer(
      path, vectors.rows, vectors.cols,
      options_.teacher_storage == "fp16" ? NpyNumber::kHalf : NpyNumber::kFloat);
  writer.append(vectors);
  writer.finish(fingerprint);
  return {std::make_shared<EmbeddingStore>(path), keys};
}

TeacherVectors::Part TeacherFolder::open_part(const Teacher& teacher, const TrainingSet& set) {
  std::unordered_map<HashKey, int32_t, KeyHash> numbers;  // of the first text with this key
  std::vector<int32_t> firsts;  // [texts] a text may stand in a set with several prompts
  for (size_t i = 0; i < set.texts.size(); ++i) {
    firsts.push_back(
        numbers.emplace(text_key(teacher, set, i), static_cast<int32_t>(i)).first->second);
  }
  TeacherVectors::Part part;
  part.dimension = teacher.dimension;
  part.places.assign(set.texts.size(), kNowhere);
  const auto take = [&](const Block& block) {
    for (size_t row = 0; row < block.second.size(); ++row) {
      const auto found = numbers.find(block.second[row]);
      if (found == numbers.end()) continue;
      part.places[static_cast<size_t>(found->second)] = {static_cast<int32_t>(part.blocks.size()),
                                                         static_cast<int32_t>(row)};
    }
    part.blocks.push_back(block.first);
  };
  for (const Block& block : blocks(teacher)) take(block);

  std::vector<int32_t> missing;
  for (size_t i = 0; i < firsts.size(); ++i) {
    const auto text = static_cast<int32_t>(i);
    if (firsts[i] == text && part.places[i] == kNowhere) missing.push_back(text);
  }
  BlockProgress progress(events_, "teacher " + teacher.name, static_cast<int64_t>(missing.size()),
                         "texts");
  for (size_t begin = 0; begin < missing.size(); begin += kTextsInBlock) {
    const std::vector<int32_t> texts(missing.begin() + static_cast<std::ptrdiff_t>(begin),
                                     missing.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                           missing.size(), begin + kTextsInBlock)));
    std::vector<HashKey> keys;
    for (const int32_t text : texts) {
      keys.push_back(text_key(teacher, set, static_cast<size_t>(text)));
    }
    blocks_[marked(teacher)].push_back(
        write_block(teacher, keys, teacher.embed(set, texts, progress)));
    take(blocks_[marked(teacher)].back());
  }
  events_.info(fmt::format("{}: {} vectors of the teacher '{}', {} of them new", set.file,
                           set.texts.size(), teacher.name, missing.size()));
  for (size_t i = 0; i < firsts.size(); ++i) {
    part.places[i] = part.places[static_cast<size_t>(firsts[i])];
  }
  return part;
}

torch::Tensor TeacherFolder::find_axes(const std::vector<Teacher>& teachers,
                                       const TeacherVectors& vectors, const TrainingSet& set) {
  const int64_t D = options_.teacher_dimensions;
  int64_t numbers = 0;
  std::string marks;
  for (const Teacher& teacher : teachers) {
    numbers += teacher.dimension;
    marks += marked(teacher) + " ";
  }
  const std::string fingerprint = hash_bytes(marks);
  const std::string path = join_path(folder_, fingerprint + ".map.npy");
  const auto texts = static_cast<int64_t>(set.texts.size());
  const int64_t count = std::min(texts, kTextsForAxes);
  std::vector<int32_t> sampled;
  for (int64_t i = 0; i < count; ++i) sampled.push_back(static_cast<int32_t>(i * texts / count));
  const torch::Tensor sample = vectors.read_parts(sampled);
  SIMILE_CHECK(!file_exists(path) || EmbeddingStore::open_current(path, fingerprint),
               ErrorKind::kInput,
               "'{}' is damaged or not complete: what learned along these axes cannot go on along "
               "others; bring the file and its .json back, or delete it and start anew",
               path);
  if (!file_exists(path)) {
    SIMILE_CHECK(texts >= 2 * numbers, ErrorKind::kInput,
                 "{}: `teacher_dimensions: {}` finds principal components of {} numbers, which "
                 "needs at least {} texts, and the data has {}; give more texts or leave it out",
                 set.file, D, numbers, 2 * numbers, texts);
    Matrix<float> rows(count, numbers), axes(numbers, numbers);
    std::memcpy(rows.values.data(), sample.data_ptr<float>(), rows.values.size() * sizeof(float));
    WhiteningOptions components;
    components.power = 0;
    const Matrix<float> map = fit_whitening(rows, components).map;
    for (int64_t i = 0; i < numbers; ++i) {
      for (int64_t j = 0; j < numbers; ++j) axes.at(i, j) = map.at(j, i);
    }
    EmbeddingStoreWriter writer(path, numbers, numbers);
    writer.append(axes);
    writer.finish(fingerprint);
  }
  const EmbeddingStore store(path);
  const torch::Tensor axes = torch::empty({D, numbers}, torch::kFloat32);
  for (int64_t i = 0; i < D; ++i) store.row(i, axes.data_ptr<float>() + i * numbers);
  const double whole = sample.square().sum().item<double>();
  const double kept = inner_products(sample, axes).square().sum().item<double>();
  events_.info(fmt::format("{}: {} of {} numbers keep {:.1f} % of the squares of teachers' vectors",
                           set.file, D, numbers, 100 * kept / whole));
  return axes;
}

std::vector<TeacherVectors> TeacherFolder::open(const std::vector<Teacher>& teachers,
                                                const TrainingSet& set) {
  std::vector<TeacherVectors> all;
  for (const Teacher& teacher : teachers) {
    if (all.empty() || options_.teacher_dimensions == 0) all.emplace_back();
    all.back().parts_.push_back(open_part(teacher, set));
  }
  if (options_.teacher_dimensions > 0) all[0].axes_ = find_axes(teachers, all[0], set);
  return all;
}

}  // namespace simile
