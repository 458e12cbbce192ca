// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/tokenizer_core.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/text/detail/tokenizer_document.h"
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

using detail::Json;

const Json& member_or_null(const Json& root, const char* key) {
  static const Json null;
  const auto found = root.find(key);
  return found == root.end() ? null : *found;
}

// The JSON object `text`, which is valid, with other values of some members (as JSON), otherwise
// byte for byte: "name" of the top level, or "name.inner" of an object there. Members that it lacks
// come first.
std::string replace_members(std::string_view text, std::map<std::string, std::string> values) {
  constexpr std::string_view kSpace = " \t\n\r";
  std::string result;
  std::string_view name;                 // the last string read
  std::string outer;                     // the member of the top level that is read, with a dot
  std::map<std::string, size_t> begins;  // of the objects there, in `result`
  size_t copied = 0;
  int64_t depth = 0;
  std::string member;  // whose value is read, which is left out
  int64_t member_depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!member.empty() && depth == member_depth && (c == ',' || c == '}')) {
      result += values.at(member);
      values.erase(member);
      copied = text.find_last_not_of(kSpace, i - 1) + 1;
      member.clear();
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '{' && depth == 2 && member.empty()) {
      outer = std::string(name) + ".";
      begins[outer] = result.size() + i + 1 - copied;
    }
    if (c == '}' || c == ']') --depth;
    if (depth < 2) outer.clear();
    if (c == '"') {
      const size_t begin = ++i;
      while (text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      if (member.empty()) name = text.substr(begin, i - begin);
    } else if (c == ':' && member.empty() && (depth == 1 || (depth == 2 && !outer.empty()))) {
      const std::string found = outer + std::string(name);
      if (values.count(found) == 0) continue;
      i = text.find_first_not_of(kSpace, i + 1) - 1;
      result += text.substr(copied, i + 1 - copied);
      member = found;
      member_depth = depth;
    }
  }
  result += text.substr(copied);
  const auto insert = [&](size_t at, const std::string& key, const std::string& value) {
    if (value != "null") result.insert(at, fmt::format("\"{}\":{},", key, value));
  };
  for (const auto& [begin, at] : begins) {
    for (const auto& [key, value] : values) {
      if (starts_with(key, begin)) insert(at, key.substr(begin.size()), value);
    }
  }
  for (const auto& [key, value] : values) {
    if (key.find('.') == std::string::npos) insert(result.find('{') + 1, key, value);
  }
  return result;
}

// Gives added tokens the ids that the `tokenizers` library (0.23) gives them, whatever ids the file
// says: that of the vocabulary, else the next free one. The library looks for the largest id once
// for the tokens of the document, the first `first_call`, and once for those that come after.
void number_added(std::vector<AddedToken>& added, size_t first_call, const Vocabulary& model,
                  const std::string& source, EventSink& events) {
  std::map<std::string_view, int32_t> ids;
  const auto size = static_cast<int32_t>(model.count());
  int32_t next = size;
  int32_t largest = -1;
  for (size_t i = 0; i < added.size(); ++i) {
    AddedToken& token = added[i];
    if (i == first_call) next = std::max(size, largest + 1);
    const auto known = ids.find(token.content);
    const int32_t in_model = model.find(token.content);
    const int32_t id = known != ids.end() ? known->second : in_model >= 0 ? in_model : next;
    if (token.id >= 0 && token.id != id) {
      events.warning(fmt::format(
          "{}: a file gives the added token \"{}\" the id {}, but it has {} ({}), as in tokenizers",
          source, token.content, token.id, id,
          in_model >= 0 ? "of the vocabulary" : "the next behind all tokens"));
    }
    token.id = id;
    ids.emplace(token.content, id);
    largest = std::max(largest, id);
    if (known == ids.end() && in_model < 0) ++next;
  }
  std::set<int32_t> taken;  // the last of tokens with one id is found
  for (size_t i = added.size(); i-- > 0;) {
    if (!taken.insert(added[i].id).second) added.erase(added.begin() + static_cast<int64_t>(i));
  }
}

// The model's tokens and the added ones as one vocabulary.
Vocabulary join_vocabulary(const Vocabulary& model, const std::vector<AddedToken>& added,
                           const std::string& source, EventSink& events) {
  std::vector<std::pair<std::string, int64_t>> entries;
  std::map<int32_t, std::string_view> names;  // of tokens that the model lacks
  for (const AddedToken& token : added) {
    if (model.find(token.content) < 0) names.emplace(token.id, token.content);
  }
  for (int32_t id = 0; id < model.size(); ++id) {
    const std::string_view token = model.token(id);
    const auto other = names.find(id);
    if (other != names.end() && !token.empty()) {
      events.warning(fmt::format(
          "{}: the added token \"{}\" gets the id {} of the token \"{}\", as in transformers: the "
          "vocabulary's ids have gaps or its tokens repeat, so that their count is no free id",
          source, other->second, id, token));
    } else if (other == names.end() && (!token.empty() || model.find(token) == id)) {
      entries.emplace_back(token, id);
    }
  }
  for (const auto& [id, name] : names) entries.emplace_back(name, id);
  return Vocabulary(
      std::move(entries), kMaxTokenIds, source,
      model.repeats() ? Vocabulary::Repeats::kLastWins : Vocabulary::Repeats::kRefused);
}

