// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/convert.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/derive/whiten.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/model/encoder_tensors.h"
#include "simile/model/model_card.h"
#include "simile/model/static_weights.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLicences[] = {"LICENSE", "LICENSE.txt", "LICENSE.md", "NOTICE",
                                     "NOTICE.txt"};

int64_t file_sizes(const std::string& weights) {
  int64_t bytes = 0;
  for (const std::string& file : weight_files(weights)) {
    bytes += static_cast<int64_t>(std::filesystem::file_size(file));
  }
  return bytes;
}

void compare(const Matrix<float>& before, const Matrix<float>& after, ConversionReport& report) {
  report.mean_cosine = 0;
  for (int64_t i = 0; i < before.rows; ++i) {
    double ab = 0, aa = 0, bb = 0;
    for (int64_t j = 0; j < before.cols; ++j) {
      const double a = before.at(i, j), b = after.at(i, j);
      ab += a * b;
      aa += a * a;
      bb += b * b;
    }
    const double one = aa == 0 && bb == 0 ? 1 : ab / std::sqrt(std::max(aa * bb, 1e-300));
    report.mean_cosine += one / static_cast<double>(before.rows);
    report.least_cosine = std::min(report.least_cosine, one);
  }
  for (size_t i = 0; i < before.values.size(); ++i) {
    const double difference = static_cast<double>(before.values[i]) - after.values[i];
    report.largest_difference = std::max(report.largest_difference, std::abs(difference));
  }
}

void check_layers(const std::string& model, const EncoderConfig& config, int64_t layers) {
  SIMILE_CHECK(!config.is_static(), ErrorKind::kUsage,
               "'{}' is static and has no layers to leave out", model);
  SIMILE_CHECK(layers >= 1 && layers < config.layers, ErrorKind::kUsage,
               "{} of the {} layers of '{}' are asked for; expected at least 1 and not all of them",
               layers, config.layers, model);
  SIMILE_CHECK(config.variant.local_window == 0, ErrorKind::kUsage,
               "'{}' has local and global layers by turns, and with some of them left out the "
               "others would change places; give a model folder as student",
               model);
}

void copy_layers(const EncoderShape& from, const EncoderShape& to, const float* weights,
                 float* out) {
  std::map<std::string, int64_t> places;
  for (const ParameterSlot& slot : encoder_layout(from)) places[slot.name] = slot.offset;
  const int64_t layers = from.stored_layers(), kept = to.stored_layers();
  const auto source_of = [&](int64_t layer) {
    if (kept == 1) return int64_t{0};
    return static_cast<int64_t>(
        std::llround(static_cast<double>(layer * (layers - 1)) / static_cast<double>(kept - 1)));
  };
  for (const ParameterSlot& slot : encoder_layout(to)) {
    std::string name = slot.name;
    if (slot.layer >= 0) {
      const std::string own = fmt::format("encoder.layer.{}.", slot.layer);
      name = fmt::format("encoder.layer.{}.{}", source_of(slot.layer), name.substr(own.size()));
    }
    std::copy_n(weights + places.at(name), slot.size, out + slot.offset);
  }
}

constexpr std::string_view kContinues = "##";
constexpr std::string_view kSpaces[] = {"\u2581", "\u0120"};

bool begins_word(std::string_view text) {
  if (text.empty()) return false;
  const DecodedCharacter first = decode_character(text, 0);
  if (!first.valid) return true;  // a part of a character, which only byte-level tokens are
  return (character_properties(first.code_point) & (kLetter | kNumber)) != 0 ||
         is_combining_mark(first.code_point);
}

bool is_byte_level_word(std::string_view token) {
  std::string bytes;
  if (!decode_byte_level(token, bytes)) return begins_word(token);
  size_t start = 0;
  while (start < bytes.size()) {
    const DecodedCharacter next = decode_character(bytes, start);
    if (!next.valid || (character_properties(next.code_point) & kWhiteSpace) == 0) break;
    start += next.size;
  }
  return begins_word(std::string_view(bytes).substr(start));
}

bool is_word(std::string_view token) {
  if (starts_with(token, kContinues) && token.size() > kContinues.size()) {
    token.remove_prefix(kContinues.size());
  }
  for (const std::string_view space : kSpaces) {
    while (starts_with(token, space)) token.remove_prefix(space.size());
  }
  return begins_word(token);
}

