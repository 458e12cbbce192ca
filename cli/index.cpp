// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/index_graph.h"
#include "cli/index_import.h"
#include "cli/index_metadata.h"
#include "cli/index_model.h"
#include "cli/input.h"
#include "cli/option_flags.h"
#include "simile/core/error.h"
#include "simile/data/ranking_files.h"
#include "simile/encode/document_vectors.h"
#include "simile/index/index_builder.h"
#include "simile/model/model_folder.h"
#include "simile/text/utf8.h"

namespace simile::cli {
namespace {

constexpr size_t kBlock = 4096;           // documents embedded and stored at a time
constexpr size_t kBlockBytes = 16 << 20;  // of their texts

struct IndexArguments {
  std::string index;
  void visit(OptionVisitor& v) { v.field("index", index, OptionInfo{kIndexHelp}.required()); }
};

// What a corpus is read and embedded by.
struct CorpusArguments : IndexArguments {
  std::string model, corpus;
  CorpusColumns columns;
  ModelOptions encode;
  PassageOptions passages;

  void visit_corpus(OptionVisitor& v) {
    IndexArguments::visit(v);
    v.field("corpus", corpus,
            OptionInfo{"Documents: .tsv, .csv or .jsonl with id, text and optionally title"}
                .required());
    columns.visit(v);
    encode.visit(v);
  }
};

struct BuildArguments : CorpusArguments {
  bool overwrite = false, resume = false;
  std::string vectors = number_name(StoredNumber::kFp32);
  GivenOptions<SearchSettings> search;
  ApproximateOptions approximate;

  void visit(OptionVisitor& v) {
    v.field("model", model, OptionInfo{kModelHelp}.required());
    visit_corpus(v);
    search.visit(v);
    passages.visit(v);
    approximate.visit(v);
    v.field("vectors", vectors, vectors_info());
    v.field("overwrite", overwrite,
            {"Replace the index in the folder, and forget a build that was interrupted"});
    v.field("resume", resume,
            {"Go on with a build that was interrupted, with the vectors that it had"});
  }
};

struct AddArguments : CorpusArguments {
  AddArguments() { encode = index_model_options(); }

  void visit(OptionVisitor& v) {
    v.field("model", model, {kIndexModelHelp});
    visit_corpus(v);
  }
};

// A change that needs no model.
struct ChangeArguments : IndexArguments {
  std::string model;

  void visit(OptionVisitor& v) {
    IndexArguments::visit(v);
    v.field("model", model,
            {"Model folder or name of a built-in model, which must be the index's; not needed"});
  }
};

struct DeleteArguments : ChangeArguments {
  std::vector<std::string> ids;

  void visit(OptionVisitor& v) {
    ChangeArguments::visit(v);
    v.field("ids", ids, OptionInfo{"Ids of the documents"}.named("ids").required());
  }
};

struct SettingsArguments : IndexArguments {
  GivenOptions<SearchSettings> search;

  void visit(OptionVisitor& v) {
    IndexArguments::visit(v);
    search.visit(v);
  }
};

struct MergeArguments : ChangeArguments {
  GivenOptions<ApproximateOptions> approximate;

  void visit(OptionVisitor& v) {
    ChangeArguments::visit(v);
    approximate.visit(v);
  }
};

// Documents without a text, which are found by any query alike.
class EmptyTexts {
 public:
  void count(const Document& document) {
    if (!trim(document.text).empty()) return;
    if (count_++ == 0) first_ = document.id;
  }
  void warn(int64_t documents, Terminal& terminal) const {
    if (count_ == 0) return;
    terminal.warning(
        fmt::format("{} of {} documents have no text (the first: \"{}\") and were "
                    "indexed so; leave them out of the corpus",
                    count_, documents, first_));
  }

 private:
  int64_t count_ = 0;
  std::string first_;
};

// The documents of the corpus in blocks, with their passages.
class CorpusBlocks {
 public:
  CorpusBlocks(const CorpusArguments& arguments, const SentenceEncoder& encoder)
      : reader_(arguments.corpus, CorpusReader::Titles::kPrepend, arguments.columns),
        splitter_(encoder, arguments.passages,
                  index_options(arguments.encode, encoder, TextRole::kDocument)) {}

  // False at the end.
  bool next(std::vector<Document>& block) {
    block.clear();
    size_t bytes = 0;
    CorpusText text;
    while (block.size() < kBlock && bytes < kBlockBytes && reader_.next(text)) {
      check_signal();
      block.push_back({std::move(text.id), std::move(text.text), std::move(text.metadata)});
      block.back().title = std::move(text.title);
      bytes += block.back().text.size();
    }
    if (!block.empty()) splitter_.split(block);
    return !block.empty();
  }

  const ReadReport& report() const { return reader_.report(); }

