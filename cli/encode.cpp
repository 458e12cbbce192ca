// SPDX-License-Identifier: Apache-2.0
// encode: texts to vectors, also by shards; merge: the vectors of all shards together.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/model.h"
#include "simile/core/block_progress.h"
#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/core/text_table.h"
#include "simile/data/line_reader.h"
#include "simile/data/reader.h"
#include "simile/encode/shard.h"
#include "simile/model/embedding_store.h"
#include "simile/text/utf8.h"

namespace simile::cli {
namespace {

// Texts that are held at a time: a whole number of the encoder's blocks of 4,096.
constexpr size_t kTextsHeld = 1 << 16;
constexpr size_t kBytesHeld = 64 << 20;

struct EncodeArguments {
  std::string model, input = "-", column, output, shard;
  TableOptions table;
  bool no_normalize = false, resume = false;
  ModelOptions encode;

  void visit(OptionVisitor& v) {
    v.field("model", model, OptionInfo{kModelHelp}.required());
    v.field("input", input, {"Texts, one a line, or .jsonl; - is stdin; with --column a table"});
    v.field(
        "column", column,
        OptionInfo{"Column of the table --input (.tsv, .csv, .jsonl) that holds the texts"}.named(
            "--column,--text"));
    v.all_but({"on_error"}, [&](OptionVisitor& of) { table.visit(of); });
    v.field("output", output,
            {"File ending in .npy, .jsonl or .tsv; JSON lines on stdout by default"});
    v.field("shard", shard,
            {"I/N: only the texts of shard I of N, from 0, chosen by a hash of each text; with "
             "--output part.npy their rows are in part.rows.json, and `simile merge` puts the "
             "shards together"});
    v.field("resume", resume,
            {"Keep finished blocks in OUTPUT.part if the work ends early, and continue with them"});
    v.field("no_normalize", no_normalize, {"Do not divide vectors by their norm"});
    encode.visit(v);
  }
};

enum class EmbeddingFormat { kNpy, kJsonl, kTsv };

EmbeddingFormat embedding_format(const std::string& path) {
  if (path.empty() || path == "-" || ends_with(path, ".jsonl")) return EmbeddingFormat::kJsonl;
  if (ends_with(path, ".npy")) return EmbeddingFormat::kNpy;
  if (ends_with(path, ".tsv")) return EmbeddingFormat::kTsv;
  throw_error(ErrorKind::kUsage, "--output '{}': expected a name ending in .npy, .jsonl or .tsv",
              path);
}

// The rows of one block: raw floats; {"text":..,"embedding":[..]} a line; or tab separated numbers.
// Numbers are written so that reading them gives the same float. `rows`, one for each text or none,
// begin the objects of .jsonl: {"row":..,"text":..,"embedding":[..]}.
std::string embedding_rows(EmbeddingFormat format, const std::vector<std::string>& texts,
                           const Matrix<float>& embeddings, const std::vector<int64_t>& rows) {
  if (format == EmbeddingFormat::kNpy) {
    return std::string(reinterpret_cast<const char*>(embeddings.values.data()),
                       embeddings.values.size() * sizeof(float));
  }
  const bool json = format == EmbeddingFormat::kJsonl;
  std::string out;
  for (int64_t i = 0; i < embeddings.rows; ++i) {
    const auto place = static_cast<size_t>(i);
    if (json) {
      out += rows.empty() ? "{" : fmt::format("{{\"row\":{},", rows[place]);
      out += "\"text\":" + quote(texts[place]) + ",\"embedding\":[";
    }
    const float* row = embeddings.row(i);
    out += fmt::format("{}", fmt::join(row, row + embeddings.cols, json ? "," : "\t"));
    out += json ? "]}\n" : "\n";
  }
  return out;
}

// --resume: rows are written to OUTPUT.part. After every block, OUTPUT.part.json records its size
// on disk, and hashes of that, of its texts and of all else that decides vectors.
class ResumedFile {
 public:
  ResumedFile(const std::string& output, std::string made_by)
      : output_(output), made_by_(std::move(made_by)), lock_(path(), FileLock::On::kFile) {
    SIMILE_CHECK(lock_.is_held(), ErrorKind::kUsage, "another process writes '{}'", path());
    if (file_exists(path() + ".json")) {
      read_json_options(read_file(path() + ".json"), path() + ".json", kept_);
    }
    const auto bytes = static_cast<size_t>(kept_.bytes);
    rows_.add(MappedFile(path()).bytes().substr(0, bytes));
    file_.reset(std::fopen(path().c_str(), "rb+"));
    check_written(file_ != nullptr && ftruncate(fileno(file_.get()), kept_.bytes) == 0 &&
                  std::fseek(file_.get(), 0, SEEK_END) == 0);
  }

