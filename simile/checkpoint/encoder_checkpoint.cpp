// SPDX-License-Identifier: Apache-2.0
#include "simile/checkpoint/encoder_checkpoint.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "simile/checkpoint/encoder_family.h"
#include "simile/checkpoint/weight_reader.h"
#include "simile/core/error.h"

namespace simile {
namespace {

constexpr int64_t kBlock = int64_t{1} << 18;  // numbers copied at a time: 1 MiB

// The config keys behind the sides of a tensor of encoder_layout(), in order.
std::vector<ExpectedSize> expected_shape(const ParameterSlot& slot) {
  const auto has = [&](const char* part) { return slot.name.find(part) != std::string::npos; };
  std::vector<const char*> keys(slot.shape.size(), "hidden_size");
  if (has("word_embeddings")) keys[0] = "vocab_size";
  if (has("position_embeddings")) keys[0] = "max_position_embeddings";
  if (has("token_type_embeddings")) keys[0] = "type_vocab_size";
  if (has("intermediate.dense")) keys[0] = "intermediate_size";
  if (has(".output.dense.weight") && !has("attention.")) keys[1] = "intermediate_size";
  std::vector<ExpectedSize> shape;
  for (size_t i = 0; i < keys.size(); ++i) shape.push_back({slot.shape[i], keys[i]});
  return shape;
}

// A part of one tensor and where it goes.
struct Piece {
  const TensorInfo* tensor;
  int64_t begin;
  int64_t count;
  float* out;
};

bool all_finite(const float* values, int64_t count) {
  // Infinities and NaNs are the numbers whose exponent bits are all set.
  uint32_t worst = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    __builtin_memcpy(&bits, values + i, sizeof bits);
    worst = std::max(worst, bits & 0x7f800000u);
  }
  return worst != 0x7f800000u;
}

// Copies every piece in parallel. The first tensor (in file order) with a weight that is not finite
// is named.
void copy_pieces(const SafetensorsFile& file, const std::vector<Piece>& pieces) {
  std::vector<char> finite(pieces.size(), 1);
  const auto count = static_cast<int64_t>(pieces.size());
#pragma omp parallel for schedule(dynamic, 4)
  for (int64_t i = 0; i < count; ++i) {
    const Piece& piece = pieces[static_cast<size_t>(i)];
    file.read_floats(*piece.tensor, piece.begin, piece.count, piece.out);
    finite[static_cast<size_t>(i)] = all_finite(piece.out, piece.count) ? 1 : 0;
    file.release(*piece.tensor, piece.begin, piece.count);
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    SIMILE_CHECK(finite[i] != 0, ErrorKind::kInput,
                 fmt::format("{}: tensor '{}' holds a number that is not finite: the model is "
                             "damaged",
                             file.path(), pieces[i].tensor->name));
  }
}

void check_readable(const SafetensorsFile& file, const TensorInfo& tensor) {
  float nothing = 0;
  file.read_floats(tensor, 0, 0, &nothing);  // throws for types that are not floats
}

void add_pieces(const TensorInfo& tensor, float* out, std::vector<Piece>& pieces) {
  for (int64_t begin = 0; begin < tensor.size; begin += kBlock) {
    pieces.push_back({&tensor, begin, std::min(kBlock, tensor.size - begin), out + begin});
  }
}

void warn_leftovers(const WeightReader& reader, EventSink& events) {
  const std::vector<std::string> names = reader.leftovers();
  if (names.empty()) return;
  std::string list;
  for (size_t i = 0; i < std::min<size_t>(names.size(), 5); ++i) {
    list += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > 5) list += ", ...";
  events.warning(fmt::format("{}: {} tensor(s) are no part of the encoder and were not used: {}",
                             reader.file().path(), names.size(), list));
}

const EncoderFamily& family_of(const EncoderConfig& config) {
  check_encoder_config(config, "encoder config");
  return *find_encoder_family(config.model_type);
}

// Finds all tensors (index = slot of encoder_layout()) before anything is copied.
std::vector<const TensorInfo*> find_tensors(const SafetensorsFile& file,
                                            const EncoderConfig& config, EventSink& events) {
  const WeightReader reader(file, family_of(config));
  std::vector<const TensorInfo*> tensors;
  for (const ParameterSlot& slot : encoder_layout(config.shape())) {
    const TensorInfo& tensor = reader.find(slot.name, expected_shape(slot));
    check_readable(file, tensor);
    tensors.push_back(&tensor);
  }
  warn_leftovers(reader, events);
  return tensors;
}

}  // namespace

