// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/option_flags.h"
#include "simile/core/checksums.h"
#include "simile/core/file.h"
#include "simile/model/tokenizer_files.h"
#include "simile/text/vocabulary_trainer.h"

namespace simile::cli {
namespace {

constexpr int64_t kModelMaxLength = 512;
// What transformers needs to know of a tokenizer.json that is not BERT's.
const char kFastTokenizerConfig[] =
    R"({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", )"
    R"("cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", )"
    R"("mask_token": "<mask>"})";
constexpr int64_t kReportEvery = 10000;  // texts between two reports of progress

struct Arguments {
  std::vector<std::string> inputs;
  std::string output;
  VocabularyTrainerOptions options;

  void visit(OptionVisitor& v) {
    v.field("input", inputs,
            OptionInfo{"Texts, one a line, or .jsonl, also with .gz or .zst; - is stdin; several "
                       "may be given"}
                .words()
                .required());
    v.field(
        "output", output,
        OptionInfo{"Folder to write tokenizer.json (and vocab.txt for wordpiece) to"}.required());
    options.visit(v);
  }
};

// The texts of several files, one after the other.
class TextFiles {
 public:
  TextFiles(std::vector<std::string> paths, Terminal& terminal)
      : paths_(std::move(paths)), terminal_(terminal) {}

  bool next(std::string& text) {
    while (true) {
      check_signal();
      if (reader_ && reader_->next(item_)) {
        text = std::move(item_.text);
        if (++count_ % kReportEvery == 0) terminal_.progress({"read", count_, 0, "texts", {}});
        return true;
      }
      if (reader_) warn_about(reader_->report(), terminal_);
      if (next_path_ == paths_.size()) return false;
      reader_ = std::make_unique<TextListReader>(open_texts(paths_[next_path_++]));
    }
  }

 private:
  std::vector<std::string> paths_;
  Terminal& terminal_;
  std::unique_ptr<TextListReader> reader_;
  TextItem item_;
  size_t next_path_ = 0;
  int64_t count_ = 0;
};

void run(const Arguments& arguments, Terminal& terminal) {
  AtomicFolder folder(arguments.output, "tokenizer.json");  // before the work: it may be refused
  TextFiles files(arguments.inputs, terminal);
  const Tokenizer tokenizer = train_vocabulary([&](std::string& text) { return files.next(text); },
                                               arguments.options, terminal);
  TokenizerFiles written = {{"tokenizer.json", tokenizer.to_json()}};
  if (arguments.options.type == "wordpiece") {
    written["vocab.txt"] = tokenizer.vocabulary_text();
  } else {
    written["tokenizer_config.json"] = kFastTokenizerConfig;
  }
  complete_tokenizer_files(written, kModelMaxLength);
  for (const auto& [name, bytes] : written)
    write_file_atomic(join_path(folder.path(), name), bytes);
  write_checksums(folder.path());
  folder.commit();
  terminal.info(
      fmt::format("{} tokens written to {}", tokenizer.vocabulary_size(), arguments.output));
}

}  // namespace

void add_train_tokenizer(const Commands& commands) {
  commands.add<Arguments>("train-tokenizer",
                          "Learn a tokenizer from text: WordPiece, byte-level BPE or Unigram", run);
}

}  // namespace simile::cli
