// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "simile/text/normalizer.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

// A character on its way, and how many characters more than before it brings (see AlignedWriter).
struct Changed {
  char32_t code_point;
  uint8_t combining_class;
  int change;
};

class FormWriter {
 public:
  FormWriter(UnicodeForm form, const NormalizedText& in, NormalizedText& out)
      : composed_(form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc),
        compatible_(form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd),
        writer_(in, out) {}

  // Characters that no form changes; call flush() before.
  void copy(size_t begin, size_t size) { writer_.copy(begin, size); }

  void write(char32_t c) {
    const std::u32string compatible = compatible_ ? compatibility_decomposition(c) : U"";
    const std::u32string_view parts = compatible_ ? compatible : canonical_decomposition(c);
    if (parts.empty()) return write_part(c, 0);
    for (size_t i = 0; i < parts.size(); ++i) write_part(parts[i], i == 0 ? 0 : 1);
  }

  void flush() {
    flush_marks();
    emit_composed();
  }

 private:
  void write_part(char32_t c, int change) {
    const uint8_t order = combining_class(c);
    if (order != 0) {
      marks_.push_back({c, order, change});
      return;
    }
    flush_marks();
    take({c, 0, change});
  }

  void flush_marks() {
    std::stable_sort(marks_.begin(), marks_.end(), [](const Changed& a, const Changed& b) {
      return a.combining_class < b.combining_class;
    });
    for (const Changed& mark : marks_) take(mark);
    marks_.clear();
  }

  // Characters come here in canonical order.
  void take(const Changed& next) {
    if (!composed_) return writer_.put(next.code_point, next.change);
    if (!has_starter_) {
      if (next.combining_class != 0) return writer_.put(next.code_point, next.change);
      starter_ = next;
      has_starter_ = true;
      return;
    }
    const bool blocked =
        !waiting_.empty() && waiting_.back().combining_class >= next.combining_class;
    const char32_t composed =
        blocked ? 0 : compose_characters(starter_.code_point, next.code_point);
    if (composed != 0) {
      starter_.code_point = composed;
      starter_.change += next.change - 1;
    } else if (next.combining_class == 0) {
      emit_composed();
      starter_ = next;
      has_starter_ = true;
    } else {
      waiting_.push_back(next);
    }
  }

  void emit_composed() {
    if (!has_starter_) return;
    writer_.put(starter_.code_point, starter_.change);
    for (const Changed& mark : waiting_) writer_.put(mark.code_point, mark.change);
    waiting_.clear();
    has_starter_ = false;
  }

  const bool composed_;
  const bool compatible_;
  detail::AlignedWriter writer_;
  std::vector<Changed> marks_;    // since the last starter, in the order of the text
  std::vector<Changed> waiting_;  // marks after starter_ that did not compose with it
  Changed starter_{};
  bool has_starter_ = false;
};

class UnicodeNormalizer : public Normalizer {
 public:
  explicit UnicodeNormalizer(UnicodeForm form) : form_(form) {}
  void normalize(const NormalizedText& in, NormalizedText& out) const override {
    FormWriter writer(form_, in, out);
    const std::string_view text = in.text;
    for (size_t i = 0; i < text.size();) {
      // The last ASCII character may compose with what follows.
      size_t ascii = ascii_prefix(text.substr(i));
      if (ascii > 0 && i + ascii < text.size()) --ascii;
      if (ascii > 0) {
        writer.flush();
        writer.copy(i, ascii);
        i += ascii;
        if (i == text.size()) break;
      }
      const DecodedCharacter character = decode_valid_character(text, i);
      writer.write(character.code_point);
      i += character.size;
    }
    writer.flush();
  }

 private:
  UnicodeForm form_;
};

// A mark since the last starter, waiting to be put in canonical order.
struct PendingMark {
  char32_t code_point;
  uint8_t combining_class;
  bool first;  // of what its character decomposes to
  Span origin;
};

class BertWriter {
 public:
  BertWriter(const BertNormalizerSettings& settings, NormalizedText& out)
      : settings_(settings), out_(out) {}

  void write(char32_t c, Span origin) {
    const uint8_t properties = character_properties(c);
    if (settings_.clean_text) {
      if ((properties & kControl) || c == 0 || c == kReplacementCharacter) return;
      if (properties & kWhiteSpace) c = ' ';
    }
    const bool isolate = settings_.handle_chinese_chars && (properties & kCjkIdeograph);
    if (isolate) write_stripped(' ', origin);
    write_stripped(c, origin);
    if (isolate) write_stripped(' ', origin);
  }

