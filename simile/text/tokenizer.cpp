// SPDX-License-Identifier: Apache-2.0
#include "simile/text/tokenizer.h"

#include <algorithm>
#include <limits>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/core/parallel.h"
#include "simile/text/detail/tokenizer_core.h"
#include "simile/text/detail/tokenizer_document.h"
#include "simile/text/detail/tokenizer_folder.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();
// A single huge text should not keep its memory for ever.
constexpr size_t kKeptTokens = size_t{1} << 20;

constexpr int64_t kTextsTogether = 16;  // that a thread takes

// The tokens that truncation keeps of each text, the last (`at_end`) or first ones, by a template.
Encoding assemble(const std::vector<TemplatePiece>& pieces, const TextTokens& first,
                  const TextTokens& second, PairLengths kept, bool at_end) {
  Encoding encoding;
  const size_t size = static_cast<size_t>(kept.first + kept.second) + pieces.size();
  encoding.ids.reserve(size);
  encoding.type_ids.reserve(size);
  encoding.offsets.reserve(size);
  encoding.special.reserve(size);
  encoding.from_second.reserve(size);
  for (const TemplatePiece& piece : pieces) {
    const bool is_second = piece.kind == TemplatePiece::Kind::kSecond;
    const bool is_special = piece.kind == TemplatePiece::Kind::kSpecial;
    const TextTokens& tokens = is_second ? second : first;
    const auto count = static_cast<size_t>(is_special ? 1 : is_second ? kept.second : kept.first);
    encoding.type_ids.insert(encoding.type_ids.end(), count, piece.type_id);
    encoding.special.insert(encoding.special.end(), count, is_special);
    encoding.from_second.insert(encoding.from_second.end(), count, is_second);
    if (is_special) {
      encoding.ids.push_back(piece.id);
      encoding.offsets.emplace_back(0, 0);
      continue;
    }
    const size_t begin = at_end ? tokens.ids.size() - count : 0;
    const auto ids = tokens.ids.begin() + begin;
    encoding.ids.insert(encoding.ids.end(), ids, ids + static_cast<std::ptrdiff_t>(count));
    for (size_t i = begin; i < begin + count; ++i) {
      encoding.offsets.emplace_back(tokens.offsets[i].begin, tokens.offsets[i].end);
    }
  }
  encoding.replaced = first.replaced + second.replaced;
  encoding.dropped =
      static_cast<int64_t>(first.ids.size() + second.ids.size()) - kept.first - kept.second;
  return encoding;
}

// Tokens of text that fit beside the special tokens of `pieces`; without a limit, all of any text.
int64_t room_for_text(const std::vector<TemplatePiece>& pieces, int64_t max_length) {
  if (max_length == 0) return std::numeric_limits<int64_t>::max() / 4;
  const int64_t special = count_pieces(pieces, TemplatePiece::Kind::kSpecial);
  SIMILE_CHECK(max_length > special, ErrorKind::kRecipe,
               "a maximum length of {} tokens leaves no room for text: the special "
               "tokens alone are {}; give at least {}",
               max_length, special, special + 1);
  return max_length - special;
}

// For each byte of `text`, and its end, how many characters begin before it.
std::vector<uint32_t> count_characters_before(std::string_view text) {
  std::vector<uint32_t> counts;
  counts.reserve(text.size() + 1);
  uint32_t count = 0;
  for (size_t i = 0; i < text.size();) {
    const uint32_t size = decode_character(text, i).size;
    counts.push_back(count++);
    counts.insert(counts.end(), size - 1, count);
    i += size;
  }
  counts.push_back(count);
  return counts;
}

}  // namespace

Tokenizer Tokenizer::from_vocabulary(const std::vector<std::string>& tokens,
                                     const BertTokenizerSettings& settings,
                                     const std::string& source) {
  return parse(detail::bert_document(tokens, settings, source), source);
}

Tokenizer Tokenizer::parse(std::string_view json, const std::string& source) {
  return Tokenizer(read_tokenizer_core(json, source));
}

Tokenizer::Tokenizer(std::shared_ptr<const TokenizerCore> core) : core_(std::move(core)) {
  truncation_.left = core_->cuts_left;
}

