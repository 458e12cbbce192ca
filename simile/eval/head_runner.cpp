// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/head_runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simile/core/error.h"
#include "simile/encode/predictor.h"

namespace simile {
namespace {

const Head& choose_head(const std::vector<Head>& heads, const std::string& name) {
  std::vector<std::string> names;
  for (const Head& head : heads) {
    names.push_back(head.settings().name);
    if (names.back() == name) return head;
  }
  SIMILE_CHECK(name.empty() && heads.size() == 1, ErrorKind::kUsage,
               name.empty() ? fmt::format("the model has the heads [{}]; say which one with `head`",
                                          fmt::join(names, ", "))
                            : fmt::format("the model has no head '{}', its heads are [{}]", name,
                                          fmt::join(names, ", ")));
  return heads[0];
}

}  // namespace

EmbeddingScorer::RunHead head_runner(std::shared_ptr<const SentenceEncoder> encoder,
                                     std::vector<Head> heads, const EncodeOptions& options,
                                     EventSink& events) {
  if (heads.empty()) return nullptr;
  return [encoder = std::move(encoder), heads = std::move(heads), options, &events](
             const std::string& name, const std::vector<std::string>& left,
             const std::vector<std::string>& right) {
    const Head& head = choose_head(heads, name);
    return HeadOutput{head.settings().output, head.settings().class_names,
                      Predictor(*encoder, head).predict(left, right, options, events)};
  };
}

}  // namespace simile
