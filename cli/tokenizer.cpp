// SPDX-License-Identifier: Apache-2.0
// tokenize: the tokens of texts; train-tokenizer: a tokenizer from texts.
#include "simile/text/tokenizer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/input.h"
#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/model/model_folder.h"
#include "simile/model/tokenizer_files.h"
#include "simile/text/vocabulary_trainer.h"

namespace simile::cli {
namespace {

struct TokenizeArguments {
  std::string model, input = "-";
  int64_t max_length = 0;
  std::string truncation = "longest_first", side = "model";
  bool no_special_tokens = false;
  bool character_offsets = false;

  void visit(OptionVisitor& v) {
    v.field("model", model,
            OptionInfo{"Model folder, tokenizer.json, vocab.txt, or the name of a built-in model "
                       "(simile-mini-3)"}
                .required());
    v.field("input", input, {"Texts, one a line, or .jsonl; - is stdin"});
    v.field("no_special_tokens", no_special_tokens, {"Add no special tokens"});
    v.field("character_offsets", character_offsets,
            {"Show offsets in characters (code points) besides those in bytes"});
    v.field("max_length", max_length,
            {"Most tokens of a text or pair, special ones included; 0 for no limit", "", 0});
    v.field(
        "truncation", truncation,
        choice_info("Which text of a pair is cut", {"longest_first", "only_first", "only_second"}));
    v.field(
        "truncation_side", side,
        choice_info("Side on which a text is cut: right is its end, model as the model's files say",
                    {"model", "left", "right"}));
  }
};

std::string to_json(const Encoding& encoding, const TextItem& item, const Tokenizer& tokenizer,
                    bool characters) {
  nlohmann::ordered_json line = {{"ids", encoding.ids},
                                 {"tokens", nlohmann::ordered_json::array()}};
  for (const int32_t id : encoding.ids) line["tokens"].push_back(tokenizer.token(id));
  line["type_ids"] = encoding.type_ids;
  line["offsets"] = encoding.offsets;
  if (characters) line["character_offsets"] = character_offsets(encoding, item.text, item.pair);
  return json_line(line);
}

void tokenize(const TokenizeArguments& arguments, Terminal& terminal) {
  using Strategy = TruncationSettings::Strategy;
  TruncationSettings cut;
  cut.max_length = arguments.max_length;
  cut.strategy = arguments.truncation == "only_first"    ? Strategy::kOnlyFirst
                 : arguments.truncation == "only_second" ? Strategy::kOnlySecond
                                                         : Strategy::kLongestFirst;
  const bool is_default =
      cut.strategy == TruncationSettings().strategy && arguments.side == "model";
  SIMILE_CHECK(cut.max_length > 0 || is_default, ErrorKind::kUsage,
               "--truncation and --truncation-side say how texts are cut at --max-length, and none "
               "is given");
  Tokenizer tokenizer = open_tokenizer(arguments.model, terminal);
  cut.left = arguments.side == "model" ? tokenizer.truncation().left : arguments.side == "left";
  tokenizer.set_truncation(cut);
  warn_about_table(arguments.input, terminal);
  TextListReader reader = open_texts(arguments.input);
  Output output("-");
  TextItem item;
  const bool special = !arguments.no_special_tokens;
  while (reader.next(item)) {
    check_signal();
    const Encoding encoding = item.has_pair ? tokenizer.encode_pair(item.text, item.pair, special)
                                            : tokenizer.encode(item.text, special);
    output.write(to_json(encoding, item, tokenizer, arguments.character_offsets));
  }
  output.finish();
  warn_about(reader.report(), terminal);
}

constexpr int64_t kModelMaxLength = 512;
// The configuration that transformers needs for a tokenizer.json that is not BERT's.
const char kFastTokenizerConfig[] =
    R"({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", )"
    R"("cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", )"
    R"("mask_token": "<mask>"})";
constexpr int64_t kReportEvery = 10000;  // texts between two reports of progress

struct TrainArguments {
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

void train(const TrainArguments& arguments, Terminal& terminal) {
  for (const std::string& input : arguments.inputs) check_not_read(arguments.output, input);
  AtomicFolder folder(arguments.output, "tokenizer.json");  // before the work: it may be refused
  std::optional<TextListReader> reader;
  size_t files = 0;
  int64_t texts = 0;
  TextItem item;
  const auto next = [&](std::string& text) {  // of the files, one after the other
    for (;;) {
      check_signal();
      if (reader && reader->next(item)) {
        text = std::move(item.text);
        if (++texts % kReportEvery == 0) terminal.progress({"read", texts, 0, "texts", {}});
        return true;
      }
      if (reader) warn_about(reader->report(), terminal);
      if (files == arguments.inputs.size()) return false;
      const std::string& input = arguments.inputs[files++];
      warn_about_table(input, terminal);
      reader.emplace(open_texts(input));
    }
  };
  const Tokenizer tokenizer = train_vocabulary(next, arguments.options, terminal);
  TokenizerFiles written = {{"tokenizer.json", tokenizer.to_json()}};
  if (arguments.options.type == "wordpiece") {
    written["vocab.txt"] = tokenizer.vocabulary_text();
  } else {
    written["tokenizer_config.json"] = kFastTokenizerConfig;
  }
  complete_tokenizer_files(written, kModelMaxLength);
  for (const auto& [name, bytes] : written) {
    write_file_atomic(join_path(folder.path(), name), bytes);
  }
  write_checksums(folder.path());
  folder.commit();
  terminal.info(
      fmt::format("{} tokens written to {}", tokenizer.vocabulary_size(), arguments.output));
}

}  // namespace

void add_tokenizer(const Commands& commands) {
  commands.add<TokenizeArguments>("tokenize", "Print the tokens of each text as JSON lines",
                                  tokenize);
  commands.add<TrainArguments>("train-tokenizer",
                               "Learn a tokenizer from text: WordPiece, byte-level BPE or Unigram",
                               train);
}

}  // namespace simile::cli