Tokenizer Tokenizer::load(const std::string& path, EventSink& events) {
  if (!folder_exists(path)) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    if (file_exists(path)) verify_checksum(path);
    const bool is_vocabulary = ends_with(path, ".txt"), is_pieces = ends_with(path, ".model");
    if (!is_vocabulary && !is_pieces && name != "tokenizer.json") {
      return parse(read_file(path), path);
    }
    const detail::TokenizerFolder beside =
        detail::read_tokenizer_folder(folder, is_vocabulary ? "BertTokenizer" : "");
    const std::string json = is_vocabulary ? detail::bert_document(path, beside)
                             : is_pieces   ? detail::sentencepiece_document(path, folder, beside)
                                           : read_file(path);
    return Tokenizer(read_tokenizer_core(json, path, &beside, events));
  }
  for (const char* name : {"tokenizer.json", "vocab.txt"}) {
    if (file_exists(join_path(path, name))) return load(join_path(path, name), events);
  }
  const std::string byte_pairs = join_path(path, "vocab.json");
  if (file_exists(byte_pairs)) {
    const detail::TokenizerFolder beside = detail::read_tokenizer_folder(path);
    return Tokenizer(
        read_tokenizer_core(detail::byte_pair_document(path, beside), byte_pairs, &beside, events));
  }
  for (const char* name : {"sentencepiece.bpe.model", "spiece.model"}) {
    if (file_exists(join_path(path, name))) return load(join_path(path, name), events);
  }
  throw_error(ErrorKind::kInput,
              "{}: no tokeniser found; expected tokenizer.json, vocab.txt, vocab.json "
              "with merges.txt, sentencepiece.bpe.model or spiece.model",
              path);
}

void Tokenizer::tokenize(std::string_view text, bool tracked, size_t limit,
                         TextTokens& tokens) const {
  core_->tokenize(text, tracked, limit, tokens);
  if (embeddings_ == 0) return;
  std::replace_if(
      tokens.ids.begin(), tokens.ids.end(), [&](int32_t id) { return id >= embeddings_; },
      core_->special.unk);
}

const std::vector<TemplatePiece>& Tokenizer::pieces(bool of_pair, bool special_tokens) const {
  const PostProcessor& processor = core_->post_processor;
  if (special_tokens && puts_special_) return of_pair ? processor.pair : processor.single;
  return of_pair ? processor.bare_pair : processor.bare_single;
}

Encoding Tokenizer::encode(std::string_view text, bool special_tokens) const {
  const auto& pieces = this->pieces(false, special_tokens);
  const int64_t room = room_for_text(pieces, truncation_.max_length);
  thread_local TextTokens tokens;
  tokenize(text, true, kNoLimit, tokens);
  const PairLengths kept =
      truncate(static_cast<int64_t>(tokens.ids.size()), 0, false, room, truncation_);
  Encoding encoding = assemble(pieces, tokens, {}, kept, truncation_.left);
  if (tokens.ids.capacity() > kKeptTokens) tokens = TextTokens();
  return encoding;
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                bool special_tokens) const {
  const auto& pieces = this->pieces(true, special_tokens);
  const int64_t room = room_for_text(pieces, truncation_.max_length);
  TextTokens a;
  TextTokens b;
  tokenize(first, true, kNoLimit, a);
  tokenize(second, true, kNoLimit, b);
  auto first_size = static_cast<int64_t>(a.ids.size());
  auto second_size = static_cast<int64_t>(b.ids.size());
  const int64_t limit = truncation_.max_length;
  if (limit > 0 && first_size >= limit && second_size >= limit && room % 2 == 1) {
    // In the `tokenizers` library, the text that keeps the odd token depends on how many tokens
    // each text has up to the word that makes it too long; cut on the left, both count as equally
    // long.
    const auto size_of = [&](std::string_view text) {
      if (truncation_.left) return limit;
      TextTokens beginning;
      tokenize(text, false, static_cast<size_t>(limit), beginning);
      return static_cast<int64_t>(beginning.ids.size());
    };
    first_size = size_of(first);
    second_size = size_of(second);
  }
  const PairLengths kept = truncate(first_size, second_size, true, room, truncation_);
  return assemble(pieces, a, b, kept, truncation_.left);
}

int64_t Tokenizer::encode_ids(std::string_view text, std::vector<int32_t>& ids) const {
  thread_local TextTokens tokens;
  const auto& pieces = this->pieces(false, true);
  const int64_t room = room_for_text(pieces, truncation_.max_length);
  const bool stops = truncation_.strategy == TruncationSettings::Strategy::kLongestFirst;
  const bool all = truncation_.left || !stops;
  tokenize(text, false, all ? kNoLimit : static_cast<size_t>(room), tokens);
  const auto size = static_cast<int64_t>(tokens.ids.size());
  const int64_t kept = truncate(size, 0, false, room, truncation_).first;
  const auto begin = tokens.ids.begin() + (truncation_.left ? size - kept : 0);
  for (const TemplatePiece& piece : pieces) {
    if (piece.kind == TemplatePiece::Kind::kSpecial) {
      ids.push_back(piece.id);
    } else if (piece.kind == TemplatePiece::Kind::kFirst) {
      ids.insert(ids.end(), begin, begin + kept);
    }
  }
  const int64_t replaced = tokens.replaced;
  if (tokens.ids.capacity() > kKeptTokens) tokens = TextTokens();
  return replaced;
}

std::vector<Encoding> Tokenizer::encode_batch(const std::vector<std::string>& texts) const {
  std::vector<Encoding> encodings(texts.size());
  run_parallel(texts.size(), kTextsTogether, [&](size_t i) { encodings[i] = encode(texts[i]); });
  return encodings;
}

