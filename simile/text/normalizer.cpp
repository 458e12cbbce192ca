// SPDX-License-Identifier: Apache-2.0
#include "simile/text/normalizer.h"

#include <algorithm>
#include <vector>

#include "simile/text/unicode.h"

namespace simile {
namespace {

// A mark since the last starter that survives the stripping of accents. Only spacing marks with a
// combining class do, which is rare; they are put in canonical order.
struct PendingMark {
  char32_t code_point;
  uint8_t combining_class;
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
    std::stable_sort(pending_.begin(), pending_.end(),
                     [](const PendingMark& a, const PendingMark& b) {
                       return a.combining_class < b.combining_class;
                     });
    for (const PendingMark& mark : pending_) write_lower(mark.code_point, mark.origin);
    pending_.clear();
  }

 private:
  void write_stripped(char32_t c, Span origin) {
    if (!settings_.strip_accents) return write_lower(c, origin);
    const std::u32string_view parts = canonical_decomposition(c);
    if (parts.empty()) return write_part(c, origin);
    for (const char32_t part : parts) write_part(part, origin);
  }

  void write_part(char32_t c, Span origin) {
    const uint8_t order = combining_class(c);
    if (order == 0) flush();
    if (character_properties(c) & kNonspacingMark) return;
    if (order == 0) return write_lower(c, origin);
    pending_.push_back({c, order, origin});
  }

  void write_lower(char32_t c, Span origin) {
    const std::u32string_view lower = settings_.lowercase ? lower_case(c) : std::u32string_view();
    if (lower.empty()) return out_.append(c, origin);
    for (const char32_t part : lower) out_.append(part, origin);
  }

  const BertNormalizerSettings& settings_;
  NormalizedText& out_;
  std::vector<PendingMark> pending_;
};

}  // namespace

BertNormalizer::BertNormalizer(const BertNormalizerSettings& settings) : settings_(settings) {
  for (uint32_t c = 0; c < ascii_.size(); ++c) {
    NormalizedText out;
    BertWriter(settings_, out).write(c, {});
    ascii_kept_[c] = !out.text.empty();
    ascii_[c] = out.text.empty() ? ' ' : out.text[0];
  }
}

void BertNormalizer::normalize_ascii(const NormalizedText& in, Span run,
                                     NormalizedText& out) const {
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

void BertNormalizer::normalize(const NormalizedText& in, NormalizedText& out) const {
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

}  // namespace simile
