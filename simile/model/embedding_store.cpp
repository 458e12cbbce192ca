// SPDX-License-Identifier: Apache-2.0
#include "simile/model/embedding_store.h"

#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/half.h"

namespace simile {
namespace {

std::string note_path(const std::string& path) { return path + ".json"; }

constexpr const char* kChecksum = "checksum";

// Empty where there is none: older files have no checksum.
std::string read_checksum(const std::string& note) {
  const detail::Json json = detail::read_json(note);
  return json.is_object() ? detail::JsonObject(json, note).text_or(kChecksum, "") : "";
}

const char* precision_name(NpyNumber precision) {
  return precision == NpyNumber::kFloat ? "fp32" : "fp16";
}

void remove_note(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(note_path(path), error);
  SIMILE_CHECK(!error, ErrorKind::kIo,
               fmt::format("cannot remove '{}': {}", note_path(path), error.message()));
}

// The block's bytes as the file has them.
std::string encode_halves(const Matrix<float>& block) {
  std::string bytes(block.values.size() * sizeof(uint16_t), '\0');
  for (size_t i = 0; i < block.values.size(); ++i) {
    const uint16_t half = float_to_half(block.values[i]);
    std::memcpy(&bytes[i * sizeof half], &half, sizeof half);
  }
  return bytes;
}

std::string_view float_bytes(const Matrix<float>& block) {
  return {reinterpret_cast<const char*>(block.values.data()), block.values.size() * sizeof(float)};
}

bool can_be_stored(float value, NpyNumber precision) {
  return std::isfinite(precision == NpyNumber::kFloat ? value
                                                      : half_to_float(float_to_half(value)));
}

}  // namespace

EmbeddingStoreWriter::EmbeddingStoreWriter(const std::string& path, int64_t rows, int64_t dimension,
                                           NpyNumber precision)
    : path_(path), rows_(rows), dimension_(dimension), precision_(precision), file_(path) {
  write(npy_header(precision, rows, dimension));
}

void EmbeddingStoreWriter::write(std::string_view bytes) {
  file_.write(bytes);
  hash_.add(bytes);
}

void EmbeddingStoreWriter::append(const Matrix<float>& block) {
  SIMILE_CHECK(block.cols == dimension_ && written_ + block.rows <= rows_, ErrorKind::kFailed,
               fmt::format("{}: expected {} more vectors of size {}, found {} of size {}", path_,
                           rows_ - written_, dimension_, block.rows, block.cols));
  for (size_t i = 0; i < block.values.size(); ++i) {
    SIMILE_CHECK(can_be_stored(block.values[i], precision_), ErrorKind::kFailed,
                 fmt::format("{}: {} holds no number as large as {} of vector {} (numbered from 0)",
                             path_, precision_name(precision_), block.values[i],
                             written_ + static_cast<int64_t>(i) / dimension_));
  }
  if (precision_ == NpyNumber::kFloat) {
    write(float_bytes(block));
  } else {
    write(encode_halves(block));
  }
  written_ += block.rows;
}

void EmbeddingStoreWriter::finish(const std::string& fingerprint) {
  SIMILE_CHECK(written_ == rows_, ErrorKind::kFailed,
               fmt::format("{}: expected {} vectors, found {}", path_, rows_, written_));
  remove_note(path_);
  file_.commit();
  nlohmann::ordered_json note;
  note["fingerprint"] = fingerprint;
  note["rows"] = rows_;
  note["dimension"] = dimension_;
  note["precision"] = precision_name(precision_);
  note[kChecksum] = hash_.digits();
  write_file_atomic(note_path(path_), note.dump() + "\n");
}

EmbeddingStore::EmbeddingStore(const std::string& path)
    : file_(path), matrix_(parse_npy(path, file_.bytes())) {
  const std::string note = note_path(path);
  if (!file_exists(note)) return;
  const std::string expected = read_checksum(note);
  if (expected.empty()) return;
  SIMILE_CHECK(hash_file(path) == expected, ErrorKind::kInput,
               fmt::format("'{}' is damaged or was replaced: its checksum is not the one in '{}'; "
                           "make the vectors again, or, where the change was meant, delete the "
                           "latter",
                           path, note));
  verified_ = true;
}

void EmbeddingStore::row(int64_t i, float* out) const {
  assert(i >= 0 && i < rows());
  const size_t width = static_cast<size_t>(matrix_.columns) * npy_number_width(matrix_.number);
  const char* from = file_.bytes().data() + matrix_.offset + static_cast<size_t>(i) * width;
  if (matrix_.number == NpyNumber::kFloat) {
    std::memcpy(out, from, width);
  } else {
    halves_to_floats(from, matrix_.columns, out);
  }
}

std::optional<EmbeddingStore> EmbeddingStore::open_current(const std::string& path,
                                                           const std::string& fingerprint) {
  if (!file_exists(path) || !file_exists(note_path(path))) return std::nullopt;
  try {
    const std::string source = note_path(path);
    const detail::Json json = detail::read_json(source);
    const detail::JsonObject note(json, source);
    constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
    if (note.text("fingerprint") != fingerprint) return std::nullopt;
    EmbeddingStore store(path);
    const bool fits = note.integer("rows", 0, kAny) == store.rows() &&
                      note.integer("dimension", 0, kAny) == store.dimension() &&
                      note.text("precision") == precision_name(store.matrix_.number);
    if (!fits || !store.is_verified()) return std::nullopt;
    return store;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace simile
