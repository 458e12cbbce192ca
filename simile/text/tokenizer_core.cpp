// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/tokenizer_core.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/text/detail/components.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

// Buffers that one thread uses again and again.
struct Workspace {
  NormalizedText raw;
  NormalizedText normalized;
  NormalizedText part;
  std::vector<TextPart> parts;
  std::vector<TextPart> normalized_parts;
  std::vector<Span> words;
  std::vector<Token> tokens;
};

// A single huge text should not keep its memory for ever.
constexpr size_t kKeptBytes = size_t{4} << 20;

class TextRun {
 public:
  TextRun(const TokenizerCore& core, bool tracked, size_t limit, Workspace& workspace,
          TextTokens& out)
      : core_(core), tracked_(tracked), limit_(limit), work_(workspace), out_(out) {}

  void run(std::string_view text) {
    core_.raw_finder.split(text, work_.parts);
    for (const TextPart& part : work_.parts) {
      if (out_.ids.size() >= limit_) return;
      if (part.id >= 0) {
        put_added(part.id, part.span);
        continue;
      }
      const std::string_view piece = text.substr(part.span.begin, part.span.end - part.span.begin);
      out_.replaced += work_.raw.assign(piece, part.span.begin, tracked_);
      if (core_.normalizer == nullptr) {
        run_normalized(work_.raw, part.span.begin);
      } else {
        core_.normalizer->normalize(work_.raw, work_.normalized);
        check_text_size(work_.normalized.text.size());
        run_normalized(work_.normalized, part.span.begin);
      }
    }
  }

 private:
  void put_added(int32_t id, Span offsets) {
    if (tracked_) out_.added.push_back(static_cast<uint32_t>(out_.ids.size()));
    put(id, offsets);
  }

  void put(int32_t id, Span offsets) {
    out_.ids.push_back(id);
    if (tracked_) out_.offsets.push_back(offsets);
  }

  // `offset`: where in the original the text that was normalised begins.
  void run_normalized(NormalizedText& text, uint32_t offset) {
    if (core_.normalized_finder.empty()) return run_words(text, offset == 0);
    core_.normalized_finder.split(text.text, work_.normalized_parts);
    for (const TextPart& part : work_.normalized_parts) {
      if (part.id >= 0) {
        put_added(part.id, tracked_ ? text.origin_of(part.span) : Span());
      } else {
        work_.part.clear(tracked_);
        work_.part.append(
            std::string_view(text.text).substr(part.span.begin, part.span.end - part.span.begin),
            tracked_ ? text.origins.data() + part.span.begin : nullptr);
        run_words(work_.part, offset == 0 && part.span.begin == 0);
      }
    }
  }

  void run_words(NormalizedText& text, bool at_start) {
    if (text.text.empty()) return;
    if (tracked_) at_start = text.origins.front().begin == 0;
    work_.words.assign(1, {0, static_cast<uint32_t>(text.text.size())});
    if (core_.pre_tokenizer != nullptr) core_.pre_tokenizer->split(text, work_.words, at_start);
    work_.tokens.clear();
    const size_t wanted = limit_ - std::min(limit_, out_.ids.size());
    const bool bytes = core_.pre_tokenizer != nullptr && core_.pre_tokenizer->leaves_bytes();
    if (!bytes || !core_.model->tokenize_bytes(text.text, work_.words, wanted, work_.tokens)) {
      if (bytes) map_bytes(text, work_.words);
      core_.model->tokenize(text.text, work_.words, wanted, work_.tokens);
    }
    for (const Token& token : work_.tokens) {
      put(token.id, tracked_ ? text.origin_of(token.span) : Span());
    }
  }

  const TokenizerCore& core_;
  const bool tracked_;
  const size_t limit_;
  Workspace& work_;
  TextTokens& out_;
};

// The size of the character, a byte-level space or white space, that `token` begins with; else 0.
size_t leading_space(std::string_view token) {
  if (token.empty()) return 0;
  const DecodedCharacter character = decode_character(token, 0);
  const bool space = character.code_point == byte_level_character(' ') ||
                     (character_properties(character.code_point) & kWhiteSpace) != 0;
  return space ? character.size : 0;
}

size_t trailing_space(std::string_view token) {
  size_t begin = token.size();
  while (begin > 0 && continues_character(token[--begin])) {
  }
  return leading_space(token.substr(begin));
}

