// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <tuple>
#include <unordered_map>

#include "simile/core/check.h"
#include "simile/text/sentencepiece.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

// One field of a protocol-buffer message (https://protobuf.dev/programming-guides/encoding), read
// without a schema. Nothing is copied. Errors (kInput): the field was written as something else.
struct WireField {
  enum class Kind : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  const std::string& where;  // of the message, in errors
  uint32_t number = 0;
  Kind kind = Kind::kVarint;
  uint64_t value = 0;
  std::string_view content;

  void expect(Kind wanted, const char* expected) const {
    SIMILE_CHECK(kind == wanted, ErrorKind::kInput,
                 "{}: field {} must be {}, but it has wire type {}", where, number, expected,
                 static_cast<int>(kind));
  }
  int64_t integer() const {
    expect(Kind::kVarint, "a whole number");
    return static_cast<int64_t>(value);
  }
  bool flag() const {
    expect(Kind::kVarint, "true or false");
    return value != 0;
  }
  float real() const {
    expect(Kind::kFixed32, "a number of four bytes");
    const auto bits = static_cast<uint32_t>(value);
    float number;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }
  std::string_view bytes() const {
    expect(Kind::kBytes, "a text or message");
    return content;
  }
};

// Takes the fields off a message; every length is checked against what is left.
class WireReader {
 public:
  WireReader(std::string_view message, const std::string& where)
      : rest_(message), size_(message.size()), where_(where) {}

  // Calls take(field) for each. Errors (kInput): bytes that are no field, or cut short.
  template <typename Take>
  void read(const Take& take_field) {
    while (!rest_.empty()) {
      const uint64_t key = read_varint();
      const uint64_t number = key >> 3;
      if (number == 0 || number > std::numeric_limits<int32_t>::max()) fail("not a field number");
      WireField field{
          where_, static_cast<uint32_t>(number), static_cast<WireField::Kind>(key & 7), 0, {}};
      switch (field.kind) {
        case WireField::Kind::kVarint:
          field.value = read_varint();
          break;
        case WireField::Kind::kFixed64:
        case WireField::Kind::kFixed32: {
          const std::string_view bytes = take(field.kind == WireField::Kind::kFixed64 ? 8 : 4);
          for (size_t i = bytes.size(); i-- > 0;) {
            field.value = field.value << 8 | static_cast<uint8_t>(bytes[i]);
          }
          break;
        }
        case WireField::Kind::kBytes:
          field.content = take(read_varint());
          break;
        default:
          fail("not a wire type");
      }
      take_field(field);
    }
  }

 private:
  [[noreturn]] void fail(const char* problem) const {
    throw_error(ErrorKind::kInput,
                "{}: byte {} of the message: {}; the file is damaged or of another kind", where_,
                size_ - rest_.size(), problem);
  }

  uint64_t read_varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) fail("the file ends inside a number");
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail("a number is longer than ten bytes");
  }

  std::string_view take(uint64_t size) {
    if (size > rest_.size()) fail("a field is longer than what is left");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  size_t size_;
  const std::string& where_;
};

// Far beyond what trainers make; it bounds the work of looking for merges.
constexpr size_t kMaxPieceBytes = 256;

// Field numbers of sentencepiece_model.proto.
enum ModelField : uint32_t { kPiece = 1, kTrainer = 2, kNormalizer = 3 };
enum PieceField : uint32_t { kText = 1, kScore = 2, kKind = 3 };
enum TrainerField : uint32_t {
  kType = 3,
  kSpaceAsSuffix = 24,
  kByteFallback = 35,
  kUnknownId = 40
};
enum NormalizerField : uint32_t {
  kTable = 2,
  kDummyPrefix = 3,
  kExtraSpaces = 4,
  kEscapeSpaces = 5
};

SentencePiece read_piece(std::string_view message, size_t number, const std::string& source) {
  const std::string where = fmt::format("{}: piece {}", source, number);
  SentencePiece piece;
  WireReader(message, where).read([&](const WireField& field) {
    if (field.number == kText) piece.text = field.bytes();
    if (field.number == kScore) piece.score = field.real();
    if (field.number == kKind) {
      const int64_t kind = field.integer();
      SIMILE_CHECK(kind >= 1 && kind <= 6, ErrorKind::kInput,
                   "{}: type {} is not known; expected 1 to 6", where, kind);
      piece.kind = static_cast<SentencePiece::Kind>(kind);
    }
  });
  SIMILE_CHECK(piece.text.size() <= kMaxPieceBytes, ErrorKind::kInput,
               "{}: the text has {} bytes; at most {} are supported", where, piece.text.size(),
               kMaxPieceBytes);
  SIMILE_CHECK(is_valid_utf8(piece.text), ErrorKind::kInput, "{}: the text is not valid UTF-8",
               where);
  SIMILE_CHECK(std::isfinite(piece.score), ErrorKind::kInput,
               "{} (\"{}\"): the score is not finite", where, piece.text);
  return piece;
}

