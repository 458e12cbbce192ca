// SPDX-License-Identifier: Apache-2.0
#include "simile/model/model_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "simile/core/detail/json.h"

namespace simile {
namespace {

constexpr const char* kOwnKeys[] = {"library_name", "pipeline_tag", "tags", "base_model"};
constexpr const char* kFence = "---";

// Text that YAML and Markdown read as it is.
std::string quote(const std::string& text) { return detail::dump_json(text, -1); }

std::string prompts_text(const ModelSettings& settings) {
  std::string text;
  for (const auto& [name, prompt] : settings.prompts) {
    if (prompt.empty()) continue;
    const char* mark = name == settings.default_prompt ? " (default)" : "";
    text += fmt::format("{}{}{}: {}", text.empty() ? "" : "; ", name, mark, quote(prompt));
  }
  return text.empty() ? "none" : text;
}

std::string modules_text(const ModelSettings& settings) {
  std::string text = pooling_name(settings.pooling);
  for (const ModuleSettings& module : settings.modules) {
    text += fmt::format(", {}", module_kind_name(module.kind));
    if (module.kind == ModuleKind::kDense) {
      text += fmt::format(" to {} ({})", module.outputs, module.activation);
    }
  }
  return text + (settings.normalize ? ", Normalize" : "");
}

std::string facts(const ModelSettings& settings, TensorType type) {
  const int64_t kept = settings.dimensions > 0 ? settings.dimensions : settings.embedding_size();
  const EncoderConfig& config = settings.encoder;
  const bool unlimited =
      config.variant.averaged && settings.max_length == config.shape().longest_sequence();
  return fmt::format(
      "| | |\n| --- | --- |\n| encoder | {} |\n| dimensions | {} |\n| longest text | {} |\n"
      "| pooling | {} |\n| similarity | {} |\n| prompts | {} |\n| weights | {} |\n",
      config.variant.averaged
          ? fmt::format("static, a vector for each of {} tokens", config.vocabulary)
          : fmt::format("{}, {} layers", config.model_type, config.layers),
      kept, unlimited ? "no limit" : fmt::format("{} tokens", settings.max_length),
      modules_text(settings), settings.similarity, prompts_text(settings), tensor_type_name(type));
}

std::string usage(TensorType type) {
  std::string text =
      "\n## Use\n\n```\nsimile encode --model FOLDER --input texts.txt --output "
      "vectors.npy\nsimile "
      "similarity --model FOLDER \"one text\" \"another\"\n```\n\n";
  if (type == TensorType::kI8) {
    return text +
           "Its matrices are stored as bytes with one scale a row, which Simile alone reads; "
           "`simile convert --precision fp32` makes a model for other programs.\n";
  }
  return text +
         "```python\nfrom sentence_transformers import SentenceTransformer\n\nmodel = "
         "SentenceTransformer(\"FOLDER\")\nvectors = model.encode([\"one text\", "
         "\"another\"])\n```\n";
}

bool is_own_key(const std::string& line) {
  return std::any_of(std::begin(kOwnKeys), std::end(kOwnKeys), [&](const std::string& key) {
    return line.compare(0, key.size() + 1, key + ":") == 0;
  });
}

}  // namespace

std::string make_model_card(const ModelCard& card, const ModelSettings& settings, TensorType type) {
  std::string text = "---\n";
  if (type != TensorType::kI8) text += "library_name: sentence-transformers\n";
  text += "pipeline_tag: sentence-similarity\ntags:\n";
  if (type != TensorType::kI8) text += "- sentence-transformers\n";
  text += "- sentence-similarity\n- feature-extraction\n- simile\n";
  if (!card.base_model.empty()) text += fmt::format("base_model: {}\n", quote(card.base_model));
  text += fmt::format("{}---\n# {}\n\n{}\n\n", card.front_matter, card.title, card.introduction);
  text += facts(settings, type) + usage(type);
  return card.body.empty() ? text : text + "\n" + card.body;
}

CardParts split_model_card(const std::string& card) {
  CardParts parts;
  std::istringstream in(card);
  std::string line;
  if (!std::getline(in, line) || line != kFence) return {"", card};
  bool is_own = false, is_closed = false;
  while (!is_closed && std::getline(in, line)) {
    is_closed = line == kFence;
    const bool starts_key = !line.empty() && line[0] != ' ' && line[0] != '-' && line[0] != '#';
    if (starts_key) is_own = is_own_key(line);
    if (!is_own && !is_closed) parts.front_matter += line + "\n";
  }
  if (!is_closed) return {"", card};
  const auto behind = in.tellg();
  if (behind >= 0) parts.body = card.substr(static_cast<size_t>(behind));
  return parts;
}

}  // namespace simile
