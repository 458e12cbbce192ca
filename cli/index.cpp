// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/model.h"
#include "simile/core/check.h"
#include "simile/core/text_table.h"
#include "simile/core/unused_options.h"
#include "simile/data/ranking_files.h"
#include "simile/index/index_builder.h"
#include "simile/index/index_folder.h"
#include "simile/index/index_import.h"
#include "simile/index/index_model.h"
#include "simile/index/index_writer.h"
#include "simile/index/searcher.h"
#include "simile/model/model_folder.h"
#include "simile/text/utf8.h"

namespace simile::cli {
namespace {

struct IndexArguments {
  std::string index;
  void visit(OptionVisitor& v) { v.field("index", index, OptionInfo{kIndexHelp}.required()); }
};

// The arguments for reading and embedding a corpus.
struct CorpusArguments : IndexArguments {
  std::string model, corpus;
  CorpusColumns columns;
  ModelOptions encode;

  void visit_corpus(OptionVisitor& v) {
    IndexArguments::visit(v);
    v.field("corpus", corpus,
            OptionInfo{"Documents: .tsv, .csv or .jsonl with id, text and optionally title"}
                .required());
    columns.visit(v);
    encode.visit(v);
  }
};

// --vectors: in what an index keeps its vectors.
OptionInfo vectors_info() {
  return choice_info(
      "Number type of the stored vectors: fp32, half the space in fp16, or a quarter in int8; "
      "`index info` reports the recall",
      stored_number_names());
}

struct BuildArguments : CorpusArguments {
  bool overwrite = false, resume = false;
  std::string vectors = number_name(StoredNumber::kFp32), language = "none";
  GivenOptions<SearchSettings> search;
  PassageOptions passages;
  ApproximateOptions approximate;