void read_trainer(std::string_view message, const std::string& source, SentencePieceModel& model) {
  const std::string where = source + ": trainer_spec";
  WireReader(message, where).read([&](const WireField& field) {
    if (field.number == kType) {
      const int64_t type = field.integer();
      SIMILE_CHECK(type == 1 || type == 2, ErrorKind::kInput,
                   "{}: model_type {} is not supported; expected 1 (unigram) or 2 (bpe)", where,
                   type);
      model.type = static_cast<SentencePieceModel::Type>(type);
    }
    if (field.number == kSpaceAsSuffix) {
      SIMILE_CHECK(!field.flag(), ErrorKind::kInput,
                   "{}: treat_whitespace_as_suffix is not supported", where);
    }
    if (field.number == kByteFallback) model.byte_fallback = field.flag();
    if (field.number == kUnknownId) model.unknown_id = field.integer();
  });
}

void read_normalizer(std::string_view message, const std::string& source,
                     SentencePieceModel& model) {
  const std::string where = source + ": normalizer_spec";
  WireReader(message, where).read([&](const WireField& field) {
    if (field.number == kTable) model.character_table = field.bytes();
    if (field.number == kDummyPrefix) model.add_dummy_prefix = field.flag();
    if (field.number == kExtraSpaces) model.remove_extra_whitespaces = field.flag();
    if (field.number == kEscapeSpaces) model.escape_whitespaces = field.flag();
  });
}

struct Merge {
  std::string_view left, right;
  size_t left_id, right_id;
  float score;
  int64_t left_size, right_size;  // characters
};

}  // namespace

SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& source) {
  SentencePieceModel model;
  WireReader(bytes, source).read([&](const WireField& field) {
    if (field.number == kPiece) {
      model.pieces.push_back(read_piece(field.bytes(), model.pieces.size(), source));
    }
    if (field.number == kTrainer) read_trainer(field.bytes(), source, model);
    if (field.number == kNormalizer) read_normalizer(field.bytes(), source, model);
  });
  SIMILE_CHECK(!model.pieces.empty(), ErrorKind::kInput,
               "{}: no pieces found; expected a sentencepiece model", source);
  const auto size = static_cast<int64_t>(model.pieces.size());
  SIMILE_CHECK(model.unknown_id >= -1 && model.unknown_id < size, ErrorKind::kInput,
               "{}: trainer_spec: unk_id is {}, but there are {} pieces", source, model.unknown_id,
               size);
  return model;
}

std::vector<std::pair<std::string_view, std::string_view>> list_sentencepiece_merges(
    const SentencePieceModel& model) {
  std::unordered_map<std::string_view, size_t> ids;
  for (size_t id = 0; id < model.pieces.size(); ++id) ids[model.pieces[id].text] = id;
  std::vector<Merge> merges;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const SentencePiece& piece = model.pieces[id];
    const std::string_view text = piece.text;
    if (ids[text] != id) continue;  // given again later: refused with the vocabulary
    const size_t first = merges.size();
    const auto characters = static_cast<int64_t>(count_characters(text));
    int64_t left_size = 0;
    for (size_t cut = 0; cut < text.size(); ++left_size) {
      const size_t next = cut + decode_valid_character(text, cut).size;
      if (cut > 0) {
        const auto left = ids.find(text.substr(0, cut));
        const auto right = ids.find(text.substr(cut));
        if (left != ids.end() && right != ids.end()) {
          merges.push_back({text.substr(0, cut), text.substr(cut), left->second, right->second,
                            piece.score, left_size, characters - left_size});
        }
      }
      cut = next;
    }
    std::sort(merges.begin() + first, merges.end(), [](const Merge& a, const Merge& b) {
      return std::tie(a.left_id, a.right_id) < std::tie(b.left_id, b.right_id);
    });
  }
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    return std::tie(a.score, a.left_size, a.right_size) >
           std::tie(b.score, b.left_size, b.right_size);
  });
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  for (const Merge& merge : merges) pairs.emplace_back(merge.left, merge.right);
  return pairs;
}

}  // namespace simile
