// SPDX-License-Identifier: Apache-2.0
#include "simile/index/index_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <utility>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/index/index_folder.h"
#include "simile/index/score_fusion.h"
#include "simile/kernel/matrix_product.h"
#include "simile/model/model_card.h"
#include "simile/model/model_folder.h"

namespace simile {
namespace {

// Tokens of documents that are not split, at most. A passage lacks its context, so one vector of
// such a document finds more (docs/results/hybrid.md).
constexpr int64_t kMostWhole = 512;

namespace fs = std::filesystem;

int64_t tokens_around(const SentenceEncoder& encoder, const std::string& prompt) {
  Tokenizer tokenizer = encoder.tokenizer();
  tokenizer.set_max_length(0);
  return static_cast<int64_t>(tokenizer.encode(prompt).ids.size());
}

}  // namespace

std::string fingerprint_of(const std::string& model) {
  return model_fingerprint(open_model_folder(model, silent_events()));
}

void name_model(const std::string& model, const std::string& index, IndexedModel& indexed) {
  indexed.folder.clear();
  if (resolve_model(model) != model) {
    indexed.name = model;
    return;
  }
  const fs::path folder = fs::weakly_canonical(fs::absolute(model));
  indexed.name = folder.lexically_relative(fs::weakly_canonical(fs::absolute(index))).string();
  // Without a slash it would be the name of a built-in model.
  if (indexed.name.find('/') == std::string::npos) indexed.name.insert(0, "./");
  indexed.folder = folder.string();
}

std::string model_of_index(const std::string& index, const IndexedModel& model,
                           const std::string& given) {
  if (!given.empty()) return given;
  if (model.folder.empty()) return model.name;
  const std::string beside =
      (fs::weakly_canonical(fs::absolute(index)) / model.name).lexically_normal().string();
  for (const std::string& folder : {beside, model.folder}) {
    if (folder_exists(folder)) return folder;
  }
  throw_error(ErrorKind::kInput,
              "the model of the index '{}' is not at '{}'{}; name its folder with --model", index,
              beside, beside == model.folder ? "" : fmt::format(" or '{}'", model.folder));
}

SentenceEncoder load_encoder(const std::string& model, const std::string& precision,
                             const LoadEncoder& load, EventSink& events) {
  return load != nullptr ? load(model, precision, events)
                         : SentenceEncoder::load(model, events, choose_precision(precision));
}

LoadedModel load_model(const IndexModelOptions& options, EventSink& events) {
  // Reads all weights too.
  std::future<std::string> fingerprint =
      std::async(std::launch::async, [&options] { return fingerprint_of(options.model); });
  auto encoder = std::make_shared<const SentenceEncoder>(
      load_encoder(options.model, options.precision, options.load, events));
  return {std::move(encoder), fingerprint.get()};
}

std::shared_ptr<const SentenceEncoder> load_model_of(const std::string& index,
                                                     const IndexedModel& model,
                                                     IndexModelOptions& options,
                                                     EventSink& events) {
  options.model = model_of_index(index, model, options.model);
  if (options.precision.empty()) options.precision = model.precision;
  if (options.encode.dimensions == 0) options.encode.dimensions = model.dimension;
  const LoadedModel loaded = load_model(options, events);
  check_fingerprint(index, model, loaded.fingerprint, options.model);
  return loaded.encoder;
}

EncodeOptions index_options(const EncodeOptions& options, const SentenceEncoder& encoder,
                            TextRole role) {
  EncodeOptions out = options;
  out.role = role;
  if (encoder.settings().similarity == "cosine") out.normalize = true;
  return out;
}

EncodeOptions document_options(const IndexedModel& model, const SentenceEncoder& encoder) {
  EncodeOptions options;
  options.prompt_name = model.prompt_name.value_or("");
  options.dimensions = model.dimension;
  return index_options(options, encoder, TextRole::kDocument);
}

double measure_spread(const SentenceEncoder& encoder, const EncodeOptions& documents) {
  EncodeOptions queries;
  queries.dimensions = documents.dimensions;
  const auto embed = [&](const EncodeOptions& options, TextRole role) {
    return encoder.encode(spread_texts(), index_options(options, encoder, role), silent_events());
  };
  const Matrix<float> left = embed(queries, TextRole::kQuery);
  const Matrix<float> right = embed(documents, TextRole::kDocument);
  std::vector<double> scores(static_cast<size_t>(left.rows * right.rows));
  exact_scores(right.values.data(), right.rows, left.values.data(), left.rows, right.cols,
               ranking_metric(parse_similarity(encoder.settings().similarity)), scores.data());
  return similarity_spread(scores);
}

void warn_of_cut_texts(const EncodeCounts& counts, const SentenceEncoder& encoder,
                       EventSink& events) {
  if (counts.truncated == 0) return;
  events.warning(fmt::format("{} of {} texts were cut at the model's limit of {} tokens",
                             counts.truncated, counts.texts, encoder.settings().max_length));
}

PassageSplitter::PassageSplitter(const SentenceEncoder& encoder, const PassageOptions& passages,
                                 const EncodeOptions& encode)
    : tokenizer_(encoder.tokenizer()), passages_(passages) {
  if (!passages.splits()) return;
  check_passages(passages);
  const int64_t limit = encoder.tokenizer().max_length();
  const int64_t around = tokens_around(encoder, encoder.prompt(encode));
  SIMILE_CHECK(limit == 0 || passages.passage_tokens + around <= limit, ErrorKind::kUsage,
               "passage_tokens: {}, but the model reads {} tokens, of which {} are special ones "
               "and its prompt; expected at most {}",
               passages.passage_tokens, limit, around, limit - around);
  if (!passages.passage_whole) {
    passages_.passage_whole = limit == 0 ? 0 : std::min(limit - around, kMostWhole);
  }
}

void PassageSplitter::split(std::vector<Document>& documents) const {
  if (!passages_.splits()) return;
  run_parallel(static_cast<int64_t>(documents.size()), 1, [&](int64_t i) {
    Document& document = documents[static_cast<size_t>(i)];
    document.passages = split_passages(document.text, tokenizer_, passages_);
  });
}

std::vector<std::string> texts_of_vectors(const std::vector<Document>& documents) {
  std::vector<std::string> texts;
  for (const Document& document : documents) {
    for (int64_t i = 0; i < document.vectors(); ++i) texts.emplace_back(document.text_of(i));
  }
  return texts;
}

}  // namespace simile
