// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/option_flags.h"
#include "simile/core/error.h"
#include "simile/model/model_folder.h"
#include "simile/text/tokenizer.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::string model, input = "-";
  int64_t max_length = 0;
  std::string truncation = "longest_first", side = "right";
  bool no_special_tokens = false;
  bool character_offsets = false;

  void visit(OptionVisitor& v) {
    v.field("model", model,
            OptionInfo{"Model folder, tokenizer.json, vocab.txt, or the name of a built-in model "
                       "(simile-mini)"}
                .required());
    v.field("input", input, {"Texts, one a line, or .jsonl; - is stdin"});
    v.field("no_special_tokens", no_special_tokens, {"Put no special tokens around"});
    v.field("character_offsets", character_offsets,
            {"Give offsets in characters (code points) beside those in bytes"});
    v.field("max_length", max_length,
            {"Most tokens of a text or pair, special ones included; 0 for no limit", "", 0});
    v.field(
        "truncation", truncation,
        choice_info("Which text of a pair is cut", {"longest_first", "only_first", "only_second"}));
    v.field("truncation_side", side,
            choice_info("Where a text is cut: right is its end", {"left", "right"}));
  }

  TruncationSettings settings() const {
    using Strategy = TruncationSettings::Strategy;
    TruncationSettings settings;
    settings.max_length = max_length;
    settings.strategy = truncation == "only_first"    ? Strategy::kOnlyFirst
                        : truncation == "only_second" ? Strategy::kOnlySecond
                                                      : Strategy::kLongestFirst;
    settings.left = side == "left";
    return settings;
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
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void run(const Arguments& arguments, Terminal& terminal) {
  const TruncationSettings cut = arguments.settings();
  SIMILE_CHECK(cut.max_length > 0 || (cut.strategy == TruncationSettings().strategy && !cut.left),
               ErrorKind::kUsage,
               "--truncation and --truncation-side say how texts are cut at --max-length, and none "
               "is given");
  Tokenizer tokenizer = Tokenizer::load(resolve_model(arguments.model));
  tokenizer.set_truncation(cut);
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

// An option that takes one of the names.

}  // namespace

void add_tokenize(const Commands& commands) {
  commands.add<Arguments>("tokenize", "Print the tokens of each text as JSON lines", run);
}

}  // namespace simile::cli
