// SPDX-License-Identifier: Apache-2.0
// A model's weights, wherever they lie: one safetensors file, torch's pytorch_model.bin, or several
// of either with an index. Files are mapped, never read as a whole.
//
// Whatever opens can be read to its end: every type, shape and offset was checked against the
// file's size. Errors (kInput) name file and tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
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
  size_t offset = 0;  // bytes from the start of its file
  size_t bytes = 0;   // from its first number to its last
  // Numbers from one index to the next of each side, as in torch; empty: rows without gaps.
  std::vector<int64_t> strides = {};
  size_t file = 0;  // which of several files
};

// The tensors and metadata that a file's parser found.
struct ParsedTensors {
  std::vector<TensorInfo> tensors;
  std::map<std::string, std::string> metadata;
};

// "[30522, 384]"
std::string shape_text(const std::vector<int64_t>& shape);

// Numbers in a tensor of that shape, or nothing when that many bytes cannot be counted in 63 bits.
bool count_numbers(const std::vector<int64_t>& shape, size_t width, int64_t& size);

// Where number `number` (row by row) of a tensor with strides lies, counted from its first.
int64_t strided_place(const TensorInfo& tensor, int64_t number);

// Safe to read from several threads.
class TensorSource {
 public:
  TensorSource(const TensorSource&) = delete;
  TensorSource& operator=(const TensorSource&) = delete;
  virtual ~TensorSource() = default;

  const std::string& path() const { return path_; }  // as it was opened: of several files the index
  const std::vector<TensorInfo>& tensors() const { return tensors_; }  // in the order of the bytes
  const TensorInfo* find(const std::string& name) const;               // null when there is none

  // From the tensor's first number to its last; with strides, including the bytes between them.
  std::string_view bytes(const TensorInfo& tensor) const;

  // The tensor's floats inside the map; null: it is not F32, has strides or is not aligned.
  const float* floats_in_place(const TensorInfo& tensor) const;
  // The same for halves; null if it is not F16, has strides or is not aligned to 2 bytes.
  const uint16_t* halves_in_place(const TensorInfo& tensor) const;

  // Writes numbers [begin, begin + count) of the tensor, counted row by row, to `out`. F16 and BF16
  // are converted exactly; a matrix in I8 named NAME is multiplied by the F32 tensor NAME.scale,
  // one number a row. Other types are an error.
  void read_floats(const TensorInfo& tensor, int64_t begin, int64_t count, float* out) const;

  // The F32 tensor NAME.scale, one number a row, of a matrix in I8 named NAME; null if `tensor` is
  // not such a matrix or has no such scales.
  const TensorInfo* row_scales(const TensorInfo& tensor) const;
  // Errors (kInput): one of these scales is not finite, or not above 0 while its row is not zeros.
  void check_row_scales(const TensorInfo& tensor) const;

  // Lets the system drop these numbers' pages from memory; does nothing with strides.
  void release(const TensorInfo& tensor, int64_t begin, int64_t count) const;

 protected:
  explicit TensorSource(const std::string& path) : path_(path) {}
  void add_file(MappedFile file) { files_.push_back(std::move(file)); }
  void set_tensors(std::vector<TensorInfo> tensors);
  std::string_view file_bytes(size_t file) const { return files_[file].bytes(); }

 private:
  const void* numbers_in_place(const TensorInfo& tensor, TensorType type) const;

  std::string path_;
  std::vector<MappedFile> files_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, size_t> index_;
};

// model.safetensors, simile-int8.safetensors, model.safetensors.index.json, pytorch_model.bin,
// pytorch_model.bin.index.json.
const std::vector<std::string>& weight_file_names();

// The file name for saved weights: model.safetensors, or simile-int8.safetensors for I8 weights.
// Other programs would read those without their scales, so they must not find them.
const char* weight_file_name(TensorType type);

// The weights of `folder`: the first of weight_file_names() there. Errors (kInput): none.
std::string find_weights(const std::string& folder);

// Opens the file that find_weights() found; its ending decides: ".index.json" is an index of
// several files, ".bin" is torch's, everything else safetensors.
//
// An index {"weight_map": {tensor: file}} must name files of its own folder that exist, and each
// tensor must be where the map says. Errors name the missing file or tensor; a tensor of a file
// that the map leaves out is an error too.
std::unique_ptr<TensorSource> open_weights(const std::string& path);

// The files that hold the weights at `path`: itself, or an index and all that it names.
std::vector<std::string> weight_files(const std::string& path);

// The tensors of the file `path`, in the order of the bytes, given all of its bytes.
ParsedTensors parse_torch_file(const std::string& path, std::string_view bytes);

// A memory-mapped file. Safe to read from several threads.
class TorchFile : public TensorSource {
 public:
  explicit TorchFile(const std::string& path);
};

}  // namespace simile
