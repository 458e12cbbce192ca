// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/sentence_encoder.h"

#include <algorithm>
#include <future>
#include <numeric>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/kernel/pooling.h"
#include "simile/model/encoder_reader.h"

namespace simile {
namespace {

constexpr size_t kTextsPerBlock = 4096;

std::vector<std::string> slice(const std::vector<std::string>& texts, size_t begin, size_t end,
                               const std::string& prompt = "") {
  std::vector<std::string> out;
  out.reserve(end - begin);
  for (size_t i = begin; i < end; ++i) out.push_back(prompt + texts[i]);
  return out;
}

void warn_of_long_prompt(const Tokenizer& tokenizer, const std::string& prompt, EventSink& events) {
  if (prompt.empty()) return;
  const int64_t limit = tokenizer.max_length();
  Tokenizer longer = tokenizer;
  longer.set_max_length(limit + 1);
  std::vector<int32_t> ids;
  longer.encode_ids(prompt, ids);
  if (static_cast<int64_t>(ids.size()) < limit) return;
  events.warning(
      fmt::format("the prompt \"{}\" fills the model's limit of {} tokens and leaves no room for "
                  "text; use a shorter prompt, or raise \"max_seq_length\" of "
                  "sentence_bert_config.json",
                  prompt, limit));
}

}  // namespace

void EncodeOptions::visit_texts(OptionVisitor& v) {
  v.field("batch_tokens", batch_tokens,
          {"encoded at a time; a longer text makes its own batch", "tokens", 1, 1 << 30});
  v.field(
      "prompt", prompt_name,
      OptionInfo{"name of the model's prompt; default: query for queries, document (or passage, or "
                 "corpus) for documents, else the model's default prompt, if any"}
          .named("--prompt,--prompt-name"));
}

void EncodeOptions::visit(OptionVisitor& v) {
  visit_texts(v);
  v.field("dimensions", dimensions,
          {"leading dimensions to keep; 0: as the model says", "", 0, 1 << 20});
}

struct SentenceEncoder::Sequences {
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::vector<int32_t>> type_ids;  // of each sequence; empty: all 0
};

namespace {

// A cross-encoder's head is used, and what the encoder's reader tells of it is not true.
class WithoutInfo : public EventSink {
 public:
  explicit WithoutInfo(EventSink& events) : events_(events) {}
  void warning(const std::string& message) override { events_.warning(message); }
  void progress(const Progress& progress) override { events_.progress(progress); }

