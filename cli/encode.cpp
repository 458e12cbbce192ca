// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
#include "cli/embedding_writer.h"
#include "cli/input.h"
#include "cli/model.h"
#include "simile/core/error.h"

namespace simile::cli {
namespace {

struct Arguments {
  std::string model, input = "-", output;
  bool no_normalize = false;
  ModelOptions encode;
};

void run(Arguments arguments, Terminal& terminal) {
  const EmbeddingFormat format = embedding_format(arguments.output);
  if (arguments.no_normalize) arguments.encode.normalize = false;
  const SentenceEncoder encoder =
      load_encoder(arguments.model, terminal, arguments.encode.precision);
  TextListReader reader = open_texts(arguments.input);
  std::vector<std::string> texts;
  TextItem item;
  while (reader.next(item)) {
    check_signal();
    texts.push_back(std::move(item.text));
  }
  warn_about(reader.report(), terminal);

  Output output(arguments.output);
  output.write(embedding_header(format, static_cast<int64_t>(texts.size()),
                                encoder.dimension(arguments.encode)));
  EncodeCounts counts;
  BlockProgress progress(terminal, "encode", static_cast<int64_t>(texts.size()), "texts");
  const auto write = [&](size_t first, const Matrix<float>& vectors) {
    const auto begin = texts.begin() + static_cast<int64_t>(first);
    output.write(embedding_rows(format, {begin, begin + vectors.rows}, vectors));
  };
  encoder.encode_blocks(texts, arguments.encode, write, progress, &counts);
  output.finish();
  warn_about(counts, encoder, terminal);
}

}  // namespace

void add_encode(const Commands& commands) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      commands.add_without_json("encode", "Texts to embeddings",
                                [arguments](Terminal& terminal) { run(*arguments, terminal); });
  command->add_option("--model", arguments->model, kModelHelp)->required();
  command->add_option("--input", arguments->input, "Texts, one a line, or .jsonl; - is stdin")
      ->capture_default_str();
  command->add_option("--output", arguments->output,
                      "File ending in .npy, .jsonl or .tsv; JSON lines on stdout by default");
  command->add_flag("--no-normalize", arguments->no_normalize,
                    "Do not divide vectors by their norm");
  add_model_options(*command, arguments->encode);
}

}  // namespace simile::cli
