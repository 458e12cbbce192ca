// SPDX-License-Identifier: Apache-2.0
#include "simile/text/unicode_normalizer.h"

#include <algorithm>
#include <vector>

#include "simile/text/detail/aligned_writer.h"
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
    if (compatible_) return write_parts(c, compatibility_decomposition(c));
    write_parts(c, canonical_decomposition(c));
  }

  void flush() {
    flush_marks();
    emit_composed();
  }

 private:
  void write_parts(char32_t c, std::u32string_view parts) {
    if (parts.empty()) return write_part(c, 0);
    for (size_t i = 0; i < parts.size(); ++i) write_part(parts[i], i == 0 ? 0 : 1);
  }

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

}  // namespace

void UnicodeNormalizer::normalize(const NormalizedText& in, NormalizedText& out) const {
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

}  // namespace simile
