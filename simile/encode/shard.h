// SPDX-License-Identifier: Apache-2.0
// One list of texts encoded by several processes that know nothing of each other.
//
// A text belongs to the shard hash64(text) mod n of n, so that each process finds its own by
// reading the list, wherever it runs and whatever the others do; equal texts come to one shard. The
// vectors of a shard stand in a .npy of their own, in the order of the list, and the file beside it
// (rows_path()) says which rows of the list they are. Put together they are, to the last bit, what
// one process writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/hash.h"

namespace simile {

struct Shard {
  int64_t index = 0;  // from 0
  int64_t count = 1;

  std::string name() const;  // "3/16"
};

// From "3/16". Errors (ErrorKind::kUsage): another form, or not 0 <= index < count.
Shard parse_shard(const std::string& text);

// What stands beside the vectors of a shard.
struct ShardRows {
  using Settings = std::vector<std::pair<std::string, std::string>>;

  Shard shard;
  int64_t texts = 0;          // of the whole list
  std::string list;           // hash of all of its texts, in order
  Settings settings;          // what else decides the vectors: the model, its prompt ...
  std::string vectors;        // hash of the shard's numbers as they stand in its file
  std::vector<int64_t> rows;  // ascending; vector i is that of the text rows[i], counted from 0
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

// Errors of reading (kInput): a file that is damaged or something else, with what is wrong.
void write_shard_rows(const std::string& vectors_path, const ShardRows& rows);
ShardRows read_shard_rows(const std::string& vectors_path);

struct MergedShards {
  int64_t shards = 0, rows = 0, columns = 0;
};

// Writes the vectors of all shards, whose .npy files stand in any order in `paths`, to `output` in
// the order of the list. Memory: four bytes a row beside the rows themselves. Progress: "merge".
// Errors (kInput): a shard that is missing, there twice, damaged, of another list or made with
// other settings, each named; kUsage: an `output` that is one of them or does not end in .npy.
MergedShards merge_shards(const std::vector<std::string>& paths, const std::string& output,
                          EventSink& events);

}  // namespace simile
