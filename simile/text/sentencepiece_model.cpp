// SPDX-License-Identifier: Apache-2.0
#include "simile/text/sentencepiece_model.h"

#include <fmt/format.h>

#include <cmath>

#include "simile/core/error.h"
#include "simile/text/detail/wire_reader.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

using detail::WireField;
using detail::WireReader;

// Far beyond what trainers make; it bounds the work of looking for merges.
constexpr size_t kMaxPieceBytes = 256;

// Field numbers of sentencepiece_model.proto.
namespace model_field {
enum : uint32_t { kPiece = 1, kTrainer = 2, kNormalizer = 3 };
}
namespace piece_field {
enum : uint32_t { kText = 1, kScore = 2, kKind = 3 };
}
namespace trainer_field {
enum : uint32_t { kType = 3, kSpaceAsSuffix = 24, kByteFallback = 35, kUnknownId = 40 };
}
namespace normalizer_field {
enum : uint32_t { kTable = 2, kDummyPrefix = 3, kExtraSpaces = 4, kEscapeSpaces = 5 };
}

SentencePiece read_piece(std::string_view message, size_t number, const std::string& source) {
  const std::string where = fmt::format("{}: piece {}", source, number);
  SentencePiece piece;
  WireReader reader(message, where);
  for (WireField field; reader.next(field);) {
    if (field.number() == piece_field::kText) piece.text = field.bytes();
    if (field.number() == piece_field::kScore) piece.score = field.real();
    if (field.number() == piece_field::kKind) {
      const int64_t kind = field.integer();
      SIMILE_CHECK(kind >= 1 && kind <= 6, ErrorKind::kInput,
                   fmt::format("{}: type {} is not known; expected 1 to 6", where, kind));
      piece.kind = static_cast<SentencePiece::Kind>(kind);
    }
  }
  SIMILE_CHECK(piece.text.size() <= kMaxPieceBytes, ErrorKind::kInput,
               fmt::format("{}: the text has {} bytes; at most {} are supported", where,
                           piece.text.size(), kMaxPieceBytes));
  SIMILE_CHECK(is_valid_utf8(piece.text), ErrorKind::kInput,
               fmt::format("{}: the text is not valid UTF-8", where));
  SIMILE_CHECK(std::isfinite(piece.score), ErrorKind::kInput,
               fmt::format("{} (\"{}\"): the score is not finite", where, piece.text));
  return piece;
}

void read_trainer(std::string_view message, const std::string& source, SentencePieceModel& model) {
  const std::string where = source + ": trainer_spec";
  WireReader reader(message, where);
  for (WireField field; reader.next(field);) {
    if (field.number() == trainer_field::kType) {
      const int64_t type = field.integer();
      SIMILE_CHECK(type == 1 || type == 2, ErrorKind::kInput,
                   fmt::format("{}: model_type {} is not supported; expected 1 (unigram) or 2 "
                               "(bpe)",
                               where, type));
      model.type = static_cast<SentencePieceModel::Type>(type);
    }
    if (field.number() == trainer_field::kSpaceAsSuffix) {
      SIMILE_CHECK(!field.flag(), ErrorKind::kInput,
                   fmt::format("{}: treat_whitespace_as_suffix is not supported", where));
    }
    if (field.number() == trainer_field::kByteFallback) model.byte_fallback = field.flag();
    if (field.number() == trainer_field::kUnknownId) {
      model.unknown_id = field.integer();
    }
  }
}

void read_normalizer(std::string_view message, const std::string& source,
                     SentencePieceModel& model) {
  const std::string where = source + ": normalizer_spec";
  WireReader reader(message, where);
  for (WireField field; reader.next(field);) {
    if (field.number() == normalizer_field::kTable) model.character_table = field.bytes();
    if (field.number() == normalizer_field::kDummyPrefix) model.add_dummy_prefix = field.flag();
    if (field.number() == normalizer_field::kExtraSpaces) {
      model.remove_extra_whitespaces = field.flag();
    }
    if (field.number() == normalizer_field::kEscapeSpaces) model.escape_whitespaces = field.flag();
  }
}

}  // namespace

SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& source) {
  SentencePieceModel model;
  WireReader reader(bytes, source);
  for (WireField field; reader.next(field);) {
    if (field.number() == model_field::kPiece) {
      model.pieces.push_back(read_piece(field.bytes(), model.pieces.size(), source));
    }
    if (field.number() == model_field::kTrainer) read_trainer(field.bytes(), source, model);
    if (field.number() == model_field::kNormalizer) read_normalizer(field.bytes(), source, model);
  }
  SIMILE_CHECK(!model.pieces.empty(), ErrorKind::kInput,
               fmt::format("{}: no pieces found; expected a sentencepiece model", source));
  const auto size = static_cast<int64_t>(model.pieces.size());
  SIMILE_CHECK(model.unknown_id >= -1 && model.unknown_id < size, ErrorKind::kInput,
               fmt::format("{}: trainer_spec: unk_id is {}, but there are {} pieces", source,
                           model.unknown_id, size));
  return model;
}

}  // namespace simile
