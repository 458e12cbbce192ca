// SPDX-License-Identifier: Apache-2.0
#include "cli/index_import.h"

#include <fmt/format.h>

#include <optional>

#include "cli/index_graph.h"
#include "cli/index_model.h"
#include "cli/option_flags.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/encode/document_vectors.h"
#include "simile/index/index_builder.h"
#include "simile/index/index_description.h"

namespace simile::cli {
namespace {

constexpr size_t kNumbersTogether = size_t{1} << 22;  // of the vectors stored at a time

struct Arguments {
  std::string index, model, from;
  bool overwrite = false;
  std::optional<std::string> vectors;
  GivenOptions<SearchSettings> search;
  GivenOptions<ApproximateOptions> approximate;

  void visit(OptionVisitor& v) {
    v.field("index", index, OptionInfo{kIndexHelp}.required());
    v.field("from", from,
            OptionInfo{"What `simile export --to npy` or `--to qdrant-jsonl` wrote: an .npy with "
                       "its .jsonl, or a .jsonl of objects with id, text and vector"}
                .required());
    v.field("model", model,
            {std::string(kModelHelp) +
             " whose vectors they are; the one that FILE.index.json names by default"});
    v.field("overwrite", overwrite, {"Replace the index in the folder"});
    v.field("vectors", vectors, vectors_info());
    search.visit(v);
    approximate.visit(v);
  }
};

std::optional<IndexDescription> find_description(const std::string& from) {
  const std::string path = description_path(from);
  if (!file_exists(path)) return std::nullopt;
  return read_index_description(path);
}

// Of a model that is described, with the name it has as seen from the new index.
IndexedModel described_model(const Arguments& arguments, const IndexedModel& described) {
  const std::string& given = arguments.model;
  const std::string model = !given.empty()             ? given
                            : described.folder.empty() ? described.name
                                                       : described.folder;
  const std::string fingerprint = fingerprint_of(model);
  SIMILE_CHECK(
      fingerprint == described.fingerprint, ErrorKind::kInput,
      fmt::format("the vectors of {} are of the model '{}' (fingerprint {}), but '{}' has the "
                  "fingerprint {}; name their model with --model",
                  arguments.from, described.name, described.fingerprint, model, fingerprint));
  IndexedModel indexed = described;
  name_model(model, arguments.index, indexed);
  return indexed;
}

// Of vectors that say nothing of theirs.
IndexedModel named_model(const Arguments& arguments) {
  SIMILE_CHECK(!arguments.model.empty(), ErrorKind::kUsage,
               fmt::format("{} is not there, which would name the model of these vectors; give "
                           "--model",
                           description_path(arguments.from)));
  IndexedModel indexed;
  indexed.fingerprint = fingerprint_of(arguments.model);
  indexed.metric = metric_of(arguments.model);
  indexed.prompt_name = "";
  name_model(arguments.model, arguments.index, indexed);
  return indexed;
}

// Vectors keep the form that they had in their index, unless the command line names one.
void choose_numbers(const Arguments& arguments, IndexedModel& model) {
  if (!arguments.vectors) return;
  const StoredNumber number = parse_stored_number(*arguments.vectors);
  if (number != model.vectors) model.vectors_recall.reset();
  model.vectors = number;
}

SearchSettings settings_over(const Arguments& arguments, const SearchSettings& described) {
  SearchSettings settings = arguments.search.over(described);
  settings.approximate = arguments.approximate.over(settings.approximate);
  return settings;
}

// The next documents and their vectors.
class Block {
 public:
  // False at the end.
  bool fill(VectorRows& rows) {
    documents_.clear();
    numbers_.clear();
    Document document;
    while (numbers_.size() < kNumbersTogether && rows.next(document, numbers_)) {
      check_signal();
      documents_.push_back(std::move(document));
    }
    return !documents_.empty();
  }

  void put(int64_t dimension, IndexBuilder& builder) {
    Matrix<float> vectors(0, dimension);
    vectors.rows = static_cast<int64_t>(numbers_.size()) / dimension;
    vectors.values = std::move(numbers_);
    builder.add(documents_, vectors);
    numbers_.clear();
  }

  int64_t size() const { return static_cast<int64_t>(documents_.size()); }

 private:
  std::vector<Document> documents_;
  std::vector<float> numbers_;
};

void check_dimension(const Arguments& arguments, const VectorRows& rows, int64_t expected) {
  SIMILE_CHECK(rows.dimension() == expected, ErrorKind::kInput,
               fmt::format("{}: vectors of {} numbers, expected {}", arguments.from,
                           rows.dimension(), expected));
}

void run(const Arguments& arguments, Terminal& terminal) {
  SIMILE_CHECK(
      ends_with(arguments.from, ".npy") || ends_with(arguments.from, ".jsonl"), ErrorKind::kUsage,
      fmt::format("--from '{}': expected a name that ends in .npy or .jsonl", arguments.from));
  SIMILE_CHECK(file_exists(arguments.from), ErrorKind::kInput,
               fmt::format("cannot read '{}': there is no such file", arguments.from));
  const std::optional<IndexDescription> description = find_description(arguments.from);
  IndexedModel model =
      description ? described_model(arguments, description->model) : named_model(arguments);
  VectorRows rows(arguments.from, model.fingerprint);
  Block block;
  const bool any = block.fill(rows);
  if (!description) {
    SIMILE_CHECK(any, ErrorKind::kInput, fmt::format("{}: there is no document", arguments.from));
    model.dimension = rows.dimension();
    check_size_of(arguments.model, model.dimension);
  }
  choose_numbers(arguments, model);
  IndexBuilder builder(
      arguments.index, model, arguments.overwrite,
      settings_over(arguments, description ? description->settings : SearchSettings()));
  int64_t count = 0;
  for (bool more = any; more; more = block.fill(rows)) {
    check_dimension(arguments, rows, model.dimension);
    count += block.size();
    block.put(model.dimension, builder);
  }
  rows.check_origin();
  warn_of_graph(arguments.index, builder.commit(graph_progress(terminal)), terminal);
  terminal.info(
      fmt::format("{} documents of {} imported into {}", count, arguments.from, arguments.index));
  tell_vectors(arguments.index, terminal);
  tell_graph(arguments.index, terminal);
}

}  // namespace

void add_index_import(const Commands& index_commands) {
  index_commands.add<Arguments>(
      "import", "Make a new index of documents and vectors that stand in files", run);
}

}  // namespace simile::cli