 private:
  EventSink& events_;
};

}  // namespace

SentenceEncoder SentenceEncoder::load(const std::string& folder, EventSink& events,
                                      ProductType products) {
  const ModelFolder model = open_model_folder(folder, events, ModelUse::kPairs);
  const Tokenizer tokenizer = load_tokenizer(model, events);
  WithoutInfo warnings(events);
  EventSink& sink = model.settings.cross_encoder ? warnings : events;
  return SentenceEncoder(open_encoder(model.weights_path, model.settings.encoder, sink, products),
                         model.settings, tokenizer);
}

SentenceEncoder::SentenceEncoder(std::shared_ptr<const Encoder> encoder,
                                 const ModelSettings& settings, const Tokenizer& tokenizer)
    : encoder_(std::move(encoder)),
      settings_(settings),
      modules_(std::make_shared<const ModuleChain>(settings.modules)),
      tokenizer_(tokenizer) {
  SIMILE_CHECK(encoder_->hidden_size() == settings.encoder.hidden, ErrorKind::kInput,
               "the encoder's hidden size is {}; its settings say {}", encoder_->hidden_size(),
               settings.encoder.hidden);
  settings_.lower_case = false;  // the tokenizer does it
  tokenizer_.fit(encoder_->vocabulary());
  if (settings.encoder.is_static()) tokenizer_.set_special_tokens(false);
  SIMILE_CHECK(settings.max_length >= 1 && settings.max_length <= encoder_->longest_sequence(),
               ErrorKind::kInput, "the length limit is {}; the encoder has {} positions",
               settings.max_length, encoder_->longest_sequence());
  tokenizer_.set_max_length(settings.max_length);
}

void SentenceEncoder::check_makes_vectors() const {
  SIMILE_CHECK(
      !settings_.cross_encoder, ErrorKind::kInput,
      "a cross-encoder scores two texts read together and makes no vectors; use it to re-rank "
      "(simile search --rerank, simile serve --rerank-model), and a sentence encoder here");
}

int64_t SentenceEncoder::dimension(const EncodeOptions& options) const {
  const int64_t size = settings_.embedding_size();
  SIMILE_CHECK(options.dimensions >= 0 && options.dimensions <= size, ErrorKind::kRecipe,
               "dimensions is {}; the model has {}", options.dimensions, size);
  return options.dimensions > 0 ? options.dimensions : settings_.vector_size();
}

std::string SentenceEncoder::prompt(const EncodeOptions& options) const {
  if (options.prompt) return *options.prompt;
  const std::string& name =
      options.prompt_name.empty() ? settings_.default_prompt : options.prompt_name;
  const auto& prompts = settings_.prompts;
  // The names under which it is looked for, in that order.
  const std::vector<std::string> of_documents = {"document", "passage", "corpus"};
  std::vector<std::string> candidates;
  if (options.prompt_name.empty()) {
    if (options.role == TextRole::kQuery) candidates = {"query"};
    if (options.role == TextRole::kDocument) candidates = of_documents;
  }
  if (options.prompt_name == "document") candidates = of_documents;
  if (options.prompt_name != "document" && !name.empty()) candidates.push_back(name);
  for (const std::string& candidate : candidates) {
    const auto found = prompts.find(candidate);
    if (found != prompts.end()) return found->second;
  }
  if (name.empty()) return "";
  std::string names;
  for (const auto& [known, text] : prompts) names += (names.empty() ? "" : ", ") + known;
  throw_error(ErrorKind::kRecipe, "the model has no prompt \"{}\"; it has: {}", name,
              names.empty() ? "none" : names);
}

// As sentence-transformers counts them: the prompt's own tokens, as far as the length limit leaves
// them, the special one before them included and the one behind them not.
int64_t SentenceEncoder::count_left_out(const std::string& prompt) const {
  if (prompt.empty() || settings_.pooling.include_prompt) return 0;
  std::vector<int32_t> ids;
  tokenizer_.encode_ids(prompt, ids);
  const bool ends_special = !ids.empty() && tokenizer_.is_special(ids.back());
  return static_cast<int64_t>(ids.size()) - (ends_special ? 1 : 0);
}

void SentenceEncoder::run_blocks(size_t count, const Tokenise& tokenise, int64_t left_out,
                                 const EncodeOptions& options, const TakeBlock& take,
                                 EventSink& events, EncodeCounts* counts) const {
  dimension(options);  // an error comes before the work
  const auto total = static_cast<int64_t>(count);
  EncodeCounts counted;
  int64_t done = 0;
  const auto finished = [&](int64_t more) {
    done += more;
    events.progress({"embed", done, total, "texts", {}});
  };
  const auto read_block = [&](size_t begin) {
    return tokenise(begin, std::min(begin + kTextsPerBlock, count), counted);
  };
  FloatBuffer hidden;
  Sequences sequences = count > 0 ? read_block(0) : Sequences();
  for (size_t begin = 0; begin < count; begin += kTextsPerBlock) {
    const size_t next = begin + kTextsPerBlock;
    std::future<Sequences> ahead;  // its end is waited for, also when encoding throws
    if (next < count) ahead = std::async(std::launch::async, read_block, next);
    take(begin,
         encode_sequences(sequences.ids, sequences.type_ids, options, left_out, hidden, finished));
    if (ahead.valid()) sequences = ahead.get();
  }
  if (counts != nullptr) {
    counts->texts += total;
    counts->tokens += counted.tokens;
    counts->truncated += counted.truncated;
    counts->replaced += counted.replaced;
  }
}

Matrix<float> SentenceEncoder::encode_all(size_t count, const Tokenise& tokenise, int64_t left_out,
                                          const EncodeOptions& options, EventSink& events,
                                          EncodeCounts* counts) const {
  Matrix<float> vectors(static_cast<int64_t>(count), dimension(options));
  const auto take = [&](size_t first, const Matrix<float>& block) {
    std::copy(block.values.begin(), block.values.end(), vectors.row(static_cast<int64_t>(first)));
  };
  run_blocks(count, tokenise, left_out, options, take, events, counts);
  return vectors;
}

SentenceEncoder::Tokenise SentenceEncoder::tokenise_texts(const std::vector<std::string>& texts,
                                                          const std::string& prompt) const {
  return [this, &texts, prompt](size_t begin, size_t end, EncodeCounts& counts) {
    const std::vector<std::string> prompted = slice(texts, begin, end, prompt);
    // One token more than allowed shows which texts are too long; those few are tokenised again.
    Tokenizer longer = tokenizer_;
    longer.set_max_length(settings_.max_length + 1);
    Sequences sequences{longer.encode_ids_batch(prompted, &counts.replaced), {}};
    for (size_t i = 0; i < prompted.size(); ++i) {
      std::vector<int32_t>& ids = sequences.ids[i];
      if (static_cast<int64_t>(ids.size()) > settings_.max_length) {
        ids.clear();
        tokenizer_.encode_ids(prompted[i], ids);
        ++counts.truncated;
      }
      counts.tokens += static_cast<int64_t>(ids.size());
    }
    return sequences;
  };
}

Matrix<float> SentenceEncoder::encode(const std::vector<std::string>& texts,
                                      const EncodeOptions& options, EventSink& events,
                                      EncodeCounts* counts) const {
  check_makes_vectors();
  const std::string prompt = this->prompt(options);
  warn_of_long_prompt(tokenizer_, prompt, events);
  return encode_all(texts.size(), tokenise_texts(texts, prompt), count_left_out(prompt), options,
                    events, counts);
}

void SentenceEncoder::encode_blocks(const std::vector<std::string>& texts,
                                    const EncodeOptions& options, const TakeVectors& take,
                                    EventSink& events, EncodeCounts* counts) const {
  check_makes_vectors();
  const std::string prompt = this->prompt(options);
  warn_of_long_prompt(tokenizer_, prompt, events);
  Matrix<float> taken;
  std::future<void> taking;
  const auto wait = [&taking] {
    if (taking.valid()) taking.get();
  };
  const auto take_aside = [&](size_t first, Matrix<float> block) {
    wait();
    taken = std::move(block);
    taking = std::async(std::launch::async, [&take, &taken, first] { take(first, taken); });
  };
  run_blocks(texts.size(), tokenise_texts(texts, prompt), count_left_out(prompt), options,
             take_aside, events, counts);
  wait();
}

Matrix<float> SentenceEncoder::encode_pairs(const std::vector<std::string>& left,
                                            const std::vector<std::string>& right,
                                            const EncodeOptions& options, EventSink& events,
                                            EncodeCounts* counts) const {
  SIMILE_CHECK(!settings_.pooling.modes.empty(), ErrorKind::kRecipe,
               "a static encoder cannot read two texts as one sequence; use a transformer");
  SIMILE_CHECK(left.size() == right.size(), ErrorKind::kInput,
               "pairs: {} left texts, but {} right ones", left.size(), right.size());
  const auto tokenise = [&](size_t begin, size_t end, EncodeCounts& counted) {
    Sequences sequences;
    for (Encoding& pair :
         tokenizer_.encode_pair_batch(slice(left, begin, end), slice(right, begin, end))) {
      counted.tokens += static_cast<int64_t>(pair.ids.size());
      counted.truncated += pair.dropped > 0 ? 1 : 0;
      counted.replaced += pair.replaced;
      sequences.ids.push_back(std::move(pair.ids));
      if (settings_.encoder.types > 1 && settings_.token_types)
        sequences.type_ids.push_back(std::move(pair.type_ids));
    }
    return sequences;
  };
  return encode_all(left.size(), tokenise, 0, options, events, counts);
}

Matrix<float> SentenceEncoder::encode_ids(const std::vector<std::vector<int32_t>>& sequences,
                                          const EncodeOptions& options, EventSink& events) const {
  check_makes_vectors();
  for (const std::vector<int32_t>& ids : sequences) {
    const size_t least = settings_.encoder.is_static() ? 0 : 1;
    SIMILE_CHECK(ids.size() >= least && static_cast<int64_t>(ids.size()) <= settings_.max_length,
                 ErrorKind::kInput, "a sequence has {} tokens; expected {} to {}", ids.size(),
                 least, settings_.max_length);
    for (const int32_t id : ids) {
      SIMILE_CHECK(id >= 0 && id < encoder_->vocabulary(), ErrorKind::kInput,
                   "token id {} is outside the vocabulary of {}", id, encoder_->vocabulary());
    }
  }
  const auto total = static_cast<int64_t>(sequences.size());
  int64_t done = 0;
  const auto finished = [&](int64_t more) {
    done += more;
    events.progress({"embed", done, total, "texts", {}});
  };
  FloatBuffer hidden;
  return encode_sequences(sequences, {}, options, 0, hidden, finished);
}

std::vector<float> SentenceEncoder::hidden_states(const PackedBatch& batch) const {
  std::vector<float> hidden(static_cast<size_t>(encoder_->states(batch) * encoder_->hidden_size()));
  (*encoder_)(batch, hidden.data());
  return hidden;
}

Matrix<float> SentenceEncoder::encode_sequences(
    const std::vector<std::vector<int32_t>>& sequences,
    const std::vector<std::vector<int32_t>>& type_ids, const EncodeOptions& options,
    int64_t left_out, FloatBuffer& hidden, const std::function<void(int64_t)>& finished) const {
  Matrix<float> vectors(static_cast<int64_t>(sequences.size()), dimension(options));
  const bool normalize = options.normalize.value_or(settings_.normalize);
  PackedBatch batch;
  std::vector<size_t> rows;
  const auto encode_batch = [&] {
    if (rows.empty()) return;
    const Matrix<float> made = (*modules_)(pooled(batch, left_out, hidden));
    for (size_t i = 0; i < rows.size(); ++i) {
      float* const vector = vectors.row(static_cast<int64_t>(rows[i]));
      std::copy_n(made.row(static_cast<int64_t>(i)), vectors.cols, vector);
      if (normalize) normalise_rows(vector, 1, vectors.cols);
    }
    finished(made.rows);
    batch = PackedBatch();
    rows.clear();
  };
  std::vector<size_t> order(sequences.size());  // longest first, equal lengths in their own order
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sequences[a].size() > sequences[b].size(); });
  for (const size_t i : order) {
    const std::vector<int32_t>& ids = sequences[i];
    if (batch.tokens() + static_cast<int64_t>(ids.size()) > options.batch_tokens) encode_batch();
    if (batch.offsets.empty()) batch.offsets.push_back(0);
    batch.ids.insert(batch.ids.end(), ids.begin(), ids.end());
    if (!type_ids.empty()) {
      batch.type_ids.insert(batch.type_ids.end(), type_ids[i].begin(), type_ids[i].end());
    }
    batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
    rows.push_back(i);
  }
  encode_batch();
  return vectors;
}

