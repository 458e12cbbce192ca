// SPDX-License-Identifier: Apache-2.0
#include "simile/text/normalizer.h"

#include <algorithm>

#include "simile/text/byte_level.h"
#include "simile/text/detail/components.h"
#include "simile/text/precompiled.h"
#include "simile/text/unicode.h"
#include "simile/text/unicode_normalizer.h"

namespace simile::detail {
namespace {

std::unique_ptr<const Normalizer> make_normalizer_at(const Json& json, const std::string& where);

// Copies the characters for which `keep` holds.
template <typename Keep>
void filter(const NormalizedText& in, NormalizedText& out, const Keep& keep) {
  AlignedWriter writer(in, out);
  size_t begin = 0;  // of the run not yet written
  for (size_t i = 0; i < in.text.size();) {
    const DecodedCharacter character = decode_valid_character(in.text, i);
    if (!keep(character.code_point)) {
      writer.copy(begin, i - begin);
      begin = i + character.size;
    }
    i += character.size;
  }
  writer.copy(begin, in.text.size() - begin);
}

bool is_white_space(char32_t c) { return (character_properties(c) & kWhiteSpace) != 0; }

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
    filter(in, out, [](char32_t c) { return c < 0x80 || !is_combining_mark(c); });
  }
};

// Drops control characters; white space and some invisible characters become ' '.
class Nmt : public Normalizer {
 public:
  void normalize(const NormalizedText& in, NormalizedText& out) const override {
    NormalizedText kept;
    filter(in, kept, [](char32_t c) { return !nmt_drops(c); });
    AlignedWriter writer(kept, out);
    for (size_t i = 0; i < kept.text.size();) {
      const DecodedCharacter character = decode_valid_character(kept.text, i);
      if (nmt_makes_space(character.code_point)) {
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
  Strip(const Json& json, const std::string& where) {
    check_options(json, {"strip_left", "strip_right"}, where);
    left_ = JsonObject(json, where).flag_or("strip_left", true);
    right_ = JsonObject(json, where).flag_or("strip_right", true);
  }
  void normalize(const NormalizedText& in, NormalizedText& out) const override {
    size_t begin = 0;
    size_t end = 0;  // of the last character that is not white space
    bool seen = false;
    for (size_t i = 0; i < in.text.size();) {
      const DecodedCharacter character = decode_valid_character(in.text, i);
      if (!is_white_space(character.code_point)) {
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
  Prepend(const Json& json, const std::string& where) {
    check_options(json, {"prepend"}, where);
    prefix_ = JsonObject(json, where).text("prepend");
  }
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

// Each match of a pattern becomes a fixed text, all of which stands for the last character of the
// match, as in the `tokenizers` library.
class Replace : public Normalizer {
 public:
  Replace(const Json& json, const std::string& where)
      : pattern_(read_pattern(JsonObject(json, where).at("pattern"), where)),
        content_(JsonObject(json, where).text("content")) {
    check_options(json, {"pattern", "content"}, where);
  }
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
  Sequence(const Json& json, const std::string& where)
      : steps_(read_steps<Normalizer>(json, "normalizers", where, make_normalizer_at)) {
    check_options(json, {"normalizers"}, where);
  }
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
  std::vector<std::unique_ptr<const Normalizer>> steps_;
};

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

template <UnicodeForm form>
std::unique_ptr<const Normalizer> read_unicode_form(const Json& json, const std::string& where) {
  check_options(json, {}, where);
  return std::make_unique<UnicodeNormalizer>(form);
}

// "ByteLevel" may name options that matter to the pre-tokeniser alone.
std::unique_ptr<const Normalizer> read_byte_level(const Json& json, const std::string& where) {
  check_options(json, {"add_prefix_space", "trim_offsets", "use_regex"}, where);
  return std::make_unique<ByteLevelNormalizer>();
}

std::unique_ptr<const Normalizer> read_precompiled(const Json& json, const std::string& where) {
  check_options(json, {"precompiled_charsmap"}, where);
  const std::string map_where = where + ": precompiled_charsmap";
  const Json& map = JsonObject(json, where).at("precompiled_charsmap");
  SIMILE_CHECK(map.is_string(), ErrorKind::kInput,
               fmt::format("{} must be base64 text, but it is {}", map_where, describe_json(map)));
  return std::make_unique<PrecompiledNormalizer>(
      decode_base64(map.get_ref<const std::string&>(), map_where), map_where);
}

template <typename Step>
std::unique_ptr<const Normalizer> read(const Json& json, const std::string& where) {
  return std::make_unique<Step>(json, where);
}

using Maker = std::unique_ptr<const Normalizer> (*)(const Json&, const std::string&);

const ComponentTable<Maker> kNormalizers = {
    {"BertNormalizer", read_bert_normalizer},
    {"Precompiled", read_precompiled},
    {"NFC", read_unicode_form<UnicodeForm::kNfc>},
    {"NFD", read_unicode_form<UnicodeForm::kNfd>},
    {"NFKC", read_unicode_form<UnicodeForm::kNfkc>},
    {"NFKD", read_unicode_form<UnicodeForm::kNfkd>},
    {"Lowercase", read_plain<Normalizer, Lowercase>},
    {"StripAccents", read_plain<Normalizer, StripAccents>},
    {"Nmt", read_plain<Normalizer, Nmt>},
    {"ByteLevel", read_byte_level},
    {"Strip", read<Strip>},
    {"Prepend", read<Prepend>},
    {"Replace", read<Replace>},
    {"Sequence", read<Sequence>},
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
