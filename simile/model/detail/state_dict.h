// SPDX-License-Identifier: Apache-2.0
// The pickle inside a pytorch_model.bin, read as data: a dictionary from names to tensors.
//
// A pickle is a program for a stack machine that may call anything. This reader runs nothing: it
// knows the opcodes that build dictionaries, tuples, texts and numbers, and of globals only
//
//   collections.OrderedDict, torch.Size, torch.FloatStorage and its like,
//   torch._utils._rebuild_tensor_v2, torch._utils._rebuild_tensor, torch._utils._rebuild_parameter
//
// which it answers itself. Attributes of the dictionary (BUILD), such as `_metadata`, are not kept.
// Errors (ErrorKind::kInput) name the global, opcode or object that is refused and its place. Time
// and memory are linear in the pickle's size, which may be 16 MiB and a million values at most.
//
// Source: Lib/pickletools.py of Python describes the opcodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simile/model/tensor_source.h"

namespace simile::detail {

struct StateDictTensor {
  std::string name;
  TensorType type = TensorType::kF32;
  std::string storage;                  // the archive's entry PREFIX/data/STORAGE
  int64_t storage_numbers = 0;          // as the pickle says, not below 0
  int64_t offset = 0;                   // numbers from the storage's start, not below 0
  std::vector<int64_t> shape, strides;  // of equal length, nothing below 0
};

// `source` is the file name in messages.
std::vector<StateDictTensor> read_state_dict(std::string_view pickle, const std::string& source);

}  // namespace simile::detail
