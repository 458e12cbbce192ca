// SPDX-License-Identifier: Apache-2.0
#include "simile/train/token_teacher.h"

#include "simile/core/check.h"
#include "simile/kernel/matrix_product.h"

namespace simile {

TokenTeacher::TokenTeacher(const std::string& model, const std::string& precision,
                           const Tokenizer& tokenizer, const ModelSettings& student,
                           EventSink& events)
    : teacher_(SentenceEncoder::load(model, events, choose_precision(precision))) {
  const EncoderConfig& encoder = teacher_.settings().encoder;
  SIMILE_CHECK(!encoder.is_static() && !student.encoder.is_static() &&
                   encoder.shape().hidden == student.encoder.shape().hidden,
               ErrorKind::kRecipe,
               "teacher_tokens: '{}' and the student must be transformers with hidden states of "
               "one size; set teacher_tokens: 0 to learn from the vectors of whole texts alone",
               model);
  for (int32_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    ids_.push_back(teacher_.tokenizer().find(tokenizer.token(id)));
    SIMILE_CHECK(ids_.back() >= 0, ErrorKind::kRecipe,
                 "teacher_tokens: '{}' has no token '{}'; give the student the teacher's "
                 "tokenizer, or one with some of its tokens",
                 model, tokenizer.token(id));
  }
}

torch::Tensor TokenTeacher::loss(const torch::Tensor& hidden, const PackedBatch& batch) const {
  PackedBatch taught = batch;
  for (int32_t& id : taught.ids) id = ids_[static_cast<size_t>(id)];
  const std::vector<float> states = teacher_.hidden_states(taught);
  const torch::Tensor target =
      torch::from_blob(const_cast<float*>(states.data()), hidden.sizes(), torch::kFloat32)
          .clone()
          .to(hidden.device());
  return (1 - torch::cosine_similarity(hidden, target, 1)).mean();
}

}  // namespace simile