// `offsets` in `text` without the white space that `token` has at its ends, character by character.
Span trim(std::string_view text, std::string_view token, Span offsets, bool keep_prefix) {
  uint32_t leading = 0, trailing = 0;
  std::string_view rest = token;
  for (size_t size; (size = leading_space(rest)) > 0; ++leading) rest.remove_prefix(size);
  rest = token;
  for (size_t size; (size = trailing_space(rest)) > 0; ++trailing) rest.remove_suffix(size);
  if (keep_prefix && leading == 1) leading = 0;
  for (; leading > 0 && offsets.begin < offsets.end; --leading) {
    do {
      ++offsets.begin;
    } while (offsets.begin < offsets.end && inside_character(text, offsets.begin));
  }
  uint32_t end = offsets.end;
  for (; trailing > 0 && end > 0; --trailing) {
    do {
      --end;
    } while (end > 0 && inside_character(text, end));
  }
  if (trailing == 0) offsets.end = std::max(end, offsets.begin);
  return offsets;
}

}  // namespace

void TokenizerCore::trim_offsets(std::string_view text, TextTokens& tokens) const {
  size_t next = 0;  // of tokens.added
  for (size_t i = 0; i < tokens.ids.size(); ++i) {
    Span& offsets = tokens.offsets[i];
    // An added token may have taken white space that its name does not have.
    const bool added = next < tokens.added.size() && tokens.added[next] == i;
    next += added;
    const std::string_view token = added ? text.substr(offsets.begin, offsets.end - offsets.begin)
                                         : vocabulary.token(tokens.ids[i]);
    if (leading_space(token) == 0 && trailing_space(token) == 0) continue;
    const bool first = i == 0 || offsets.begin == 0;
    offsets = trim(text, token, offsets, first && post_processor.prefix_space);
  }
}

void TokenizerCore::tokenize(std::string_view text, bool tracked, size_t limit,
                             TextTokens& tokens) const {
  SIMILE_CHECK(
      text.size() < std::numeric_limits<uint32_t>::max() / 8, ErrorKind::kInput,
      "a text of {} bytes is too long to be tokenised; cut it into pieces of at most 500 MB",
      text.size());
  thread_local Workspace workspace;
  tokens.ids.clear();
  tokens.offsets.clear();
  tokens.added.clear();
  tokens.replaced = 0;
  const bool needs_origins = pre_tokenizer != nullptr && pre_tokenizer->needs_start();
  TextRun(*this, tracked || needs_origins, limit, workspace, tokens).run(text);
  if (tracked && post_processor.trim_offsets) trim_offsets(text, tokens);
  if (text.size() > kKeptBytes) workspace = Workspace();
}

namespace {

using detail::Json;

const Json& member_or_null(const Json& root, const char* key) {
  static const Json null;
  const auto found = root.find(key);
  return found == root.end() ? null : *found;
}

// The JSON object `text`, which is valid, with the members "truncation" and "padding" null, otherwise
// byte for byte.
std::string without_limits(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r";
  std::string result;
  std::string_view name;  // the last string read
  size_t copied = 0;
  int64_t depth = 0;
  bool in_limit = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_limit && depth == 1 && (c == ',' || c == '}')) {
      result += "null";
      copied = text.find_last_not_of(kSpace, i - 1) + 1;
      in_limit = false;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == '"') {
      const size_t begin = ++i;
      while (text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      name = text.substr(begin, i - begin);
    } else if (c == ':' && depth == 1 && (name == "truncation" || name == "padding")) {
      i = text.find_first_not_of(kSpace, i + 1) - 1;
      result += text.substr(copied, i + 1 - copied);
      in_limit = true;
    }
  }
  return result += text.substr(copied);
}

