// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/model.h"
#include "simile/core/error.h"
#include "simile/data/line_reader.h"
#include "simile/encode/predictor.h"

namespace simile::cli {
namespace {

constexpr size_t kBlock = 4096;  // texts or pairs read, predicted and written at a time

struct Arguments {
  std::string model, head, input = "-";
  ModelOptions encode;

  void visit(OptionVisitor& v) {
    v.field("model", model, OptionInfo{kModelHelp}.required());
    v.field("head", head, {"Name of the head; may be left out when the model has one"});
    v.field("input", input,
            {"Texts, one a line, or pairs with a tab between, or .jsonl with text and pair; - is "
             "stdin"});
    encode.visit_texts(v);
    encode.visit_arithmetic(v);
  }
};

// Cuts a line of a plain file at its tab.
void split_pair(TextItem& item, const std::string& where) {
  const size_t tab = item.text.find('\t');
  SIMILE_CHECK(
      tab != std::string::npos && item.text.find('\t', tab + 1) == std::string::npos,
      ErrorKind::kInput,
      fmt::format("{}: the head takes pairs: expected two texts with one tab between, found {}",
                  where, tab == std::string::npos ? "no tab" : "several tabs"));
  item.pair = item.text.substr(tab + 1);
  item.text.resize(tab);
  item.has_pair = true;
}

class Inputs {
 public:
  Inputs(const std::string& input, bool pairs)
      : reader_(open_texts(input)), pairs_(pairs), jsonl_(is_json_lines(input)) {}

  // The next texts, and their second ones where the head takes pairs; false when there are none.
  bool next(std::vector<std::string>& texts, std::vector<std::string>& pairs) {
    texts.clear();
    pairs.clear();
    TextItem item;
    while (texts.size() < kBlock && reader_.next(item)) {
      check_signal();
      const std::string where = fmt::format("{}:{}", reader_.report().file, item.line);
      if (pairs_ && !jsonl_) split_pair(item, where);
      SIMILE_CHECK(
          item.has_pair == pairs_, ErrorKind::kInput,
          fmt::format("{}: the head takes {}, found {}", where, pairs_ ? "pairs" : "single texts",
                      pairs_ ? "no 'pair'" : "a 'pair' beside the text"));
      texts.push_back(std::move(item.text));
      if (pairs_) pairs.push_back(std::move(item.pair));
    }
    return !texts.empty();
  }

  const ReadReport& report() const { return reader_.report(); }

 private:
  TextListReader reader_;
  bool pairs_, jsonl_;
};

// One line: {"score":x}, {"probability":x} or {"label":"b","probabilities":{"a":x,"b":y}}.
std::string to_json(const HeadSettings& head, const double* values) {
  if (head.output != "classes") return fmt::format("{{\"{}\":{}}}\n", head.output, *values);
  const size_t count = head.class_names.size();
  const auto best = static_cast<size_t>(std::max_element(values, values + count) - values);
  std::string line =
      fmt::format("{{\"label\":{},\"probabilities\":{{", quote(head.class_names[best]));
  for (size_t i = 0; i < count; ++i) {
    line += fmt::format("{}{}:{}", i == 0 ? "" : ",", quote(head.class_names[i]), values[i]);
  }
  return line + "}}\n";
}

void run(const Arguments& arguments, Terminal& terminal) {
  const Head head = load_head(open_model_folder(arguments.model, silent_events()), arguments.head);
  const SentenceEncoder encoder = load_encoder(arguments.model, terminal, arguments.encode);
  const Predictor predictor(encoder, head);
  Inputs inputs(arguments.input, head_takes_pairs(head.settings()));
  Output output("-");
  EncodeCounts counts;
  BlockProgress progress(terminal, "predict", 0, "texts");
  std::vector<std::string> texts, pairs;
  while (inputs.next(texts, pairs)) {
    const Matrix<double> values = head_probabilities(
        head.settings(), predictor.predict(texts, pairs, arguments.encode, progress, &counts));
    for (int64_t i = 0; i < values.rows; ++i) {
      output.write(to_json(head.settings(), values.row(i)));
    }
  }
  terminal.progress({"predict", counts.texts, counts.texts, "texts", {}});
  check_any_text(counts.texts, inputs.report());
  output.finish();
  warn_about(inputs.report(), terminal);
  warn_about(counts, encoder, terminal);
}

}  // namespace

void add_predict(const Commands& commands) {
  commands.add<Arguments>("predict",
                          "Classes, probabilities or scores of a model's head, as JSON lines", run);
}

}  // namespace simile::cli
