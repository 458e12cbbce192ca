// SPDX-License-Identifier: Apache-2.0
#include "simile/text/post_processor.h"

#include <algorithm>
#include <iterator>

#include "simile/core/check.h"
#include "simile/text/detail/components.h"

namespace simile {

int64_t count_pieces(const std::vector<TemplatePiece>& pieces, TemplatePiece::Kind kind) {
  return std::count_if(pieces.begin(), pieces.end(),
                       [kind](const TemplatePiece& piece) { return piece.kind == kind; });
}

PairLengths truncate_longest_first(int64_t first, int64_t second, int64_t limit) {
  if (first + second <= limit) return {first, second};
  const bool swapped = first > second;
  int64_t shorter = std::min(first, second);
  int64_t longer = shorter > limit ? shorter : std::max(shorter, limit - shorter);
  if (shorter + longer > limit) {
    shorter = limit / 2;
    longer = shorter + limit % 2;
  }
  return swapped ? PairLengths{longer, shorter} : PairLengths{shorter, longer};
}

PairLengths truncate(int64_t first, int64_t second, bool pair, int64_t limit,
                     const TruncationSettings& settings) {
  using Strategy = TruncationSettings::Strategy;
  const int64_t excess = first + second - limit;
  if (excess <= 0) return {first, second};
  if (settings.strategy == Strategy::kLongestFirst) {
    if (!pair) return {limit, 0};
    return truncate_longest_first(first, second, limit);
  }
  const bool cut_first = settings.strategy == Strategy::kOnlyFirst;
  SIMILE_CHECK(cut_first || pair, ErrorKind::kInput,
               "truncation \"only_second\" needs a pair of texts, but there is one text that is "
               "too long; use \"longest_first\" or \"only_first\"");
  int64_t& length = cut_first ? first : second;
  SIMILE_CHECK(length > excess, ErrorKind::kInput,
               "truncation \"{}\": {} tokens must go, but that text has only {}; use "
               "\"longest_first\" or a larger maximum length",
               cut_first ? "only_first" : "only_second", excess, length);
  length -= excess;
  return {first, second};
}

namespace detail {
namespace {

using Kind = TemplatePiece::Kind;

constexpr size_t kMostPieces = 1024;  // of a template

int32_t check_id(int64_t id, int64_t vocabulary_size, const std::string& where) {
  SIMILE_CHECK(id >= 0 && id < vocabulary_size, ErrorKind::kInput,
               "{}: special token id {} is not in the vocabulary of {} tokens", where, id,
               vocabulary_size);
  return static_cast<int32_t>(id);
}

void read_template_piece(const JsonObject& json, const Json& specials, int64_t size,
                         std::vector<TemplatePiece>& pieces) {
  const std::string& where = json.source();
  const bool is_text = json.has("Sequence");
  SIMILE_CHECK(is_text || json.has("SpecialToken"), ErrorKind::kInput,
               "{}: a piece must be \"Sequence\" or \"SpecialToken\", found {}", where,
               describe_json(json.json()));
  const JsonObject piece(json.at(is_text ? "Sequence" : "SpecialToken"), where);
  const std::string name = piece.text("id");
  const auto type_id = static_cast<int32_t>(piece.integer("type_id", 0, kMaxId));
  if (is_text) {
    SIMILE_CHECK(name == "A" || name == "B", ErrorKind::kInput,
                 "{}: a sequence must be \"A\" or \"B\", not \"{}\"", where, name);
    pieces.push_back({name == "A" ? Kind::kFirst : Kind::kSecond, 0, type_id});
    return;
  }
  const auto found = specials.find(name);
  SIMILE_CHECK(found != specials.end(), ErrorKind::kInput,
               "{}: the template uses special token \"{}\", which is not among \"special_tokens\"",
               where, name);
  const std::string special_where = fmt::format("{}: special_tokens: \"{}\"", where, name);
  const JsonObject special(*found, special_where);
  for (const Json& id : special.list("ids")) {
    SIMILE_CHECK(id.is_number_integer(), ErrorKind::kInput,
                 "{}: \"ids\" must hold whole numbers, but found {}", special_where,
                 describe_json(id));
    pieces.push_back({Kind::kSpecial, check_id(id.get<int64_t>(), size, special_where), type_id});
  }
}

std::vector<TemplatePiece> read_template(const JsonObject& json, const char* key, int64_t size) {
  const Json& list = json.at(key);
  const Json& specials = json.at("special_tokens");
  const std::string where = fmt::format("{}: {}", json.source(), key);
  SIMILE_CHECK(list.is_array() && specials.is_object(), ErrorKind::kInput,
               "{}: expected a list of pieces and an object \"special_tokens\"", where);
  std::vector<TemplatePiece> pieces;
  for (const Json& piece : list) {
    read_template_piece(JsonObject(piece, where), specials, size, pieces);
    SIMILE_CHECK(pieces.size() <= kMostPieces, ErrorKind::kInput, "{}: more than {} pieces", where,
                 kMostPieces);
  }
  for (const Kind kind : {Kind::kFirst, Kind::kSecond}) {
    SIMILE_CHECK(count_pieces(pieces, kind) <= 1, ErrorKind::kInput,
                 "{}: a sequence occurs more than once, which is not supported", where);
  }
  return pieces;
}

PostProcessor read_template_processing(const JsonObject& json, int64_t size) {
  PostProcessor processor;
  processor.single = read_template(json, "single", size);
  processor.pair = read_template(json, "pair", size);
  SIMILE_CHECK(count_pieces(processor.single, Kind::kSecond) == 0, ErrorKind::kInput,
               json.source() + ": the template for single texts uses sequence B");
  return processor;
}

// ["[SEP]", 102], as BertProcessing and RobertaProcessing write a special token.
TemplatePiece read_special(const JsonObject& json, const char* key, int64_t size) {
  const Json& pair = json.at(key);
  SIMILE_CHECK(
      pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_number_integer(),
      ErrorKind::kInput,
      "{}: \"{}\" must be a token and its id, like [\"[SEP]\", 102], but it is {}", json.source(),
      key, describe_json(pair));
  return {Kind::kSpecial, check_id(pair[1].get<int64_t>(), size, json.source()), 0};
}

PostProcessor read_bert_processing(const JsonObject& json, int64_t size) {
  const TemplatePiece cls = read_special(json, "cls", size), sep = read_special(json, "sep", size);
  PostProcessor processor;
  processor.single = {cls, {Kind::kFirst, 0, 0}, sep};
  processor.pair = {
      cls, {Kind::kFirst, 0, 0}, sep, {Kind::kSecond, 0, 1}, {Kind::kSpecial, sep.id, 1}};
  return processor;
}

PostProcessor read_byte_level(const JsonObject& json, int64_t) {
  PostProcessor processor;
  processor.trim_offsets = json.flag_or("trim_offsets", true);
  processor.prefix_space = json.flag_or("add_prefix_space", true);
  return processor;
}

PostProcessor read_roberta_processing(const JsonObject& json, int64_t size) {
  const TemplatePiece cls = read_special(json, "cls", size), sep = read_special(json, "sep", size);
  PostProcessor processor = read_byte_level(json, size);
  processor.single = {cls, {Kind::kFirst, 0, 0}, sep};
  processor.pair = {cls, {Kind::kFirst, 0, 0}, sep, sep, {Kind::kSecond, 0, 0}, sep};
  return processor;
}

PostProcessor make_at(const Json& json, int64_t vocabulary_size, const std::string& where);

// Any number of "ByteLevel", which trims offsets, and at most one that puts special tokens around.
PostProcessor read_sequence(const JsonObject& json, int64_t size) {
  PostProcessor result;
  bool has_template = false;
  size_t number = 0;
  for (const Json& step : json.list("processors")) {
    const std::string where = fmt::format("{}: processors[{}]", json.source(), number++);
    PostProcessor processor = make_at(step, size, where);
    if (JsonObject(step, where).text("type") != "ByteLevel") {
      SIMILE_CHECK(!has_template, ErrorKind::kInput,
                   "{}: a second processor that puts special tokens around is not supported",
                   where);
      has_template = true;
      result.single = std::move(processor.single);
      result.pair = std::move(processor.pair);
    }
    if (processor.trim_offsets) {
      SIMILE_CHECK(!result.trim_offsets, ErrorKind::kInput,
                   where + ": trimming offsets a second time is not supported");
      result.trim_offsets = true;
      result.prefix_space = processor.prefix_space;
    }
  }
  return result;
}

const std::vector<ComponentRow<PostProcessor, int64_t>> kPostProcessors = {
    {"TemplateProcessing", {"single", "pair", "special_tokens"}, read_template_processing},
    {"BertProcessing", {"cls", "sep"}, read_bert_processing},
    {"RobertaProcessing",
     {"cls", "sep", "trim_offsets", "add_prefix_space"},
     read_roberta_processing},
    {"ByteLevel", {"add_prefix_space", "trim_offsets", "use_regex"}, read_byte_level},
    {"Sequence", {"processors"}, read_sequence},
};

PostProcessor make_at(const Json& json, int64_t vocabulary_size, const std::string& where) {
  const JsonObject object(json, where);
  return find_row(kPostProcessors, object).make(object, vocabulary_size);
}

}  // namespace

PostProcessor make_post_processor(const Json& json, int64_t vocabulary_size,
                                  const std::string& source) {
  if (json.is_null()) return {};
  PostProcessor processor = make_at(json, vocabulary_size, source + ": post_processor");
  const auto is_text = [](const TemplatePiece& piece) { return piece.kind != Kind::kSpecial; };
  processor.bare_single.clear();
  std::copy_if(processor.single.begin(), processor.single.end(),
               std::back_inserter(processor.bare_single), is_text);
  processor.bare_pair.clear();
  std::copy_if(processor.pair.begin(), processor.pair.end(),
               std::back_inserter(processor.bare_pair), is_text);
  return processor;
}

std::vector<std::string> post_processor_names() { return names_of(kPostProcessors); }

}  // namespace detail
}  // namespace simile
