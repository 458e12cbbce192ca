// SPDX-License-Identifier: Apache-2.0
#include "simile/text/tokenizer_components.h"

#include "simile/text/detail/components.h"

namespace simile {

std::vector<std::pair<std::string, std::vector<std::string>>> tokenizer_component_names() {
  return {{"normalizer", detail::normalizer_names()},
          {"pre_tokenizer", detail::pre_tokenizer_names()},
          {"model", detail::model_names()},
          {"post_processor", detail::post_processor_names()},
          {"decoder", detail::decoder_names()}};
}

}  // namespace simile