  bool has_pending() const { return !pending_.empty(); }

  void flush() {
    if (pending_.empty()) return;
    if (survives_) write_pending();
    pending_.clear();
    survives_ = false;
  }

 private:
  // Only spacing marks with a combining class survive, which is rare. Like the `tokenizers`
  // library, this assigns origins by place: after sorting, the first mark gets the origin of the
  // first character, and so on.
  void write_pending() {
    std::vector<Span> origins;
    for (const PendingMark& mark : pending_) {
      if (mark.first) origins.push_back(mark.origin);
    }
    std::stable_sort(pending_.begin(), pending_.end(),
                     [](const PendingMark& a, const PendingMark& b) {
                       return a.combining_class < b.combining_class;
                     });
    size_t taken = 0;
    Span origin = starter_origin_;
    for (const PendingMark& mark : pending_) {
      if (mark.first) origin = origins[taken++];
      const bool dropped = (character_properties(mark.code_point) & kNonspacingMark) != 0;
      if (!dropped) write_lower(mark.code_point, origin);
    }
  }

  void write_stripped(char32_t c, Span origin) {
    if (!settings_.strip_accents) return write_lower(c, origin);
    const std::u32string_view parts = canonical_decomposition(c);
    if (parts.empty()) return write_part(c, origin, true);
    for (size_t i = 0; i < parts.size(); ++i) write_part(parts[i], origin, i == 0);
  }

  void write_part(char32_t c, Span origin, bool first) {
    const uint8_t order = combining_class(c);
    const bool dropped = (character_properties(c) & kNonspacingMark) != 0;
    if (order != 0) {
      pending_.push_back({c, order, first, origin});
      survives_ = survives_ || !dropped;
      return;
    }
    flush();
    starter_origin_ = origin;
    if (!dropped) write_lower(c, origin);
  }

  void write_lower(char32_t c, Span origin) {
    const std::u32string_view lower = settings_.lowercase ? lower_case(c) : std::u32string_view();
    if (lower.empty()) return out_.append(c, origin);
    for (const char32_t part : lower) out_.append(part, origin);
  }

  const BertNormalizerSettings& settings_;
  NormalizedText& out_;
  std::vector<PendingMark> pending_;
  bool survives_ = false;  // whether one of them is kept
  Span starter_origin_;
};

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const BertNormalizerSettings& settings) : settings_(settings) {
    for (uint32_t c = 0; c < ascii_.size(); ++c) {
      NormalizedText out;
      BertWriter(settings_, out).write(c, {});
      ascii_kept_[c] = !out.text.empty();
      ascii_[c] = out.text.empty() ? ' ' : out.text[0];
    }
  }

  void normalize(const NormalizedText& in, NormalizedText& out) const override {
    out.clear(in.tracked);
    out.text.reserve(in.text.size() + 16);
    BertWriter writer(settings_, out);
    const std::string_view text = in.text;
    for (size_t i = 0; i < text.size();) {
      const size_t ascii = writer.has_pending() ? 0 : ascii_prefix(text.substr(i));
      if (ascii > 0) {
        normalize_ascii(in, {static_cast<uint32_t>(i), static_cast<uint32_t>(i + ascii)}, out);
        i += ascii;
        continue;
      }
      const DecodedCharacter character = decode_valid_character(text, i);
      writer.write(character.code_point, in.tracked ? in.origins[i] : Span());
      i += character.size;
    }
    writer.flush();
  }

 private:
  void normalize_ascii(const NormalizedText& in, Span run, NormalizedText& out) const {
    size_t size = out.text.size();
    out.text.resize(size + (run.end - run.begin));
    if (in.tracked) out.origins.resize(out.text.size());
    for (uint32_t i = run.begin; i < run.end; ++i) {
      const auto c = static_cast<uint8_t>(in.text[i]);
      out.text[size] = ascii_[c];
      if (in.tracked) out.origins[size] = in.origins[i];
      size += ascii_kept_[c];
    }
    out.text.resize(size);
    if (in.tracked) out.origins.resize(size);
  }

  BertNormalizerSettings settings_;
  std::array<char, 128> ascii_{};          // what each ASCII character becomes
  std::array<uint8_t, 128> ascii_kept_{};  // 0 for those dropped
};

}  // namespace

std::unique_ptr<const Normalizer> make_unicode_normalizer(UnicodeForm form) {
  return std::make_unique<UnicodeNormalizer>(form);
}

std::unique_ptr<const Normalizer> make_bert_normalizer(const BertNormalizerSettings& settings) {
  return std::make_unique<BertNormalizer>(settings);
}

}  // namespace simile
