// SPDX-License-Identifier: Apache-2.0
#include "simile/checkpoint/encoder_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "simile/checkpoint/encoder_family.h"
#include "simile/checkpoint/weight_reader.h"
#include "simile/core/error.h"

namespace simile {
namespace {

constexpr int64_t kBlock = int64_t{1} << 18;  // numbers copied at a time: 1 MiB
// Below this many numbers, threads cost more than they save.
constexpr int64_t kParallelNumbers = int64_t{1} << 21;

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

// Copies every piece, many of them in parallel. The first tensor (in file order) with a weight that
// is not finite is named.
void copy_pieces(const SafetensorsFile& file, const std::vector<Piece>& pieces) {
  std::vector<char> finite(pieces.size(), 1);
  const auto count = static_cast<int64_t>(pieces.size());
  int64_t numbers = 0;
  for (const Piece& piece : pieces) numbers += piece.count;
#pragma omp parallel for schedule(dynamic, 4) if (numbers > kParallelNumbers)
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

// A weight that no half can hold would be read back as infinite.
void check_halves(const std::string& path, const ParameterSlot& slot, const float* values) {
  for (int64_t i = 0; i < slot.size; ++i) {
    SIMILE_CHECK(
        std::abs(values[i]) < 65520.0f, ErrorKind::kFailed,
        fmt::format("{}: tensor '{}' holds {}, which half precision cannot; the largest is "
                    "65504: save it in single precision",
                    path, slot.name, values[i]));
  }
}

// encoder_layout(): 5 tensors of the embeddings, then 16 a layer.
constexpr size_t kEmbeddingSlots = 5, kLayerSlots = 16;

size_t first_slot(int64_t layer) {
  return kEmbeddingSlots + kLayerSlots * static_cast<size_t>(layer);
}

// Query, key, value; attention output; up; down.
bool is_layer_matrix(size_t slot) {
  if (slot < kEmbeddingSlots) return false;
  const size_t place = (slot - kEmbeddingSlots) % kLayerSlots;
  return place < 3 || place == 6 || place == 10 || place == 12;
}

// `places`: where each tensor of encoder_layout() lies.
LayerPointers<const float> layer_at(const std::vector<const float*>& places, int64_t layer) {
  const float* const* p = &places[first_slot(layer)];
  return {p[0], p[3], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15]};
}

// Copies the tensors numbered `copied` to `out`, one behind the other, and notes their places.
void copy_tensors(const SafetensorsFile& file, const std::vector<const TensorInfo*>& tensors,
                  const std::vector<size_t>& copied, float* out,
                  std::vector<const float*>& places) {
  std::vector<Piece> pieces;
  for (const size_t i : copied) {
    places[i] = out;
    add_pieces(*tensors[i], out, pieces);
    out += tensors[i]->size;
  }
  copy_pieces(file, pieces);
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
    : shape_(config.shape()),
      file_(std::make_unique<SafetensorsFile>(path)),
      tensors_(find_tensors(*file_, config, events)) {
  copy_vectors();
}

void LoadedEncoder::copy_vectors() {
  const float* const word = file_->floats_in_place(*tensors_[0]);
  const uint16_t* const half_word = file_->halves_in_place(*tensors_[0]);
  std::vector<size_t> copied;
  int64_t size = 0;
  for (size_t i = word != nullptr || half_word != nullptr ? 1 : 0; i < tensors_.size(); ++i) {
    if (is_layer_matrix(i)) continue;
    copied.push_back(i);
    size += tensors_[i]->size;
  }
  values_ = AlignedFloats(size);
  std::vector<const float*> places(tensors_.size(), nullptr);
  copy_tensors(*file_, tensors_, copied, values_.data(), places);
  weights_.word = word != nullptr ? word : places[0];
  weights_.half_word = half_word;
  weights_.position = places[1];
  weights_.type = places[2];
  weights_.norm_weight = places[3];
  weights_.norm_bias = places[4];
  for (int64_t i = 0; i < shape_.layers; ++i) weights_.layers.push_back(layer_at(places, i));
}

LayerPointers<const float> LoadedEncoder::read_layer(int64_t layer, AlignedFloats& memory) const {
  std::vector<size_t> matrices;
  int64_t size = 0;
  for (size_t i = first_slot(layer); i < first_slot(layer + 1); ++i) {
    if (!is_layer_matrix(i)) continue;
    matrices.push_back(i);
    size += tensors_[i]->size;
  }
  if (memory.size() < size) memory = AlignedFloats(size);
  std::vector<const float*> places(tensors_.size(), nullptr);
  copy_tensors(*file_, tensors_, matrices, memory.data(), places);
  const LayerPointers<const float> read = layer_at(places, layer);
  LayerPointers<const float> result = weights_.layers[static_cast<size_t>(layer)];
  result.qkv_weight = read.qkv_weight;
  result.attention_weight = read.attention_weight;
  result.up_weight = read.up_weight;
  result.down_weight = read.down_weight;
  return result;
}

LayerReader LoadedEncoder::layer_reader() const {
  const auto memory = std::make_shared<AlignedFloats>();
  return [this, memory](int64_t layer) { return read_layer(layer, *memory); };
}

void write_encoder_weights(const std::string& path, const EncoderConfig& config, const float* flat,
                           TensorType type) {
  const EncoderFamily& family = family_of(config);
  std::vector<TensorView> tensors;
  for (const ParameterSlot& slot : encoder_layout(config.shape())) {
    if (type == TensorType::kF16) check_halves(path, slot, flat + slot.offset);
    tensors.push_back(
        {family_tensor_name(family, slot.name), slot.shape, flat + slot.offset, type});
  }
  write_safetensors(path, tensors);
}

}  // namespace simile
