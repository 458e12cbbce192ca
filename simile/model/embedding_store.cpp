// SPDX-License-Identifier: Apache-2.0
#include "simile/model/embedding_store.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <vector>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file_kind.h"
#include "simile/core/half.h"

namespace simile {
namespace {

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr size_t kPrefix = 10;  // magic, version, length of the header
constexpr size_t kAlignment = 64;

// Bytes of a strange file as a message can show them.
std::string printable(std::string_view bytes) {
  std::string out;
  for (const char c : bytes.substr(0, 80)) out += c >= ' ' && c <= '~' ? c : '?';
  return out;
}

std::string_view find_header(const std::string& path, std::string_view bytes) {
  if (bytes.size() < kPrefix || bytes.substr(0, 6) != kMagic.substr(0, 6)) {
    const std::string foreign = describe_foreign(bytes);
    throw_error(ErrorKind::kInput, "{}: expected a .npy file, {}", path,
                foreign.empty() ? fmt::format("which begins with \\x93NUMPY; found '{}'",
                                              printable(bytes.substr(0, 6)))
                                : "but it " + foreign);
  }
  SIMILE_CHECK(bytes.substr(6, 2) == kMagic.substr(6), ErrorKind::kInput,
               "{}: expected version 1.0 of the .npy format, found {}.{}", path,
               static_cast<unsigned char>(bytes[6]), static_cast<unsigned char>(bytes[7]));
  const size_t length =
      static_cast<unsigned char>(bytes[8]) + size_t{256} * static_cast<unsigned char>(bytes[9]);
  SIMILE_CHECK(bytes.size() - kPrefix >= length, ErrorKind::kInput,
               "{}: truncated: expected a header of {} bytes, found {}", path, length,
               bytes.size() - kPrefix);
  return bytes.substr(kPrefix, length);
}

std::string_view skip_spaces(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

// The text after "'key':", which must occur.
std::string_view find_value(const std::string& path, std::string_view header,
                            const std::string& key) {
  const std::string quoted = "'" + key + "':";
  const size_t place = header.find(quoted);
  SIMILE_CHECK(place != std::string_view::npos, ErrorKind::kInput,
               "{}: expected {} in the .npy header, found '{}'", path, quoted, printable(header));
  return skip_spaces(header.substr(place + quoted.size()));
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

void check_size(const std::string& path, const NpyMatrix& matrix, size_t file_size) {
  const auto width = static_cast<int64_t>(npy_number_width(matrix.number));
  int64_t numbers = 0, bytes = 0, expected = 0;
  const bool overflows =
      __builtin_mul_overflow(matrix.rows, matrix.columns, &numbers) ||
      __builtin_mul_overflow(numbers, width, &bytes) ||
      __builtin_add_overflow(bytes, static_cast<int64_t>(matrix.offset), &expected);
  SIMILE_CHECK(!overflows && static_cast<size_t>(expected) == file_size, ErrorKind::kInput,
               "{}: its header tells of {} rows of {} numbers of {} bytes{}, found {} bytes; {}",
               path, matrix.rows, matrix.columns, width,
               overflows ? "" : fmt::format(", {} bytes in all", expected), file_size,
               overflows || static_cast<size_t>(expected) > file_size
                   ? "it is truncated"
                   : "it holds more than one matrix");
}

std::string note_path(const std::string& path) { return path + ".json"; }

constexpr const char* kChecksum = "checksum";

const char* precision_name(NpyNumber precision) {
  return precision == NpyNumber::kFloat ? "fp32" : "fp16";
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
  const std::string_view type = find_value(path, header, "descr");
  matrix.number = type.substr(0, 5) == "'<f2'" ? NpyNumber::kHalf : NpyNumber::kFloat;
  SIMILE_CHECK(matrix.number == NpyNumber::kHalf || type.substr(0, 5) == "'<f4'", ErrorKind::kInput,
               "{}: expected the type '<f4' or '<f2', found {}; convert with astype('float32')",
               path, printable(type.substr(0, type.find(','))));
  SIMILE_CHECK(find_value(path, header, "fortran_order").substr(0, 5) == "False", ErrorKind::kInput,
               "{}: expected a matrix in C order; convert it with numpy.ascontiguousarray", path);
  const std::string_view shape = find_value(path, header, "shape");
  std::string_view rest = shape.substr(std::min<size_t>(1, shape.size()));
  SIMILE_CHECK(shape.substr(0, 1) == "(" && take_number(rest, ',', matrix.rows) &&
                   take_number(rest, ')', matrix.columns),
               ErrorKind::kInput, "{}: expected the shape (ROWS, COLUMNS), found {}", path,
               printable(shape.substr(0, shape.find(')') + 1)));
  check_size(path, matrix, bytes.size());
  return matrix;
}

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
               "{}: expected {} more vectors of size {}, found {} of size {}", path_,
               rows_ - written_, dimension_, block.rows, block.cols);
  for (size_t i = 0; i < block.values.size(); ++i) {
    const float value = block.values[i];
    const bool is_float = precision_ == NpyNumber::kFloat;
    SIMILE_CHECK(std::isfinite(is_float ? value : half_to_float(float_to_half(value))),
                 ErrorKind::kFailed,
                 "{}: {} holds no number as large as {} of vector {} (numbered from 0)", path_,
                 precision_name(precision_), block.values[i],
                 written_ + static_cast<int64_t>(i) / dimension_);
  }
  if (precision_ == NpyNumber::kFloat) {
    write(
        {reinterpret_cast<const char*>(block.values.data()), block.values.size() * sizeof(float)});
  } else {
    std::vector<uint16_t> halves(block.values.size());
    std::transform(block.values.begin(), block.values.end(), halves.begin(), float_to_half);
    write({reinterpret_cast<const char*>(halves.data()), halves.size() * sizeof(uint16_t)});
  }
  written_ += block.rows;
}

void EmbeddingStoreWriter::finish(const std::string& fingerprint) {
  SIMILE_CHECK(written_ == rows_, ErrorKind::kFailed, "{}: expected {} vectors, found {}", path_,
               rows_, written_);
  std::error_code error;
  std::filesystem::remove(note_path(path_), error);
  SIMILE_CHECK(!error, ErrorKind::kIo, "cannot remove '{}': {}", note_path(path_), error.message());
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
  const detail::Json json = detail::read_json(note);
  const std::string expected =
      json.is_object() ? detail::JsonObject(json, note).text_or(kChecksum, "") : "";
  if (expected.empty()) return;  // older files have none
  SIMILE_CHECK(hash_file(path) == expected, ErrorKind::kInput,
               "'{}' is damaged or was replaced: its checksum is not the one in '{}'; make the "
               "vectors again, or, where the change was meant, delete the latter",
               path, note);
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
