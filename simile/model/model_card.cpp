// SPDX-License-Identifier: Apache-2.0
#include "simile/model/model_card.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/core/options.h"
#include "simile/model/model_folder.h"
#include "simile/model/tokenizer_files.h"

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

std::string encoder_text(const EncoderConfig& config) {
  if (config.variant.averaged) {
    return fmt::format("static, a vector for each of {} tokens", config.vocabulary);
  }
  return fmt::format("{}, {} layers", config.model_type, config.layers);
}

std::string facts(const ModelSettings& settings, TensorType type) {
  const EncoderConfig& config = settings.encoder;
  const bool is_unlimited = config.is_static() && settings.max_length == config.positions;
  return fmt::format(
      "| | |\n| --- | --- |\n| encoder | {} |\n| dimensions | {} |\n| longest text | {} |\n"
      "| pooling | {} |\n| similarity | {} |\n| prompts | {} |\n| weights | {} |\n",
      encoder_text(config), settings.vector_size(),
      is_unlimited ? "no limit" : fmt::format("{} tokens", settings.max_length),
      modules_text(settings), settings.similarity, prompts_text(settings), tensor_type_name(type));
}

std::string usage(bool is_quantised) {
  std::string text =
      "\n## Use\n\n```\nsimile encode --model FOLDER --input texts.txt --output "
      "vectors.npy\nsimile similarity --model FOLDER \"one text\" \"another\"\n```\n\n";
  if (is_quantised) {
    return text +
           "Its matrices are stored as bytes with one scale a row, which Simile alone reads; "
           "`simile convert --precision fp32` makes a model for other programs.\n";
  }
  return text +
         "```python\nfrom sentence_transformers import SentenceTransformer\n\nmodel = "
         "SentenceTransformer(\"FOLDER\")\nvectors = model.encode([\"one text\", "
         "\"another\"])\n```\n";
}

std::string describe_settings(const ModelSettings& s) {
  EncoderConfig encoder = s.encoder;
  if (encoder.model_type == "bert") encoder.document.clear();  // its keys say all that counts
  std::string text = encoder_config_to_json(encoder);
  text += fmt::format("{} {} {} {} {} {}\n", pooling_name(s.pooling), s.normalize, s.max_length,
                      s.dimensions, s.similarity, s.default_prompt);
  for (const auto& [name, prompt] : s.prompts) {
    text += fmt::format("{} {} {} {}\n", name.size(), name, prompt.size(), prompt);
  }
  // Said only where they are: models without them keep their fingerprint.
  if (!s.pooling.include_prompt) text += "without prompt\n";
  if (s.lower_case) text += "lower case\n";
  for (const ModuleSettings& m : s.modules) {
    std::string_view weights;
    if (m.weights != nullptr) {
      weights = {reinterpret_cast<const char*>(m.weights->data()),
                 m.weights->size() * sizeof(float)};
    }
    text += fmt::format("{} {} {} {} {} {} {}\n", module_kind_name(m.kind), m.inputs, m.outputs,
                        m.activation, m.bias, m.residual, hash_bytes(weights));
  }
  return text;
}

struct SelfTestFile {
  int64_t format = 1;
  double tolerance = SelfTest().tolerance;
  std::vector<std::string> texts;
  std::vector<std::vector<float>> vectors;

  void visit(OptionVisitor& v) {
    v.field("format", format, OptionInfo{"", "", 1, 1}.required());
    v.required("texts", texts);
    v.field("tolerance", tolerance, {"", "", 0, 1});
    v.field("vectors", vectors, OptionInfo{"", "", -1e30, 1e30}.required());
  }
};

}  // namespace

std::string make_model_card(const ModelCard& card, const ModelSettings& settings, TensorType type) {
  const bool is_quantised = type == TensorType::kI8;
  std::string text = "---\n";
  if (!is_quantised) text += "library_name: sentence-transformers\n";
  text += "pipeline_tag: sentence-similarity\ntags:\n";
  if (!is_quantised) text += "- sentence-transformers\n";
  text += "- sentence-similarity\n- feature-extraction\n- simile\n";
  if (!card.base_model.empty()) text += fmt::format("base_model: {}\n", quote(card.base_model));
  if (!card.part_models.empty()) text += "base_model:\n";
  for (const std::string& part : card.part_models) text += fmt::format("- {}\n", quote(part));
  text += fmt::format("{}---\n# {}\n\n{}\n\n", card.front_matter, card.title, card.introduction);
  text += facts(settings, type) + usage(is_quantised);
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
    if (starts_key) {
      is_own = std::any_of(std::begin(kOwnKeys), std::end(kOwnKeys),
                           [&](const std::string& key) { return starts_with(line, key + ":"); });
    }
    if (!is_own && !is_closed) parts.front_matter += line + "\n";
  }
  if (!is_closed) return {"", card};
  const auto behind = in.tellg();
  if (behind >= 0) parts.body = card.substr(static_cast<size_t>(behind));
  return parts;
}

