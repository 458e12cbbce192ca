// SPDX-License-Identifier: Apache-2.0
#include "simile/model/static_weights.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "simile/core/check.h"
#include "simile/kernel/sequence_encoders.h"
#include "simile/model/encoder_reader.h"

namespace simile {
namespace {

constexpr const char* kWeights = "weights";
constexpr const char* kMapping = "mapping";

const TensorInfo& find_table(const TensorSource& file) {
  for (const char* name : {"embedding.weight", "embeddings"}) {
    const TensorInfo* table = file.find(name);
    if (table == nullptr) continue;
    SIMILE_CHECK(table->shape.size() == 2, ErrorKind::kInput,
                 "{}: tensor '{}' must be a matrix [tokens, dimensions], but it has shape {}",
                 file.path(), name, shape_text(table->shape));
    return *table;
  }
  throw_error(ErrorKind::kInput,
              "{}: a static model needs a tensor 'embedding.weight' or 'embeddings'; there is none",
              file.path());
}

const TensorInfo* find_vector(const TensorSource& file, const char* name, int64_t size) {
  const TensorInfo* vector = file.find(name);
  SIMILE_CHECK(
      vector == nullptr || (vector->shape.size() == 1 && (size < 0 || vector->size == size)),
      ErrorKind::kInput, "{}: tensor '{}' must be a vector{}, but it has shape {}", file.path(),
      name, size < 0 ? "" : fmt::format(" of {} numbers, one a token", size),
      shape_text(vector->shape));
  return vector;
}

int64_t count_tokens(const TensorSource& file) {
  const TensorInfo* mapping = find_vector(file, kMapping, -1);
  return mapping != nullptr ? mapping->size : find_table(file).shape[0];
}

// Number i of a tensor in I64 or I32.
int64_t integer_at(const TensorSource& file, const TensorInfo& tensor, int64_t i) {
  const char* bytes = file.bytes(tensor).data();
  if (tensor.type == TensorType::kI32) {
    int32_t value;
    std::memcpy(&value, bytes + i * 4, sizeof value);
    return value;
  }
  SIMILE_CHECK(tensor.type == TensorType::kI64 && tensor.strides.empty(), ErrorKind::kInput,
               "{}: tensor '{}' must hold I64 or I32, but it has {}", file.path(), tensor.name,
               tensor_type_name(tensor.type));
  int64_t value;
  std::memcpy(&value, bytes + i * 8, sizeof value);
  return value;
}

// Points the kernel at a table inside the file map; returns false if it has to be copied.
bool place_table(const TensorSource& file, const TensorInfo& table, StaticTable& place) {
  place.floats = file.floats_in_place(table);
  place.halves = file.halves_in_place(table);
  if (const TensorInfo* const scales = file.row_scales(table)) {
    place.scales = file.floats_in_place(*scales);
    if (place.scales != nullptr) {
      place.bytes = reinterpret_cast<const int8_t*>(file.bytes(table).data());
    }
  }
  return place.floats != nullptr || place.halves != nullptr || place.bytes != nullptr;
}

}  // namespace

EncoderConfig read_static_config(const std::string& weights_path) {
  const std::unique_ptr<TensorSource> file = open_weights(weights_path);
  return static_encoder_config(count_tokens(*file), find_table(*file).shape[1], weights_path);
}

bool is_composed_table(const TensorSource& file) {
  const bool is_table = file.find("embedding.weight") != nullptr || file.find("embeddings");
  return is_table && (file.find(kMapping) != nullptr || file.find(kWeights) != nullptr);
}

void read_composed_table(const TensorSource& file, const EncoderConfig& config, float* flat) {
  const TensorInfo& table = find_table(file);
  const int64_t tokens = count_tokens(file), rows = table.shape[0], H = table.shape[1];
  SIMILE_CHECK(tokens == config.vocabulary && H == config.hidden, ErrorKind::kInput,
               "{}: the table is for {} tokens of {} numbers; expected {} of {}", file.path(),
               tokens, H, config.vocabulary, config.hidden);
  const TensorInfo* mapping = find_vector(file, kMapping, -1);
  const TensorInfo* weights = find_vector(file, kWeights, tokens);
  for (int64_t t = 0; t < tokens; ++t) {
    float* row = flat + t * H;
    const int64_t from = mapping == nullptr ? t : integer_at(file, *mapping, t);
    SIMILE_CHECK(mapping == nullptr || (from >= 0 && from < rows), ErrorKind::kInput,
                 "{}: tensor '{}' gives token {} the row {}; the table has {}", file.path(),
                 kMapping, t, from, rows);
    file.read_floats(table, from * H, H, row);
    float weight = 1;
    if (weights != nullptr && weights->type == TensorType::kF64) {
      double value;
      std::memcpy(&value, file.bytes(*weights).data() + t * 8, sizeof value);
      weight = static_cast<float>(value);
    } else if (weights != nullptr) {
      file.read_floats(*weights, t, 1, &weight);
    }
    for (int64_t j = 0; j < H; ++j) {
      row[j] *= weight;
      SIMILE_CHECK(
          std::isfinite(row[j]), ErrorKind::kInput,
          "{}: the row of token {} holds a number that is not finite: the model is damaged",
          file.path(), t);
    }
  }
}

std::shared_ptr<const Encoder> open_static_encoder(const std::string& path,
                                                   const EncoderConfig& config, EventSink& events) {
  struct Opened {
    std::unique_ptr<TensorSource> file;
    std::vector<float> copy;
    std::unique_ptr<StaticEncoder> encoder;
  };
  const auto opened = std::make_shared<Opened>();
  opened->file = open_weights(path);
  const TensorInfo& table = find_table(*opened->file);
  StaticTable place;
  opened->file->check_row_scales(table);
  if (is_composed_table(*opened->file) || !place_table(*opened->file, table, place)) {
    opened->copy.resize(static_cast<size_t>(encoder_parameter_count(config.shape())));
    read_encoder_weights(path, config, opened->copy.data(), events);
    place.floats = opened->copy.data();
  }
  opened->encoder = std::make_unique<StaticEncoder>(config.shape(), place);
  return {opened, opened->encoder.get()};
}

}  // namespace simile
