// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "simile/text/byte_level.h"
#include "simile/text/detail/component_table.h"
#include "simile/text/detail/components.h"
#include "simile/text/detail/pattern_reader.h"
#include "simile/text/detail/sentencepiece_readers.h"
#include "simile/text/split_pre_tokenizer.h"
#include "simile/text/unicode.h"

namespace simile::detail {
namespace {

using PreTokenizerPointer = std::unique_ptr<const PreTokenizer>;

PreTokenizerPointer make_pre_tokenizer_at(const Json& json, const std::string& where);

// A pre-tokeniser without options.
template <typename Simple>
PreTokenizerPointer read_simple(const Json& json, const std::string& where) {
  check_options(json, {}, where);
  return std::make_unique<Simple>();
}

SplitBehavior read_behavior(const std::string& name, const std::string& where) {
  static const std::array<const char*, 5> names = {"Removed", "Isolated", "MergedWithPrevious",
                                                   "MergedWithNext", "Contiguous"};
  const auto found = std::find(names.begin(), names.end(), name);
  SIMILE_CHECK(found != names.end(), ErrorKind::kInput,
               fmt::format("{}: \"behavior\" must be Removed, Isolated, MergedWithPrevious, "
                           "MergedWithNext or Contiguous, not \"{}\"",
                           where, name));
  return static_cast<SplitBehavior>(found - names.begin());
}

PreTokenizerPointer read_byte_level(const Json& json, const std::string& where) {
  check_options(json, {"add_prefix_space", "trim_offsets", "use_regex"}, where);
  const JsonObject object(json, where);
  return std::make_unique<ByteLevelPreTokenizer>(object.flag_or("add_prefix_space", true),
                                                 object.flag_or("use_regex", true));
}

PreTokenizerPointer read_white_space_split(const Json& json, const std::string& where) {
  check_options(json, {}, where);
  return std::make_unique<CharacterSplitPreTokenizer>(kWhiteSpace, 0, SplitBehavior::kRemoved);
}

PreTokenizerPointer read_punctuation(const Json& json, const std::string& where) {
  check_options(json, {"behavior"}, where);
  const std::string behavior = JsonObject(json, where).text_or("behavior", "Isolated");
  return std::make_unique<CharacterSplitPreTokenizer>(kPunctuation, 0,
                                                      read_behavior(behavior, where));
}

PreTokenizerPointer read_digits(const Json& json, const std::string& where) {
  check_options(json, {"individual_digits"}, where);
  const bool individual = JsonObject(json, where).flag_or("individual_digits", false);
  return std::make_unique<CharacterSplitPreTokenizer>(
      kNumber, 0, individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
}

PreTokenizerPointer read_delimiter(const Json& json, const std::string& where) {
  check_options(json, {"delimiter"}, where);
  const std::string delimiter = JsonObject(json, where).text("delimiter");
  SIMILE_CHECK(
      count_characters(delimiter) == 1 && delimiter[0] != '\0', ErrorKind::kInput,
      fmt::format("{}: \"delimiter\" must be one character, not \"{}\"", where, delimiter));
  return std::make_unique<CharacterSplitPreTokenizer>(
      0, decode_valid_character(delimiter, 0).code_point, SplitBehavior::kRemoved);
}

PreTokenizerPointer read_split(const Json& json, const std::string& where) {
  check_options(json, {"pattern", "behavior", "invert"}, where);
  const JsonObject object(json, where);
  return std::make_unique<SplitPreTokenizer>(read_pattern(object.at("pattern"), where),
                                             read_behavior(object.text("behavior"), where),
                                             object.flag_or("invert", false));
}

PreTokenizerPointer read_fixed_length(const Json& json, const std::string& where) {
  check_options(json, {"length"}, where);
  const int64_t length = JsonObject(json, where).integer_or("length", 5, 1, kMaxId);
  return std::make_unique<FixedLengthPreTokenizer>(static_cast<size_t>(length));
}

PreTokenizerPointer read_sequence(const Json& json, const std::string& where) {
  check_options(json, {"pretokenizers"}, where);
  return std::make_unique<PreTokenizerSequence>(
      read_steps<PreTokenizer>(json, "pretokenizers", where, make_pre_tokenizer_at));
}

using Maker = std::unique_ptr<const PreTokenizer> (*)(const Json&, const std::string&);

const ComponentTable<Maker> kPreTokenizers = {
    {"BertPreTokenizer", read_simple<BertPreTokenizer>},
    {"Metaspace", read_metaspace},
    {"ByteLevel", read_byte_level},
    {"Whitespace", read_simple<WhitespacePreTokenizer>},
    {"WhitespaceSplit", read_white_space_split},
    {"Punctuation", read_punctuation},
    {"Digits", read_digits},
    {"CharDelimiterSplit", read_delimiter},
    {"Split", read_split},
    {"FixedLength", read_fixed_length},
    {"UnicodeScripts", read_simple<ScriptPreTokenizer>},
    {"Sequence", read_sequence},
};

PreTokenizerPointer make_pre_tokenizer_at(const Json& json, const std::string& where) {
  return find_maker(kPreTokenizers, json, where)(json, where);
}

}  // namespace

std::unique_ptr<const PreTokenizer> make_pre_tokenizer(const Json& json,
                                                       const std::string& source) {
  if (json.is_null()) return nullptr;
  return make_pre_tokenizer_at(json, source + ": pre_tokenizer");
}

std::vector<std::string> pre_tokenizer_names() { return names_of(kPreTokenizers); }

}  // namespace simile::detail
