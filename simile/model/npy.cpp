// SPDX-License-Identifier: Apache-2.0
#include "simile/model/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "simile/core/error.h"

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

}  // namespace simile
