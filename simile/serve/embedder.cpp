// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/embedder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "simile/kernel/encoder.h"
#include "simile/kernel/pooling.h"
#include "simile/serve/request_error.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

constexpr const char* kOtherTokenizer =
    "ids are those of /tokenize, special ones included, not of another tokenizer: send texts "
    "(LangChain does with check_embedding_ctx_length=False)";

// Whole vectors as pooling and modules leave them: each request keeps and normalises its own.
EncodeOptions whole_vectors(const SentenceEncoder& encoder) {
  EncodeOptions options;
  options.dimensions = encoder.settings().embedding_size();
  options.normalize = false;
  return options;
}

PackedBatch pack(const BatchingWorker::Sequences& sequences) {
  PackedBatch batch;
  batch.offsets.push_back(0);
  for (const std::vector<int32_t>& ids : sequences) {
    batch.ids.insert(batch.ids.end(), ids.begin(), ids.end());
    batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
  }
  return batch;
}

// Static tables have one state for a text, however long it is.
bool has_token_states(const SentenceEncoder& encoder) {
  return encoder.hidden_states(pack({{0, 0}})).size() != encoder.hidden_states(pack({{0}})).size();
}

void append_rows(const Matrix<float>& more, Matrix<float>& all) {
  all.cols = more.cols;
  all.rows += more.rows;
  all.values.insert(all.values.end(), more.values.begin(), more.values.end());
}

// If the model throws Error for a text of the request, it is the client's error.
template <typename Work>
auto as_request_error(const char* param, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw RequestError(Refusal::kInvalid, error.what(), param);
  }
}

}  // namespace

Embedder::Embedder(std::shared_ptr<const SentenceEncoder> encoder, BatchingWorker& worker,
                   int64_t together)
    : encoder_(std::move(encoder)), worker_(worker), together_(static_cast<size_t>(together)) {}

BatchingWorker::Encode Embedder::encode_with(std::shared_ptr<const SentenceEncoder> encoder,
                                             int64_t batch_tokens) {
  EncodeOptions options = whole_vectors(*encoder);
  options.batch_tokens = batch_tokens;
  return [encoder = std::move(encoder), options](const BatchingWorker::Sequences& sequences) {
    return encoder->encode_ids(sequences, options, silent_events());
  };
}

Matrix<float> Embedder::embed(const std::vector<TextGroup>& groups, const VectorOptions& options,
                              const Patience& patience, RequestCost& cost) const {
  EncodeOptions kept;
  kept.dimensions = options.dimensions;
  as_request_error("dimensions", [&] { return encoder_->dimension(kept); });
  if (groups.size() != 1 || groups[0].inputs.size() <= together_) {
    return embed_part(groups, options, patience, cost);
  }
  const std::vector<TextInput>& inputs = groups[0].inputs;
  Matrix<float> all;
  for (size_t begin = 0; begin < inputs.size(); begin += together_) {
    const size_t end = std::min(inputs.size(), begin + together_);
    TextGroup part = groups[0];
    part.inputs = {inputs.begin() + begin, inputs.begin() + end};
    append_rows(embed_part({part}, options, patience, cost), all);
  }
  return all;
}

Matrix<float> Embedder::embed_part(const std::vector<TextGroup>& groups,
                                   const VectorOptions& options, const Patience& patience,
                                   RequestCost& cost) const {
  const ServeClock::time_point begin = ServeClock::now();
  BatchingWorker::Sequences sequences;
  const int64_t tokens_before = cost.tokens;
  bool leaves_out_prompt = false;
  for (const TextGroup& group : groups) {
    const std::string prompt = this->prompt(group.prompt_name, group.role);
    tokenise(group, prompt, sequences, cost);
    leaves_out_prompt |= !prompt.empty() && !encoder_->settings().pooling.include_prompt &&
                         std::any_of(group.inputs.begin(), group.inputs.end(),
                                     [](const TextInput& input) { return !input.is_ids; });
  }
  cost.tokenization_seconds += std::chrono::duration<double>(ServeClock::now() - begin).count();
  if (leaves_out_prompt) {
    return finish(encode_texts(groups, cost.tokens - tokens_before, patience, cost), options);
  }
  return finish(worker_.encode(std::move(sequences), patience, cost.times), options);
}

std::vector<Matrix<float>> Embedder::token_vectors(const TextGroup& group, const Patience& patience,
                                                   RequestCost& cost) const {
  const ServeClock::time_point begin = ServeClock::now();
  BatchingWorker::Sequences sequences;
  tokenise(group, prompt(group.prompt_name, group.role), sequences, cost);
  cost.tokenization_seconds += std::chrono::duration<double>(ServeClock::now() - begin).count();
  SIMILE_REQUEST_CHECK(
      cost.tokens <= kMostTokenVectors, Refusal::kInvalid,
      fmt::format(
          "the texts have {} tokens together; the vectors of {} at most are given at a time",
          cost.tokens, kMostTokenVectors));
  const PackedBatch batch = pack(sequences);
  const auto states = std::make_shared<std::vector<float>>();
  const auto work = [encoder = encoder_, batch, states] {
    SIMILE_REQUEST_CHECK(has_token_states(*encoder), Refusal::kModelCannot,
                         "the model has no vectors of tokens, only of texts; use /embed");
    *states = encoder->hidden_states(batch);
  };
  worker_.run(work, cost.texts, cost.tokens, patience, cost.times);
  const int64_t width =
      batch.tokens() == 0 ? 0 : static_cast<int64_t>(states->size()) / batch.tokens();
  std::vector<Matrix<float>> vectors;
  const float* next = states->data();
  for (const std::vector<int32_t>& ids : sequences) {
    vectors.emplace_back(static_cast<int64_t>(ids.size()), width);
    std::copy_n(next, vectors.back().values.size(), vectors.back().values.begin());
    next += vectors.back().values.size();
  }
  return vectors;
}

