// SPDX-License-Identifier: Apache-2.0
#include "simile/text/normalizer.h"

#include "simile/core/check.h"
#include "simile/text/detail/components.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/unicode.h"

namespace simile {

int64_t NormalizedText::assign(std::string_view source, uint32_t offset, bool track) {
  clear(track);
  if (!track && is_valid_utf8(source)) {
    text.assign(source);
    return 0;
  }
  int64_t replaced = 0;
  text.reserve(source.size());
  if (track) origins.reserve(source.size());
  for (size_t i = 0; i < source.size();) {
    const size_t ascii = ascii_prefix(source.substr(i));
    if (ascii > 0) {
      text.append(source.substr(i, ascii));
      const size_t size = origins.size();
      if (track) origins.resize(size + ascii);
      for (size_t k = 0; track && k < ascii; ++k) {
        const auto begin = static_cast<uint32_t>(offset + i + k);
        origins[size + k] = {begin, begin + 1};
      }
      i += ascii;
      continue;
    }
    const DecodedCharacter character = decode_character(source, i);
    const auto begin = static_cast<uint32_t>(offset + i);
    replaced += !character.valid;
    append(character.code_point, {begin, begin + character.size});
    i += character.size;
  }
  return replaced;
}

void NormalizedText::clear(bool track) {
  text.clear();
  origins.clear();
  tracked = track;
}

void NormalizedText::append(char32_t code_point, Span origin) {
  append_utf8(code_point, text);
  if (tracked) origins.resize(text.size(), origin);
}

void NormalizedText::append(std::string_view bytes, const Span* byte_origins) {
  text.append(bytes);
  if (tracked) origins.insert(origins.end(), byte_origins, byte_origins + bytes.size());
}

void check_text_size(size_t bytes) {
  constexpr size_t kMost = size_t{1} << 30;
  SIMILE_CHECK(bytes <= kMost, ErrorKind::kInput,
               "the tokenizer makes {} bytes of a text, more than {}; cut the text into pieces",
               bytes, kMost);
}

}  // namespace simile