  std::string path() const { return output_ + ".part"; }
  int64_t texts() const { return kept_.texts; }  // that have their rows
  void add_text(const std::string& text) { texts_.add(fmt::format("{} {}", text.size(), text)); }
  // When texts() were added again.
  void check_begun() const {
    SIMILE_CHECK(fingerprint() == kept_.fingerprint, ErrorKind::kInput,
                 "'{0}' is damaged, or of other texts, another model or other options than those "
                 "given; bring them back, or remove {0} and {0}.json to begin anew",
                 path());
  }

  void write(std::string_view bytes) {
    check_written(std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size());
    rows_.add(bytes);
    kept_.bytes += static_cast<int64_t>(bytes.size());
  }
  // Records whole rows of `texts` more texts.
  void keep(int64_t texts) {
    sync();
    kept_.texts += texts;
    kept_.fingerprint = fingerprint();
    write_file_atomic(path() + ".json", options_to_json(kept_));
  }
  void finish(std::string_view start) {
    check_written(std::fseek(file_.get(), 0, SEEK_SET) == 0);
    write(start);
    sync();
    std::remove((path() + ".json").c_str());
    check_written(std::rename(path().c_str(), output_.c_str()) == 0);
  }

 private:
  struct Kept {
    int64_t texts = 0, bytes = 0;
    std::string fingerprint;

    void visit(OptionVisitor& v) {
      v.required("texts", texts);
      v.required("bytes", bytes);
      v.required("fingerprint", fingerprint);
    }
  };

  std::string fingerprint() const {
    return hash_bytes(made_by_ + texts_.digits() + rows_.digits());
  }
  void sync() const {
    check_written(std::fflush(file_.get()) == 0 && fsync(fileno(file_.get())) == 0);
  }
  void check_written(bool good) const {
    SIMILE_CHECK(good, ErrorKind::kIo, "cannot write '{}': {}", path(), std::strerror(errno));
  }

  std::string output_, made_by_;
  FileLock lock_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, std::fclose};
  Kept kept_;
  Hash128 texts_, rows_;
};

// The texts of a list, or of a column of a table; of `selection`, where there is one, those it
// takes.
class TextSource {
 public:
  TextSource(const EncodeArguments& arguments, ShardSelection* selection) : selection_(selection) {
    if (arguments.column.empty()) {
      SIMILE_CHECK(arguments.table.delimiter.empty(), ErrorKind::kUsage,
                   "--delimiter is of a table: name the column of its texts with --column");
      list_.emplace(open_texts(arguments.input, arguments.table.encoding));
      return;
    }
    SIMILE_CHECK(arguments.input != "-", ErrorKind::kUsage,
                 "--column names a column of a table: give --input a .tsv, .csv or .jsonl");
    table_.emplace(arguments.input, std::vector<Column>{{"column", {arguments.column}}},
                   ReadOptions{0, {}, arguments.table});
  }

  bool next(std::string& text) {
    TextItem item;
    Row row;
    while (list_ ? list_->next(item) : table_->next(row)) {
      text = std::move(list_ ? item.text : row.fields[0]);
      if (selection_ == nullptr || selection_->take(text)) return true;
      check_signal();
    }
    return false;
  }