// Each of the tokens between the special tokens around a text.
std::vector<std::vector<int32_t>> single_tokens(const Tokenizer& tokenizer,
                                                const std::vector<int32_t>& tokens) {
  const Encoding text = tokenizer.encode("a");
  const auto first = std::find(text.special.begin(), text.special.end(), 0) - text.special.begin();
  const auto last =
      std::find(text.special.rbegin(), text.special.rend(), 0).base() - text.special.begin();
  SIMILE_CHECK(first < last, ErrorKind::kInput,
               "the tokenizer gives the text \"a\" no token of its own");
  std::vector<std::vector<int32_t>> sequences;
  for (const int32_t token : tokens) {
    std::vector<int32_t> ids(text.ids.begin(), text.ids.begin() + first);
    ids.push_back(token);
    ids.insert(ids.end(), text.ids.begin() + last, text.ids.end());
    sequences.push_back(std::move(ids));
  }
  return sequences;
}

Matrix<float> token_table(const SentenceEncoder& teacher, EventSink& events) {
  const std::vector<uint8_t> is_word = find_word_pieces(teacher.tokenizer());
  std::vector<int32_t> tokens;
  for (size_t id = 0; id < is_word.size(); ++id) {
    if (is_word[id] != 0) tokens.push_back(static_cast<int32_t>(id));
  }
  const Matrix<float> vectors =
      teacher.encode_ids(single_tokens(teacher.tokenizer(), tokens), {}, events);
  Matrix<float> table(static_cast<int64_t>(is_word.size()), vectors.cols);
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::copy_n(vectors.row(static_cast<int64_t>(i)), vectors.cols, table.row(tokens[i]));
  }
  return table;
}

}  // namespace

ConversionReport convert_model(const std::string& model, const std::string& output, TensorType type,
                               EventSink& events) {
  const ModelFolder folder = open_original(model, output, events);
  const EncoderConfig& config = folder.settings.encoder;
  const Tokenizer tokenizer = load_tokenizer(folder);
  std::vector<float> flat = read_whole_encoder(folder, events);
  const SelfTest before = test_weights(folder.settings, flat.data(), tokenizer);
  // The saved file reads back as exactly these numbers, whatever its type.
  round_encoder_weights(config, type, flat.data());

  ModelToSave save;
  save.settings = folder.settings;
  save.weight_type = type;
  const std::unique_ptr<TensorSource> source = open_weights(folder.weights_path);
  std::vector<std::string> copied;
  save.other_tensors = other_tensors(*source, config, copied);
  std::vector<std::vector<float>> heads;
  heads.reserve(folder.heads.size());
  for (const SavedHead& head : folder.heads) {
    heads.push_back(read_head_weights(head, folder.settings.embedding_size()));
    save.heads.push_back({head.settings, heads.back().data()});
  }
  save_derived(folder, output,
               fmt::format("with the weights of its encoder in {}, made by `simile convert`",
                           tensor_type_name(type)),
               flat, tokenizer, save);
  for (const SavedHead& head : folder.heads) {
    const std::string& name = head.settings.name;
    const Head kept = load_head(folder, name);
    if (kept.scope) write_class_scope(output, name, *kept.scope);
  }

  ConversionReport report;
  report.bytes_before = file_sizes(folder.weights_path);
  report.bytes_after = file_sizes(open_model_folder(output, silent_events()).weights_path);
  compare(before.vectors, save.self_test.vectors, report);
  return report;
}

ModelFolder open_original(const std::string& model, const std::string& output, EventSink& events) {
  ModelFolder folder = open_model_folder(model, events);
  check_not_read(output, folder.path);
  return folder;
}

std::string folder_name(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return (normal.has_filename() ? normal : normal.parent_path()).filename().string();
}

std::vector<float> read_whole_encoder(const ModelFolder& folder, EventSink& events) {
  const EncoderConfig& config = folder.settings.encoder;
  check_encoder_weights(folder.weights_path, config);  // before memory is taken by config.json
  std::vector<float> flat(encoder_parameter_count(config.shape()));
  read_encoder_weights(folder.weights_path, config, flat.data(), events);
  return flat;
}

TensorType stored_type(const TensorSource& source, const EncoderConfig& config) {
  if (is_composed_table(source)) return TensorType::kF32;  // rows are products
  const TensorType type = find_encoder_tensors(source, config).found.front()->type;
  const bool is_written =
      type == TensorType::kF16 || type == TensorType::kBf16 || type == TensorType::kI8;
  return is_written ? type : TensorType::kF32;
}

TokenizerFiles read_tokenizer(const ModelFolder& folder) {
  const std::string& path = folder.tokenizer_path;
  return read_tokenizer_files(folder_exists(path) ? path : fs::path(path).parent_path().string());
}

std::map<std::string, std::string> read_licences(const ModelFolder& folder) {
  std::map<std::string, std::string> files;
  for (const char* name : kLicences) {
    const std::string path = join_path(folder.path, name);
    if (file_exists(path)) files[name] = read_file(path);
  }
  return files;
}

