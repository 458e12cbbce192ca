// SPDX-License-Identifier: Apache-2.0
#include "simile/text/sentencepiece_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/text/detail/tokenizer_document.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

using detail::Json;
using detail::quote_json;
using Family = SentencePieceFamily;

constexpr double kAvoided = -100.0;  // added to the score of pieces that are not to be used
const char kMark[] = "\u2581";

bool rewrites_quotes(Family family) {
  return family == Family::kXlnet || family == Family::kAlbert;
}

// "9,": a digit and a comma at the end of two characters or more.
bool ends_with_number_comma(std::string_view piece) {
  const size_t size = piece.size();
  return size >= 2 && piece[size - 1] == ',' && piece[size - 2] >= '0' && piece[size - 2] <= '9';
}

struct ScoredPiece {
  std::string text;
  double score;
};

// The vocabulary in the order of the family's ids.
class Vocabulary {
 public:
  Vocabulary(const SentencePieceModel& model, const SentencePieceSettings& settings)
      : unknown_id_(model.unknown_id) {
    switch (settings.family) {
      case Family::kXlmRoberta:
        add_all({"<s>", "<pad>", "</s>", "<unk>"});
        unknown_id_ = 3;
        add_pieces(model, 3, false);
        pieces_.push_back({"<mask>", 0});
        break;
      case Family::kCamembert:
        add_all({"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>"});
        unknown_id_ = 3;
        pieces_.push_back({"<unk>NOTUSED", kAvoided});
        add_pieces(model, 1, false);
        pieces_.push_back({"<mask>", 0});
        break;
      default:
        add_pieces(model, 0, rewrites_quotes(settings.family));
    }
    if (settings.family == Family::kT5) {
      for (int64_t i = settings.extra_ids; i-- > 0;) {
        pieces_.push_back({fmt::format("<extra_id_{}>", i), 0});
      }
    }
    for (size_t id = 0; id < pieces_.size(); ++id) ids_[pieces_[id].text] = id;
  }

  const std::vector<ScoredPiece>& pieces() const { return pieces_; }
  int64_t unknown_id() const { return unknown_id_; }
  // -1 when there is none.
  int64_t find(std::string_view text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? -1 : static_cast<int64_t>(found->second);
  }

 private:
  void add_all(const std::vector<const char*>& texts) {
    for (const char* text : texts) pieces_.push_back({text, 0});
  }
  void add_pieces(const SentencePieceModel& model, size_t first, bool avoid_number_commas) {
    for (size_t i = first; i < model.pieces.size(); ++i) {
      const SentencePiece& piece = model.pieces[i];
      const bool avoided = avoid_number_commas && ends_with_number_comma(piece.text);
      pieces_.push_back({piece.text, piece.score + (avoided ? kAvoided : 0.0)});
    }
  }

  std::vector<ScoredPiece> pieces_;
  std::unordered_map<std::string_view, size_t> ids_;
  int64_t unknown_id_;
};