  // The next block of texts; false at the end.
  bool next_block(std::vector<std::string>& texts) {
    texts.clear();
    size_t bytes = 0;
    for (std::string text; texts.size() < kTextsHeld && bytes < kBytesHeld && next(text);) {
      check_signal();
      bytes += text.size();
      texts.push_back(std::move(text));
    }
    return !texts.empty();
  }

  const ReadReport& report() const { return list_ ? list_->report() : table_->report(); }

 private:
  ShardSelection* selection_;
  std::optional<TextListReader> list_;
  std::optional<TableReader> table_;
};

std::optional<ShardSelection> select_shard(const EncodeArguments& arguments,
                                           EmbeddingFormat format) {
  if (arguments.shard.empty()) return std::nullopt;
  SIMILE_CHECK(format != EmbeddingFormat::kTsv, ErrorKind::kUsage,
               "--shard writes which rows it holds: give --output a name ending in .npy (the rows "
               "in a file beside it) or .jsonl (a row in each line)");
  return std::optional<ShardSelection>(parse_shard(arguments.shard));
}

class Encoding {
 public:
  Encoding(const EncodeArguments& arguments, Terminal& terminal)
      : arguments_(arguments),
        terminal_(terminal),
        format_(embedding_format(arguments.output)),
        selection_(select_shard(arguments, format_)),
        encoder_(load_encoder(arguments.model, terminal, arguments.encode)) {
    const std::string& output = arguments.output;
    SIMILE_CHECK(!arguments.resume || (!output.empty() && output != "-" && !selection_),
                 ErrorKind::kUsage,
                 "--resume keeps what is done in a file: give --output, and no --shard");
    if (arguments.resume) {
      resumed_.emplace(output, fmt::format("{}", settings()));
    } else {
      output_.emplace(output);
    }
  }

  void run() {
    const bool is_npy = format_ == EmbeddingFormat::kNpy;
    const auto header = [&] {  // only at the end is the number of rows known
      return is_npy ? npy_header(NpyNumber::kFloat, counts_.texts,
                                 encoder_.dimension(arguments_.encode))
                    : "";
    };
    if (!resumed_ || resumed_->texts() == 0) write(header());
    const int64_t rows = count_rows(arguments_.input);
    BlockProgress progress(terminal_, "encode",
                           selection_ ? rows / parse_shard(arguments_.shard).count : rows, "texts");
    TextSource source(arguments_, selection_ ? &*selection_ : nullptr);
    for (std::string text; resumed_ && counts_.texts < resumed_->texts() && source.next(text);) {
      resumed_->add_text(text);
      blank_ += is_blank(text) ? 1 : 0;
      ++counts_.texts;
    }
    if (resumed_ && resumed_->texts() > 0) {
      resumed_->check_begun();
      terminal_.info(fmt::format("{} texts were encoded before", counts_.texts));
      progress.progress({"", counts_.texts, counts_.texts, "", {}});
    }
    for (std::vector<std::string> texts; source.next_block(texts);) encode(texts, progress);
    finish(source.report(), header());
  }

 private:
  void write(std::string_view bytes) { resumed_ ? resumed_->write(bytes) : output_->write(bytes); }

  void encode(const std::vector<std::string>& texts, EventSink& progress) {
    blank_ += std::count_if(texts.begin(), texts.end(), is_blank);
    const auto take = [&](size_t first, const Matrix<float>& vectors) {
      const auto begin = texts.begin() + static_cast<int64_t>(first);
      const std::string rows = embedding_rows(format_, {begin, begin + vectors.rows}, vectors,
                                              rows_of(texts.size() - first, vectors.rows));
      if (selection_) selection_->add_vectors(rows);
      write(rows);
      if (!resumed_) return;
      std::for_each(begin, begin + vectors.rows,
                    [&](const std::string& text) { resumed_->add_text(text); });
      resumed_->keep(vectors.rows);
    };
    encoder_.encode_blocks(texts, arguments_.encode, take, progress, &counts_);
  }

