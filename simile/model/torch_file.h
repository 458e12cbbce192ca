// SPDX-License-Identifier: Apache-2.0
// pytorch_model.bin: a zip archive of torch.save (torch 1.6 and later) with PREFIX/data.pkl, a
// pickle that says which tensors there are, and their numbers in PREFIX/data/0, 1, ...
//
// The pickle is read as data, and nothing in it is ever run (detail/state_dict.h). Tensors may share
// a storage and may lie in it in any order of rows and columns; they are checked to lie within it.
// Errors (kInput) name file and tensor; the older format without zip, and numbers in big-endian
// order, are refused saying what to do.
#pragma once

#include <string>
#include <string_view>

#include "simile/model/tensor_source.h"

namespace simile {

// The tensors of the file `path`, in the order of the bytes, given all of its bytes.
ParsedTensors parse_torch_file(const std::string& path, std::string_view bytes);

// A memory-mapped file. Safe to read from several threads.
class TorchFile : public TensorSource {
 public:
  explicit TorchFile(const std::string& path);
};

}  // namespace simile