bool lowers(const Json& normalizer) {
  if (!normalizer.is_object()) return false;
  if (normalizer.value("type", Json()) == "Lowercase") return true;
  const Json steps = normalizer.value("normalizers", Json::array());
  return normalizer.value("lowercase", Json()) == true ||
         std::any_of(steps.begin(), steps.end(), lowers);
}

Json to_entries(const std::vector<AddedToken>& tokens) {
  Json entries = Json::array();
  for (const AddedToken& token : tokens) {
    Json entry = detail::special_token_entry(token.content, token.id);
    entry["special"] = token.special;
    entry["single_word"] = token.single_word;
    entry["lstrip"] = token.lstrip;
    entry["rstrip"] = token.rstrip;
    entry["normalized"] = token.normalized;
    entries.push_back(std::move(entry));
  }
  return entries;
}

AddedTokenFinder make_finder(const TokenizerCore& core, bool normalized) {
  std::vector<AddedToken> tokens;
  std::vector<std::string> patterns;
  // Among tokens with the same normal form, a special one takes precedence.
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

bool is_same(const std::vector<TemplatePiece>& left, const std::vector<TemplatePiece>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const TemplatePiece& a, const TemplatePiece& b) {
                      return a.kind == b.kind && a.id == b.id && a.type_id == b.type_id;
                    });
}

// Puts the class's post_processor in the place of that in `root`. Returns whether they differ.
bool apply_class_template(const detail::TokenizerFolder& folder, const Vocabulary& vocabulary,
                          Json& root, const std::string& source, EventSink& events) {
  const Json& given = member_or_null(root, "post_processor");
  const Json own = detail::class_post_processor(
      folder, root, [&](const std::string& token) { return vocabulary.find(token); });
  if (own.is_null()) return false;
  const auto read = [&](const Json& json) {
    return detail::make_post_processor(json, vocabulary.size(), source);
  };
  const PostProcessor made = read(given), wanted = read(own);
  if (is_same(made.single, wanted.single) && is_same(made.pair, wanted.pair)) return false;
  events.warning(
      fmt::format("{}: the post_processor is not that of {}, which puts {} and {} around a text; "
                  "the latter counts, as in transformers 5",
                  source, folder.name, vocabulary.token(wanted.single.front().id),
                  vocabulary.token(wanted.single.back().id)));
  root["post_processor"] = own;
  return true;
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

std::shared_ptr<const TokenizerCore> read_tokenizer_core(std::string_view json,
                                                         const std::string& source,
                                                         const detail::TokenizerFolder* beside,
                                                         EventSink& events) {
  detail::ModelTables tables;
  Json root = detail::parse_json(json, source, detail::model_streams(source, tables));
  const detail::JsonObject object(root, source);
  SIMILE_CHECK(object.text_or("version", "1.0") == "1.0", ErrorKind::kInput,
               "{}: \"version\" is \"{}\"; only \"1.0\" is known", source, object.text("version"));
  auto core = std::make_shared<TokenizerCore>();
  core->source = source;
  std::map<std::string, std::string> members = {{"padding", "null"}};
  core->added_tokens = detail::read_added_tokens(member_or_null(root, "added_tokens"), source);
  std::vector<AddedToken> told = core->added_tokens;
  std::vector<std::string> changed;  // members of `root`, as replace_members() names them
  if (beside != nullptr) {
    changed = detail::apply_class(*beside, tables, root, source, events);
    detail::warn_of_ignored(*beside, events);
    detail::add_tokens(*beside, core->added_tokens);
  }
  core->model = detail::make_model(object.at("model"), tables, source);
  core->cuts_left =
      detail::cuts_left(beside != nullptr ? *beside : detail::TokenizerFolder(), root);
  if (!core->cuts_left) members["truncation"] = "null";
  const bool one_call = beside != nullptr && beside->is_rebuilt();
  number_added(core->added_tokens, one_call ? 0 : told.size(), core->model->vocabulary(), source,
               events);
  const auto by_id = [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; };
  std::stable_sort(told.begin(), told.end(), by_id);
  std::stable_sort(core->added_tokens.begin(), core->added_tokens.end(), by_id);
  const Json added = to_entries(core->added_tokens);
  if (added != to_entries(told)) members["added_tokens"] = detail::dump_json(added, -1);
  core->lower_cases = lowers(member_or_null(root, "normalizer"));
  if (beside != nullptr && beside->lower_case && !core->lower_cases) {
    Json steps = Json::array({{{"type", "Lowercase"}}});
    if (const Json& own = member_or_null(root, "normalizer"); !own.is_null()) steps.push_back(own);
    root["normalizer"] = {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
    changed.emplace_back("normalizer");
  }
  core->normalizer = detail::make_normalizer(member_or_null(root, "normalizer"), source);
  core->pre_tokenizer = detail::make_pre_tokenizer(member_or_null(root, "pre_tokenizer"), source);
  core->vocabulary = join_vocabulary(core->model->vocabulary(), core->added_tokens, source, events);
  if (beside != nullptr && apply_class_template(*beside, core->vocabulary, root, source, events)) {
    changed.emplace_back("post_processor");
  }
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
  for (const std::string& member : changed) {
    const size_t dot = member.find('.');
    const Json& outer = root.at(member.substr(0, dot));
    members[member] =
        detail::dump_json(dot == std::string::npos ? outer : outer.at(member.substr(dot + 1)), -1);
  }
  core->is_changed = members.size() > (core->cuts_left ? 1 : 2);
  core->document = replace_members(json, std::move(members));
  return core;
}

}  // namespace simile
