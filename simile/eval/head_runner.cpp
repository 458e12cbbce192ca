// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/head_runner.h"

#include "simile/encode/predictor.h"

namespace simile {
EmbeddingScorer::RunHead head_runner(std::shared_ptr<const SentenceEncoder> encoder,
                                     std::vector<Head> heads, const EncodeOptions& options,
                                     EventSink& events) {
  if (heads.empty()) return nullptr;
  return [encoder = std::move(encoder), heads = std::move(heads), options, &events](
             const std::string& name, const std::vector<std::string>& left,
             const std::vector<std::string>& right) {
    std::vector<HeadSettings> settings;
    for (const Head& head : heads) settings.push_back(head.settings());
    const Head& head = heads[find_head(settings, name)];
    return HeadOutput{head.settings().output, head.settings().class_names,
                      Predictor(*encoder, head).predict(left, right, options, events)};
  };
}

}  // namespace simile
