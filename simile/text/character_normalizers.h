// SPDX-License-Identifier: Apache-2.0
// Normalisers that look at one character at a time, as the `tokenizers` library does them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simile/text/normalizer.h"

namespace simile {

// "Lowercase": full lower case without regard to context.
class LowercaseNormalizer : public Normalizer {
 public:
  void normalize(const NormalizedText& in, NormalizedText& out) const override;
};

// "StripAccents": drops combining marks (category M). Decomposes nothing: put NFD before it.
class StripAccentsNormalizer : public Normalizer {
 public:
  void normalize(const NormalizedText& in, NormalizedText& out) const override;
};

// "Strip": drops white space at the beginning (left) and at the end (right).
class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  void normalize(const NormalizedText& in, NormalizedText& out) const override;

 private:
  bool left_;
  bool right_;
};

// "Nmt": drops control characters; white space and some invisible characters become ' '.
class NmtNormalizer : public Normalizer {
 public:
  void normalize(const NormalizedText& in, NormalizedText& out) const override;
};

// "Prepend": puts `prefix` (valid UTF-8) before a text that is not empty.
class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}
  void normalize(const NormalizedText& in, NormalizedText& out) const override;

 private:
  std::string prefix_;
};

// "Sequence": one after the other.
class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<const Normalizer>> steps)
      : steps_(std::move(steps)) {}
  void normalize(const NormalizedText& in, NormalizedText& out) const override;

 private:
  std::vector<std::unique_ptr<const Normalizer>> steps_;
};

}  // namespace simile
