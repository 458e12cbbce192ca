// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <set>
#include <unordered_map>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/text/detail/tokenizer_class.h"
#include "simile/text/detail/tokenizer_document.h"
#include "simile/text/sentencepiece.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

using namespace detail;
using Family = SentencePieceFamily;

constexpr double kAvoided = -100.0;  // added to the score of pieces that are not to be used
const char kMark[] = "\u2581";

bool rewrites_quotes(Family family) {
  return family == Family::kXlnet || family == Family::kAlbert;
}

struct ScoredPiece {
  std::string text;
  double score;
};

// The vocabulary in the order of the family's ids.
class PieceList {
 public:
  PieceList(const SentencePieceModel& model, const SentencePieceSettings& settings)
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
      // "9,": a digit and a comma at the end.
      const size_t size = piece.text.size();
      const bool avoided = avoid_number_commas && size >= 2 && piece.text[size - 1] == ',' &&
                           piece.text[size - 2] >= '0' && piece.text[size - 2] <= '9';
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
  if (settings.family == Family::kPlain && model.remove_extra_whitespaces) {
    steps.push_back({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}});
    steps.push_back(replace_step("Regex", " {2,}", mark));
  }
  return {{"type", "Sequence"}, {"normalizers", steps}};
}

struct FamilyTemplate {
  detail::TemplateParts single, pair;
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

Json post_processor_of(const FamilyTemplate& family, const PieceList& vocabulary,
                       const std::string& source) {
  if (family.single.empty()) return nullptr;
  return detail::template_processing(family.single, family.pair, [&](const std::string& name) {
    const int64_t id = vocabulary.find(name);
    SIMILE_CHECK(id >= 0, ErrorKind::kInput,
                 "{}: the special token \"{}\" of this model family is not among the {} pieces",
                 source, name, vocabulary.pieces().size());
    return id;
  });
}

// Control pieces and the family's special tokens that are pieces.
Json added_tokens_of(const SentencePieceModel& model, const SentencePieceSettings& settings,
                     const FamilyTemplate& family, const PieceList& vocabulary) {
  std::vector<std::pair<int64_t, std::string>> tokens;
  std::set<std::string> known;
  const auto add = [&](const std::string& text) {
    const int64_t id = vocabulary.find(text);
    if (text.empty() || id < 0 || !known.insert(text).second) return;
    tokens.emplace_back(id, text);
  };
  for (const SentencePiece& piece : model.pieces) {
    if (piece.kind == SentencePiece::Kind::kControl) add(piece.text);
  }
  for (const char* name : family.special_tokens) add(name);
  if (settings.family == Family::kT5) {
    for (int64_t i = 0; i < settings.extra_ids; ++i) add(fmt::format("<extra_id_{}>", i));
  }
  std::sort(tokens.begin(), tokens.end());
  Json list = Json::array();
  for (const auto& [id, text] : tokens) {
    list.push_back(detail::special_token_entry(text, id));
    if (settings.family == Family::kXlmRoberta) list.back()["lstrip"] = false;
  }
  return list;
}

std::string unigram_text(const SentencePieceModel& model, const PieceList& vocabulary) {
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

std::string bpe_text(const SentencePieceModel& model, const PieceList& vocabulary) {
  const std::vector<ScoredPiece>& pieces = vocabulary.pieces();
  const int64_t unknown = vocabulary.unknown_id();
  std::vector<std::string_view> tokens;
  for (const ScoredPiece& piece : pieces) tokens.push_back(piece.text);
  return fmt::format(
             R"({{"type":"BPE","dropout":null,"unk_token":{},"continuing_subword_prefix":null,)"
             R"("end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":{},)",
             unknown < 0 ? "null" : quote_json(pieces[unknown].text), model.byte_fallback) +
         tokens_and_merges_text(tokens, list_sentencepiece_merges(model));
}

struct SentencePieceRow {
  SentencePieceFamily family;
  const char* tokenizer_class;  // without "Fast" at its end
  const char* model_type;
};

const SentencePieceRow kSentencePieces[] = {
    {SentencePieceFamily::kXlmRoberta, "XLMRobertaTokenizer", "xlm-roberta"},
    {SentencePieceFamily::kCamembert, "CamembertTokenizer", "camembert"},
    {SentencePieceFamily::kXlnet, "XLNetTokenizer", "xlnet"},
    {SentencePieceFamily::kAlbert, "AlbertTokenizer", "albert"},
    {SentencePieceFamily::kT5, "T5Tokenizer", "t5"},
    {SentencePieceFamily::kT5, "T5Tokenizer", "mt5"},
};

constexpr int64_t kMaxExtraIds = 100000;

SentencePieceFamily family_of_class(const std::string& name, const std::string& path) {
  std::string known;
  for (const SentencePieceRow& row : kSentencePieces) {
    if (name == row.tokenizer_class) return row.family;
    if (known.find(row.tokenizer_class) == std::string::npos) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", row.tokenizer_class);
    }
  }
  throw_error(ErrorKind::kInput,
              "{}: a sentencepiece model for tokenizer_class \"{}\" is not supported; "
              "known are {}; with other models give the folder a tokenizer.json",
              path, name, known);
}

SentencePieceFamily family_of_config(const std::string& folder) {
  const std::string path = join_path(folder, "config.json");
  if (!file_exists(path)) return SentencePieceFamily::kPlain;
  const Json config = read_json(path);
  const std::string type = JsonObject(config, path).text_or("model_type", "");
  for (const SentencePieceRow& row : kSentencePieces) {
    if (type == row.model_type) return row.family;
  }
  return SentencePieceFamily::kPlain;
}

SentencePieceSettings read_sentencepiece_settings(const std::string& folder,
                                                  const TokenizerFolder& read) {
  SentencePieceSettings settings;
  const std::string& path = read.source;
  const JsonObject object(read.settings, path);
  const std::string class_name = read_tokenizer_class(object);
  settings.family =
      class_name.empty() ? family_of_config(folder) : family_of_class(class_name, path);
  settings.lowercase =
      object.flag_or("do_lower_case", settings.family == SentencePieceFamily::kAlbert);
  settings.keep_accents = object.flag_or("keep_accents", false);
  settings.legacy = object.flag_or("legacy", true);
  settings.extra_ids = object.integer_or("extra_ids", settings.extra_ids, 0, kMaxExtraIds);
  return settings;
}

}  // namespace

