// SPDX-License-Identifier: Apache-2.0
// The safetensors format: 8 bytes little-endian header length, a JSON header
// {name: {"dtype", "shape", "data_offsets"}}, then the tensors' bytes.
//
// Reading trusts nothing: the header's length (at most 4 MiB), every type, shape and offset are
// checked before any tensor is touched, so a file that opens can be read to its end. As the format
// demands, tensors neither overlap nor leave gaps. Errors: ErrorKind::kInput naming file and
// tensor; for a truncated file with the bytes expected and present.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "simile/model/tensor_source.h"

namespace simile {

// The tensors of the file `path`, in the order of the bytes, given all of its bytes.
ParsedTensors parse_safetensors(const std::string& path, std::string_view bytes);

// A memory-mapped file. Safe to read from several threads.
class SafetensorsFile : public TensorSource {
 public:
  explicit SafetensorsFile(const std::string& path);

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  std::string_view file_bytes() const { return TensorSource::file_bytes(0); }

 private:
  std::map<std::string, std::string> metadata_;
};

// One tensor to be written. kF16 and kBf16 are made from floats (rounded to nearest even) unless
// `as_it_is`; every other type is stored as `values` holds it.
struct TensorView {
  std::string name;
  std::vector<int64_t> shape;
  const void* values = nullptr;
  TensorType type = TensorType::kF32;
  bool as_it_is = false;
};

// Writes the tensors in the order given, streaming, under a temporary name that is renamed when
// complete. Spaces pad the header: tensors start at a multiple of 8 bytes. Errors: kIo.
void write_safetensors(const std::string& path, const std::vector<TensorView>& tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

// Writes a file with checksums, which a run keeps to resume from: "checksum" among its metadata is
// a hash of all tensors, by name, and all other metadata. As write_safetensors(), for tensors whose
// values are stored as they are.
void write_sealed_tensors(const std::string& path, const std::vector<TensorView>& tensors,
                          std::map<std::string, std::string> metadata);

// Errors (kInput): the file has another checksum, or none.
void check_seal(const SafetensorsFile& file);

}  // namespace simile
