// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/predictor.h"

#include <gtest/gtest.h>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/kernel/pooling.h"

namespace simile {
namespace {

constexpr int64_t H = 32;

SentenceEncoder golden_encoder() {
  return SentenceEncoder::load(SIMILE_SOURCE_DIR "/tests/golden/tiny-bert", silent_events());
}

Head make_head(const std::string& kind, const std::string& input) {
  HeadSettings settings;
  settings.name = kind;
  settings.kind = kind;
  settings.input = input;
  settings.output = "classes";
  settings.class_names = {"a", "b", "c"};
  std::vector<float> weights(static_cast<size_t>(head_parameter_count(settings, H)));
  initialise_head_weights(settings, H, 5, weights.data());
  return Head(settings, H, std::move(weights));
}

const std::vector<std::string> kLeft = {"the cat sat", "", "the dog ran under the red sun", "mat",
                                        "the cat sat on the mat on the mat on the mat on the mat"};
const std::vector<std::string> kRight = {
    "on the mat", "the sun", "cat", "",
    "the red dog ran under the sun and the red dog ran under the sun and the cat"};

// One pair as one sequence, put together by hand.
std::vector<float> embed_jointly(const SentenceEncoder& encoder, size_t i) {
  const Encoding pair = encoder.tokenizer().encode_pair(kLeft[i], kRight[i]);
  PackedBatch batch;
  batch.ids = pair.ids;
  batch.type_ids = pair.type_ids;
  batch.offsets = {0, static_cast<int32_t>(pair.ids.size())};
  std::vector<float> pooled(static_cast<size_t>(H));
  pool_states(encoder.settings().pooling.modes, encoder.hidden_states(batch).data(), batch.offsets,
              H, pooled.data());
  return pooled;
}

TEST(EncodePairs, IsTheEncoderOfBothTextsWithTheirTypes) {
  const SentenceEncoder encoder = golden_encoder();
  EncodeOptions options;
  options.normalize = false;
  for (const int64_t tokens : {1, 40, 10000}) {
    options.batch_tokens = tokens;
    const Matrix<float> together = encoder.encode_pairs(kLeft, kRight, options, silent_events());
    for (int64_t i = 0; i < together.rows; ++i) {
      EXPECT_EQ(std::vector<float>(together.row(i), together.row(i) + H),
                embed_jointly(encoder, static_cast<size_t>(i)));
    }
  }
}

TEST(EncodePairs, CountsWhatWasCutAndRefusesUnevenSides) {
  const SentenceEncoder encoder = golden_encoder();
  EncodeCounts counts;
  encoder.encode_pairs(kLeft, kRight, {}, silent_events(), &counts);
  EXPECT_EQ(counts.texts, 5);
  EXPECT_EQ(counts.truncated, 1);
  EXPECT_EQ(counts.replaced, 0);
  EXPECT_THROW(encoder.encode_pairs(kLeft, {"one"}, {}, silent_events()), Error);
  EXPECT_EQ(encoder.encode_pairs({}, {}, {}, silent_events()).rows, 0);
}

TEST(EncodePairs, AnEncoderWithOneTypeReadsNoTypes) {
  const SentenceEncoder loaded = golden_encoder();
  ModelSettings settings = loaded.settings();
  settings.encoder.types = 1;
  std::vector<float> flat(static_cast<size_t>(encoder_parameter_count(settings.encoder.shape())),
                          0.01f);
  const SentenceEncoder encoder(make_encoder(settings.encoder.shape(), flat.data()), settings,
                                loaded.tokenizer());
  EXPECT_NO_THROW(encoder.encode_pairs(kLeft, kRight, {}, silent_events()));
}

TEST(Predictor, TakesSingleTextsPairsAndJointPairs) {
  const SentenceEncoder encoder = golden_encoder();
  EncodeOptions plain;
  plain.normalize = false;
  const Matrix<float> u = encoder.encode(kLeft, plain, silent_events());
  const Matrix<float> v = encoder.encode(kRight, plain, silent_events());
  const Head single = make_head("linear", "single"), pair = make_head("concat", "pair"),
             joint = make_head("mlp", "joint");
  EncodeOptions options;  // neither of these changes what a head sees
  options.normalize = true;
  options.dimensions = 4;
  const auto predict = [&](const Head& head, const std::vector<std::string>& pairs) {
    return Predictor(encoder, head).predict(kLeft, pairs, options, silent_events()).values;
  };
  EXPECT_EQ(predict(single, {}), single.logits(u).values);
  EXPECT_EQ(predict(pair, kRight), pair.logits(u, v).values);
  EXPECT_EQ(predict(joint, kRight),
            joint.logits(encoder.encode_pairs(kLeft, kRight, plain, silent_events())).values);
  EXPECT_THROW(predict(single, kRight), Error);
  EXPECT_THROW(predict(pair, {}), Error);
  EXPECT_THROW(predict(joint, {"one"}), Error);
}

TEST(Predictor, ThreadsAndBatchesChangeNoBit) {
  const SentenceEncoder encoder = golden_encoder();
  const Head head = make_head("mlp", "joint");
  const Predictor predictor(encoder, head);
  const Matrix<float> expected = predictor.predict(kLeft, kRight, {}, silent_events());
  EncodeOptions options;
  options.batch_tokens = 7;
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    EXPECT_EQ(predictor.predict(kLeft, kRight, options, silent_events()).values, expected.values);
  }
  set_thread_count(2);
}

TEST(Predictor, AHeadOfAnotherSizeIsRefused) {
  HeadSettings settings;
  settings.name = "small";
  const Head head(settings, 2, std::vector<float>(3));
  const SentenceEncoder encoder = golden_encoder();
  EXPECT_THROW(Predictor(encoder, head), Error);
}

}  // namespace
}  // namespace simile
