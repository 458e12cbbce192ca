// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/embedding_writer.h"
#include "cli/input.h"
#include "cli/model.h"
#include "simile/core/error.h"
#include "simile/data/line_reader.h"
#include "simile/data/reader.h"

namespace simile::cli {
namespace {

// Texts that are held at a time: a whole number of the encoder's blocks of 4,096.
constexpr size_t kTextsHeld = 1 << 16;
constexpr size_t kBytesHeld = 64 << 20;

struct Arguments {
  std::string model, input = "-", column, output;
  bool no_normalize = false;
  ModelOptions encode;
};

// The texts of a list, or of a column of a table.
class TextSource {
 public:
  explicit TextSource(const Arguments& arguments) {
    if (arguments.column.empty()) {
      list_.emplace(open_texts(arguments.input));
      return;
    }
    SIMILE_CHECK(arguments.input != "-", ErrorKind::kUsage,
                 "--column names a column of a table: give --input a .tsv, .csv or .jsonl");
    table_.emplace(arguments.input, std::vector<Column>{{"column", {arguments.column}}});
  }

  bool next(std::string& text) {
    if (list_) {
      TextItem item;
      if (!list_->next(item)) return false;
      text = std::move(item.text);
      return true;
    }
    Row row;
    if (!table_->next(row)) return false;
    text = std::move(row.fields[0]);
    return true;
  }

  // The next ones, as many as are held at a time; false at the end.
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
  std::optional<TextListReader> list_;
  std::optional<TableReader> table_;
};

// A table read as a list gives its header and ids as texts.
void warn_about_table(const Arguments& arguments, Terminal& terminal) {
  if (!arguments.column.empty() || !is_table(arguments.input) || is_json_lines(arguments.input)) {
    return;
  }
  std::vector<std::string> names;
  try {
    names = read_table_header(arguments.input);
  } catch (const Error&) {
    return;  // a list after all, or what reading it will tell
  }
  if (names.size() < 2) return;
  terminal.warning(fmt::format(
      "{}: every line is embedded whole, the first one too, though its name is that of "
      "a table and its first line has {} fields ({}); --column NAME embeds one column",
      arguments.input, names.size(), shorten_text(fmt::format("{}", fmt::join(names, ", ")), 80)));
}

int64_t count_texts(const Arguments& arguments) {
  TextSource source(arguments);
  int64_t count = 0;
  for (std::string text; source.next(text); ++count) check_signal();
  return count;
}

class Encoding {
 public:
  Encoding(const Arguments& arguments, Terminal& terminal)
      : arguments_(arguments),
        terminal_(terminal),
        format_(embedding_format(arguments.output)),
        encoder_(load_encoder(arguments.model, terminal, arguments.encode.precision)),
        output_(arguments.output) {}

  void run() {
    // The header of .npy holds their number. What comes through a pipe cannot be read twice.
    const bool is_counted = format_ == EmbeddingFormat::kNpy;
    if (is_counted && arguments_.input == "-") return run_at_once();
    const int64_t total = is_counted ? count_texts(arguments_) : 0;
    write_header(total);
    BlockProgress progress(terminal_, "encode", total, "texts");
    TextSource source(arguments_);
    for (std::vector<std::string> texts; source.next_block(texts);) encode(texts, progress);
    finish(source.report());
  }

 private:
  void run_at_once() {
    TextSource source(arguments_);
    std::vector<std::string> texts;
    for (std::string text; source.next(text);) {
      check_signal();
      texts.push_back(std::move(text));
    }
    write_header(static_cast<int64_t>(texts.size()));
    BlockProgress progress(terminal_, "encode", static_cast<int64_t>(texts.size()), "texts");
    encode(texts, progress);
    finish(source.report());
  }

  void write_header(int64_t texts) {
    output_.write(embedding_header(format_, texts, encoder_.dimension(arguments_.encode)));
  }

  void encode(const std::vector<std::string>& texts, EventSink& progress) {
    const auto write = [&](size_t first, const Matrix<float>& vectors) {
      const auto begin = texts.begin() + static_cast<int64_t>(first);
      output_.write(embedding_rows(format_, {begin, begin + vectors.rows}, vectors));
    };
    encoder_.encode_blocks(texts, arguments_.encode, write, progress, &counts_);
  }

  void finish(const ReadReport& report) {
    output_.finish();
    warn_about(report, terminal_);
    warn_about(counts_, encoder_, terminal_);
  }

  const Arguments& arguments_;
  Terminal& terminal_;
  EmbeddingFormat format_;
  SentenceEncoder encoder_;
  Output output_;
  EncodeCounts counts_;
};

void run(Arguments arguments, Terminal& terminal) {
  if (arguments.no_normalize) arguments.encode.normalize = false;
  warn_about_table(arguments, terminal);
  Encoding(arguments, terminal).run();
}

}  // namespace

void add_encode(const Commands& commands) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      commands.add_without_json("encode", "Texts to embeddings",
                                [arguments](Terminal& terminal) { run(*arguments, terminal); });
  command->add_option("--model", arguments->model, kModelHelp)->required();
  command
      ->add_option("--input", arguments->input,
                   "Texts, one a line, or .jsonl; - is stdin; with --column a table")
      ->capture_default_str();
  command->add_option("--column", arguments->column,
                      "Column of the table --input (.tsv, .csv, .jsonl) that holds the texts");
  command->add_option("--output", arguments->output,
                      "File ending in .npy, .jsonl or .tsv; JSON lines on stdout by default");
  command->add_flag("--no-normalize", arguments->no_normalize,
                    "Do not divide vectors by their norm");
  add_model_options(*command, arguments->encode);
}

}  // namespace simile::cli
