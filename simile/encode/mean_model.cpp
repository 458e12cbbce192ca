// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/mean_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/encode/detail/derived_folder.h"
#include "simile/encode/detail/model_facts.h"
#include "simile/kernel/encoder_forward.h"

namespace simile {
namespace {

std::vector<ModelFolder> open_all(const std::vector<std::string>& models, EventSink& events) {
  SIMILE_CHECK(models.size() >= 2, ErrorKind::kUsage,
               fmt::format("{} model to average; give at least two", models.size()));
  std::vector<ModelFolder> folders;
  for (const std::string& model : models) {
    folders.push_back(open_model_folder(model, events));
    check_encoder_weights(folders.back().weights_path, folders.back().settings.encoder);
  }
  return folders;
}

// Errors (kInput): the first thing in which `other` differs.
void check_like(const ModelFolder& first, const ModelFolder& other) {
  const std::vector<detail::ModelFact> ours = detail::model_facts(first);
  const std::vector<detail::ModelFact> theirs = detail::model_facts(other);
  const size_t common = std::min(ours.size(), theirs.size());
  for (size_t i = 0; i < common; ++i) {
    if (ours[i].name == theirs[i].name && ours[i].value == theirs[i].value) continue;
    throw Error(ErrorKind::kInput,
                fmt::format("'{}' and '{}' cannot be averaged: {} is {} in the first and {} in the "
                            "second; average runs of one recipe that began with the same model",
                            first.path, other.path, ours[i].name, ours[i].value,
                            ours[i].name == theirs[i].name ? theirs[i].value : "not there"));
  }
  SIMILE_CHECK(ours.size() == theirs.size(), ErrorKind::kInput,
               fmt::format("'{}' and '{}' cannot be averaged: only one of them has {}", first.path,
                           other.path, (ours.size() > common ? ours : theirs)[common].name));
}

void average_floats(std::vector<float>& mean, const std::vector<float>& other, double share) {
  constexpr int64_t kBlock = 1 << 16;
  run_parallel_blocks(static_cast<int64_t>(mean.size()), kBlock, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const double difference = static_cast<double>(other[i]) - mean[i];
      mean[i] = static_cast<float>(mean[i] + share * difference);
    }
  });
}

}  // namespace

ModelFamily::ModelFamily(const std::vector<std::string>& models, EventSink& events)
    : folders_(open_all(models, events)),
      tokenizer_(Tokenizer::load(folders_.front().tokenizer_path)) {
  const std::string tokenizer = tokenizer_.to_json();
  for (const ModelFolder& folder : folders_) {
    check_like(folders_.front(), folder);
    SIMILE_CHECK(Tokenizer::load(folder.tokenizer_path).to_json() == tokenizer, ErrorKind::kInput,
                 fmt::format("'{}' and '{}' cannot be averaged: they have different tokenizers, so "
                             "their word embeddings are of other words",
                             folders_.front().path, folder.path));
  }
}

ModelNumbers ModelFamily::read(size_t model, double weight, EventSink& events) const {
  const ModelFolder& folder = folders_[model];
  ModelNumbers numbers;
  numbers.encoder = detail::read_whole_encoder(folder, events);
  for (const ModuleSettings& module : folder.settings.modules) {
    numbers.modules.push_back(module.weights == nullptr ? std::vector<float>() : *module.weights);
  }
  for (const SavedHead& head : folder.heads) {
    numbers.heads.push_back(read_head_weights(head, folder.settings.embedding_size()));
  }
  numbers.temperatures = folder.settings.temperatures;
  numbers.weight = weight;
  return numbers;
}

ModelSettings ModelFamily::settings(const ModelNumbers& numbers) const {
  ModelSettings settings = folders_.front().settings;
  for (size_t i = 0; i < settings.modules.size(); ++i) {
    if (settings.modules[i].weights == nullptr) continue;
    settings.modules[i].weights = std::make_shared<const std::vector<float>>(numbers.modules[i]);
  }
  settings.temperatures = numbers.temperatures;
  return settings;
}

SentenceEncoder ModelFamily::encoder(const ModelNumbers& numbers) const {
  const ModelSettings own = settings(numbers);
  return {make_encoder(own.encoder.shape(), numbers.encoder.data()), own, tokenizer_};
}

std::vector<Head> ModelFamily::heads(const ModelNumbers& numbers) const {
  const ModelFolder& first = folders_.front();
  std::vector<Head> heads;
  for (size_t i = 0; i < first.heads.size(); ++i) {
    heads.emplace_back(first.heads[i].settings, first.settings.embedding_size(),
                       numbers.heads[i].data());
  }
  return heads;
}

void ModelFamily::check_output(const std::string& output) const {
  for (const ModelFolder& folder : folders_) detail::check_derived_output(folder, output);
}

void ModelFamily::save(const std::string& output, const ModelNumbers& numbers,
                       const std::string& card) const {
  check_output(output);
  const ModelFolder& first = folders_.front();
  ModelToSave save;
  save.settings = settings(numbers);
  save.weights = numbers.encoder.data();
  save.tokenizer = detail::read_kept_files(first);
  save.model_card = card;
  save.self_test = make_self_test(encoder(numbers));
  for (size_t i = 0; i < first.heads.size(); ++i) {
    save.heads.push_back({first.heads[i].settings, numbers.heads[i].data()});
  }
  save_model_folder(output, save);
}

void average_into(ModelNumbers& numbers, const ModelNumbers& other) {
  numbers.weight += other.weight;
  const double share = other.weight / numbers.weight;
  average_floats(numbers.encoder, other.encoder, share);
  for (size_t i = 0; i < numbers.modules.size(); ++i) {
    average_floats(numbers.modules[i], other.modules[i], share);
  }
  for (size_t i = 0; i < numbers.heads.size(); ++i) {
    average_floats(numbers.heads[i], other.heads[i], share);
  }
  for (auto each = numbers.temperatures.begin(); each != numbers.temperatures.end();) {
    const auto theirs = other.temperatures.find(each->first);
    if (theirs == other.temperatures.end()) {
      each = numbers.temperatures.erase(each);
      continue;
    }
    each->second += share * (theirs->second - each->second);
    ++each;
  }
}

}  // namespace simile
