// SPDX-License-Identifier: Apache-2.0
// Tokens back to text, as the "decoder" of a tokenizer.json says.
#pragma once

#include <string>
#include <vector>

namespace simile {

// One step: the tokens of a text become others, which are the text once they are joined.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Errors (kInput): a decoder that is not known, or not as expected; a text of more than 1 GiB.
  virtual void decode(std::vector<std::string>& tokens) const = 0;
};

}  // namespace simile
