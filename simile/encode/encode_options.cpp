// SPDX-License-Identifier: Apache-2.0
#include "simile/core/options.h"
#include "simile/encode/sentence_encoder.h"

namespace simile {

void EncodeOptions::visit_texts(OptionVisitor& v) {
  v.field("batch_tokens", batch_tokens,
          {"encoded at a time; a longer text makes its own batch", "tokens", 1, 1 << 30});
  v.field("prompt", prompt_name,
          OptionInfo{
              "name of the model's prompt to put before texts; document is the first there is of "
              "document, passage and corpus. Empty: of a search's queries the prompt query, of its "
              "documents the prompt document, else the model's default prompt, if any"}
              .named("--prompt,--prompt-name"));
}

void EncodeOptions::visit(OptionVisitor& v) {
  visit_texts(v);
  v.field("dimensions", dimensions,
          {"leading dimensions to keep; 0 keeps what the model says", "", 0, 1 << 20});
}

}  // namespace simile
