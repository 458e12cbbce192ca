// SPDX-License-Identifier: Apache-2.0
// The safetensors format: 8 bytes little-endian header length, a JSON header
// {name: {"dtype", "shape", "data_offsets"}}, then the tensors' bytes.
//
// Reading trusts nothing: the header's length (at most 4 MiB), every type, shape and offset are
// checked before any tensor is touched, so a file that opens can be read to its end. As the format
// demands, tensors neither overlap nor leave gaps. Errors: ErrorKind::kInput naming file and
// tensor; a truncated file tells how many bytes its header promises and how many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "simile/core/file.h"

namespace simile {

enum class TensorType { kF64, kF32, kF16, kBf16, kI64, kI32, kI16, kI8, kU8, kBool };

const char* tensor_type_name(TensorType type);  // "F32"
size_t tensor_type_width(TensorType type);      // bytes per number

struct TensorInfo {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<int64_t> shape;
  int64_t size = 0;   // numbers: the product of the shape
  size_t offset = 0;  // bytes from the start of the file
  size_t bytes = 0;
};

// "[30522, 384]"
std::string shape_text(const std::vector<int64_t>& shape);

// A memory-mapped file. Safe to read from several threads.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<TensorInfo>& tensors() const { return tensors_; }  // in the order of the bytes
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const TensorInfo* find(const std::string& name) const;  // null when there is none

  std::string_view bytes(const TensorInfo& tensor) const;
  std::string_view file_bytes() const { return file_.bytes(); }

  // The tensor's floats inside the map, or null when it is not F32 or not aligned to 4 bytes.
  const float* floats_in_place(const TensorInfo& tensor) const;
  // Its halves likewise, or null when it is not F16 or not aligned to 2 bytes.
  const uint16_t* halves_in_place(const TensorInfo& tensor) const;

  // Writes numbers [begin, begin + count) of the tensor to `out`, converting F16 and BF16 exactly.
  // Other types are an error.
  void read_floats(const TensorInfo& tensor, int64_t begin, int64_t count, float* out) const;

  // Lets the system drop these numbers' pages from memory.
  void release(const TensorInfo& tensor, int64_t begin, int64_t count) const;

 private:
  void check_layout(size_t header_end);
  const void* numbers_in_place(const TensorInfo& tensor, TensorType type) const;

  std::string path_;
  MappedFile file_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, size_t> index_;
  std::map<std::string, std::string> metadata_;
};

// One tensor to be written. kF16 and kBf16 are made from floats (rounded to nearest even); every
// other type is stored as `values` holds it.
struct TensorView {
  std::string name;
  std::vector<int64_t> shape;
  const void* values = nullptr;
  TensorType type = TensorType::kF32;
};

// Writes the tensors in the order given, streaming, under a temporary name that is renamed when
// complete. The header is padded with spaces so that tensors start at a multiple of 8 bytes.
// Errors: ErrorKind::kIo.
void write_safetensors(const std::string& path, const std::vector<TensorView>& tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

}  // namespace simile
