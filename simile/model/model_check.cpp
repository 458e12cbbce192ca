// SPDX-License-Identifier: Apache-2.0
#include "simile/model/model_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/model/model_folder.h"
#include "simile/model/tokenizer_files.h"

namespace simile {
namespace {

std::string describe_module(const ModuleSettings& m) {
  std::string_view weights;
  if (m.weights != nullptr) {
    weights = {reinterpret_cast<const char*>(m.weights->data()), m.weights->size() * sizeof(float)};
  }
  return fmt::format("{} {} {} {} {} {} {}\n", module_kind_name(m.kind), m.inputs, m.outputs,
                     m.activation, m.bias, m.residual, hash_bytes(weights));
}

// Of BERT its keys say all, and only they count.
void drop_documents(EncoderConfig& encoder) {
  if (encoder.model_type == "bert") encoder.document.clear();
  for (PartConfig& part : encoder.parts) drop_documents(part.encoder);
}

std::string describe_settings(const ModelSettings& s) {
  EncoderConfig encoder = s.encoder;
  drop_documents(encoder);
  std::string text = encoder_config_to_json(encoder);
  text += fmt::format("{} {} {} {} {} {}\n", pooling_name(s.pooling), s.normalize, s.max_length,
                      s.dimensions, s.similarity, s.default_prompt);
  for (const auto& [name, prompt] : s.prompts) {
    text += fmt::format("{} {} {} {}\n", name.size(), name, prompt.size(), prompt);
  }
  // Said only where they are: models without them keep their fingerprint.
  if (!s.pooling.include_prompt) text += "without prompt\n";
  if (s.lower_case) text += "lower case\n";
  for (const ModuleSettings& module : s.modules) text += describe_module(module);
  return text;
}

}  // namespace

std::string model_fingerprint(const ModelFolder& model) {
  std::string hashes = hash_bytes(describe_settings(model.settings));
  hashes += hash_encoder_weights(model.weights_path, model.settings.encoder);
  if (folder_exists(model.tokenizer_path)) {
    for (const auto& [name, bytes] : read_tokenizer_files(model.tokenizer_path)) {
      hashes += hash_bytes(name) + hash_bytes(bytes);
    }
  } else {
    hashes += hash_file(model.tokenizer_path);
  }
  return hash_bytes(hashes);
}

namespace {

using detail::Json;

double row_difference(const float* expected, const float* actual, int64_t size) {
  double scale = 1, difference = 0;
  for (int64_t j = 0; j < size; ++j) {
    const double one = std::abs(static_cast<double>(expected[j]) - actual[j]);
    if (!std::isfinite(one)) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, one);
    scale = std::max(scale, std::abs(static_cast<double>(expected[j])));
  }
  return difference / scale;
}

// The row that differs most and by how much.
std::pair<int64_t, double> find_worst(const SelfTest& test, const Matrix<float>& actual) {
  SIMILE_CHECK(
      actual.rows == test.vectors.rows && actual.cols == test.vectors.cols, ErrorKind::kFailed,
      fmt::format("self-test: expected {} vectors of size {}, the model gave {} of size {}",
                  test.vectors.rows, test.vectors.cols, actual.rows, actual.cols));
  std::pair<int64_t, double> worst{0, 0.0};
  for (int64_t i = 0; i < actual.rows; ++i) {
    const double one = row_difference(test.vectors.row(i), actual.row(i), actual.cols);
    if (one > worst.second) worst = {i, one};
  }
  return worst;
}

void read_vector(const Json& json, const std::string& path, int64_t row, Matrix<float>& vectors) {
  const std::string expected =
      fmt::format("{}: \"vectors\"[{}] must be {} finite numbers", path, row, vectors.cols);
  SIMILE_CHECK(json.is_array() && static_cast<int64_t>(json.size()) == vectors.cols,
               ErrorKind::kInput, expected);
  for (int64_t j = 0; j < vectors.cols; ++j) {
    const Json& value = json[static_cast<size_t>(j)];
    SIMILE_CHECK(value.is_number() && std::abs(value.get<double>()) < 1e30, ErrorKind::kInput,
                 expected);
    vectors.at(row, j) = value.get<float>();
  }
}

}  // namespace

std::string self_test_to_json(const SelfTest& test) {
  Json vectors = Json::array();
  for (int64_t i = 0; i < test.vectors.rows; ++i) {
    const float* row = test.vectors.row(i);
    vectors.push_back(std::vector<float>(row, row + test.vectors.cols));
  }
  const Json json = {{"format", 1},
                     {"tolerance", test.tolerance},
                     {"texts", test.texts},
                     {"vectors", std::move(vectors)}};
  return detail::dump_json(json, -1) + "\n";
}

SelfTest read_self_test(const std::string& path) {
  const Json parsed = detail::read_json(path);
  const detail::JsonObject json(parsed, path);
  json.integer("format", 1, 1);
  SelfTest test;
  test.tolerance = json.number_or("tolerance", test.tolerance, 0.0, 1.0);
  const Json& texts = json.at("texts");
  const Json& vectors = json.at("vectors");
  SIMILE_CHECK(texts.is_array() && vectors.is_array() && texts.size() == vectors.size() &&
                   !texts.empty() && vectors[0].is_array(),
               ErrorKind::kInput,
               fmt::format("{}: \"texts\" and \"vectors\" must be lists of the same length", path));
  for (const Json& text : texts) {
    SIMILE_CHECK(text.is_string(), ErrorKind::kInput,
                 fmt::format("{}: \"texts\" must hold texts only", path));
    test.texts.push_back(text.get<std::string>());
  }
  // Rows are checked before the matrix is made, so that its size is that of the file.
  for (const Json& row : vectors) {
    SIMILE_CHECK(row.is_array() && row.size() == vectors[0].size(), ErrorKind::kInput,
                 fmt::format("{}: \"vectors\" must be lists of the same length", path));
  }
  test.vectors =
      Matrix<float>(static_cast<int64_t>(vectors.size()), static_cast<int64_t>(vectors[0].size()));
  for (int64_t i = 0; i < test.vectors.rows; ++i) {
    read_vector(vectors[static_cast<size_t>(i)], path, i, test.vectors);
  }
  return test;
}

double self_test_difference(const SelfTest& test, const Matrix<float>& actual) {
  return find_worst(test, actual).second;
}

void verify_self_test(const SelfTest& test, const Matrix<float>& actual) {
  const auto [row, difference] = find_worst(test, actual);
  SIMILE_CHECK(
      difference <= test.tolerance, ErrorKind::kFailed,
      fmt::format("self-test: the vector of \"{}\" differs by {:.3g} from the one saved with "
                  "the model, more than the tolerance {:.3g}",
                  test.texts[static_cast<size_t>(row)], difference, test.tolerance));
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