namespace simile::detail {
namespace {

using NormalizerPointer = std::unique_ptr<const Normalizer>;

bool nmt_drops(char32_t c) {
  return (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F ||
         c == 0x9F;
}

bool nmt_makes_space(char32_t c) {
  return c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
         (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
         c == 0xFFFD;
}

// Full lower case without regard to context.
class Lowercase : public Normalizer {
 public:
  void normalize(const NormalizedText& in, NormalizedText& out) const override {
    AlignedWriter writer(in, out);
    for (size_t i = 0; i < in.text.size();) {
      const size_t ascii = ascii_prefix(std::string_view(in.text).substr(i));
      if (ascii > 0) {
        const size_t begin = out.text.size();
        writer.copy(i, ascii);
        for (size_t k = begin; k < out.text.size(); ++k) {
          const auto c = static_cast<uint8_t>(out.text[k]);
          if (c >= 'A' && c <= 'Z') out.text[k] = static_cast<char>(c | 0x20);
        }
        i += ascii;
        continue;
      }
      const DecodedCharacter character = decode_valid_character(in.text, i);
      const std::u32string_view lower = lower_case(character.code_point);
      if (lower.empty()) {
        writer.copy(i, character.size);
      } else {
        for (size_t k = 0; k < lower.size(); ++k) writer.put(lower[k], k == 0 ? 0 : 1);
      }
      i += character.size;
    }
  }
};

// Drops combining marks (category M). Decomposes nothing: put NFD before it.
class StripAccents : public Normalizer {
 public:
  void normalize(const NormalizedText& in, NormalizedText& out) const override {
    AlignedWriter writer(in, out);
    size_t begin = 0;  // of the run not yet written
    for (size_t i = 0; i < in.text.size();) {
      const DecodedCharacter character = decode_valid_character(in.text, i);
      if (character.code_point >= 0x80 && is_combining_mark(character.code_point)) {
        writer.copy(begin, i - begin);
        begin = i + character.size;
      }
      i += character.size;
    }
    writer.copy(begin, in.text.size() - begin);
  }
};

// Drops control characters; white space and some invisible characters become ' '.
class Nmt : public Normalizer {
 public:
  void normalize(const NormalizedText& in, NormalizedText& out) const override {
    AlignedWriter writer(in, out);
    for (size_t i = 0; i < in.text.size();) {
      const DecodedCharacter character = decode_valid_character(in.text, i);
      if (nmt_drops(character.code_point)) {
        writer.skip(1);
      } else if (nmt_makes_space(character.code_point)) {
        writer.put(' ', 0);
      } else {
        writer.copy(i, character.size);
      }
      i += character.size;
    }
  }
};

// Drops white space at the beginning (left) and at the end (right).
class Strip : public Normalizer {
 public:
  explicit Strip(const JsonObject& json)
      : left_(json.flag_or("strip_left", true)), right_(json.flag_or("strip_right", true)) {}
  void normalize(const NormalizedText& in, NormalizedText& out) const override {
    size_t begin = 0;
    size_t end = 0;  // of the last character that is not white space
    bool seen = false;
    for (size_t i = 0; i < in.text.size();) {
      const DecodedCharacter character = decode_valid_character(in.text, i);
      if (!(character_properties(character.code_point) & kWhiteSpace)) {
        if (!seen) begin = i;
        seen = true;
        end = i + character.size;
      }
      i += character.size;
    }
    if (!seen) begin = end = (left_ || right_) ? in.text.size() : 0;
    if (!left_ && seen) begin = 0;
    if (!right_) end = in.text.size();
    AlignedWriter(in, out).copy(begin, end - begin);
  }

 private:
  bool left_, right_;
};

// Puts `prefix_` before a text that is not empty.
class Prepend : public Normalizer {
 public:
  explicit Prepend(const JsonObject& json) : prefix_(json.text("prepend")) {}
  void normalize(const NormalizedText& in, NormalizedText& out) const override {
    AlignedWriter writer(in, out);
    if (in.text.empty()) return;
    const std::vector<Span> origins(in.tracked ? prefix_.size() : 0,
                                    in.tracked ? in.origins.front() : Span());
    out.append(prefix_, origins.data());
    writer.copy(0, in.text.size());
  }

 private:
  std::string prefix_;
};

// Each match of a pattern becomes a fixed text, whose origin is the last character of the match, as
// in the `tokenizers` library.
class Replace : public Normalizer {
 public:
  explicit Replace(const JsonObject& json)
      : pattern_(read_pattern(json)), content_(json.text("content")) {}
  void normalize(const NormalizedText& in, NormalizedText& out) const override {
    thread_local std::vector<Span> matches;
    thread_local std::vector<Span> content_origins;
    matches.clear();
    const std::string_view text = in.text;
    check_text_size(text.size());
    pattern_.find(text, matches);
    check_text_size(text.size() + matches.size() * content_.size());
    out.clear(in.tracked);
    out.text.reserve(text.size() + 16);
    uint32_t done = 0;
    for (const Span match : matches) {
      out.append(text.substr(done, match.begin - done),
                 in.tracked ? in.origins.data() + done : nullptr);
      if (in.tracked) {
        const uint32_t start = in.origins.empty() ? 0 : in.origins.front().begin;
        const Span origin = match.end > 0 ? in.origins[match.end - 1] : Span{start, start};
        content_origins.assign(content_.size(), origin);
      }
      out.append(content_, content_origins.data());
      done = match.end;
    }
    out.append(text.substr(done), in.tracked ? in.origins.data() + done : nullptr);
  }

 private:
  TextPattern pattern_;
  std::string content_;
};

// One after the other.
class Sequence : public Normalizer {
 public:
  explicit Sequence(const JsonObject& json) : steps_(read_steps<Normalizer>(json, "normalizers")) {}
  void normalize(const NormalizedText& in, NormalizedText& out) const override {
    if (steps_.empty()) {
      out = in;
      return;
    }
    thread_local NormalizedText spare;
    NormalizedText between;
    std::swap(between, spare);  // sequences may stand in sequences
    NormalizedText* from = &between;
    NormalizedText* to = &out;
    if (steps_.size() % 2 == 0) std::swap(from, to);
    steps_.front()->normalize(in, *to);
    for (size_t i = 1; i < steps_.size(); ++i) {
      std::swap(from, to);
      check_text_size(from->text.size());
      steps_[i]->normalize(*from, *to);
    }
    if (between.text.capacity() < (size_t{1} << 20)) std::swap(between, spare);
  }

 private:
  std::vector<NormalizerPointer> steps_;
};

// "ByteLevel": the whole text in byte-level characters.
class ByteLevelNormalizer : public Normalizer {
 public:
  void normalize(const NormalizedText& in, NormalizedText& out) const override {
    out = in;
    std::vector<Span> whole = {{0, static_cast<uint32_t>(in.text.size())}};
    map_bytes(out, whole);
  }
};

NormalizerPointer read_bert(const JsonObject& json) {
  BertNormalizerSettings settings;
  settings.clean_text = json.flag_or("clean_text", true);
  settings.handle_chinese_chars = json.flag_or("handle_chinese_chars", true);
  settings.lowercase = json.flag_or("lowercase", true);
  settings.strip_accents = json.flag_or("strip_accents", settings.lowercase);
  return make_bert_normalizer(settings);
}

NormalizerPointer read_precompiled(const JsonObject& json) {
  const std::string where = json.source() + ": precompiled_charsmap";
  const Json& map = json.at("precompiled_charsmap");
  SIMILE_CHECK(map.is_string(), ErrorKind::kInput, "{} must be base64 text, but it is {}", where,
               describe_json(map));
  return make_precompiled_normalizer(decode_base64(map.get_ref<const std::string&>(), where),
                                     where);
}

template <UnicodeForm form>
NormalizerPointer make_form(const JsonObject&) {
  return make_unicode_normalizer(form);
}

template <typename Part>
constexpr auto make = make_part<Normalizer, Part>;

}  // namespace

template <>
const ComponentTable<Normalizer>& component_table() {
  static const ComponentTable<Normalizer> table = {
      {"BertNormalizer",
       {"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"},
       read_bert},
      {"Precompiled", {"precompiled_charsmap"}, read_precompiled},
      {"NFC", {}, make_form<UnicodeForm::kNfc>},
      {"NFD", {}, make_form<UnicodeForm::kNfd>},
      {"NFKC", {}, make_form<UnicodeForm::kNfkc>},
      {"NFKD", {}, make_form<UnicodeForm::kNfkd>},
      {"Lowercase", {}, make<Lowercase>},
      {"StripAccents", {}, make<StripAccents>},
      {"Nmt", {}, make<Nmt>},
      // May name options that matter to the pre-tokenizer alone.
      {"ByteLevel", {"add_prefix_space", "trim_offsets", "use_regex"}, make<ByteLevelNormalizer>},
      {"Strip", {"strip_left", "strip_right"}, make<Strip>},
      {"Prepend", {"prepend"}, make<Prepend>},
      {"Replace", {"pattern", "content"}, make<Replace>},
      {"Sequence", {"normalizers"}, make<Sequence>},
  };
  return table;
}

NormalizerPointer make_normalizer(const Json& json, const std::string& source) {
  return json.is_null() ? nullptr : make_component<Normalizer>(json, source + ": normalizer");
}

}  // namespace simile::detail
