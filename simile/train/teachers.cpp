// SPDX-License-Identifier: Apache-2.0
#include "simile/train/teachers.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/model/builtin_model.h"
#include "simile/model/model_check.h"
#include "simile/train/detail/bytes_of.h"

namespace simile {
namespace {

constexpr int64_t kBlock = 4096;  // texts

}  // namespace

Teacher stage_teacher(std::vector<float> flat, const ModelSettings& settings,
                      const Tokenizer& tokenizer, EventSink& events) {
  auto weights = std::make_shared<const std::vector<float>>(std::move(flat));
  auto encoder = std::make_shared<const SentenceEncoder>(
      make_encoder(settings.encoder.shape(), weights->data()), settings, tokenizer);
  Teacher teacher;
  const EncoderConfig& config = settings.encoder;
  teacher.fingerprint = hash_bytes(fmt::format(
      "{} {} {}{}", hash_bytes(detail::bytes_of(*weights)), pooling_name(settings.pooling),
      settings.normalize, config.is_joined() ? encoder_config_to_json(config) : ""));
  teacher.dimension = encoder->dimension();
  teacher.embed = [weights, encoder, &events](const TrainingSet& set, int64_t begin, int64_t end) {
    return encoder->encode_ids({set.texts.begin() + begin, set.texts.begin() + end}, {}, events);
  };
  return teacher;
}

Teacher model_teacher(const std::string& model, EventSink& events) {
  auto encoder = std::make_shared<const SentenceEncoder>(SentenceEncoder::load(model, events));
  Teacher teacher;
  teacher.fingerprint = model_fingerprint(open_model_folder(model, silent_events()));
  teacher.dimension = encoder->dimension();
  teacher.embed = [encoder, &events](const TrainingSet& set, int64_t begin, int64_t end) {
    return encoder->encode({set.originals.begin() + begin, set.originals.begin() + end}, {},
                           events);
  };
  return teacher;
}

EmbeddingStore store_teacher_vectors(const std::string& folder, const TrainingSet& set,
                                     const Teacher& teacher, const std::string& precision,
                                     EventSink& events) {
  make_folders(folder);
  const std::string fingerprint =
      hash_bytes(fmt::format("{} {} {}", teacher.fingerprint, fingerprint_texts(set), precision));
  const std::string path = join_path(folder, fingerprint + ".npy");
  if (std::optional<EmbeddingStore> store = EmbeddingStore::open_current(path, fingerprint)) {
    return std::move(*store);
  }
  const auto texts = static_cast<int64_t>(set.texts.size());
  EmbeddingStoreWriter writer(path, texts, teacher.dimension,
                              precision == "fp16" ? NpyNumber::kHalf : NpyNumber::kFloat);
  for (int64_t begin = 0; begin < texts; begin += kBlock) {
    writer.append(teacher.embed(set, begin, std::min(texts, begin + kBlock)));
  }
  writer.finish(fingerprint);
  events.info(fmt::format("{}: {} vectors of a teacher stored", set.file, texts));
  return EmbeddingStore(path);
}

}  // namespace simile
