// SPDX-License-Identifier: Apache-2.0
// One list of texts, encoded by several independent processes.
//
// A text belongs to the shard hash64(text) mod n of n, so that each process finds its own by
// reading the list, wherever it runs and whatever the others do; equal texts come to one shard. The
// vectors of a shard are in a .npy of their own, in the order of the list. The file beside it
// (rows_path()) lists their rows in the list. Together they equal the output of one process.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/hash.h"
#include "simile/core/options.h"

namespace simile {

constexpr double kMostShards = 1e6, kMostRows = 1e12;

struct Shard {
  int64_t index = 0;  // from 0
  int64_t count = 1;

  std::string name() const;  // "3/16"
};

// From "3/16". Errors (ErrorKind::kUsage): another form, or not 0 <= index < count.
Shard parse_shard(const std::string& text);

// The facts that are stored beside the vectors of a shard.
struct ShardRows {
  using Settings = std::map<std::string, std::string>;

  Shard shard;
  int64_t texts = 0;          // of the whole list
  std::string list;           // hash of all of its texts, in order
  Settings settings;          // what else decides the vectors: the model, its prompt ...
  std::string vectors;        // hash of the shard's numbers as they stand in its file
  std::vector<int64_t> rows;  // ascending; vector i is that of the text rows[i], counted from 0

  void visit(OptionVisitor& v) {
    v.field("shard", shard.index, OptionInfo{"", "", 0}.required());
    v.field("shards", shard.count, OptionInfo{"", "", 1, kMostShards}.required());
    v.field("texts", texts, OptionInfo{"", "", 0, kMostRows}.required());
    v.required("list", list);
    v.required("settings", settings);
    v.required("vectors", vectors);
    v.required("rows", rows);
  }
};

// Goes through a list and notes which rows are the shard's.
class ShardSelection {
 public:
  explicit ShardSelection(const Shard& shard) { found_.shard = shard; }
  // The next text of the list: whether it is the shard's.
  bool take(std::string_view text);
  // Numbers of the vectors, in pieces, as they are written.
  void add_vectors(std::string_view bytes) { vectors_.add(bytes); }

  const std::vector<int64_t>& rows() const { return found_.rows; }  // so far
  int64_t texts() const { return found_.texts; }                    // so far, of the whole list
  // When all is read and written.
  ShardRows finish(ShardRows::Settings settings);

 private:
  ShardRows found_;
  Hash128 list_, vectors_;
};

// part-3.npy -> part-3.rows.json
std::string rows_path(const std::string& vectors_path);

// Errors of reading (kInput), with the reason: a damaged file, or one of another kind.
void write_shard_rows(const std::string& vectors_path, const ShardRows& rows);
ShardRows read_shard_rows(const std::string& vectors_path);

struct MergedShards {
  int64_t shards = 0, rows = 0, columns = 0;
};

// Writes the vectors of all shards, whose .npy files are in `paths` in any order, to `output` in
// the order of the list. Memory: four bytes a row beside the rows themselves. Progress: "merge".
// Errors (kInput): a shard that is missing, there twice, damaged, of another list or made with
// other settings, each named; kUsage: an `output` that is one of them or does not end in .npy.
MergedShards merge_shards(const std::vector<std::string>& paths, const std::string& output,
                          EventSink& events);

}  // namespace simile
