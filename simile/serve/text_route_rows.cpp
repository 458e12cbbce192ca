// SPDX-License-Identifier: Apache-2.0
// What /embed, /rerank and the others that read texts take and give.
#include "simile/serve/detail/route_answers.h"
#include "simile/serve/detail/route_rows.h"

namespace simile::detail {
namespace {

constexpr const char* kTextsOrIds =
    R"({"oneOf":[{"type":"string"},{"type":"array","items":{"oneOf":[{"type":"string"},)"
    R"({"type":"integer"},{"type":"array","items":{"type":"integer"}}]}}]})";
constexpr const char* kIdLists = R"({"type":"array","items":{"oneOf":[{"type":"integer"},)"
                                 R"({"type":"array","items":{"type":"integer"}}]}})";
constexpr const char* kNumbers = R"({"type":"array","items":{"type":"number"}})";

// `parameters`: within the object of that name.
std::vector<BodyKey> with_reading_keys(std::vector<BodyKey> keys, bool parameters = false) {
  keys.push_back({parameters ? "parameters.truncate" : "truncate", kFlag, "true",
                  "Cut texts that are longer than the model reads; false refuses them"});
  keys.push_back({parameters ? "parameters.truncation_direction" : "truncation_direction",
                  R"({"type":"string","enum":["Right","Left","right","left"]})", "\"Right\"",
                  "Where they lose tokens"});
  keys.push_back({parameters ? "parameters.prompt_name" : "prompt_name", kText, "",
                  "Which of the model's prompts is put before each text"});
  return keys;
}

const BodyKey kDimensions = {"dimensions", kInteger, "", "How many leading dimensions are kept"};

Route embed_route() {
  return {
      "embed",
      "POST",
      "/embed",
      "Vectors of texts",
      with_reading_keys(
          {{"inputs", kTextsOrIds, "",
            "A text, a list of texts, or token ids (special ones included) in their place", true},
           {"normalize", kFlag, "true", "Divide each vector by its length"},
           kDimensions}),
      R"({"type":"array","items":{"type":"array","items":{"type":"number"}}})",
      false,
      answer_embed};
}

Route embed_all_route() {
  return {
      "embedAll",
      "POST",
      "/embed_all",
      "Vectors of the tokens of texts, special ones included, as the encoder leaves them before "
      "pooling; of 8192 tokens at most, and only of models that have them (else status 424)",
      with_reading_keys(
          {{"inputs", kTextsOrIds, "",
            "A text, a list of texts, or token ids (special ones included) in their place", true}}),
      R"({"type":"array","items":{"type":"array","items":{"type":"array",)"
      R"("items":{"type":"number"}}}})",
      false,
      answer_embed_all};
}

Route embed_sparse_route() {
  return {"embedSparse",
          "POST",
          "/embed_sparse",
          "Always refused with status 424, as TEI does: no model of Simile has weights of words",
          {{"inputs", kTexts, "", "A text or a list of texts", true}},
          "",
          false,
          answer_embed_sparse};
}

// OpenAI's, also under the path that TEI has for it.
Route embeddings_route(const char* operation, const char* path, const char* summary) {
  return {operation,
          "POST",
          path,
          summary,
          {{"input", kTextsOrIds, "", "A text, a list of texts, or token ids in their place", true},
           {"model", kText, "", "The name of the model served, or nothing"},
           {"encoding_format", R"({"type":"string","enum":["float","base64"]})", "\"float\"",
            "base64: the numbers as little-endian floats"},
           kDimensions,
           {"user", kText, "", "Not looked at"}},
          R"({"type":"object","properties":{"object":{"type":"string"},"data":{"type":"array",)"
          R"("items":{"type":"object"}},"model":{"type":"string"},"usage":{"type":"object"}}})",
          false,
          answer_embeddings};
}

Route similarity_route() {
  return {"similarity",
          "POST",
          "/similarity",
          "How similar a text is to each of others, by the model's similarity",
          with_reading_keys({{"inputs.source_sentence", kText, "", "The text", true},
                             {"inputs.sentences", kTexts, "", "The others", true}},
                            true),
          kNumbers,
          false,
          answer_similarity};
}

Route rerank_route() {
  return {
      "rerank",
      "POST",
      "/rerank",
      "Texts in the order in which they answer a query: by a head that reads both together, "
      "or, where the model has none, by the similarity of vectors (header x-rerank-by). A head "
      "takes no prompt, and cuts the longer text at its end",
      with_reading_keys({{"query", kText, "", "The query", true},
                         {"texts", kTexts, "", "The texts", true},
                         {"raw_scores", kFlag, "false", "Give a head's logits, not probabilities"},
                         {"return_text", kFlag, "false", "Repeat the texts in the answer"}}),
      R"({"type":"array","items":{"type":"object","properties":{"index":{"type":"integer"},)"
      R"("text":{"type":"string"},"score":{"type":"number"}}}})",
      false,
      answer_rerank};
}

Route tokenize_route() {
  return {"tokenize",
          "POST",
          "/tokenize",
          "The tokens of texts, with their places in characters",
          {{"inputs", kTexts, "", "A text or a list of texts", true},
           {"add_special_tokens", kFlag, "true", "With those put around a text"},
           {"prompt_name", kText, "", "Which of the model's prompts is put before each text"}},
          R"({"type":"array","items":{"type":"array","items":{"type":"object","properties":{)"
          R"("id":{"type":"integer"},"text":{"type":"string"},"special":{"type":"boolean"},)"
          R"("start":{"type":"integer","nullable":true},)"
          R"("stop":{"type":"integer","nullable":true}}}}})",
          false,
          answer_tokenize};
}

Route decode_route() {
  return {"decode",
          "POST",
          "/decode",
          "The texts of token ids, as the tokenizer puts them together again; ids that it does not "
          "have are refused",
          {{"ids", kIdLists, "", "A list of token ids, or a list of such lists", true},
           {"skip_special_tokens", kFlag, "true", "Without those put around a text"}},
          R"({"type":"array","items":{"type":"string"}})",
          false,
          answer_decode};
}

}  // namespace

std::vector<Route> text_routes() {
  return {embed_route(),
          embed_all_route(),
          embed_sparse_route(),
          similarity_route(),
          rerank_route(),
          tokenize_route(),
          decode_route(),
          embeddings_route("createEmbedding", "/v1/embeddings",
                           "Vectors of texts, as OpenAI's API gives them"),
          embeddings_route("createEmbeddingAsTei", "/embeddings", "The same, where TEI has it"),
          page("listModels", "/v1/models", "The model, as OpenAI's API lists it", kObject, false,
               answer_models),
          page("getModel", "/v1/models/{id}", "One of these names", kObject, false, answer_model)};
}

}  // namespace simile::detail