std::string model_fingerprint(const ModelFolder& model) {
  std::string hashes = hash_bytes(describe_settings(model.settings));
  hashes += hash_encoder_weights(model.weights_path, model.settings.encoder);
  if (folder_exists(model.tokenizer_path)) {
    for (const auto& [name, bytes] : read_tokenizer_files(model.tokenizer_path)) {
      hashes += hash_bytes(name) + hash_bytes(bytes);
    }
  } else {
    hashes += hash_file(model.tokenizer_path);
    const Tokenizer tokenizer = load_tokenizer(model);
    if (tokenizer.differs_from_file()) hashes += hash_bytes(tokenizer.to_json());
  }
  return hash_bytes(hashes);
}

std::string self_test_to_json(const SelfTest& test) {
  SelfTestFile file;
  file.tolerance = test.tolerance;
  file.texts = test.texts;
  for (int64_t i = 0; i < test.vectors.rows; ++i) {
    const float* row = test.vectors.row(i);
    file.vectors.emplace_back(row, row + test.vectors.cols);
  }
  return options_to_json(file, -1) + "\n";
}

SelfTest read_self_test(const std::string& path) {
  SelfTestFile file;
  read_json_options(read_file(path), path, file);
  SIMILE_CHECK(!file.texts.empty() && file.texts.size() == file.vectors.size(), ErrorKind::kInput,
               "{}: \"texts\" and \"vectors\" must be lists of the same length", path);
  SelfTest test{file.tolerance, file.texts,
                Matrix<float>(static_cast<int64_t>(file.vectors.size()),
                              static_cast<int64_t>(file.vectors[0].size()))};
  for (int64_t i = 0; i < test.vectors.rows; ++i) {
    const std::vector<float>& row = file.vectors[static_cast<size_t>(i)];
    SIMILE_CHECK(row.size() == file.vectors[0].size(), ErrorKind::kInput,
                 "{}: \"vectors\" must be lists of the same length", path);
    std::copy(row.begin(), row.end(), test.vectors.row(i));
  }
  return test;
}

double verify_self_test(const SelfTest& test, const Matrix<float>& actual) {
  SIMILE_CHECK(actual.rows == test.vectors.rows && actual.cols == test.vectors.cols,
               ErrorKind::kFailed,
               "self-test: expected {} vectors of size {}, the model gave {} of size {}",
               test.vectors.rows, test.vectors.cols, actual.rows, actual.cols);
  std::pair<int64_t, double> worst{0, 0.0};  // the row that differs most, and by how much
  for (int64_t i = 0; i < actual.rows; ++i) {
    double scale = 1, difference = 0;
    for (int64_t j = 0; j < actual.cols; ++j) {
      const double expected = test.vectors.at(i, j);
      const double one = std::abs(expected - actual.at(i, j));
      difference = std::isfinite(one) ? std::max(difference, one) : INFINITY;
      scale = std::max(scale, std::abs(expected));
    }
    if (difference / scale > worst.second) worst = {i, difference / scale};
  }
  SIMILE_CHECK(worst.second <= test.tolerance, ErrorKind::kFailed,
               "self-test: the vector of \"{}\" differs by {:.3g} from the one saved with the "
               "model, more than the tolerance {:.3g}",
               test.texts[static_cast<size_t>(worst.first)], worst.second, test.tolerance);
  return worst.second;
}

std::vector<std::string> self_test_sentences() {
  return {
      "The cat sits on the mat.",
      "How do I reset my password?",
      "A",
      "",
      "Prices rose by 3.5% in 2021; wages did not.",
      "Crème brûlée, naïve façade, Straße.",
      "Зелёный чай и чёрный кофе.",
      "東京は日本の首都です。",
      "Emoji 🙂 and symbols: € ± → ∑ #tag @name https://example.org/a?b=c",
      "A longer sentence goes on for a while, with clauses that follow one another, so that the "
      "attention of every layer has more than a handful of tokens to look at before it ends.",
  };
}

}  // namespace simile
