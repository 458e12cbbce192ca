// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/option_flags.h"
#include "simile/core/error.h"
#include "simile/model/builtin_model.h"
#include "simile/text/tokenizer.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::string model, input = "-";
  TruncationSettings truncation;
  bool no_special_tokens = false;
  bool character_offsets = false;
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
  const TruncationSettings& cut = arguments.truncation;
  SIMILE_CHECK(cut.max_length > 0 || (cut.strategy == TruncationSettings().strategy && !cut.left),
               ErrorKind::kUsage,
               "--truncation and --truncation-side say how texts are cut at --max-length, and none "
               "is given");
  Tokenizer tokenizer = Tokenizer::load(resolve_model(arguments.model));
  tokenizer.set_truncation(arguments.truncation);
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
template <typename T>
void add_choice(CLI::App* command, const std::string& name, T& value,
                const std::map<std::string, T>& names, const std::string& help) {
  const auto standard = std::find_if(names.begin(), names.end(),
                                     [&](const auto& entry) { return entry.second == value; });
  command->add_option(name, value, help)
      ->transform(CLI::Validator(
          [&names](std::string& text) {
            const auto found = names.find(text);
            if (found == names.end()) {
              std::string choices;
              for (const auto& entry : names) choices += (choices.empty() ? "" : ",") + entry.first;
              return fmt::format("{} not in {{{}}}", text, choices);
            }
            text = fmt::format("{}", static_cast<int>(found->second));
            return std::string();
          },
          ""))
      ->default_str(standard->first);
}

void add_truncation(CLI::App* command, TruncationSettings& truncation) {
  using Strategy = TruncationSettings::Strategy;
  static const std::map<std::string, Strategy> strategies = {
      {"longest_first", Strategy::kLongestFirst},
      {"only_first", Strategy::kOnlyFirst},
      {"only_second", Strategy::kOnlySecond}};
  static const std::map<std::string, bool> sides = {{"right", false}, {"left", true}};
  command
      ->add_option("--max-length", truncation.max_length,
                   "Most tokens of a text or pair, special ones included; 0 for no limit")
      ->check(at_least(0))
      ->capture_default_str();
  add_choice(command, "--truncation", truncation.strategy, strategies,
             "Which text of a pair is cut: longest_first, only_first, only_second");
  add_choice(command, "--truncation-side", truncation.left, sides,
             "Where a text is cut: right (at its end) or left");
}

}  // namespace

void add_tokenize(const Commands& commands) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      commands.add_without_json("tokenize", "Print the tokens of each text as JSON lines",
                                [arguments](Terminal& terminal) { run(*arguments, terminal); });
  command
      ->add_option("--model", arguments->model,
                   "Model folder, tokenizer.json, vocab.txt, or the name of a built-in model "
                   "(simile-mini)")
      ->required();
  command->add_option("--input", arguments->input, "Texts, one a line, or .jsonl; - is stdin")
      ->capture_default_str();
  command->add_flag("--no-special-tokens", arguments->no_special_tokens,
                    "Put no special tokens around");
  command->add_flag("--character-offsets", arguments->character_offsets,
                    "Give offsets in characters (code points) beside those in bytes");
  add_truncation(command, arguments->truncation);
}

}  // namespace simile::cli