std::string sentencepiece_document(const SentencePieceModel& model,
                                   const SentencePieceSettings& settings,
                                   const std::string& source) {
  const bool is_unigram = model.type == SentencePieceModel::Type::kUnigram;
  SIMILE_CHECK(is_unigram || settings.family == Family::kPlain, ErrorKind::kInput,
               "{}: model_type is 2 (bpe), but this model family has a unigram model", source);
  const char* mark = model.escape_whitespaces ? kMark : " ";
  const PieceList vocabulary(model, settings);
  const FamilyTemplate family = template_of(settings.family);
  const char* scheme = !model.add_dummy_prefix ? "never" : (settings.legacy ? "always" : "first");
  const Json metaspace = {
      {"type", "Metaspace"}, {"replacement", mark}, {"prepend_scheme", scheme}, {"split", true}};
  return tokenizer_document(
      added_tokens_of(model, settings, family, vocabulary), normalizer_of(model, settings, mark),
      settings.family == Family::kPlain ? metaspace : white_space_pre_tokenizer(true),
      post_processor_of(family, vocabulary, source), metaspace,
      is_unigram ? unigram_text(model, vocabulary) : bpe_text(model, vocabulary));
}

namespace detail {

std::string sentencepiece_document(const std::string& model, const std::string& folder,
                                   const TokenizerFolder& settings) {
  return simile::sentencepiece_document(parse_sentencepiece_model(read_file(model), model),
                                        read_sentencepiece_settings(folder, settings), model);
}

}  // namespace detail
}  // namespace simile
