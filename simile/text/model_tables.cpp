// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/model_tables.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include "simile/core/error.h"
#include "simile/text/detail/component_table.h"

namespace simile::detail {
namespace {

// A member of an object of tokens: its id.
void take_token(const std::string& token, const Json& id, const std::string& where,
                ModelTables& tables) {
  SIMILE_CHECK(id.is_number_integer() && id.get<int64_t>() <= kMaxId, ErrorKind::kInput,
               fmt::format("{}: the id of token \"{}\" must be a whole number, but it is {}", where,
                           token, describe_json(id)));
  tables.tokens.emplace_back(token, id.get<int64_t>());
}

// The number that the library makes of the text of `score`: all digits as one whole number, rounded
// to a double, then divided by a power of ten. With 16 digits and more it may miss the nearest
// double by one unit, which decides between cuts whose sums are otherwise equal.
double as_the_library_reads(double score) {
  constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const std::string text = fmt::format("{}", std::abs(score));  // the shortest that reads back
  uint64_t digits = 0;
  size_t decimals = 0;
  bool is_fraction = false;
  for (const char c : text) {
    if (c == '.') {
      is_fraction = true;
    } else if (c >= '0' && c <= '9' && digits < std::numeric_limits<uint64_t>::max() / 10 - 1) {
      digits = digits * 10 + static_cast<uint64_t>(c - '0');
      decimals += is_fraction;
    } else {
      return score;  // very large or small
    }
  }
  if (decimals >= std::size(kPowers)) return score;
  return std::copysign(static_cast<double>(digits) / kPowers[decimals], score);
}

// An entry of a list of tokens: its text and its score.
void take_piece(const Json& piece, const std::string& where, ModelTables& tables) {
  const auto id = static_cast<int64_t>(tables.tokens.size());
  SIMILE_CHECK(
      piece.is_array() && piece.size() == 2 && piece[0].is_string() && piece[1].is_number(),
      ErrorKind::kInput,
      fmt::format("{}: entry {} must be a token and its score, like [\"a\", -3.5], but it is {}",
                  where, id, describe_json(piece)));
  const auto score = piece[1].get<double>();
  SIMILE_CHECK(std::isfinite(score), ErrorKind::kInput,
               fmt::format("{}: the score of entry {} is not finite", where, id));
  tables.tokens.emplace_back(piece[0].get_ref<const std::string&>(), id);
  tables.scores.push_back(as_the_library_reads(score));
}

// "a b" or ["a", "b"].
void take_merge(const Json& merge, const std::string& where, ModelTables& tables) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    tables.merges.emplace_back(merge[0].get_ref<const std::string&>(),
                               merge[1].get_ref<const std::string&>());
    return;
  }
  if (merge.is_string()) {
    const auto& text = merge.get_ref<const std::string&>();
    const size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      tables.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
      return;
    }
  }
  throw Error(
      ErrorKind::kInput,
      fmt::format("{}: merge {} must be \"left right\" or [\"left\", \"right\"], but it is {}",
                  where, tables.merges.size() + 1, describe_json(merge)));
}

}  // namespace

std::vector<JsonStream> model_streams(const std::string& source, ModelTables& tables) {
  const std::string model = source + ": model";
  const std::string vocabulary = model + ": vocab";
  const auto vocab = [=, &tables](bool named, const std::string& name, const Json& value) {
    if (named) {
      take_token(name, value, vocabulary, tables);
    } else {
      take_piece(value, vocabulary, tables);
    }
  };
  const auto merges = [=, &tables](bool, const std::string&, const Json& value) {
    take_merge(value, model, tables);
  };
  return {{{"model", "vocab"}, vocab}, {{"model", "merges"}, merges}};
}

}  // namespace simile::detail