Matrix<float> SentenceEncoder::pooled(const PackedBatch& batch, int64_t left_out,
                                      FloatBuffer& hidden) const {
  Matrix<float> pooled(batch.size(), settings_.pooled_size());
  if (settings_.pooling.modes.empty()) {
    (*encoder_)(batch, pooled.values.data());
  } else {
    float* const states = hidden.reserve(encoder_->states(batch) * encoder_->hidden_size());
    (*encoder_)(batch, states);
    pool_states(settings_.pooling.modes, states, batch.offsets, encoder_->hidden_size(),
                pooled.values.data(), left_out);
  }
  return pooled;
}

std::optional<double> check_self_test(const std::string& folder, const SentenceEncoder& encoder) {
  const std::string path = join_path(folder, "self_test.json");
  if (!file_exists(path)) return std::nullopt;
  const SelfTest expected = read_self_test(path);
  EncodeOptions options;
  options.prompt = "";
  return verify_self_test(expected, encoder.encode(expected.texts, options, silent_events()));
}

SelfTest make_self_test(const SentenceEncoder& encoder) {
  SelfTest test;
  test.texts = self_test_sentences();
  EncodeOptions options;
  options.prompt = "";
  test.vectors = encoder.encode(test.texts, options, silent_events());
  return test;
}