AlignedFloats::AlignedFloats(int64_t size) : size_(size) {
  constexpr size_t kLine = 64;
  const size_t bytes = (static_cast<size_t>(size) * sizeof(float) + kLine - 1) / kLine * kLine;
  data_.reset(static_cast<float*>(std::aligned_alloc(kLine, std::max(bytes, kLine))));
  if (data_ == nullptr) throw std::bad_alloc();
}

void read_encoder_weights(const std::string& path, const EncoderConfig& config, float* flat,
                          EventSink& events) {
  const SafetensorsFile file(path);
  const std::vector<const TensorInfo*> tensors = find_tensors(file, config, events);
  const std::vector<ParameterSlot> slots = encoder_layout(config.shape());
  std::vector<Piece> pieces;
  for (size_t i = 0; i < slots.size(); ++i) add_pieces(*tensors[i], flat + slots[i].offset, pieces);
  copy_pieces(file, pieces);
}

LoadedEncoder::LoadedEncoder(const std::string& path, const EncoderConfig& config,
                             EventSink& events)
    : shape_(config.shape()), file_(std::make_unique<SafetensorsFile>(path)) {
  const std::vector<const TensorInfo*> tensors = find_tensors(*file_, config, events);
  const std::vector<ParameterSlot> slots = encoder_layout(shape_);
  const float* word = file_->floats_in_place(*tensors[0]);
  const int64_t skipped = word == nullptr ? 0 : slots[0].size;
  values_ = AlignedFloats(encoder_parameter_count(shape_) - skipped);
  std::vector<Piece> pieces;
  for (size_t i = word == nullptr ? 0 : 1; i < slots.size(); ++i) {
    add_pieces(*tensors[i], values_.data() + (slots[i].offset - skipped), pieces);
  }
  copy_pieces(*file_, pieces);
  // The layout begins with the word embedding: give it no rows and what follows starts at values_.
  EncoderShape rest = shape_;
  if (word != nullptr) rest.vocabulary = 0;
  weights_ = encoder_weights(rest, values_.data());
  if (word != nullptr) weights_.word = word;
}

void LoadedEncoder::drop_matrices() {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const int64_t H = shape_.hidden, I = shape_.intermediate;
  const auto drop = [page](const float* begin, int64_t count) {
    const uintptr_t from = (reinterpret_cast<uintptr_t>(begin) + page - 1) / page * page;
    const uintptr_t to = reinterpret_cast<uintptr_t>(begin + count) / page * page;
    if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  };
  for (const LayerPointers<const float>& layer : weights_.layers) {
    drop(layer.qkv_weight, 3 * H * H);
    drop(layer.attention_weight, H * H);
    drop(layer.up_weight, I * H);
    drop(layer.down_weight, H * I);
  }
}

void write_encoder_weights(const std::string& path, const EncoderConfig& config, const float* flat,
                           TensorType type) {
  const EncoderFamily& family = family_of(config);
  std::vector<TensorView> tensors;
  for (const ParameterSlot& slot : encoder_layout(config.shape())) {
    tensors.push_back(
        {family_tensor_name(family, slot.name), slot.shape, flat + slot.offset, type});
  }
  write_safetensors(path, tensors);
}

}  // namespace simile