  // In the whole list, of texts that begin `from_end` before the last one read; of no shard none.
  std::vector<int64_t> rows_of(size_t from_end, int64_t count) const {
    if (!selection_) return {};
    const auto begin = selection_->rows().end() - static_cast<int64_t>(from_end);
    return {begin, begin + count};
  }

  // The settings that decide a shard's vectors besides the texts.
  ShardRows::Settings settings() const {
    const ModelOptions& options = arguments_.encode;
    const bool normalizes = options.normalize.value_or(encoder_.settings().normalize);
    return {{"dimension", std::to_string(encoder_.dimension(options))},
            {"model", fingerprint_of(arguments_.model)},
            {"normalize", normalizes ? "true" : "false"},
            {"precision", options.precision},
            {"prompt", encoder_.prompt(options)}};
  }

  void finish(const ReadReport& report, const std::string& header) {
    check_any_text(selection_ ? selection_->texts() : counts_.texts, report);
    if (selection_ && format_ == EmbeddingFormat::kNpy) {
      write_shard_rows(arguments_.output, selection_->finish(settings()));
    }
    if (resumed_) {
      resumed_->finish(header);
    } else {
      if (!header.empty()) output_->rewrite_start(header);
      output_->finish();
    }
    warn_about(report, terminal_);
    if (blank_ > 0) {
      terminal_.warning(
          fmt::format("{}: {} of {} texts are blank", report.file, blank_, counts_.texts));
    }
    warn_of_cut_texts(counts_, encoder_, terminal_);
    if (!arguments_.output.empty() && arguments_.output != "-") {
      terminal_.info(fmt::format("{} of {} numbers in {}", counted(counts_.texts, "vector"),
                                 encoder_.dimension(arguments_.encode), arguments_.output));
    }
  }

  const EncodeArguments& arguments_;
  Terminal& terminal_;
  EmbeddingFormat format_;
  std::optional<ShardSelection> selection_;
  SentenceEncoder encoder_;
  std::optional<Output> output_;  // one of the two
  std::optional<ResumedFile> resumed_;
  EncodeCounts counts_;
  int64_t blank_ = 0;
};

void encode(EncodeArguments arguments, Terminal& terminal) {
  if (arguments.no_normalize) arguments.encode.normalize = false;
  check_outputs({arguments.output}, {arguments.input, arguments.model});
  if (arguments.column.empty()) {
    warn_about_table(arguments.input, terminal, arguments.table, "embedded",
                     "--column NAME embeds one column");
  }
  try {
    Encoding(arguments, terminal).run();
  } catch (const Error& error) {
    if (!arguments.resume || error.kind() != ErrorKind::kInterrupted) throw;
    throw_error(ErrorKind::kInterrupted,
                "{}; what is done is in '{}.part': the same command goes on", error.what(),
                arguments.output);
  }
}

struct MergeArguments {
  std::vector<std::string> shards;
  std::string output;

  void visit(OptionVisitor& v) {
    v.field(
        "shards", shards,
        OptionInfo{"The .npy files of all shards, in any order, each with its .rows.json beside it"}
            .named("shards")
            .required());
    v.field("output", output, OptionInfo{"File to write, ending in .npy"}.required());
  }
};

void merge(const MergeArguments& arguments, bool json, Terminal& terminal) {
  const MergedShards merged = merge_shards(arguments.shards, arguments.output, terminal);
  print_result(json,
               {{"output", arguments.output},
                {"shards", merged.shards},
                {"rows", merged.rows},
                {"columns", merged.columns}},
               fmt::format("{} of {} numbers from {} in {}\n", counted(merged.rows, "vector"),
                           merged.columns, counted(merged.shards, "shard"), arguments.output));
}

}  // namespace

void add_encode(const Commands& commands) {
  commands.add<EncodeArguments>("encode", "Encode texts as vectors", encode);
  commands.add<MergeArguments>(
      "merge", "Put the vectors of `encode --shard` together in the order of their texts", merge);
}

}  // namespace simile::cli