Predictor::Predictor(const SentenceEncoder& encoder, const Head& head)
    : encoder_(encoder), head_(head) {
  const int64_t hidden = encoder.settings().embedding_size();
  SIMILE_CHECK(head.embedding_size() == hidden, ErrorKind::kInput,
               "head '{}' takes embeddings of size {}, the encoder's have {}", head.settings().name,
               head.embedding_size(), hidden);
}

Matrix<float> Predictor::predict(const std::vector<std::string>& texts,
                                 const std::vector<std::string>& pairs,
                                 const EncodeOptions& options, EventSink& events,
                                 EncodeCounts* counts, std::vector<double>* similarities) const {
  const HeadSettings& settings = head_.settings();
  const size_t expected = head_takes_pairs(settings) ? texts.size() : 0;
  SIMILE_CHECK(pairs.size() == expected, ErrorKind::kInput,
               "head '{}' of input {}: expected {} second texts for {} texts, found {}",
               settings.name, settings.input, expected, texts.size(), pairs.size());
  EncodeOptions whole = options;
  whole.normalize = false;
  whole.dimensions = head_.embedding_size();
  if (settings.input == "joint") {
    return head_.logits(encoder_.encode_pairs(texts, pairs, whole, events, counts));
  }
  const Matrix<float> u = encoder_.encode(texts, whole, events, counts);
  if (similarities != nullptr && head_.scope) *similarities = head_.scope->similarities(u);
  if (settings.input == "single") return head_.logits(u);
  return head_.logits(u, encoder_.encode(pairs, whole, events, counts));
}

}  // namespace simile
