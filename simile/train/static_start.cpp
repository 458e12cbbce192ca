// SPDX-License-Identifier: Apache-2.0
#include "simile/train/static_start.h"

#include <algorithm>
#include <string>
#include <utility>

#include "simile/core/error.h"
#include "simile/core/matrix.h"
#include "simile/data/path_list.h"
#include "simile/data/text_list.h"
#include "simile/derive/ppmi_start.h"
#include "simile/model/encoder_writer.h"

namespace simile {
namespace {

constexpr size_t kLinesTokenised = 16384;

// Tokens with a row of their own.
std::vector<uint8_t> kept_tokens(const ArchitectureOptions& architecture,
                                 const Tokenizer& tokenizer) {
  if (!architecture.punctuation) return find_word_pieces(tokenizer);
  std::vector<uint8_t> kept(static_cast<size_t>(tokenizer.vocabulary_size()));
  for (size_t id = 0; id < kept.size(); ++id) {
    kept[id] = tokenizer.is_special(static_cast<int32_t>(id)) ? 0 : 1;
  }
  return kept;
}

// Every line of the files that is not blank is a sequence.
PieceCorpus read_pieces(const std::vector<std::string>& paths, const Tokenizer& tokenizer,
                        std::vector<uint8_t> kept, int64_t max_tokens) {
  PieceCorpus corpus(std::move(kept), max_tokens);
  TextListReader reader(expand_paths(paths), {true});
  std::vector<std::string> texts;
  const auto add_texts = [&] {
    for (const auto& ids : tokenizer.encode_ids_batch(texts)) corpus.add(ids);
    texts.clear();
  };
  for (TextItem item; reader.next(item);) {
    texts.push_back(std::move(item.text));
    if (texts.size() == kLinesTokenised) add_texts();
  }
  add_texts();
  return corpus;
}

}  // namespace

std::vector<float> static_start(const ArchitectureOptions& architecture, const Tokenizer& tokenizer,
                                uint64_t seed, EventSink& events) {
  const int64_t V = tokenizer.vocabulary_size(), H = architecture.hidden;
  const std::vector<uint8_t> kept = kept_tokens(architecture, tokenizer);
  if (architecture.corpus.empty()) {
    SIMILE_CHECK(architecture.start == "random", ErrorKind::kRecipe,
                 "`architecture.start: ppmi` counts which tokens stand together; give "
                 "`architecture.corpus`, files with one text a line, or `start: random`");
    std::vector<float> table(static_cast<size_t>(V * H));
    const EncoderConfig config = static_encoder_config(V, H, "the recipe's `architecture`");
    initialise_encoder_weights(config, seed, table.data());
    scale_rows(std::vector<float>(static_cast<size_t>(V), 1.0f), kept, table.data(), H);
    return table;
  }
  Tokenizer bare = tokenizer;
  bare.set_special_tokens(false);
  const PieceCorpus corpus =
      read_pieces(architecture.corpus, bare, kept, architecture.ppmi.max_tokens);
  if (architecture.start == "ppmi") {
    PpmiOptions options = architecture.ppmi;
    options.seed = static_cast<int64_t>(seed);
    return ppmi_start(corpus, H, options, events).values;
  }
  return random_start(corpus, H, seed).values;
}

}  // namespace simile