std::vector<Encoding> Tokenizer::encode_pair_batch(const std::vector<std::string>& first,
                                                   const std::vector<std::string>& second) const {
  SIMILE_CHECK(first.size() == second.size(), ErrorKind::kInput,
               "pairs need as many first texts ({}) as second ones ({})", first.size(),
               second.size());
  std::vector<Encoding> encodings(first.size());
  run_parallel(first.size(), kTextsTogether,
               [&](size_t i) { encodings[i] = encode_pair(first[i], second[i]); });
  return encodings;
}

std::vector<std::vector<int32_t>> Tokenizer::encode_ids_batch(const std::vector<std::string>& texts,
                                                              int64_t* replaced) const {
  std::vector<std::vector<int32_t>> ids(texts.size());
  std::vector<int64_t> replacements(texts.size());
  run_parallel(texts.size(), kTextsTogether,
               [&](size_t i) { replacements[i] = encode_ids(texts[i], ids[i]); });
  if (replaced != nullptr) {
    for (const int64_t count : replacements) *replaced += count;
  }
  return ids;
}

void Tokenizer::set_truncation(const TruncationSettings& settings) {
  SIMILE_CHECK(settings.max_length >= 0, ErrorKind::kRecipe,
               "a maximum length must not be negative, but it is {}", settings.max_length);
  room_for_text(pieces(false, true), settings.max_length);
  truncation_ = settings;
}

void Tokenizer::set_max_length(int64_t tokens) {
  TruncationSettings settings = truncation_;
  settings.max_length = tokens;
  set_truncation(settings);
}

void Tokenizer::fit(int64_t embeddings) {
  embeddings_ = 0;
  if (vocabulary_size() <= embeddings) return;
  const SpecialTokens& special = core_->special;
  int32_t largest = special.unk;
  for (const auto* pieces : {&core_->post_processor.single, &core_->post_processor.pair}) {
    for (const TemplatePiece& piece : *pieces) largest = std::max(largest, piece.id);
  }
  SIMILE_CHECK(
      core_->model->vocabulary().size() <= embeddings && special.unk >= 0 && largest < embeddings,
      ErrorKind::kInput,
      "{}: the tokenizer has {} tokens, the encoder embeds {}: they are of different models",
      core_->source, vocabulary_size(), embeddings);
  embeddings_ = embeddings;
}

int64_t Tokenizer::vocabulary_size() const { return core_->vocabulary.size(); }

std::string_view Tokenizer::token(int32_t id) const {
  SIMILE_CHECK(id >= 0 && id < vocabulary_size(), ErrorKind::kInput,
               "{}: token id {} is not between 0 and {}", core_->source, id, vocabulary_size() - 1);
  return core_->vocabulary.token(id);
}

int32_t Tokenizer::find(std::string_view token) const { return core_->vocabulary.find(token); }

SpecialTokens Tokenizer::special_tokens() const {
  SpecialTokens special = core_->special;
  for (int32_t* id : {&special.pad, &special.cls, &special.sep, &special.mask}) {
    if (embeddings_ > 0 && *id >= embeddings_) *id = -1;
  }
  return special;
}

bool Tokenizer::is_special(int32_t id) const {
  return id >= 0 && id < vocabulary_size() && core_->is_special[id] != 0;
}

std::string Tokenizer::decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const {
  std::vector<std::string> tokens;
  for (const int32_t id : ids) {
    const std::string_view name = token(id);
    // CamemBERT's vocabulary has "<unk>" twice, and one of them is special.
    const bool special = is_special(id) || is_special(find(name));
    if (!skip_special_tokens || !special) tokens.emplace_back(name);
  }
  if (core_->decoder != nullptr) core_->decoder->decode(tokens);
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && core_->decoder == nullptr) text += ' ';
    text += tokens[i];
  }
  return text;
}

std::string Tokenizer::to_json() const { return core_->document; }

bool Tokenizer::differs_from_file() const { return core_->is_changed || core_->cuts_left; }

bool Tokenizer::lower_cases() const { return core_->lower_cases; }

std::string Tokenizer::vocabulary_text() const {
  std::string text;
  for (int32_t id = 0; id < vocabulary_size(); ++id) {
    text += core_->vocabulary.token(id);
    text += '\n';
  }
  return text;
}

std::vector<std::pair<uint32_t, uint32_t>> character_offsets(const Encoding& encoding,
                                                             std::string_view first,
                                                             std::string_view second) {
  const std::vector<uint32_t> in_first = count_characters_before(first);
  const std::vector<uint32_t> in_second = count_characters_before(second);
  std::vector<std::pair<uint32_t, uint32_t>> offsets;
  offsets.reserve(encoding.offsets.size());
  for (size_t i = 0; i < encoding.offsets.size(); ++i) {
    const std::vector<uint32_t>& counts = encoding.from_second[i] ? in_second : in_first;
    const auto [begin, end] = encoding.offsets[i];
    offsets.emplace_back(counts.at(begin), counts.at(end));
  }
  return offsets;
}

}  // namespace simile
