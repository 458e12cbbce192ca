// SPDX-License-Identifier: Apache-2.0
#include "simile/model/embedding_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/half.h"

namespace simile {
namespace {

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr size_t kPrefix = 10;  // magic, version, length of the header
constexpr size_t kAlignment = 64;

[[noreturn]] void fail(const std::string& path, const std::string& message) {
  throw Error(ErrorKind::kInput, fmt::format("{}: {}", path, message));
}

// Bytes of a strange file as a message can show them.
std::string printable(std::string_view bytes) {
  std::string out;
  for (const char c : bytes.substr(0, 80)) out += c >= ' ' && c <= '~' ? c : '?';
  return out;
}

std::string_view find_header(const std::string& path, std::string_view bytes) {
  if (bytes.size() < kPrefix || bytes.substr(0, 6) != kMagic.substr(0, 6)) {
    fail(path, fmt::format("expected a .npy file, which begins with \\x93NUMPY; found '{}'",
                           printable(bytes.substr(0, 6))));
  }
  if (bytes.substr(6, 2) != kMagic.substr(6)) {
    fail(path,
         fmt::format("expected version 1.0 of the .npy format, found {}.{}",
                     static_cast<unsigned char>(bytes[6]), static_cast<unsigned char>(bytes[7])));
  }
  const size_t length =
      static_cast<unsigned char>(bytes[8]) + size_t{256} * static_cast<unsigned char>(bytes[9]);
  if (bytes.size() - kPrefix < length) {
    fail(path, fmt::format("truncated: expected a header of {} bytes, found {}", length,
                           bytes.size() - kPrefix));
  }
  return bytes.substr(kPrefix, length);
}

std::string_view skip_spaces(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

// What stands behind "'key':", which must occur.
std::string_view find_value(const std::string& path, std::string_view header,
                            const std::string& key) {
  const std::string quoted = "'" + key + "':";
  const size_t place = header.find(quoted);
  if (place == std::string_view::npos) {
    fail(path,
         fmt::format("expected {} in the .npy header, found '{}'", quoted, printable(header)));
  }
  return skip_spaces(header.substr(place + quoted.size()));
}

NpyNumber read_number_type(const std::string& path, std::string_view header) {
  const std::string_view value = find_value(path, header, "descr");
  if (value.substr(0, 5) == "'<f4'") return NpyNumber::kFloat;
  if (value.substr(0, 5) == "'<f2'") return NpyNumber::kHalf;
  fail(path, fmt::format("expected numbers of the type '<f4' or '<f2', found {}; convert them with "
                         "astype('float32')",
                         printable(value.substr(0, value.find(',')))));
}

void check_order(const std::string& path, std::string_view header) {
  if (find_value(path, header, "fortran_order").substr(0, 5) == "False") return;
  fail(path,
       "expected a matrix in C order ('fortran_order': False); convert it with "
       "numpy.ascontiguousarray");
}

// Takes a number and the `end` behind it, as in "12, ".
bool take_number(std::string_view& text, char end, int64_t& number) {
  text = skip_spaces(text);
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || number < 0) return false;
  text = skip_spaces(text.substr(static_cast<size_t>(parsed.ptr - text.data())));
  if (text.empty() || text.front() != end) return false;
  text.remove_prefix(1);
  return true;
}

void read_shape(const std::string& path, std::string_view header, NpyMatrix& matrix) {
  const std::string_view value = find_value(path, header, "shape");
  std::string_view rest = value.substr(std::min<size_t>(1, value.size()));
  const bool good = !value.empty() && value.front() == '(' && take_number(rest, ',', matrix.rows) &&
                    take_number(rest, ')', matrix.columns);
  if (!good) {
    fail(path, fmt::format("expected the shape (ROWS, COLUMNS), found {}",
                           printable(value.substr(0, value.find(')') + 1))));
  }
}

void check_size(const std::string& path, const NpyMatrix& matrix, size_t file_size) {
  const auto width = static_cast<int64_t>(npy_number_width(matrix.number));
  int64_t numbers = 0, bytes = 0, expected = 0;
  const bool overflows =
      __builtin_mul_overflow(matrix.rows, matrix.columns, &numbers) ||
      __builtin_mul_overflow(numbers, width, &bytes) ||
      __builtin_add_overflow(bytes, static_cast<int64_t>(matrix.offset), &expected);
  if (overflows || static_cast<size_t>(expected) != file_size) {
    fail(path, fmt::format("its header tells of {} rows of {} numbers of {} bytes{}, found {} "
                           "bytes; {}",
                           matrix.rows, matrix.columns, width,
                           overflows ? "" : fmt::format(", {} bytes in all", expected), file_size,
                           overflows || static_cast<size_t>(expected) > file_size
                               ? "it is truncated"
                               : "it holds more than one matrix"));
  }
}

}  // namespace

std::string npy_header(NpyNumber number, int64_t rows, int64_t columns) {
  std::string dictionary =
      fmt::format("{{'descr': '<f{}', 'fortran_order': False, 'shape': ({}, {}), }}",
                  npy_number_width(number), rows, columns);
  dictionary.append(kAlignment - 1 - (kPrefix + dictionary.size()) % kAlignment, ' ');
  dictionary += '\n';
  std::string header(kMagic);
  header += static_cast<char>(dictionary.size() % 256);
  header += static_cast<char>(dictionary.size() / 256);
  return header + dictionary;
}

NpyMatrix parse_npy(const std::string& path, std::string_view bytes) {
  const std::string_view header = find_header(path, bytes);
  NpyMatrix matrix;
  matrix.offset = kPrefix + header.size();
  matrix.number = read_number_type(path, header);
  check_order(path, header);
  read_shape(path, header, matrix);
  check_size(path, matrix, bytes.size());
  return matrix;
}

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
