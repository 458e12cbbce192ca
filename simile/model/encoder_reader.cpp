// SPDX-License-Identifier: Apache-2.0
#include "simile/model/encoder_reader.h"

#include <algorithm>
#include <future>

#include "simile/core/check.h"
#include "simile/core/hash.h"
#include "simile/core/parallel.h"
#include "simile/model/encoder_family.h"
#include "simile/model/encoder_tensors.h"
#include "simile/model/static_weights.h"

namespace simile {
namespace {

constexpr int64_t kBlock = int64_t{1} << 18;   // numbers copied at a time: 1 MiB
constexpr int64_t kHashed = int64_t{1} << 14;  // numbers hashed at a time
// Below this many numbers, threads cost more than they save.
constexpr int64_t kParallelNumbers = int64_t{1} << 21;

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

// Copies every piece, many in parallel. Errors name the first tensor (in file order) not finite.
void copy_pieces(const TensorSource& file, const std::vector<Piece>& pieces) {
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
                 "{}: tensor '{}' holds a number that is not finite: the model is damaged",
                 file.path(), pieces[i].tensor->name);
  }
}

void add_pieces(const TensorInfo& tensor, float* out, std::vector<Piece>& pieces) {
  for (int64_t begin = 0; begin < tensor.size; begin += kBlock) {
    pieces.push_back({&tensor, begin, std::min(kBlock, tensor.size - begin), out + begin});
  }
}

// Finds all tensors (index = slot of encoder_layout()) before anything is copied.
std::vector<const TensorInfo*> find_tensors(const TensorSource& file, const EncoderConfig& config,
                                            EventSink& events) {
  EncoderTensors tensors = find_encoder_tensors(file, config);
  for (const TensorInfo* tensor : tensors.found) {
    float nothing = 0;
    file.read_floats(*tensor, 0, 0, &nothing);  // throws for types that are not floats
    file.check_row_scales(*tensor);
  }
  tell_others(file, config, tensors.others, events);
  return std::move(tensors.found);
}

// read(begin, count, memory) gives numbers begin .. begin + count, where they are or in `memory`.
template <typename Read>
std::string hash_numbers(int64_t size, const Read& read) {
  std::vector<HashKey> blocks(static_cast<size_t>((size + kHashed - 1) / kHashed));
  run_parallel_blocks(size, kHashed, [&](int64_t begin, int64_t end) {
    std::vector<float> memory;
    const float* const numbers = read(begin, end - begin, memory);
    blocks[static_cast<size_t>(begin / kHashed)] = hash_key(
        {reinterpret_cast<const char*>(numbers), static_cast<size_t>(end - begin) * sizeof(float)});
  });
  return hash_bytes(
      {reinterpret_cast<const char*>(blocks.data()), blocks.size() * sizeof(HashKey)});
}

bool is_layer_matrix(const ParameterSlot& slot) {
  return slot.layer >= 0 && slot.shape.size() == 2;
}

// Copies the tensors numbered `copied` to `out`, one behind the other, and notes their places.
void copy_tensors(const TensorSource& file, const std::vector<const TensorInfo*>& tensors,
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

std::shared_ptr<const Encoder> open_unverified(const std::string& path, const EncoderConfig& config,
                                               EventSink& events, ProductType products) {
  if (config.variant.averaged) return open_static_encoder(path, config, events);
  struct Opened {
    Opened(const std::string& path, const EncoderConfig& config, EventSink& events,
           ProductType products)
        : loaded(path, config, events),
          forward(loaded.shape(), loaded.weights(), loaded.layer_reader(products), products) {}
    LoadedEncoder loaded;
    EncoderForward forward;
  };
  const auto opened = std::make_shared<const Opened>(path, config, events, products);
  return {opened, &opened->forward};
}

}  // namespace

void check_encoder_weights(const std::string& path, const EncoderConfig& config) {
  const std::unique_ptr<TensorSource> file = open_weights(path);
  if (!is_composed_table(*file)) find_tensors(*file, config, silent_events());
}

void read_encoder_weights(const std::string& path, const EncoderConfig& config, float* flat,
                          EventSink& events) {
  for (const std::string& file : weight_files(path)) verify_checksum(file);
  const std::unique_ptr<TensorSource> file = open_weights(path);
  if (is_composed_table(*file)) return read_composed_table(*file, config, flat);
  const std::vector<const TensorInfo*> tensors = find_tensors(*file, config, events);
  const std::vector<ParameterSlot> slots = encoder_layout(config.shape());
  std::vector<Piece> pieces;
  for (size_t i = 0; i < slots.size(); ++i) add_pieces(*tensors[i], flat + slots[i].offset, pieces);
  copy_pieces(*file, pieces);
}

std::string hash_encoder_weights(const std::string& path, const EncoderConfig& config) {
  const std::unique_ptr<TensorSource> file = open_weights(path);
  if (is_composed_table(*file)) {
    std::vector<float> flat(static_cast<size_t>(encoder_parameter_count(config.shape())));
    read_composed_table(*file, config, flat.data());
    return hash_bytes(hash_numbers(
        static_cast<int64_t>(flat.size()),
        [&](int64_t begin, int64_t, std::vector<float>&) { return flat.data() + begin; }));
  }
  std::string all;
  for (const TensorInfo* tensor : find_tensors(*file, config, silent_events())) {
    const float* const place = file->floats_in_place(*tensor);
    all +=
        hash_numbers(tensor->size, [&](int64_t begin, int64_t count, std::vector<float>& memory) {
          if (place != nullptr) return place + begin;
          memory.resize(static_cast<size_t>(count));
          file->read_floats(*tensor, begin, count, memory.data());
          return static_cast<const float*>(memory.data());
        });
    file->release(*tensor, 0, tensor->size);
  }
  return hash_bytes(all);
}

