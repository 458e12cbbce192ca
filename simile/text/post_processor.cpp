// SPDX-License-Identifier: Apache-2.0
#include "simile/text/post_processor.h"

#include <algorithm>

#include "simile/text/detail/components.h"

namespace simile {

int64_t count_special_tokens(const std::vector<TemplatePiece>& pieces) {
  return std::count_if(pieces.begin(), pieces.end(), [](const TemplatePiece& piece) {
    return piece.kind == TemplatePiece::Kind::kSpecial;
  });
}

std::vector<TemplatePiece> remove_special_tokens(const std::vector<TemplatePiece>& pieces) {
  std::vector<TemplatePiece> texts;
  for (const TemplatePiece& piece : pieces) {
    if (piece.kind != TemplatePiece::Kind::kSpecial) texts.push_back(piece);
  }
  return texts;
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
  SIMILE_CHECK(
      cut_first || pair, ErrorKind::kInput,
      "truncation \"only_second\" needs a pair of texts, but there is one text that is too "
      "long; use \"longest_first\" or \"only_first\"");
  int64_t& length = cut_first ? first : second;
  SIMILE_CHECK(length > excess, ErrorKind::kInput,
               fmt::format("truncation \"{}\": {} tokens must go, but that text has only {}; use "
                           "\"longest_first\" or a larger maximum length",
                           cut_first ? "only_first" : "only_second", excess, length));
  length -= excess;
  return {first, second};
}

namespace detail {
namespace {

constexpr size_t kMostPieces = 1024;  // of a template

int32_t check_id(int64_t id, int64_t vocabulary_size, const std::string& where) {
  SIMILE_CHECK(id >= 0 && id < vocabulary_size, ErrorKind::kInput,
               fmt::format("{}: special token id {} is not in the vocabulary of {} tokens", where,
                           id, vocabulary_size));
  return static_cast<int32_t>(id);
}

// The ids that a template's special token stands for.
std::vector<int32_t> read_special_ids(const Json& specials, const std::string& name, int64_t size,
                                      const std::string& where) {
  const auto found = specials.find(name);
  SIMILE_CHECK(found != specials.end(), ErrorKind::kInput,
               fmt::format("{}: the template uses special token \"{}\", which is not among "
                           "\"special_tokens\"",
                           where, name));
  const std::string special_where = fmt::format("{}: special_tokens: \"{}\"", where, name);
  const Json& list = JsonObject(*found, special_where).at("ids");
  SIMILE_CHECK(
      list.is_array(), ErrorKind::kInput,
      fmt::format("{}: \"ids\" must be a list, but it is {}", special_where, describe_json(list)));
  std::vector<int32_t> ids;
  for (const Json& id : list) {
    SIMILE_CHECK(id.is_number_integer(), ErrorKind::kInput,
                 fmt::format("{}: \"ids\" must hold whole numbers, but found {}", special_where,
                             describe_json(id)));
    ids.push_back(check_id(id.get<int64_t>(), size, special_where));
  }
  return ids;
}

void read_template_piece(const Json& json, const Json& specials, int64_t size,
                         const std::string& where, std::vector<TemplatePiece>& pieces) {
  const JsonObject object(json, where);
  if (object.has("Sequence")) {
    const JsonObject sequence(object.at("Sequence"), where);
    const std::string id = sequence.text("id");
    SIMILE_CHECK(id == "A" || id == "B", ErrorKind::kInput,
                 fmt::format("{}: a sequence must be \"A\" or \"B\", not \"{}\"", where, id));
    const auto type_id = static_cast<int32_t>(sequence.integer("type_id", 0, kMaxId));
    pieces.push_back(
        {id == "A" ? TemplatePiece::Kind::kFirst : TemplatePiece::Kind::kSecond, 0, type_id});
    return;
  }
  SIMILE_CHECK(object.has("SpecialToken"), ErrorKind::kInput,
               fmt::format("{}: a piece must be \"Sequence\" or \"SpecialToken\", found {}", where,
                           describe_json(json)));
  const JsonObject special(object.at("SpecialToken"), where);
  const auto type_id = static_cast<int32_t>(special.integer("type_id", 0, kMaxId));
  for (const int32_t id : read_special_ids(specials, special.text("id"), size, where)) {
    pieces.push_back({TemplatePiece::Kind::kSpecial, id, type_id});
  }
}

std::vector<TemplatePiece> read_template(const JsonObject& object, const char* key, int64_t size,
                                         const std::string& where) {
  const Json& list = object.at(key);
  const Json& specials = object.at("special_tokens");
  const std::string key_where = fmt::format("{}: {}", where, key);
  SIMILE_CHECK(
      list.is_array() && specials.is_object(), ErrorKind::kInput,
      fmt::format("{}: expected a list of pieces and an object \"special_tokens\"", key_where));
  std::vector<TemplatePiece> pieces;
  for (const Json& piece : list) {
    read_template_piece(piece, specials, size, key_where, pieces);
    SIMILE_CHECK(pieces.size() <= kMostPieces, ErrorKind::kInput,
                 fmt::format("{}: more than {} pieces", key_where, kMostPieces));
  }
  for (const auto kind : {TemplatePiece::Kind::kFirst, TemplatePiece::Kind::kSecond}) {
    const auto is_kind = [&](const TemplatePiece& piece) { return piece.kind == kind; };
    SIMILE_CHECK(
        std::count_if(pieces.begin(), pieces.end(), is_kind) <= 1, ErrorKind::kInput,
        fmt::format("{}: a sequence occurs more than once, which is not supported", key_where));
  }
  return pieces;
}

bool has_piece(const std::vector<TemplatePiece>& pieces, TemplatePiece::Kind kind) {
  for (const TemplatePiece& piece : pieces) {
    if (piece.kind == kind) return true;
  }
  return false;
}

PostProcessor read_template_processing(const Json& json, int64_t size, const std::string& where) {
  check_options(json, {"single", "pair", "special_tokens"}, where);
  const JsonObject object(json, where);
  PostProcessor processor;
  processor.single = read_template(object, "single", size, where);
  processor.pair = read_template(object, "pair", size, where);
  SIMILE_CHECK(!has_piece(processor.single, TemplatePiece::Kind::kSecond), ErrorKind::kInput,
               fmt::format("{}: the template for single texts uses sequence B", where));
  return processor;
}

// ["[SEP]", 102], as BertProcessing and RobertaProcessing write a special token.
int32_t read_named_id(const JsonObject& object, const char* key, int64_t size,
                      const std::string& where) {
  const Json& pair = object.at(key);
  SIMILE_CHECK(
      pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_number_integer(),
      ErrorKind::kInput,
      fmt::format("{}: \"{}\" must be a token and its id, like [\"[SEP]\", 102], but it is {}",
                  where, key, describe_json(pair)));
  return check_id(pair[1].get<int64_t>(), size, where);
}

PostProcessor read_bert_processing(const Json& json, int64_t size, const std::string& where) {
  using Kind = TemplatePiece::Kind;
  check_options(json, {"cls", "sep"}, where);
  const JsonObject object(json, where);
  const int32_t cls = read_named_id(object, "cls", size, where);
  const int32_t sep = read_named_id(object, "sep", size, where);
  PostProcessor processor;
  processor.single = {{Kind::kSpecial, cls, 0}, {Kind::kFirst, 0, 0}, {Kind::kSpecial, sep, 0}};
  processor.pair = {{Kind::kSpecial, cls, 0},
                    {Kind::kFirst, 0, 0},
                    {Kind::kSpecial, sep, 0},
                    {Kind::kSecond, 0, 1},
                    {Kind::kSpecial, sep, 1}};
  return processor;
}

PostProcessor read_roberta_processing(const Json& json, int64_t size, const std::string& where) {
  using Kind = TemplatePiece::Kind;
  check_options(json, {"cls", "sep", "trim_offsets", "add_prefix_space"}, where);
  const JsonObject object(json, where);
  const int32_t cls = read_named_id(object, "cls", size, where);
  const int32_t sep = read_named_id(object, "sep", size, where);
  PostProcessor processor;
  processor.single = {{Kind::kSpecial, cls, 0}, {Kind::kFirst, 0, 0}, {Kind::kSpecial, sep, 0}};
  processor.pair = {{Kind::kSpecial, cls, 0}, {Kind::kFirst, 0, 0},  {Kind::kSpecial, sep, 0},
                    {Kind::kSpecial, sep, 0}, {Kind::kSecond, 0, 0}, {Kind::kSpecial, sep, 0}};
  processor.trim_offsets = object.flag_or("trim_offsets", true);
  processor.prefix_space = object.flag_or("add_prefix_space", true);
  return processor;
}

PostProcessor read_byte_level(const Json& json, int64_t, const std::string& where) {
  check_options(json, {"add_prefix_space", "trim_offsets", "use_regex"}, where);
  const JsonObject object(json, where);
  PostProcessor processor;
  processor.trim_offsets = object.flag_or("trim_offsets", true);
  processor.prefix_space = object.flag_or("add_prefix_space", true);
  return processor;
}

PostProcessor make_at(const Json& json, int64_t vocabulary_size, const std::string& where);

// Any number of "ByteLevel", which trims offsets, and at most one that puts special tokens around.
PostProcessor read_sequence(const Json& json, int64_t size, const std::string& where) {
  check_options(json, {"processors"}, where);
  const Json& list = JsonObject(json, where).at("processors");
  SIMILE_CHECK(
      list.is_array(), ErrorKind::kInput,
      fmt::format("{}: \"processors\" must be a list, but it is {}", where, describe_json(list)));
  PostProcessor result;
  bool has_template = false;
  size_t number = 0;
  for (const Json& step : list) {
    const std::string step_where = fmt::format("{}: processors[{}]", where, number++);
    PostProcessor processor = make_at(step, size, step_where);
    if (JsonObject(step, step_where).text("type") != "ByteLevel") {
      SIMILE_CHECK(!has_template, ErrorKind::kInput,
                   fmt::format("{}: a second processor that puts special tokens around is not "
                               "supported",
                               step_where));
      has_template = true;
      result.single = std::move(processor.single);
      result.pair = std::move(processor.pair);
    }
    if (processor.trim_offsets) {
      SIMILE_CHECK(!result.trim_offsets, ErrorKind::kInput,
                   fmt::format("{}: trimming offsets a second time is not supported", step_where));
      result.trim_offsets = true;
      result.prefix_space = processor.prefix_space;
    }
  }
  return result;
}

using Maker = PostProcessor (*)(const Json&, int64_t, const std::string&);

const ComponentTable<Maker> kPostProcessors = {
    {"TemplateProcessing", read_template_processing},
    {"BertProcessing", read_bert_processing},
    {"RobertaProcessing", read_roberta_processing},
    {"ByteLevel", read_byte_level},
    {"Sequence", read_sequence},
};

PostProcessor make_at(const Json& json, int64_t vocabulary_size, const std::string& where) {
  return find_maker(kPostProcessors, json, where)(json, vocabulary_size, where);
}

}  // namespace

PostProcessor make_post_processor(const Json& json, int64_t vocabulary_size,
                                  const std::string& source) {
  if (json.is_null()) return {};
  PostProcessor processor = make_at(json, vocabulary_size, source + ": post_processor");
  processor.bare_single = remove_special_tokens(processor.single);
  processor.bare_pair = remove_special_tokens(processor.pair);
  return processor;
}

std::vector<std::string> post_processor_names() { return names_of(kPostProcessors); }

}  // namespace detail
}  // namespace simile
