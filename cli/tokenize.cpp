// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/input.h"
#include "simile/checkpoint/builtin_model.h"
#include "simile/text/tokenizer.h"

namespace simile::cli {
namespace {

std::string to_json(const Encoding& encoding, const Tokenizer& tokenizer) {
  nlohmann::ordered_json line = {{"ids", encoding.ids},
                                 {"tokens", nlohmann::ordered_json::array()}};
  for (const int32_t id : encoding.ids) line["tokens"].push_back(tokenizer.token(id));
  line["type_ids"] = encoding.type_ids;
  line["offsets"] = encoding.offsets;
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void run(const std::string& model, const std::string& input, Terminal& terminal) {
  const Tokenizer tokenizer = Tokenizer::load(resolve_model(model));
  TextListReader reader = open_texts(input);
  Output output("-");
  TextItem item;
  while (reader.next(item)) {
    check_signal();
    const Encoding encoding =
        item.has_pair ? tokenizer.encode_pair(item.text, item.pair) : tokenizer.encode(item.text);
    output.write(to_json(encoding, tokenizer));
  }
  output.finish();
  warn_about(reader.report(), terminal);
}

}  // namespace

void add_tokenize(const Commands& commands) {
  struct Arguments {
    std::string model, input = "-";
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = commands.add_without_json(
      "tokenize", "Print the tokens of each text as JSON lines",
      [arguments](Terminal& terminal) { run(arguments->model, arguments->input, terminal); });
  command
      ->add_option(
          "--model", arguments->model,
          "Model folder, tokenizer.json, vocab.txt or the name of a built-in model (simile-mini)")
      ->required();
  command->add_option("--input", arguments->input, "Texts, one a line, or .jsonl; - is stdin")
      ->capture_default_str();
}

}  // namespace simile::cli
