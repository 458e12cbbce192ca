// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/sentencepiece_readers.h"

#include <fmt/format.h>

#include <utility>

#include "simile/core/error.h"
#include "simile/text/detail/base64.h"
#include "simile/text/detail/component_table.h"
#include "simile/text/metaspace.h"
#include "simile/text/precompiled.h"
#include "simile/text/unicode.h"
#include "simile/text/unigram.h"

namespace simile::detail {
namespace {

constexpr size_t kMostPieceBytes = 1024;  // a word takes its length times that of steps

MetaspaceSettings::Prepend read_prepend_scheme(const JsonObject& object, const std::string& where) {
  using Prepend = MetaspaceSettings::Prepend;
  const std::string scheme = object.text_or("prepend_scheme", "");
  const bool add_space = object.flag_or("add_prefix_space", true);
  if (scheme.empty()) return add_space ? Prepend::kAlways : Prepend::kNever;
  SIMILE_CHECK(
      scheme == "always" || scheme == "never" || scheme == "first", ErrorKind::kInput,
      fmt::format("{}: prepend_scheme must be \"always\", \"never\" or \"first\", not \"{}\"",
                  where, scheme));
  SIMILE_CHECK(add_space || scheme == "never", ErrorKind::kInput,
               fmt::format("{}: add_prefix_space is false, but prepend_scheme is \"{}\"; expected "
                           "\"never\"",
                           where, scheme));
  if (scheme == "always") return Prepend::kAlways;
  return scheme == "first" ? Prepend::kFirst : Prepend::kNever;
}

}  // namespace

std::unique_ptr<const Normalizer> read_precompiled(const Json& json, const std::string& where) {
  check_options(json, {"precompiled_charsmap"}, where);
  const std::string map_where = where + ": precompiled_charsmap";
  const Json& map = JsonObject(json, where).at("precompiled_charsmap");
  SIMILE_CHECK(map.is_string(), ErrorKind::kInput,
               fmt::format("{} must be base64 text, but it is {}", map_where, describe_json(map)));
  return std::make_unique<PrecompiledNormalizer>(
      decode_base64(map.get_ref<const std::string&>(), map_where), map_where);
}

std::unique_ptr<const PreTokenizer> read_metaspace(const Json& json, const std::string& where) {
  check_options(json, {"replacement", "prepend_scheme", "add_prefix_space", "str_rep", "split"},
                where);
  const JsonObject object(json, where);
  MetaspaceSettings settings;
  settings.mark = object.text_or("replacement", settings.mark);
  SIMILE_CHECK(
      count_characters(settings.mark) == 1, ErrorKind::kInput,
      fmt::format("{}: replacement must be one character, not \"{}\"", where, settings.mark));
  settings.prepend = read_prepend_scheme(object, where);
  settings.split = object.flag_or("split", true);
  return std::make_unique<Metaspace>(std::move(settings));
}

std::unique_ptr<const TokenModel> read_unigram(const Json& json, ModelTables& tables, int64_t,
                                               const std::string& where) {
  check_options(json, {"unk_id", "byte_fallback", "vocab"}, where);
  const JsonObject object(json, where);
  const Json& list = object.at("vocab");
  const std::string list_where = where + ": vocab";
  SIMILE_CHECK(list.is_array(), ErrorKind::kInput,
               fmt::format("{} must be a list of tokens and their scores, but it is a JSON {}",
                           list_where, list.type_name()));
  for (const auto& [token, id] : tables.tokens) {
    SIMILE_CHECK(token.size() <= kMostPieceBytes, ErrorKind::kInput,
                 fmt::format("{}: token {} has {} bytes; at most {} are accepted", list_where, id,
                             token.size(), kMostPieceBytes));
  }
  const auto size = static_cast<int64_t>(tables.tokens.size());
  UnigramSettings settings;
  settings.unknown_id = static_cast<int32_t>(object.integer_or("unk_id", -1, 0, size - 1));
  settings.byte_fallback = object.flag_or("byte_fallback", false);
  return std::make_unique<Unigram>(
      Vocabulary(std::move(tables.tokens), size, list_where, Vocabulary::Repeats::kLastWins),
      std::move(tables.scores), settings, where);
}

}  // namespace simile::detail
