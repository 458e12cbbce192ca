// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/index_graph.h"
#include "cli/index_import.h"
#include "cli/index_metadata.h"
#include "cli/index_model.h"
#include "cli/input.h"
#include "cli/option_flags.h"
#include "cli/search_flags.h"
#include "simile/core/error.h"
#include "simile/data/corpus.h"
#include "simile/encode/passage_splitter.h"
#include "simile/index/index_builder.h"
#include "simile/model/builtin_model.h"
#include "simile/text/utf8.h"

namespace simile::cli {
namespace {

constexpr size_t kBlock = 4096;           // documents embedded and stored at a time
constexpr size_t kBlockBytes = 16 << 20;  // of their texts

struct Arguments {
  std::string model, index, corpus;
  CorpusColumns columns;
  std::vector<std::string> ids;
  bool overwrite = false, resume = false;
  std::string vectors = number_name(StoredNumber::kFp32);
  ModelOptions encode;
  SearchFlags search;
  PassageOptions passages;
  ApproximateOptions approximate;  // of a build; of a merge, where given
  CLI::App* merging = nullptr;
  CLI::App* adding = nullptr;
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
  CorpusBlocks(const Arguments& arguments, const SentenceEncoder& encoder)
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

// The vectors of some documents that need not be embedded; nothing for others.
using KnownVectors = std::function<std::optional<Matrix<float>>(const std::vector<Document>&)>;

// Calls take(documents, vectors) for the corpus in blocks. Returns the number of documents.
template <typename Take>
int64_t embed_corpus(const Arguments& arguments, const SentenceEncoder& encoder, Terminal& terminal,
                     Take take, const KnownVectors& known = {}) {
  CorpusBlocks blocks(arguments, encoder);
  BlockProgress progress(terminal, "index", 0, "documents");
  const EncodeOptions options = index_options(arguments.encode, encoder, TextRole::kDocument);
  int64_t documents = 0;
  EncodeCounts counts;
  EmptyTexts empty;
  for (std::vector<Document> block; blocks.next(block);) {
    for (const Document& document : block) empty.count(document);
    const std::optional<Matrix<float>> found = known ? known(block) : std::nullopt;
    take(block,
         found ? *found : encoder.encode(texts_of_vectors(block), options, progress, &counts));
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

void embed_and_commit(const Arguments& arguments, const SentenceEncoder& encoder,
                      IndexBuilder& builder, Terminal& terminal) {
  int64_t known = 0;
  const int64_t count = embed_corpus(
      arguments, encoder, terminal,
      [&](const auto& documents, const auto& vectors) { builder.add(documents, vectors); },
      [&](const auto& documents) {
        auto vectors = builder.kept_vectors(documents);
        if (vectors) known += static_cast<int64_t>(documents.size());
        return vectors;
      });
  if (known > 0) {
    terminal.info(fmt::format("{} documents had been embedded before", known));
  }
  warn_of_graph(arguments.index, builder.commit(graph_progress(terminal)), terminal);
  terminal.info(fmt::format("{} documents indexed in {}", count, arguments.index));
}

bool was_built(const Arguments& arguments, const SentenceEncoder& encoder,
               const IndexedModel& model) {
  std::optional<CorpusBlocks> blocks;
  return finish_killed_build(arguments.index, model, [&](std::vector<Document>& block) {
    if (!blocks) blocks.emplace(arguments, encoder);
    return blocks->next(block);
  });
}

void build(Arguments arguments, Terminal& terminal) {
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
  if (arguments.resume && was_built(arguments, encoder, model)) {
    terminal.info(fmt::format("{} had been built already", arguments.index));
    return;
  }
  IndexBuilder builder(arguments.index, model, arguments.overwrite, settings,
                       arguments.resume ? UnfinishedBuild::kResume : UnfinishedBuild::kKeep);
  embed_and_commit(arguments, encoder, builder, terminal);
  tell_settings(arguments.index, settings, terminal);
  tell_vectors(arguments.index, terminal);
  tell_graph(arguments.index, terminal);
}

// Vectors of one index are of texts behind one prompt.
void keep_prompt(const IndexInfo& info, Arguments& arguments) {
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
void check_precision(const IndexInfo& info, const Arguments& arguments) {
  SIMILE_CHECK(
      arguments.encode.precision == info.model.precision, ErrorKind::kUsage,
      fmt::format("--precision {}: the vectors of {} were computed in {}; leave the option "
                  "out, or build the index anew",
                  arguments.encode.precision, arguments.index, info.model.precision));
}

void add(Arguments arguments, Terminal& terminal) {
  const IndexInfo info = read_index_info(arguments.index);
  keep_settings(info, arguments.encode);
  check_precision(info, arguments);
  keep_prompt(info, arguments);
  drop_empty_names(arguments.columns);
  const bool is_named = arguments.adding->count("--metadata") > 0;
  if (!is_named) take_metadata_of(info, arguments.corpus, arguments.columns);
  arguments.passages = info.model.passages;
  const std::string model = model_of_index(arguments.index, info, arguments.model);
  const SentenceEncoder encoder = load_encoder(model, terminal, arguments.encode);
  SearchIndex index = open_index(arguments.index, model, SearchIndex::Access::kWrite);
  int64_t replaced = 0;
  const int64_t count = embed_corpus(
      arguments, encoder, terminal,
      [&](const auto& documents, const auto& vectors) {
        replaced += index.add(documents, vectors);
      },
      [&](const auto& documents) {
        if (!is_named) check_metadata_lives_on(index, documents, arguments.columns);
        return std::optional<Matrix<float>>();
      });
  terminal.info(fmt::format("{} documents added to {}, {} of them replaced older ones", count,
                            arguments.index, replaced));
}

// The index to be changed by what needs no model; one that is given must be the index's.
SearchIndex open_for_change(const Arguments& arguments) {
  constexpr auto kWrite = SearchIndex::Access::kWrite;
  return arguments.model.empty() ? SearchIndex::open_without_model(arguments.index, kWrite)
                                 : open_index(arguments.index, arguments.model, kWrite);
}

void remove(const Arguments& arguments, Terminal& terminal) {
  SearchIndex index = open_for_change(arguments);
  const int64_t removed = index.remove(arguments.ids);
  terminal.info(fmt::format("{} documents removed from {}", removed, arguments.index));
}

// Writes what the command line says of the graph into the index's settings; whether it says any.
bool keep_approximate(const Arguments& arguments) {
  const bool mode = arguments.merging->count("--approximate") > 0;
  const bool recall = arguments.merging->count("--recall") > 0;
  if (!mode && !recall) return false;
  SearchSettings settings = read_search_settings(arguments.index);
  if (mode) settings.approximate.approximate = arguments.approximate.approximate;
  if (recall) settings.approximate.recall = arguments.approximate.recall;
  write_search_settings(arguments.index, settings);
  return true;
}

void merge(const Arguments& arguments, Terminal& terminal) {
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

void change_settings(const Arguments& arguments, Terminal& terminal) {
  SIMILE_CHECK(arguments.search.any(), ErrorKind::kUsage,
               "say what to change: --mode, --hybrid-weight or --hybrid-rule");
  const SearchSettings settings = arguments.search.over(read_search_settings(arguments.index));
  write_search_settings(arguments.index, settings);
  tell_settings(arguments.index, settings, terminal);
}

void show_info(const std::string& path, bool json) {
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
  auto arguments = std::make_shared<Arguments>();
  CLI::App* parent =
      commands.app.add_subcommand("index", "Build, change or inspect a search index");
  parent->require_subcommand(1);
  const Commands inner{*parent, commands.common, commands.run};
  const CommonOptions& common = commands.common;

  const auto add_folder = [](CLI::App* command, Arguments& to) {
    command->add_option("--index", to.index, "Index folder")->required();
  };
  const auto add_corpus = [&](CLI::App* command, Arguments& to) {
    add_folder(command, to);
    command
        ->add_option("--corpus", to.corpus,
                     "Documents: .tsv, .csv or .jsonl with id, text and optionally title")
        ->required();
    OptionFlags flags(*command);
    to.columns.visit(flags);
    add_model_options(*command, to.encode);
  };
  CLI::App* building =
      inner.add_without_json("build", "Embed a corpus into a new index",
                             [arguments](Terminal& terminal) { build(*arguments, terminal); });
  building->add_option("--model", arguments->model, kModelHelp)->required();
  add_corpus(building, *arguments);
  arguments->search.add(*building);
  OptionFlags build_flags(*building);
  arguments->passages.visit(build_flags);
  arguments->approximate.visit(build_flags);
  add_vectors_option(*building, arguments->vectors);
  building->add_flag("--overwrite", arguments->overwrite,
                     "Replace the index in the folder, and forget a build that was interrupted");
  building->add_flag("--resume", arguments->resume,
                     "Go on with a build that was interrupted, with the vectors that it had");
  auto added = std::make_shared<Arguments>();
  added->encode.precision.clear();
  CLI::App* adding =
      inner.add_without_json("add", "Add documents, replacing those with the same id",
                             [added](Terminal& terminal) { add(*added, terminal); });
  adding->add_option("--model", added->model, kIndexModelHelp);
  add_corpus(adding, *added);
  added->adding = adding;
  CLI::App* removal =
      inner.add_without_json("delete", "Remove documents by id",
                             [arguments](Terminal& terminal) { remove(*arguments, terminal); });
  constexpr const char* kOwnModel =
      "Model folder or name of a built-in model, which must be the index's; not needed";
  add_folder(removal, *arguments);
  removal->add_option("--model", arguments->model, kOwnModel);
  removal->add_option("ids", arguments->ids, "Ids of the documents")->required();
  auto changed = std::make_shared<Arguments>();
  CLI::App* changing = inner.add_without_json(
      "settings", "Change what a search of the index goes by",
      [changed](Terminal& terminal) { change_settings(*changed, terminal); });
  add_folder(changing, *changed);
  changed->search.add(*changing);
  CLI::App* merging = inner.add_without_json(
      "merge",
      "Write all vectors anew in as few segments as possible, without those of removed documents",
      [arguments](Terminal& terminal) { merge(*arguments, terminal); });
  add_folder(merging, *arguments);
  merging->add_option("--model", arguments->model, kOwnModel);
  OptionFlags merge_flags(*merging);
  arguments->approximate.visit(merge_flags);
  // The index has the defaults.
  for (const char* flag : {"--approximate", "--recall"}) merging->get_option(flag)->default_str("");
  arguments->merging = merging;
  add_index_import(inner);
  add_folder(
      inner.add("info", "Show what an index holds",
                [arguments, &common](Terminal&) { show_info(arguments->index, common.json); }),
      *arguments);
}

}  // namespace simile::cli