// The model's tokens and the added ones as one vocabulary without gaps.
Vocabulary join_vocabulary(const Vocabulary& model, const std::vector<AddedToken>& added,
                           const std::string& source) {
  std::vector<std::pair<std::string, int64_t>> entries;
  for (int32_t id = 0; id < model.size(); ++id) {
    const std::string_view token = model.token(id);
    if (!token.empty() || model.find(token) == id) entries.emplace_back(token, id);
  }
  std::set<std::pair<std::string, int32_t>> taken;
  for (const AddedToken& token : added) {
    const int32_t known = model.find(token.content);
    SIMILE_CHECK(known < 0 || known == token.id, ErrorKind::kInput,
                 "{}: added token \"{}\" has id {}, but the model's vocabulary gives it id {}",
                 source, token.content, token.id, known);
    if (known < 0 && taken.insert({token.content, token.id}).second) {
      entries.emplace_back(token.content, token.id);
    }
  }
  const auto count = static_cast<int64_t>(entries.size());
  return Vocabulary(
      std::move(entries), count, source,
      model.repeats() ? Vocabulary::Repeats::kLastWins : Vocabulary::Repeats::kRefused);
}

AddedTokenFinder make_finder(const TokenizerCore& core, bool normalized) {
  std::vector<AddedToken> tokens;
  std::vector<std::string> patterns;
  // Of tokens that look the same in normal form, a special one is found.
  std::vector<AddedToken> ordered = core.added_tokens;
  std::stable_partition(ordered.begin(), ordered.end(),
                        [](const AddedToken& token) { return token.special; });
  for (const AddedToken& token : ordered) {
    if (token.normalized != normalized) continue;
    tokens.push_back(token);
    patterns.push_back(token.content);
    if (normalized && core.normalizer != nullptr) {
      NormalizedText raw;
      NormalizedText out;
      raw.assign(token.content, 0, false);
      core.normalizer->normalize(raw, out);
      patterns.back() = out.text;
    }
  }
  return AddedTokenFinder(std::move(tokens), patterns);
}

int32_t find_first(const Vocabulary& vocabulary, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const int32_t id = vocabulary.find(name);
    if (id >= 0) return id;
  }
  return -1;
}

SpecialTokens find_special_tokens(const TokenizerCore& core) {
  SpecialTokens special;
  special.unk = core.model->unknown_id();
  if (special.unk < 0) special.unk = find_first(core.vocabulary, {"[UNK]", "<unk>"});
  special.pad = find_first(core.vocabulary, {"[PAD]", "<pad>"});
  special.mask = find_first(core.vocabulary, {"[MASK]", "<mask>"});
  const auto& pieces = core.post_processor.single;
  const auto is_special = [](const TemplatePiece& piece) {
    return piece.kind == TemplatePiece::Kind::kSpecial;
  };
  if (!pieces.empty() && is_special(pieces.front())) special.cls = pieces.front().id;
  if (!pieces.empty() && is_special(pieces.back())) special.sep = pieces.back().id;
  if (special.cls < 0) special.cls = find_first(core.vocabulary, {"[CLS]", "<s>"});
  if (special.sep < 0) special.sep = find_first(core.vocabulary, {"[SEP]", "</s>"});
  return special;
}

}  // namespace

std::shared_ptr<const TokenizerCore> read_tokenizer_core(std::string_view json,
                                                         const std::string& source) {
  detail::ModelTables tables;
  const Json root = detail::parse_json(json, source, detail::model_streams(source, tables));
  const detail::JsonObject object(root, source);
  auto core = std::make_shared<TokenizerCore>();
  core->source = source;
  core->added_tokens = detail::read_added_tokens(member_or_null(root, "added_tokens"), source);
  core->normalizer = detail::make_normalizer(member_or_null(root, "normalizer"), source);
  core->pre_tokenizer = detail::make_pre_tokenizer(member_or_null(root, "pre_tokenizer"), source);
  core->model = detail::make_model(object.at("model"), tables,
                                   static_cast<int64_t>(core->added_tokens.size()), source);
  core->vocabulary = join_vocabulary(core->model->vocabulary(), core->added_tokens, source);
  core->post_processor = detail::make_post_processor(member_or_null(root, "post_processor"),
                                                     core->vocabulary.size(), source);
  core->decoder = detail::make_decoder(member_or_null(root, "decoder"), source);
  core->raw_finder = make_finder(*core, false);
  core->normalized_finder = make_finder(*core, true);
  core->special = find_special_tokens(*core);
  core->is_special.assign(static_cast<size_t>(core->vocabulary.size()), 0);
  for (const AddedToken& token : core->added_tokens) {
    if (token.special) core->is_special[token.id] = 1;
  }
  core->document = without_limits(json);
  return core;
}

}  // namespace simile