std::string Embedder::prompt(const std::string& name, TextRole role) const {
  EncodeOptions options;
  options.prompt_name = name;
  options.role = role;
  return as_request_error("prompt_name", [&] { return encoder_->prompt(options); });
}

void Embedder::tokenise(const TextGroup& group, const std::string& prompt,
                        BatchingWorker::Sequences& sequences, RequestCost& cost) const {
  for (const TextInput& input : group.inputs) {
    sequences.push_back(tokens_of(input, group, prompt, cost));
    cost.tokens += static_cast<int64_t>(sequences.back().size());
    cost.characters += static_cast<int64_t>(count_characters(input.text));
    ++cost.texts;
  }
}

std::vector<int32_t> Embedder::tokens_of(const TextInput& input, const TextGroup& group,
                                         const std::string& prompt, RequestCost& cost) const {
  const auto limit = static_cast<size_t>(encoder_->settings().max_length);
  if (input.is_ids) {
    SIMILE_REQUEST_CHECK(
        input.ids.size() <= limit, Refusal::kInvalid,
        fmt::format("{} token ids; the model reads {} at most", input.ids.size(), limit));
    const int64_t vocabulary = encoder_->tokenizer().vocabulary_size();
    for (const int32_t id : input.ids) {
      SIMILE_REQUEST_CHECK(id < vocabulary, Refusal::kInvalid,
                           fmt::format("token id {} is outside the model's vocabulary of {}; {}",
                                       id, vocabulary, kOtherTokenizer));
    }
    const Encoding nothing = encoder_->tokenizer().encode("");  // what stands around a text
    const bool begins = nothing.ids.empty() || nothing.special[0] == 0 ||
                        (!input.ids.empty() && input.ids[0] == nothing.ids[0]);
    SIMILE_REQUEST_CHECK(
        begins, Refusal::kInvalid,
        fmt::format("token ids that do not begin with {}, the model's \"{}\"; {}", nothing.ids[0],
                    encoder_->tokenizer().token(nothing.ids[0]), kOtherTokenizer));
    return input.ids;
  }
  const std::string text = prompt + input.text;
  // One token more than allowed shows which texts are too long; those few are tokenised again.
  Tokenizer tokenizer = encoder_->tokenizer();
  TruncationSettings cut = tokenizer.truncation();
  cut.left = group.truncate_left;
  ++cut.max_length;
  tokenizer.set_truncation(cut);
  std::vector<int32_t> ids;
  as_request_error("", [&] { return tokenizer.encode_ids(text, ids); });
  if (ids.size() <= limit) return ids;
  SIMILE_REQUEST_CHECK(
      group.truncate, Refusal::kInvalid,
      fmt::format("a text has more than the {} tokens that the model reads, and truncate is false",
                  limit),
      "truncate");
  ++cost.truncated;
  --cut.max_length;
  tokenizer.set_truncation(cut);
  ids.clear();
  tokenizer.encode_ids(text, ids);
  return ids;
}

// Where pooling leaves out the prompt, only the encoder knows which tokens these are.
Matrix<float> Embedder::encode_texts(const std::vector<TextGroup>& groups, int64_t tokens,
                                     const Patience& patience, RequestCost& cost) const {
  struct Part {
    std::vector<std::string> texts;
    EncodeOptions options;
  };
  std::vector<Part> parts;
  int64_t count = 0;
  for (const TextGroup& group : groups) {
    Part part;
    part.options = whole_vectors(*encoder_);
    part.options.prompt = prompt(group.prompt_name, group.role);
    for (const TextInput& input : group.inputs) {
      SIMILE_REQUEST_CHECK(!input.is_ids, Refusal::kInvalid,
                           "token ids beside texts with a prompt");
      part.texts.push_back(input.text);
    }
    SIMILE_REQUEST_CHECK(!group.truncate_left, Refusal::kInvalid,
                         "the model's prompts are not pooled, and such texts lose their end alone",
                         "truncation_direction");
    count += static_cast<int64_t>(part.texts.size());
    parts.push_back(std::move(part));
  }
  const auto vectors = std::make_shared<Matrix<float>>();
  const auto work = [encoder = encoder_, parts = std::move(parts), vectors] {
    for (const Part& part : parts) {
      append_rows(encoder->encode(part.texts, part.options, silent_events()), *vectors);
    }
  };
  worker_.run(work, count, tokens, patience, cost.times);
  return std::move(*vectors);
}

Matrix<float> Embedder::finish(Matrix<float> vectors, const VectorOptions& options) const {
  EncodeOptions kept;
  kept.dimensions = options.dimensions;
  Matrix<float> out(vectors.rows, encoder_->dimension(kept));
  for (int64_t i = 0; i < vectors.rows; ++i) {
    std::copy(vectors.row(i), vectors.row(i) + out.cols, out.row(i));
    if (options.normalize) normalise_rows(out.row(i), 1, out.cols);
  }
  const bool finite =
      std::all_of(out.values.begin(), out.values.end(), [](float x) { return std::isfinite(x); });
  SIMILE_REQUEST_CHECK(finite, Refusal::kBackend,
                       "a vector is not finite: the model or its training is broken");
  return out;
}

}  // namespace simile
