// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/index_model.h"
#include "cli/input.h"
#include "cli/option_flags.h"
#include "simile/core/error.h"
#include "simile/data/corpus.h"
#include "simile/text/white_space.h"

namespace simile::cli {
namespace {

constexpr size_t kBlock = 4096;  // documents embedded and stored at a time

struct Arguments {
  std::string model, index, corpus;
  CorpusColumns columns;
  std::vector<std::string> ids;
  bool overwrite = false;
  ModelOptions encode;
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

// Calls take(documents, vectors) for the corpus in blocks. Returns the number of documents.
template <typename Take>
int64_t embed_corpus(const Arguments& arguments, const SentenceEncoder& encoder, Terminal& terminal,
                     Take take) {
  CorpusReader reader(arguments.corpus, CorpusReader::Titles::kPrepend, arguments.columns);
  BlockProgress progress(terminal, "index", 0, "documents");
  const EncodeOptions options = index_options(arguments.encode, encoder, TextRole::kDocument);
  std::vector<Document> block;
  EncodeCounts counts;
  EmptyTexts empty;
  const auto flush = [&] {
    if (block.empty()) return;
    std::vector<std::string> texts;
    for (const Document& document : block) texts.push_back(document.text);
    take(block, encoder.encode(texts, options, progress, &counts));
    block.clear();
  };
  CorpusText text;
  while (reader.next(text)) {
    check_signal();
    block.push_back({std::move(text.id), std::move(text.text)});
    empty.count(block.back());
    if (block.size() == kBlock) flush();
  }
  flush();
  warn_about(reader.report(), terminal);
  warn_about(counts, encoder, terminal);
  empty.warn(counts.texts, terminal);
  return counts.texts;
}

void build(const Arguments& arguments, Terminal& terminal) {
  SIMILE_CHECK(arguments.overwrite || !is_index(arguments.index), ErrorKind::kUsage,
               fmt::format("'{}' is an index already; put documents into it with `simile index "
                           "add`, or replace it with --overwrite",
                           arguments.index));
  const SentenceEncoder encoder =
      load_encoder(arguments.model, terminal, arguments.encode.precision);
  IndexBuilder builder(arguments.index,
                       indexed_model(arguments.model, arguments.index, encoder, arguments.encode));
  const int64_t count = embed_corpus(
      arguments, encoder, terminal,
      [&](const auto& documents, const auto& vectors) { builder.add(documents, vectors); });
  builder.commit();
  terminal.info(fmt::format("{} documents indexed in {}", count, arguments.index));
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
  const std::string model = model_of_index(arguments.index, info, arguments.model);
  const SentenceEncoder encoder = load_encoder(model, terminal, arguments.encode.precision);
  SearchIndex index = open_index(arguments.index, model, SearchIndex::Access::kWrite);
  int64_t replaced = 0;
  const int64_t count =
      embed_corpus(arguments, encoder, terminal, [&](const auto& documents, const auto& vectors) {
        replaced += index.add(documents, vectors);
      });
  terminal.info(fmt::format("{} documents added to {}, {} of them replaced older ones", count,
                            arguments.index, replaced));
}

void remove(const Arguments& arguments, Terminal& terminal) {
  const std::string model =
      model_of_index(arguments.index, read_index_info(arguments.index), arguments.model);
  SearchIndex index = open_index(arguments.index, model, SearchIndex::Access::kWrite);
  const int64_t before = index.info().count;
  index.remove(arguments.ids);
  terminal.info(
      fmt::format("{} documents removed from {}", before - index.info().count, arguments.index));
}

void show_info(const std::string& path, bool json) {
  const IndexInfo info = read_index_info(path);
  nlohmann::ordered_json document = {{"documents", info.count},
                                     {"dimension", info.model.dimension},
                                     {"model", info.model.name},
                                     {"precision", info.model.precision},
                                     {"fingerprint", info.model.fingerprint},
                                     {"generation", info.generation}};
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
  building->add_flag("--overwrite", arguments->overwrite, "Replace the index in the folder");
  auto added = std::make_shared<Arguments>();
  added->encode.precision.clear();
  CLI::App* adding =
      inner.add_without_json("add", "Add documents, replacing those with the same id",
                             [added](Terminal& terminal) { add(*added, terminal); });
  adding->add_option("--model", added->model, kIndexModelHelp);
  add_corpus(adding, *added);
  CLI::App* removal =
      inner.add_without_json("delete", "Remove documents by id",
                             [arguments](Terminal& terminal) { remove(*arguments, terminal); });
  add_folder(removal, *arguments);
  removal->add_option("--model", arguments->model, kIndexModelHelp);
  removal->add_option("ids", arguments->ids, "Ids of the documents")->required();
  add_folder(
      inner.add("info", "Show what an index holds",
                [arguments, &common](Terminal&) { show_info(arguments->index, common.json); }),
      *arguments);
}

}  // namespace simile::cli
