// SPDX-License-Identifier: Apache-2.0
#include "simile/text/byte_level.h"
#include "simile/text/character_normalizers.h"
#include "simile/text/detail/component_table.h"
#include "simile/text/detail/components.h"
#include "simile/text/detail/pattern_reader.h"
#include "simile/text/detail/sentencepiece_readers.h"
#include "simile/text/replace_normalizer.h"
#include "simile/text/unicode_normalizer.h"

namespace simile::detail {
namespace {

std::unique_ptr<const Normalizer> make_normalizer_at(const Json& json, const std::string& where);

std::unique_ptr<const Normalizer> read_bert_normalizer(const Json& json, const std::string& where) {
  check_options(json, {"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"}, where);
  const JsonObject object(json, where);
  BertNormalizerSettings settings;
  settings.clean_text = object.flag_or("clean_text", true);
  settings.handle_chinese_chars = object.flag_or("handle_chinese_chars", true);
  settings.lowercase = object.flag_or("lowercase", true);
  settings.strip_accents = object.flag_or("strip_accents", settings.lowercase);
  return std::make_unique<BertNormalizer>(settings);
}

using NormalizerPointer = std::unique_ptr<const Normalizer>;

template <UnicodeForm form>
NormalizerPointer read_unicode_form(const Json& json, const std::string& where) {
  check_options(json, {}, where);
  return std::make_unique<UnicodeNormalizer>(form);
}

// A normaliser without options.
template <typename Simple>
NormalizerPointer read_simple(const Json& json, const std::string& where) {
  check_options(json, {}, where);
  return std::make_unique<Simple>();
}

// "ByteLevel" may name options that matter to the pre-tokeniser alone.
NormalizerPointer read_byte_level(const Json& json, const std::string& where) {
  check_options(json, {"add_prefix_space", "trim_offsets", "use_regex"}, where);
  return std::make_unique<ByteLevelNormalizer>();
}

NormalizerPointer read_strip(const Json& json, const std::string& where) {
  check_options(json, {"strip_left", "strip_right"}, where);
  const JsonObject object(json, where);
  return std::make_unique<StripNormalizer>(object.flag_or("strip_left", true),
                                           object.flag_or("strip_right", true));
}

NormalizerPointer read_prepend(const Json& json, const std::string& where) {
  check_options(json, {"prepend"}, where);
  return std::make_unique<PrependNormalizer>(JsonObject(json, where).text("prepend"));
}

NormalizerPointer read_replace(const Json& json, const std::string& where) {
  check_options(json, {"pattern", "content"}, where);
  const JsonObject object(json, where);
  return std::make_unique<ReplaceNormalizer>(read_pattern(object.at("pattern"), where),
                                             object.text("content"));
}

NormalizerPointer read_sequence(const Json& json, const std::string& where) {
  check_options(json, {"normalizers"}, where);
  return std::make_unique<NormalizerSequence>(
      read_steps<Normalizer>(json, "normalizers", where, make_normalizer_at));
}

using Maker = std::unique_ptr<const Normalizer> (*)(const Json&, const std::string&);

const ComponentTable<Maker> kNormalizers = {
    {"BertNormalizer", read_bert_normalizer},
    {"Precompiled", read_precompiled},
    {"NFC", read_unicode_form<UnicodeForm::kNfc>},
    {"NFD", read_unicode_form<UnicodeForm::kNfd>},
    {"NFKC", read_unicode_form<UnicodeForm::kNfkc>},
    {"NFKD", read_unicode_form<UnicodeForm::kNfkd>},
    {"Lowercase", read_simple<LowercaseNormalizer>},
    {"StripAccents", read_simple<StripAccentsNormalizer>},
    {"Nmt", read_simple<NmtNormalizer>},
    {"ByteLevel", read_byte_level},
    {"Strip", read_strip},
    {"Prepend", read_prepend},
    {"Replace", read_replace},
    {"Sequence", read_sequence},
};

std::unique_ptr<const Normalizer> make_normalizer_at(const Json& json, const std::string& where) {
  return find_maker(kNormalizers, json, where)(json, where);
}

}  // namespace

std::unique_ptr<const Normalizer> make_normalizer(const Json& json, const std::string& source) {
  if (json.is_null()) return nullptr;
  return make_normalizer_at(json, source + ": normalizer");
}

std::vector<std::string> normalizer_names() { return names_of(kNormalizers); }

}  // namespace simile::detail