 private:
  CorpusReader reader_;
  PassageSplitter splitter_;
};

// Embeds the corpus in blocks and calls take(documents, vectors) for each, except those for which
// skip(documents) is true. Returns the number of documents.
template <typename Skip, typename Take>
int64_t embed_corpus(const CorpusArguments& arguments, const SentenceEncoder& encoder,
                     Terminal& terminal, Skip skip, Take take) {
  CorpusBlocks blocks(arguments, encoder);
  BlockProgress progress(terminal, "index", 0, "documents");
  const EncodeOptions options = index_options(arguments.encode, encoder, TextRole::kDocument);
  int64_t documents = 0;
  EncodeCounts counts;
  EmptyTexts empty;
  for (std::vector<Document> block; blocks.next(block);) {
    for (const Document& document : block) empty.count(document);
    if (!skip(block)) {
      take(block, encoder.encode(texts_of_vectors(block), options, progress, &counts));
    }
    documents += static_cast<int64_t>(block.size());
  }
  warn_about(blocks.report(), terminal);
  warn_about(counts, encoder, terminal);
  empty.warn(documents, terminal);
  return documents;
}

void tell_settings(const std::string& index, const SearchSettings& settings, Terminal& terminal) {
  terminal.info(fmt::format("a search of {} goes by: {}, {} with {:g} of the vectors", index,
                            settings.mode, settings.fusion.rule, settings.fusion.weight));
}

void embed_and_commit(const BuildArguments& arguments, const SentenceEncoder& encoder,
                      IndexBuilder& builder, Terminal& terminal) {
  int64_t known = 0;
  const int64_t count = embed_corpus(
      arguments, encoder, terminal,
      [&](const auto& documents) {
        const bool skips = builder.skip(documents);
        if (skips) known += static_cast<int64_t>(documents.size());
        return skips;
      },
      [&](const auto& documents, const auto& vectors) { builder.add(documents, vectors); });
  if (known > 0) {
    terminal.info(fmt::format("{} documents had been embedded before", known));
  }
  warn_of_graph(arguments.index, builder.commit(graph_progress(terminal)), terminal);
  terminal.info(fmt::format("{} documents indexed in {}", count, arguments.index));
}

void build(BuildArguments& arguments, Terminal& terminal) {
  drop_empty_names(arguments.columns);
  check_passages(arguments.passages);
  const SentenceEncoder encoder = load_encoder(arguments.model, terminal, arguments.encode);
  SearchSettings settings =
      arguments.search.over(read_model_search_settings(resolve_model(arguments.model)));
  settings.approximate = arguments.approximate;
  IndexedModel model = indexed_model(arguments.model, arguments.index, encoder, arguments.encode);
  model.passages = arguments.passages;
  model.metadata = arguments.columns.metadata;
  model.vectors = parse_stored_number(arguments.vectors);
  IndexBuilder builder(arguments.index, model, arguments.overwrite, settings,
                       arguments.resume ? UnfinishedBuild::kResume : UnfinishedBuild::kKeep);
  embed_and_commit(arguments, encoder, builder, terminal);
  tell_settings(arguments.index, settings, terminal);
  tell_vectors(arguments.index, terminal);
  tell_graph(arguments.index, terminal);
}

// Vectors of one index are of texts behind one prompt.
void keep_prompt(const IndexInfo& info, AddArguments& arguments) {
  if (!info.model.prompt_name) return;
  std::string& name = arguments.encode.prompt_name;
  const std::string& built = *info.model.prompt_name;
  SIMILE_CHECK(name.empty() || name == built, ErrorKind::kUsage,
               fmt::format("--prompt {}: the documents of {} have {}; leave the option out, or "
                           "build the index anew",
                           name, arguments.index,
                           built.empty() ? "the model's prompt for documents, if any"
                                         : fmt::format("the prompt '{}'", built)));
  name = built;
}

// Vectors of one index are computed alike.
void check_precision(const IndexInfo& info, const AddArguments& arguments) {
  SIMILE_CHECK(
      arguments.encode.precision == info.model.precision, ErrorKind::kUsage,
      fmt::format("--precision {}: the vectors of {} were computed in {}; leave the option "
                  "out, or build the index anew",
                  arguments.encode.precision, arguments.index, info.model.precision));
}

void add(AddArguments& arguments, Terminal& terminal) {
  const IndexInfo info = read_index_info(arguments.index);
  keep_settings(info, arguments.encode);
  check_precision(info, arguments);
  keep_prompt(info, arguments);
  const bool is_named = !arguments.columns.metadata.empty();  // `--metadata ''` names none
  drop_empty_names(arguments.columns);
  if (!is_named) take_metadata_of(info, arguments.corpus, arguments.columns);
  arguments.passages = info.model.passages;
  const std::string model = model_of_index(arguments.index, info, arguments.model);
  const SentenceEncoder encoder = load_encoder(model, terminal, arguments.encode);
  SearchIndex index = open_index(arguments.index, model, SearchIndex::Access::kWrite);
  int64_t replaced = 0;
  const int64_t count = embed_corpus(
      arguments, encoder, terminal,
      [&](const auto& documents) {
        if (!is_named) check_metadata_lives_on(index, documents, arguments.columns);
        return false;
      },
      [&](const auto& documents, const auto& vectors) {
        replaced += index.add(documents, vectors);
      });
  terminal.info(fmt::format("{} documents added to {}, {} of them replaced older ones", count,
                            arguments.index, replaced));
}

// The index to be changed by what needs no model; one that is given must be the index's.
SearchIndex open_for_change(const ChangeArguments& arguments) {
  constexpr auto kWrite = SearchIndex::Access::kWrite;
  return arguments.model.empty() ? SearchIndex::open_without_model(arguments.index, kWrite)
                                 : open_index(arguments.index, arguments.model, kWrite);
}

void remove(const DeleteArguments& arguments, Terminal& terminal) {
  SearchIndex index = open_for_change(arguments);
  const int64_t removed = index.remove(arguments.ids);
  terminal.info(fmt::format("{} documents removed from {}", removed, arguments.index));
}

// Writes what the command line says of the graph into the index's settings; whether it says any.
bool keep_approximate(const MergeArguments& arguments) {
  if (!arguments.approximate.any()) return false;
  SearchSettings settings = read_search_settings(arguments.index);
  settings.approximate = arguments.approximate.over(settings.approximate);
  write_search_settings(arguments.index, settings);
  return true;
}

void merge(const MergeArguments& arguments, Terminal& terminal) {
  SearchIndex index = open_for_change(arguments);
  const IndexInfo before = index.info();
  const bool renews_graph = keep_approximate(arguments);
  index.merge(graph_progress(terminal), renews_graph);
  const IndexInfo after = index.info();
  terminal.info(
      fmt::format("the vectors of {} stood in {} segments and stand in {}; those of {} "
                  "removed documents are gone",
                  arguments.index, before.segments, after.segments, before.removed));
  tell_graph(arguments.index, terminal);
}

void change_settings(const SettingsArguments& arguments, Terminal& terminal) {
  SIMILE_CHECK(arguments.search.any(), ErrorKind::kUsage,
               "say what to change: --mode, --hybrid-weight or --hybrid-rule");
  const SearchSettings settings = arguments.search.over(read_search_settings(arguments.index));
  write_search_settings(arguments.index, settings);
  tell_settings(arguments.index, settings, terminal);
}

void show_info(const IndexArguments& arguments, bool json, Terminal&) {
  const std::string& path = arguments.index;
  const IndexInfo info = read_index_info(path);
  nlohmann::ordered_json document = {{"documents", info.count},
                                     {"dimension", info.model.dimension},
                                     {"model", info.model.name},
                                     {"precision", info.model.precision},
                                     {"vectors", number_name(info.model.vectors)},
                                     {"fingerprint", info.model.fingerprint},
                                     {"generation", info.generation},
                                     {"segments", info.segments},
                                     {"removed", info.removed}};
  if (info.model.vectors_recall) document["vectors_recall"] = *info.model.vectors_recall;
  if (info.model.passages.splits()) {
    document["passages"] = info.vectors;
    document["passage_tokens"] = info.model.passages.passage_tokens;
    document["passage_overlap"] = info.model.passages.passage_overlap;
  }
  if (info.model.metadata) document["metadata"] = *info.model.metadata;
  const SearchSettings search = read_search_settings(path);
  document["mode"] = search.mode;
  document["hybrid_weight"] = search.fusion.weight;
  document["hybrid_rule"] = search.fusion.rule;
  document["approximate"] = search.approximate.approximate;
  if (info.graph) {
    document["graph_vectors"] = info.graph->rows;
    document["graph_breadth"] = info.graph->breadth;
    document["graph_recall"] = info.graph->recall;
  }
  if (info.model.prompt_name && !info.model.prompt_name->empty()) {
    document["prompt"] = *info.model.prompt_name;
  }
  Output output("-");
  if (json) {
    output.write(document.dump() + "\n");
  } else {
    for (const auto& [name, value] : document.items()) {
      output.write(fmt::format("{:12} {}\n", name,
                               value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
  output.finish();
}

}  // namespace

void add_index(const Commands& commands) {
  const Commands inner = commands.add_parent("index", "Build, change or inspect a search index");
  inner.add<BuildArguments>("build", "Embed a corpus into a new index", build);
  inner.add<AddArguments>("add", "Add documents, replacing those with the same id", add);
  inner.add<DeleteArguments>("delete", "Remove documents by id", remove);
  inner.add<SettingsArguments>("settings", "Change what a search of the index goes by",
                               change_settings);
  inner.add<MergeArguments>(
      "merge",
      "Write all vectors anew in as few segments as possible, without those of removed documents",
      merge);
  add_index_import(inner);
  inner.add<IndexArguments>("info", "Show what an index holds", show_info);
}

}  // namespace simile::cli