LoadedEncoder::LoadedEncoder(const std::string& path, const EncoderConfig& config,
                             EventSink& events)
    : shape_(config.shape()),
      file_(open_weights(path)),
      slots_(encoder_layout(shape_)),
      tensors_(find_tensors(*file_, config, events)) {
  const float* const word = file_->floats_in_place(*tensors_[0]);
  const uint16_t* const half_word = file_->halves_in_place(*tensors_[0]);
  std::vector<size_t> copied;
  int64_t size = 0;
  for (size_t i = word != nullptr || half_word != nullptr ? 1 : 0; i < tensors_.size(); ++i) {
    if (is_layer_matrix(slots_[i])) continue;
    copied.push_back(i);
    size += tensors_[i]->size;
  }
  std::vector<const float*> places(tensors_.size(), nullptr);
  copy_tensors(*file_, tensors_, copied, values_.reserve(size), places);
  if (word != nullptr) places[0] = word;
  weights_ = encoder_weights_at(shape_, places);
  weights_.half_word = half_word;
}

// Holds one layer at a time.
struct LoadedEncoder::LayerMemory {
  FloatBuffer floats;
  std::vector<int8_t> bytes[4];  // of each matrix
  std::vector<float> scales[4];
};

// The slots of a layer's query, key, value, attention output and two feed-forward matrices.
std::vector<std::vector<size_t>> LoadedEncoder::matrix_slots(int64_t layer) const {
  const int64_t H = shape_.hidden;
  const int64_t sizes[] = {3 * H * H, H * H, shape_.up_size() * H, H * shape_.intermediate};
  std::vector<std::vector<size_t>> matrices(4);
  size_t matrix = 0;
  int64_t filled = 0;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].layer != layer || !is_layer_matrix(slots_[i])) continue;
    matrices[matrix].push_back(i);
    filled += slots_[i].size;
    if (filled < sizes[matrix]) continue;
    filled = 0;
    ++matrix;
  }
  return matrices;
}

// The tensors of one matrix, all in I8, one behind the other.
void LoadedEncoder::copy_bytes(const std::vector<size_t>& slots, std::vector<int8_t>& numbers,
                               std::vector<float>& scales) const {
  numbers.clear();
  scales.clear();
  for (const size_t i : slots) {
    const TensorInfo& tensor = *tensors_[i];
    const std::string_view bytes = file_->bytes(tensor);
    numbers.insert(numbers.end(), bytes.begin(), bytes.end());
    scales.resize(scales.size() + static_cast<size_t>(tensor.shape[0]));
    file_->read_floats(*file_->row_scales(tensor), 0, tensor.shape[0],
                       scales.data() + scales.size() - tensor.shape[0]);
    file_->release(tensor, 0, tensor.size);
  }
}

LayerMatrices LoadedEncoder::read_layer(int64_t layer, ProductType products,
                                        LayerMemory& memory) const {
  static constexpr ByteMatrix LayerMatrices::*kMatrices[] = {
      &LayerMatrices::qkv, &LayerMatrices::attention, &LayerMatrices::up, &LayerMatrices::down};
  LayerMatrices result(weights_.layers[static_cast<size_t>(layer)]);
  const auto matrices = matrix_slots(std::min(layer, shape_.stored_layers() - 1));
  std::vector<size_t> copied;
  int64_t size = 0;
  for (size_t m = 0; m < matrices.size(); ++m) {
    const bool in_bytes = products == ProductType::kByte &&
                          std::all_of(matrices[m].begin(), matrices[m].end(), [&](size_t i) {
                            return file_->row_scales(*tensors_[i]) != nullptr;
                          });
    if (in_bytes) {
      copy_bytes(matrices[m], memory.bytes[m], memory.scales[m]);
      result.*kMatrices[m] = {memory.bytes[m].data(), memory.scales[m].data()};
      continue;
    }
    for (const size_t i : matrices[m]) {
      copied.push_back(i);
      size += tensors_[i]->size;
    }
  }
  std::vector<const float*> places(tensors_.size(), nullptr);
  copy_tensors(*file_, tensors_, copied, memory.floats.reserve(size), places);
  const EncoderWeights pointers = encoder_weights_at(shape_, places);
  const LayerPointers<const float>& read = pointers.layers[static_cast<size_t>(layer)];
  result.qkv_weight = read.qkv_weight;
  result.attention_weight = read.attention_weight;
  result.up_weight = read.up_weight;
  result.down_weight = read.down_weight;
  return result;
}

LayerReader LoadedEncoder::layer_reader(ProductType products) const {
  const auto memory = std::make_shared<LayerMemory>();
  return [this, products, memory](int64_t layer) { return read_layer(layer, products, *memory); };
}

std::shared_ptr<const Encoder> open_encoder(const std::string& path, const EncoderConfig& config,
                                            EventSink& events, ProductType products) {
  std::future<void> verified = std::async(std::launch::async, [&path] {
    for (const std::string& file : weight_files(path)) verify_checksum(file);
  });
  std::shared_ptr<const Encoder> encoder;
  try {
    encoder = open_unverified(path, config, events, products);
  } catch (const Error&) {
    verified.get();  // says more where that is what is wrong
    throw;
  }
  verified.get();
  return encoder;
}

}  // namespace simile
