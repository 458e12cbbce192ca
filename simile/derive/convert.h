// SPDX-License-Identifier: Apache-2.0
// Model folders made from others: what each takes over from the original, and the simplest kinds:
// the same model with its weights in another precision, and what its student begins with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/model/model_folder.h"
#include "simile/model/model_writer.h"
#include "simile/model/tensor_source.h"
#include "simile/text/tokenizer.h"

namespace simile {

struct ConversionReport {
  int64_t bytes_before = 0, bytes_after = 0;  // of the encoder's weight files
  // Between the vectors of self_test_sentences() before and after: the largest absolute difference
  // of a coordinate, and the mean and the least of their cosines.
  double largest_difference = 0, mean_cosine = 1, least_cosine = 1;
};

// Rewrites a model folder in the older schema of sentence-transformers, with its encoder's weights
// in `type`: kF32, kF16, kBf16 or kI8 (quantise_rows()). Whatever files they came in (shards,
// pytorch_model.bin), they become one model.safetensors.
//
// Kept as they are: tokenizer and licence files, heads, Dense and LayerNorm modules (F32), and
// tensors that are no part of the encoder. The self test of the new folder uses the weights as
// saved; the old card follows the new one. Errors: those of open_original() and save_model_folder().
ConversionReport convert_model(const std::string& model, const std::string& output, TensorType type,
                               EventSink& events);

// Opens the model that the folder `output` will be made from. Errors: those of open_model_folder()
// and check_not_read().
ModelFolder open_original(const std::string& model, const std::string& output, EventSink& events);

// The last part of a path, with or without a slash at its end.
std::string folder_name(const std::string& path);

// The encoder's weights, all in memory, for ModelToSave::weights.
std::vector<float> read_whole_encoder(const ModelFolder& folder, EventSink& events);

// The type that the encoder's matrices are stored in where folders are written in it; else F32.
TensorType stored_type(const TensorSource& source, const EncoderConfig& config);

TokenizerFiles read_tokenizer(const ModelFolder& folder);
// Licences and notices by name.
std::map<std::string, std::string> read_licences(const ModelFolder& folder);

// The self test of a model with these weights, in the order of encoder_layout().
SelfTest test_weights(const ModelSettings& settings, const float* weights,
                      const Tokenizer& tokenizer);

// Writes the folder: `save` with these weights, the original's tokenizer and licences, a self test,
// and a card that says `how` it was made ("with the weights in F16 ..."), then the original's card.
void save_derived(const ModelFolder& original, const std::string& output, const std::string& how,
                  const std::vector<float>& weights, const Tokenizer& tokenizer, ModelToSave& save);

// Which tokens stand for words and which for what is between: in a mean, punctuation only blurs.
//
// 1 for each token whose text begins with a letter, a digit (categories L and N) or a mark (M), 0
// for the others and for special tokens. Its text is the token without "##", U+2581 or U+0120 before
// it; of a byte-level vocabulary, which has a token for each of the 256 bytes, the bytes it stands
// for, without white space before them. Bytes that begin within a character count as a letter.
std::vector<uint8_t> find_word_pieces(const Tokenizer& tokenizer);

// A model's student begins with its own layers, fewer of them, or a static table of what it gives
// single tokens; a static student can be made narrower. All keep its tokenizer, prompts and
// similarity, and have no task heads.
//
// Writes the model with `layers` of its layers: the first, the last, and those evenly between them;
// one layer is the first. Word embeddings, pooling and modules stay. Errors: kUsage for a static
// model, for layers below 1 or not fewer than it has, and for local layers (ModernBERT), which see
// by place; those of open_model_folder() and save_model_folder().
void save_shortened_model(const std::string& model, const std::string& output, int64_t layers,
                          EventSink& events);

// Writes a static model. The row of a token that is part of a word is the model's vector of this
// token alone, between special tokens (Minish Lab, Model2Vec, 2024); other rows are zero. Errors: as
// above.
void save_token_table(const std::string& model, const std::string& output, EventSink& events);

// Writes a static model turned to the principal axes of its table (whiten.h), of which the first
// `dimensions` are kept. Errors: kUsage for a model that is not one table, and for dimensions that
// are not fewer than its own; as above.
void save_reduced_table(const std::string& model, const std::string& output, int64_t dimensions,
                        EventSink& events);

}  // namespace simile