  void visit(OptionVisitor& v) {
    v.field("model", model, OptionInfo{kModelHelp}.required());
    visit_corpus(v);
    search.visit(v);
    passages.visit(v);
    approximate.visit(v);
    v.field("vectors", vectors, vectors_info());
    v.field("language", language, language_info());
    v.field("overwrite", overwrite,
            {"Replace the index in the folder, and drop an interrupted build"});
    v.field("resume", resume, {"Resume an interrupted build with the vectors that it has"});
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
  std::optional<std::string> filter;
  bool dry_run = false;

  void visit(OptionVisitor& v) {
    ChangeArguments::visit(v);
    v.field("ids", ids, OptionInfo{"Ids of the documents"}.named("ids"));
    v.field("filter", filter,
            {"Remove all documents with such metadata, written as for `simile search`"});
    v.field("dry_run", dry_run, {"Count those that --filter would remove, and remove none"});
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

struct ImportArguments : IndexArguments {
  std::string from;
  std::optional<std::string> vectors;
  ImportOptions options;

  void visit(OptionVisitor& v) {
    IndexArguments::visit(v);
    v.field("from", from,
            OptionInfo{"Output of `simile export --to npy` or `--to qdrant-jsonl`: an .npy with "
                       "its .jsonl, or a .jsonl of objects with id, text and vector"}
                .required());
    v.field("model", options.model,
            {std::string(kModelHelp) +
             " whose vectors they are; the one that FILE.index.json names by default"});
    v.field("dimensions", options.dimensions,
            {"Leading dimensions of the model that the vectors have; all by default", "", 1});
    v.field("overwrite", options.overwrite, {"Replace the index in the folder"});
    v.field("vectors", vectors, vectors_info());
    options.search.visit(v);
    options.approximate.visit(v);
  }
};

void tell_settings(const std::string& index, const SearchSettings& settings, Terminal& terminal) {
  terminal.info(fmt::format("{} searches by {}", index, describe_search(settings)));
}

// The recall of searches of the index, by its stored numbers and by its graph.
void tell_recall(const std::string& path, Terminal& terminal) {
  const IndexInfo info = read_index_info(path);
  const SearchSettings settings = read_search_settings(path);
  if (info.model.vectors_recall) {
    terminal.info(fmt::format("vectors in {} find {:.2f} % of the ten nearest that floats do",
                              number_name(info.model.vectors), 100 * *info.model.vectors_recall));
  }
  if (info.graph) {
    terminal.info(fmt::format(
        "a graph of {} vectors: searches by it found {:.1f} % of the ten nearest and {:.1f} % of "
        "the ten best by vectors and words when it was made; search --exact finds all",
        info.graph->rows, 100 * info.graph->recall, 100 * info.graph->agreement));
  } else if (settings.approximate.approximate == "auto" && settings.by_vectors() &&
             info.vectors >= kApproximateRows) {
    terminal.info(
        fmt::format("no graph of the vectors found {:g} % of the ten nearest; searches are exact "
                    "(--approximate always, or a lower --recall, makes one)",
                    100 * settings.approximate.recall));
  }
}

void build(const BuildArguments& arguments, Terminal& terminal) {
  NewIndexOptions options;
  static_cast<IndexModelOptions&>(options) = for_index(arguments.model, arguments.encode);
  options.passages = arguments.passages;
  options.metadata = arguments.columns.metadata;
  options.vectors = parse_stored_number(arguments.vectors);
  options.language = arguments.language;
  options.search =
      arguments.search.over(read_model_search_settings(resolve_model(arguments.model)));
  options.search->approximate = arguments.approximate;
  options.overwrite = arguments.overwrite;
  options.unfinished = arguments.resume ? UnfinishedBuild::kResume : UnfinishedBuild::kKeep;
  IndexWriter writer = IndexWriter::create(arguments.index, options, terminal);
  const int64_t count = writer.add_corpus(arguments.corpus, arguments.columns).documents;
  writer.commit();
  terminal.info(fmt::format("{} indexed in {}", counted(count, "document"), arguments.index));
  tell_settings(arguments.index, *options.search, terminal);
  tell_recall(arguments.index, terminal);
}

void add(const AddArguments& arguments, Terminal& terminal) {
  IndexWriter writer =
      IndexWriter::open(arguments.index, for_index(arguments.model, arguments.encode), terminal);
  check_dimensions(arguments.encode.dimensions, writer.index().model().dimension);
  const IndexWriter::Added added = writer.add_corpus(arguments.corpus, arguments.columns);
  terminal.info(fmt::format("{} added to {}; {} replaced", counted(added.documents, "document"),
                            arguments.index, counted(added.replaced, "older one")));
}

// The index to be changed by what needs no model; one that is given must be the index's.
IndexWriter open_for_change(const ChangeArguments& arguments, Terminal& terminal) {
  IndexModelOptions options;
  options.model = arguments.model;
  return IndexWriter::open(arguments.index, options, terminal);
}

void remove(const DeleteArguments& arguments, Terminal& terminal) {
  const bool by_filter = arguments.filter.has_value();
  SIMILE_CHECK(arguments.ids.empty() == by_filter && (by_filter || !arguments.dry_run),
               ErrorKind::kUsage, "give ids, or --filter and optionally --dry-run");
  IndexWriter writer = open_for_change(arguments, terminal);
  const int64_t removed = by_filter ? writer.index().remove_matching(
                                          MetadataFilter(*arguments.filter), arguments.dry_run)
                                    : writer.index().remove(arguments.ids);
  terminal.info(fmt::format("{} {} {}", counted(removed, "document"),
                            arguments.dry_run ? "would be removed from" : "removed from",
                            arguments.index));
}

struct MetadataArguments : IndexArguments {
  std::string corpus;
  CorpusColumns columns;

  void visit(OptionVisitor& v) {
    IndexArguments::visit(v);
    v.field("corpus", corpus,
            OptionInfo{"Metadata: .tsv, .csv or .jsonl with id; a column named by --metadata that "
                       "is empty in a row is removed from its document"}
                .required());
    columns.visit(v);
  }
};

void update_metadata(const MetadataArguments& arguments, Terminal& terminal) {
  IndexWriter writer = IndexWriter::open(arguments.index, {}, terminal);
  terminal.info(fmt::format(
      "{}: metadata of {} changed", arguments.index,
      counted(writer.change_metadata(arguments.corpus, arguments.columns), "document")));
}

struct ListArguments : IndexArguments {
  ListRequest request;
  void visit(OptionVisitor& v) {
    IndexArguments::visit(v);
    request.visit(v);
  }
};

void list(const ListArguments& arguments, bool json, Terminal& terminal) {
  refuse_idle_flags(find_idle_options(
      arguments, {{!arguments.request.facets, {"facet_values"}, "without --facets"}}));
  const ListReply reply = Searcher::open(arguments.index, {}, terminal).list(arguments.request);
  if (json) return write_result(options_to_json(reply, -1) + "\n");
  std::string out;
  for (const ListedDocument& document : reply.documents) {
    out += fmt::format("{}\t{}{}\n", on_one_line(document.id),
                       document.metadata ? config_to_json(*document.metadata) : "{}",
                       document.text ? "\t" + on_one_line(*document.text) : "");
  }
  write_result(out + show_counts(reply));
  if (reply.cursor) {
    terminal.info(fmt::format("there are more; continue with --cursor {}", *reply.cursor));
  }
}

struct ShowArguments : IndexArguments {
  std::vector<std::string> ids;

  void visit(OptionVisitor& v) {
    IndexArguments::visit(v);
    v.field("ids", ids, OptionInfo{"Ids of the documents"}.named("ids").required());
  }
};

void show(const ShowArguments& arguments, bool json, Terminal&) {
  const SearchIndex index =
      SearchIndex::open_without_model(arguments.index, SearchIndex::Access::kRead);
  ListReply reply;
  std::string out;
  for (const std::string& id : arguments.ids) {
    const std::optional<Document> document = index.find(id);
    SIMILE_CHECK(document, ErrorKind::kInput, "{}: there is no document '{}'", arguments.index, id);
    reply.documents.push_back(show_document(*document));
    out += fmt::format("{}{}\n{}\n", out.empty() ? "" : "\n", id, *reply.documents.back().text);
    if (!document->metadata.empty()) out += document->metadata + "\n";
  }
  write_result(json ? options_to_json(reply, -1) + "\n" : out);
}

void merge(const MergeArguments& arguments, Terminal& terminal) {
  IndexWriter writer = open_for_change(arguments, terminal);
  const IndexInfo before = read_index_info(arguments.index);
  std::optional<ApproximateOptions> approximate;
  if (arguments.approximate.any()) {
    approximate = arguments.approximate.over(read_search_settings(arguments.index).approximate);
  }
  writer.merge(approximate);
  terminal.info(fmt::format("{}: merged {} into {}; dropped the vectors of {}", arguments.index,
                            counted(before.segments, "segment"),
                            read_index_info(arguments.index).segments,
                            counted(before.removed, "removed document")));
  tell_recall(arguments.index, terminal);
}

void change_settings(const SettingsArguments& arguments, Terminal& terminal) {
  SIMILE_CHECK(arguments.search.any(), ErrorKind::kUsage,
               "say what to change: --mode, --hybrid-weight or --hybrid-rule");
  const SearchSettings settings = arguments.search.over(read_search_settings(arguments.index));
  write_search_settings(arguments.index, settings);
  tell_settings(arguments.index, settings, terminal);
}

void import(ImportArguments& arguments, Terminal& terminal) {
  if (arguments.vectors) arguments.options.vectors = parse_stored_number(*arguments.vectors);
  const int64_t count = import_index(arguments.from, arguments.index, arguments.options, terminal);
  terminal.info(
      fmt::format("{} documents of {} imported into {}", count, arguments.from, arguments.index));
  tell_recall(arguments.index, terminal);
}

struct SnapshotArguments : IndexArguments {
  std::string output;
  void visit(OptionVisitor& v) {
    IndexArguments::visit(v);
    v.field("output", output, OptionInfo{"New folder of the copy"}.required());
  }
};

void copy(const SnapshotArguments& arguments, Terminal& terminal) {
  const IndexInfo info = copy_index(arguments.index, arguments.output);
  terminal.info(fmt::format("{} documents of {} copied to {}, generation {}", info.count,
                            arguments.index, arguments.output, info.generation));
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
    document["passage_whole"] = info.model.passages.passage_whole.value_or(0);
  }
  if (info.model.metadata) document["metadata"] = *info.model.metadata;
  const SearchSettings search = read_search_settings(path);
  document["language"] = info.model.language;
  document["mode"] = search.mode;
  document["hybrid_weight"] = search.fusion.weight;
  document["hybrid_rule"] = search.fusion.rule;
  document["approximate"] = search.approximate.approximate;
  if (info.graph) {
    document["graph_vectors"] = info.graph->rows;
    document["graph_breadth"] = info.graph->breadth;
    document["graph_recall"] = info.graph->recall;
    document["graph_agreement"] = info.graph->agreement;
  }
  if (info.model.prompt_name && !info.model.prompt_name->empty()) {
    document["prompt"] = *info.model.prompt_name;
  }
  std::string text;
  for (const auto& [name, value] : document.items()) {
    text += fmt::format("{:12} {}\n", name,
                        value.is_string() ? value.get<std::string>() : value.dump());
  }
  print_result(json, document, text);
}

}  // namespace

void add_index(const Commands& commands) {
  const Commands inner = commands.add_parent("index", "Build, change or inspect a search index");
  inner.add<BuildArguments>("build", "Embed a corpus into a new index", build);
  inner.add<AddArguments>("add", "Add documents, replacing those with the same id", add);
  inner.add<DeleteArguments>("delete", "Remove documents by id or by their metadata", remove);
  inner.add<ListArguments>(
      "list", "List documents with their metadata in the order of adding, a page at a time", list);
  inner.add<ShowArguments>("show", "Show documents as they were added, with all their text", show);
  inner.add<MetadataArguments>("update-metadata",
                               "Change metadata of documents, and neither texts nor vectors",
                               update_metadata);
  inner.add<SettingsArguments>("settings", "Change an index's search settings", change_settings);
  inner.add<MergeArguments>(
      "merge",
      "Write all vectors anew in as few segments as possible, without those of removed documents",
      merge);
  inner.add<ImportArguments>(
      "import", "Make a new index of documents and vectors that stand in files", import);
  inner.add<SnapshotArguments>(
      "snapshot", "Copy an index as it is now and verify the copy; it may be served meanwhile",
      copy);
  inner.add<IndexArguments>("info", "Show what an index holds", show_info);
}

}  // namespace simile::cli
