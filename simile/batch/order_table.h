// SPDX-License-Identifier: Apache-2.0
// The recipe group `order`: the order in which an objective's examples are trained, and which
// examples share a batch (Batch-Softmax Contrastive Loss, section 3.2 and 3.3). Every order is a
// row of a table: its name, options, needs, and the planning of an epoch.
//
//   order: random
//   order: {name: neighbours, group_size: 4}
//   order: {name: words, shingle: 2, labelled_negatives: 2}
//
// To add an order: a source with its row (and a header with its function), a test, and its line in
// order_table(). The recipe's choices, the checks of options and data, and docs/options.md follow
// from the row; options of its own are fields of OrderOptions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simile/batch/plan.h"
#include "simile/core/error.h"
#include "simile/core/matrix.h"
#include "simile/core/options.h"

namespace simile {

struct NeighbourReport;

struct OrderOptions {
  std::string name = "random";
  int64_t group_size = 8;
  std::string side = "left";
  int64_t neighbours = 500;
  bool allow_same = false;
  bool reverse = true;
  int64_t shingle = 1;
  std::vector<std::string> stop_words;
  int64_t clusters = 300;
  int64_t top_words = 3;
  int64_t pool_batches = 64;
  std::string precision = "auto";  // or one of precision_names()
  int64_t labelled_negatives = 0;
  double positive_above = -1;

  // Precision of the vectors that an order compares, a name of precision_names(): auto is bytes on
  // the CPU, which group nearly the same examples in a fraction of the time, else floats.
  std::string chosen_precision(bool on_cpu) const;

  void visit(OptionVisitor& v);
};

// Errors (kRecipe), which name the data `file`: options set that the order does not take;
// positive_above without labelled_negatives.
void check_order_options(const OrderOptions& options, const std::string& file);

// For each text, the numbers that group examples; empty for texts that are not of `side`.
using TextWords = std::vector<std::vector<uint64_t>>;

// The data that an order may read.
struct OrderData {
  // Vectors [texts, D] of texts given by token ids.
  using Embed = std::function<Matrix<float>(const std::vector<std::vector<int32_t>>& texts)>;

  const OrderOptions& options;
  int64_t batch_size;
  std::string file;  // that messages name

  const std::vector<std::vector<int32_t>>& texts;  // token ids, each distinct text once
  const std::vector<int32_t>&left, &right;         // [examples] numbers of texts; right or empty
  const std::vector<std::vector<int32_t>>& negatives;  // [columns][examples]
  const std::vector<int32_t>& classes;                 // [examples], or empty
  const std::vector<std::string>& originals;           // [texts] as they were read, or empty

  uint64_t seed = 0, epoch = 0;
  const ExampleOrder* placed = nullptr;  // the examples to order; null: all
  const TextWords* words = nullptr;      // what OrderRow::find_words() made
  Embed embed = {};
  EventSink* events = nullptr;

  // These describe the examples to order, which an order numbers from 0.
  int64_t size() const;
  TextColumns text_columns(bool with_negatives) const;
  std::vector<int32_t> side() const;     // the column that options.side names
  std::vector<int64_t> lengths() const;  // tokens of all texts of each example
  Matrix<float> vectors() const;  // [size, D] of side(); every distinct text is embedded once

  // Reports the recall of an approximate search for neighbours.
  void tell(const NeighbourReport& report) const;
};

struct OrderRow {
  // Options that an order takes besides its own, and the data that it looks at.
  enum Needs : unsigned {
    kGroups = 1,             // option group_size
    kSide = 2,               // option side: it looks at the texts of one side
    kVectors = 4,            // option precision: it compares vectors, made for every epoch
    kLabelledNegatives = 8,  // option labelled_negatives: it can order a part of the examples
    kDistinctTexts = 16,     // no text is twice in a batch, negative columns included
    kLengths = 32,           // it reads the lengths of all texts, negative columns included
    kTexts = kSide | kDistinctTexts,        // it looks at the texts of an example one by one
    kNegatives = kDistinctTexts | kLengths  // it changes with the negative columns
  };

  const char* name;
  const char* help;
  unsigned needs;
  void (*visit)(OrderOptions& options, OptionVisitor& v);  // its own options; null: none
  // The order of the examples, which is cut into batches; null: plan() makes batches.
  ExampleOrder (*order)(const OrderData& data);

  // The batches of an epoch, and how many they are, whatever the seed and the epoch.
  Batches (*plan)(const OrderData& data, int64_t count) = nullptr;
  int64_t (*count)(const OrderData& data) = nullptr;
  // Errors (kRecipe): data or sizes that do not suit the order.
  void (*check)(const OrderData& data) = nullptr;
  // Made of the originals once and kept for all epochs: OrderData::words.
  TextWords (*find_words)(const OrderData& data) = nullptr;

  bool has(unsigned any) const { return (needs & any) != 0; }
};

const std::vector<OrderRow>& order_table();

// `name` is in the table.
const OrderRow& find_order(const std::string& name);

}  // namespace simile