SelfTest test_weights(const ModelSettings& settings, const float* weights,
                      const Tokenizer& tokenizer) {
  return make_self_test(
      SentenceEncoder(make_encoder(settings.encoder.shape(), weights), settings, tokenizer));
}

void save_derived(const ModelFolder& original, const std::string& output, const std::string& how,
                  const std::vector<float>& weights, const Tokenizer& tokenizer,
                  ModelToSave& save) {
  ModelCard card;
  card.title = folder_name(output);
  card.base_model = folder_name(original.path);
  card.introduction = fmt::format("The model {} {}.", card.base_model, how);
  const std::string path = join_path(original.path, "README.md");
  if (file_exists(path)) {
    const CardParts parts = split_model_card(read_file(path));
    card.front_matter = parts.front_matter;
    if (!parts.body.empty()) card.body = "## The card of the original\n\n" + parts.body;
  }
  save.weights = weights.data();
  save.tokenizer = read_tokenizer(original);
  save.tokenizer.merge(read_licences(original));
  save.model_card = make_model_card(card, save.settings, save.weight_type);
  save.self_test = test_weights(save.settings, weights.data(), tokenizer);
  save_model_folder(output, save);
}

std::vector<uint8_t> find_word_pieces(const Tokenizer& tokenizer) {
  bool byte_level = true;  // there is a token for each byte
  for (int byte = 0; byte < 256; ++byte) {
    std::string token;
    append_utf8(byte_level_character(static_cast<uint8_t>(byte)), token);
    byte_level = byte_level && tokenizer.find(token) >= 0;
  }
  std::vector<uint8_t> words(tokenizer.vocabulary_size());
  for (size_t i = 0; i < words.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    if (tokenizer.is_special(id)) continue;
    const std::string_view token = tokenizer.token(id);
    words[i] = byte_level ? is_byte_level_word(token) : is_word(token);
  }
  return words;
}

void save_shortened_model(const std::string& model, const std::string& output, int64_t layers,
                          EventSink& events) {
  const ModelFolder teacher = open_original(model, output, events);
  const EncoderConfig& config = teacher.settings.encoder;
  check_layers(model, config, layers);
  ModelToSave save;
  save.settings = teacher.settings;
  save.settings.encoder.layers = layers;
  const EncoderShape shape = save.settings.encoder.shape();
  const std::vector<float> all = read_whole_encoder(teacher, events);
  std::vector<float> flat(encoder_parameter_count(shape));
  copy_layers(config.shape(), shape, all.data(), flat.data());
  save.settings.temperatures.clear();
  save_derived(teacher, output, fmt::format("with {} of its layers, before it was taught", layers),
               flat, load_tokenizer(teacher), save);
}

void save_token_table(const std::string& model, const std::string& output, EventSink& events) {
  const ModelFolder teacher = open_original(model, output, events);
  const SentenceEncoder encoder = SentenceEncoder::load(model, silent_events());
  const Matrix<float> table = token_table(encoder, events);
  ModelToSave save;
  save.settings = teacher.settings;
  save.settings.encoder = static_encoder_config(table.rows, table.cols, "a student's table");
  save.settings.encoder.pad_token_id = teacher.settings.encoder.pad_token_id;
  save.settings.pooling = Pooling();
  save.settings.pooling.modes.clear();
  save.settings.modules.clear();
  save.settings.dimensions = 0;
  save.settings.max_length = save.settings.encoder.shape().longest_sequence();
  save.settings.temperatures.clear();
  save_derived(teacher, output, "as a table of what it gives single tokens, before it was taught",
               table.values, encoder.tokenizer(), save);
}

void save_reduced_table(const std::string& model, const std::string& output, int64_t dimensions,
                        EventSink& events) {
  const ModelFolder wide = open_original(model, output, events);
  const EncoderConfig& config = wide.settings.encoder;
  SIMILE_CHECK(config.variant.averaged && wide.settings.modules.empty(), ErrorKind::kUsage,
               "'{}' is not one static table, which alone can be made narrower", model);
  SIMILE_CHECK(dimensions >= 1 && dimensions < config.hidden, ErrorKind::kUsage,
               "{} dimensions are asked for, and the vectors of '{}' have {}; give fewer",
               dimensions, model, config.hidden);
  Matrix<float> table(config.vocabulary, config.hidden);
  table.values = read_whole_encoder(wide, silent_events());
  WhiteningOptions axes;
  axes.power = 0;
  axes.dimensions = dimensions;
  table = fold_into_table(table, fit_whitening(table, axes));
  ModelToSave save;
  save.settings = wide.settings;
  save.settings.encoder.hidden = dimensions;
  save.settings.dimensions = 0;
  save.settings.temperatures.clear();
  save_derived(wide, output, fmt::format("with {} of its dimensions", dimensions), table.values,
               load_tokenizer(wide), save);
}

}  // namespace simile