Json replace_step(const char* kind, const char* pattern, const char* content) {
  return {{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", content}};
}

Json normalizer_of(const SentencePieceModel& model, const SentencePieceSettings& settings,
                   const char* mark) {
  Json steps = Json::array();
  if (rewrites_quotes(settings.family)) {
    steps.push_back(replace_step("String", "``", "\""));
    steps.push_back(replace_step("String", "''", "\""));
    if (!settings.keep_accents) {
      steps.push_back({{"type", "NFKD"}});
      steps.push_back({{"type", "StripAccents"}});
    }
    if (settings.lowercase) steps.push_back({{"type", "Lowercase"}});
  }
  if (!model.character_table.empty()) {
    steps.push_back(
        {{"type", "Precompiled"}, {"precompiled_charsmap", encode_base64(model.character_table)}});
  }
  if (model.remove_extra_whitespaces) {
    steps.push_back({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}});
    steps.push_back(replace_step("Regex", " {2,}", mark));
  }
  return {{"type", "Sequence"}, {"normalizers", steps}};
}

Json metaspace_of(const SentencePieceModel& model, const SentencePieceSettings& settings,
                  const char* mark) {
  const char* scheme = !model.add_dummy_prefix ? "never" : (settings.legacy ? "always" : "first");
  return {
      {"type", "Metaspace"}, {"replacement", mark}, {"prepend_scheme", scheme}, {"split", true}};
}

// A piece of a template: "A", "B" or a special token, and its token type.
using TemplateParts = std::vector<std::pair<const char*, int>>;

struct FamilyTemplate {
  TemplateParts single, pair;
  std::vector<const char*> special_tokens;  // all of the family
};

FamilyTemplate template_of(Family family) {
  switch (family) {
    case Family::kXlmRoberta:
    case Family::kCamembert:
      return {{{"<s>", 0}, {"A", 0}, {"</s>", 0}},
              {{"<s>", 0}, {"A", 0}, {"</s>", 0}, {"</s>", 0}, {"B", 0}, {"</s>", 0}},
              {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}};
    case Family::kXlnet:
      return {{{"A", 0}, {"<sep>", 0}, {"<cls>", 2}},
              {{"A", 0}, {"<sep>", 0}, {"B", 1}, {"<sep>", 1}, {"<cls>", 2}},
              {"<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"}};
    case Family::kAlbert:
      return {{{"[CLS]", 0}, {"A", 0}, {"[SEP]", 0}},
              {{"[CLS]", 0}, {"A", 0}, {"[SEP]", 0}, {"B", 1}, {"[SEP]", 1}},
              {"<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"}};
    case Family::kT5:
      return {{{"A", 0}, {"</s>", 0}},
              {{"A", 0}, {"</s>", 0}, {"B", 0}, {"</s>", 0}},
              {"<pad>", "</s>", "<unk>"}};
    case Family::kPlain:
      break;
  }
  return {};
}

bool is_sequence(std::string_view name) { return name == "A" || name == "B"; }

Json template_pieces(const TemplateParts& parts) {
  Json pieces = Json::array();
  for (const auto& [name, type] : parts) {
    const char* kind = is_sequence(name) ? "Sequence" : "SpecialToken";
    pieces.push_back({{kind, {{"id", name}, {"type_id", type}}}});
  }
  return pieces;
}

Json post_processor_of(const FamilyTemplate& family, const Vocabulary& vocabulary,
                       const std::string& source) {
  if (family.single.empty()) return nullptr;
  Json specials = Json::object();
  for (const auto& part : family.pair) {
    const char* name = part.first;
    if (is_sequence(name)) continue;
    const int64_t id = vocabulary.find(name);
    SIMILE_CHECK(id >= 0, ErrorKind::kInput,
                 fmt::format("{}: the special token \"{}\" of this model family is not among the "
                             "{} pieces",
                             source, name, vocabulary.pieces().size()));
    specials[name] = {{"id", name}, {"ids", {id}}, {"tokens", {name}}};
  }
  return {{"type", "TemplateProcessing"},
          {"single", template_pieces(family.single)},
          {"pair", template_pieces(family.pair)},
          {"special_tokens", specials}};
}

// Control pieces, the family's special tokens and those of the settings; what is no piece gets an
// id after all pieces.
Json added_tokens_of(const SentencePieceModel& model, const SentencePieceSettings& settings,
                     const FamilyTemplate& family, const Vocabulary& vocabulary) {
  std::vector<std::pair<int64_t, std::string>> tokens;
  std::set<std::string> known;
  auto next_id = static_cast<int64_t>(vocabulary.pieces().size());
  const auto add = [&](const std::string& text, bool must) {
    const int64_t id = vocabulary.find(text);
    if (text.empty() || (id < 0 && !must) || !known.insert(text).second) return;
    tokens.emplace_back(id >= 0 ? id : next_id++, text);
  };
  for (const SentencePiece& piece : model.pieces) {
    if (piece.kind == SentencePiece::Kind::kControl) add(piece.text, false);
  }
  for (const char* name : family.special_tokens) add(name, false);
  if (settings.family == Family::kT5) {
    for (int64_t i = 0; i < settings.extra_ids; ++i) add(fmt::format("<extra_id_{}>", i), false);
  }
  for (const std::string& name : settings.more_special_tokens) add(name, true);
  std::sort(tokens.begin(), tokens.end());
  Json list = Json::array();
  for (const auto& [id, text] : tokens) list.push_back(detail::special_token_entry(text, id));
  return list;
}

std::string unigram_text(const SentencePieceModel& model, const Vocabulary& vocabulary) {
  std::string text =
      fmt::format(R"({{"type":"Unigram","unk_id":{},"byte_fallback":{},"vocab":[)",
                  vocabulary.unknown_id() < 0 ? "null" : std::to_string(vocabulary.unknown_id()),
                  model.byte_fallback);
  const char* separator = "";
  for (const ScoredPiece& piece : vocabulary.pieces()) {
    text += fmt::format("{}[{},{}]", separator, quote_json(piece.text), piece.score);
    separator = ",";
  }
  return text + "]}";
}

std::string bpe_text(const SentencePieceModel& model, const Vocabulary& vocabulary) {
  const std::vector<ScoredPiece>& pieces = vocabulary.pieces();
  const int64_t unknown = vocabulary.unknown_id();
  std::vector<std::string_view> tokens;
  for (const ScoredPiece& piece : pieces) tokens.push_back(piece.text);
  return fmt::format(
             R"({{"type":"BPE","dropout":null,"unk_token":{},"continuing_subword_prefix":null,)"
             R"("end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":{},)",
             unknown < 0 ? "null" : quote_json(pieces[static_cast<size_t>(unknown)].text),
             model.byte_fallback) +
         detail::tokens_and_merges_text(tokens, list_sentencepiece_merges(model));
}

}  // namespace

std::string sentencepiece_document(const SentencePieceModel& model,
                                   const SentencePieceSettings& settings,
                                   const std::string& source) {
  const bool is_unigram = model.type == SentencePieceModel::Type::kUnigram;
  SIMILE_CHECK(
      is_unigram || settings.family == Family::kPlain, ErrorKind::kInput,
      fmt::format("{}: model_type is 2 (bpe), but this model family has a unigram model", source));
  const char* mark = model.escape_whitespaces ? kMark : " ";
  const Vocabulary vocabulary(model, settings);
  const FamilyTemplate family = template_of(settings.family);
  const Json metaspace = metaspace_of(model, settings, mark);
  std::string text = R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":)";
  text += detail::dump_json(added_tokens_of(model, settings, family, vocabulary), -1);
  text += ",\"normalizer\":" + detail::dump_json(normalizer_of(model, settings, mark), -1);
  text += ",\"pre_tokenizer\":" + detail::dump_json(metaspace, -1);
  text += ",\"post_processor\":";
  text += detail::dump_json(post_processor_of(family, vocabulary, source), -1);
  text += ",\"decoder\":" + detail::dump_json(metaspace, -1);
  text += ",\"model\":";
  text += is_unigram ? unigram_text(model, vocabulary) : bpe_text(model, vocabulary);
  return text + "}";
}

}  // namespace simile
