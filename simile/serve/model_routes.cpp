// SPDX-License-Identifier: Apache-2.0
// What the server tells of itself and its model: /tokenize, /decode, /info, /v1/models, /health,
// /metrics, /openapi.json, and the web page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "simile/serve/detail/route_answers.h"
#include "simile/serve/request_error.h"
#include "simile/serve/web_page.h"
#include "simile/text/utf8.h"
#include "simile/text/words.h"

namespace simile::detail {
namespace {

// The piece of `text` between characters begin and end (code points).
class CharacterPieces {
 public:
  explicit CharacterPieces(const std::string& text)
      : text_(text), starts_(character_begins(text)) {}
  std::string piece(size_t begin, size_t end) const {
    return text_.substr(start(begin), start(std::max(begin, end)) - start(begin));
  }

 private:
  size_t start(size_t character) const { return starts_[std::min(character, starts_.size() - 1)]; }

  const std::string& text_;
  std::vector<size_t> starts_;  // in bytes, of each character
};

OrderedJson show_tokens(const Tokenizer& tokenizer, const std::string& text, bool special_tokens) {
  const Encoding encoding = tokenizer.encode(text, special_tokens);
  const auto offsets = character_offsets(encoding, text);
  const CharacterPieces pieces(text);
  OrderedJson tokens = OrderedJson::array();
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const bool special = encoding.special[i] != 0;
    OrderedJson token = {{"id", encoding.ids[i]}};
    token["text"] = special ? std::string(tokenizer.token(encoding.ids[i]))
                            : pieces.piece(offsets[i].first, offsets[i].second);
    token["special"] = special;
    token["start"] = special ? OrderedJson(nullptr) : OrderedJson(offsets[i].first);
    token["stop"] = special ? OrderedJson(nullptr) : OrderedJson(offsets[i].second);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

void check_vocabulary(const std::vector<int32_t>& ids, const Tokenizer& tokenizer) {
  for (const int32_t id : ids) {
    if (id < tokenizer.vocabulary_size()) continue;
    throw RequestError(Refusal::kInvalid,
                       fmt::format("token id {} is outside the model's vocabulary of {}", id,
                                   tokenizer.vocabulary_size()),
                       "ids");
  }
}

// The prompt that is put before texts where the body names one.
std::string named_prompt(const Engine& engine, const std::string& name) {
  if (name.empty()) return "";
  EncodeOptions options;
  options.prompt_name = name;
  try {
    return engine.model().encoder->prompt(options);
  } catch (const Error& error) {
    throw RequestError(Refusal::kInvalid, error.what(), "prompt_name");
  }
}

OrderedJson show_model(const std::string& name) {
  return {{"id", name}, {"object", "model"}, {"created", 0}, {"owned_by", "simile"}};
}

}  // namespace

Reply answer_tokenize(const Engine& engine, const RouteCall& call) {
  const JsonRequest request(call.body, engine.limits());
  const std::vector<std::string> texts = request.texts("inputs");
  const bool special_tokens = request.flag("add_special_tokens").value_or(true);
  const std::string prompt = named_prompt(engine, request.text_or("prompt_name", ""));
  const SentenceEncoder& encoder = *engine.model().encoder;
  Tokenizer tokenizer = encoder.tokenizer();
  tokenizer.set_max_length(0);
  OrderedJson lists = OrderedJson::array();
  for (const std::string& text : texts) {
    const std::string read = prompt + text;
    lists.push_back(show_tokens(tokenizer, encoder.settings().lower_case ? lower_text(read) : read,
                                special_tokens));
  }
  return json_reply(lists);
}

Reply answer_decode(const Engine& engine, const RouteCall& call) {
  const JsonRequest request(call.body, engine.limits());
  const std::vector<std::vector<int32_t>> lists = request.id_lists("ids");
  const bool skips = request.flag("skip_special_tokens").value_or(true);
  const Tokenizer& tokenizer = engine.model().encoder->tokenizer();
  OrderedJson texts = OrderedJson::array();
  for (const std::vector<int32_t>& ids : lists) {
    check_vocabulary(ids, tokenizer);
    try {
      texts.push_back(tokenizer.decode(ids, skips));
    } catch (const Error& error) {
      throw RequestError(Refusal::kModelCannot, error.what());
    }
  }
  return json_reply(texts);
}

Reply answer_info(const Engine& engine, const RouteCall&) {
  const ServedModel& model = engine.model();
  const ServeLimits& limits = engine.limits();
  const ModelSettings& settings = model.encoder->settings();
  OrderedJson info;
  info["model_id"] = engine.name();
  info["model_sha"] = model.fingerprint;
  info["model_dtype"] = model.precision;
  info["served_model_name"] = engine.name();
  info["model_type"]["embedding"]["pooling"] =
      settings.pooling.modes.empty() ? "mean" : pooling_name(settings.pooling);
  info["max_concurrent_requests"] = limits.connections;
  info["max_input_length"] = settings.max_length;
  info["max_batch_tokens"] = limits.batch_tokens;
  info["max_batch_requests"] = nullptr;
  info["max_client_batch_size"] = limits.request_texts;
  info["max_bulk_texts"] = limits.bulk_texts;
  info["auto_truncate"] = true;
  info["tokenization_workers"] = limits.connections;
  info["version"] = model.version;
  info["sha"] = nullptr;
  info["docker_label"] = nullptr;
  info["dimensions"] = model.encoder->dimension();
  info["similarity"] = settings.similarity;
  info["prompts"] = settings.prompts;
  if (model.index != nullptr) {
    info["documents"] = model.index->info().count;
    info["search_modes"] = search_modes(model.index->settings());
  }
  info["runs"] = model.runs != nullptr;
  return json_reply(info);
}

void check_model(const Engine& engine, const std::string& name) {
  const std::vector<std::string>& names = engine.model().names;
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  throw RequestError(Refusal::kUnknownModel,
                     fmt::format("the model \"{}\" is not served here, \"{}\" is",
                                 name.substr(0, 100), fmt::join(names, "\", \"")),
                     "model");
}

Reply answer_model(const Engine& engine, const RouteCall& call) {
  check_model(engine, call.name);
  return json_reply(show_model(call.name));
}

Reply answer_models(const Engine& engine, const RouteCall&) {
  OrderedJson list;
  list["object"] = "list";
  list["data"] = OrderedJson::array();
  for (const std::string& name : engine.model().names) {
    list["data"].push_back(show_model(name));
  }
  return json_reply(list);
}

Reply answer_health(const Engine&, const RouteCall&) {
  Reply reply;
  reply.content_type.clear();
  return reply;
}

Reply answer_metrics(const Engine& engine, const RouteCall&) {
  Reply reply;
  reply.body = engine.metrics_text();
  reply.content_type = "text/plain; version=0.0.4";
  return reply;
}

Reply answer_openapi(const Engine& engine, const RouteCall&) {
  Reply reply;
  reply.body = openapi_document(engine.model().version);
  return reply;
}

Reply answer_web(const Engine&, const RouteCall& call) {
  return web_reply(call.path, call.if_none_match);
}

}  // namespace simile::detail
