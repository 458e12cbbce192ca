// SPDX-License-Identifier: Apache-2.0
#include "simile/text/decoder.h"
#include "simile/text/detail/component_table.h"
#include "simile/text/detail/components.h"

namespace simile::detail {
namespace {

using DecoderPointer = std::unique_ptr<const Decoder>;

// Texts are read without it, so it is told when a text is asked for, not when the file is loaded.
class UnknownDecoder : public Decoder {
 public:
  explicit UnknownDecoder(std::string problem) : problem_(std::move(problem)) {}
  void decode(std::vector<std::string>&) const override {
    throw Error(ErrorKind::kInput, problem_);
  }

 private:
  std::string problem_;
};

DecoderPointer read_word_piece_decoder(const Json& json, const std::string& where) {
  check_options(json, {"prefix", "cleanup"}, where);
  const JsonObject object(json, where);
  return std::make_unique<WordPieceDecoder>(object.text_or("prefix", "##"),
                                            object.flag_or("cleanup", true));
}

DecoderPointer read_byte_level_decoder(const Json& json, const std::string& where) {
  check_options(json, {"add_prefix_space", "trim_offsets", "use_regex"}, where);
  return std::make_unique<ByteLevelDecoder>();
}

DecoderPointer read_metaspace_decoder(const Json& json, const std::string& where) {
  check_options(json, {"replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"},
                where);
  const JsonObject object(json, where);
  const bool puts = object.flag_or("add_prefix_space", true);
  return std::make_unique<MetaspaceDecoder>(
      object.text("replacement"), puts && object.text_or("prepend_scheme", "always") != "never");
}

DecoderPointer read_suffix_decoder(const Json& json, const std::string& where) {
  check_options(json, {"suffix"}, where);
  return std::make_unique<SuffixDecoder>(JsonObject(json, where).text_or("suffix", "</w>"));
}

DecoderPointer read_byte_fallback(const Json& json, const std::string& where) {
  check_options(json, {}, where);
  return std::make_unique<ByteFallbackDecoder>();
}

DecoderPointer read_replace_decoder(const Json& json, const std::string& where) {
  check_options(json, {"pattern", "content"}, where);
  const JsonObject object(json, where);
  const std::string pattern_where = where + ": pattern";
  return std::make_unique<ReplaceDecoder>(
      JsonObject(object.at("pattern"), pattern_where).text("String"), object.text("content"));
}

DecoderPointer read_strip_decoder(const Json& json, const std::string& where) {
  check_options(json, {"content", "start", "stop"}, where);
  const JsonObject object(json, where);
  const std::string character = object.text("content");
  SIMILE_CHECK(!character.empty(), ErrorKind::kInput,
               fmt::format("{}: \"content\" must be a character, but it is empty", where));
  return std::make_unique<StripDecoder>(character, object.integer("start", 0, kMaxId),
                                        object.integer("stop", 0, kMaxId));
}

DecoderPointer read_fuse(const Json& json, const std::string& where) {
  check_options(json, {}, where);
  return std::make_unique<FuseDecoder>();
}

DecoderPointer decoder_at(const Json& json, const std::string& where);

DecoderPointer read_decoder_sequence(const Json& json, const std::string& where) {
  check_options(json, {"decoders"}, where);
  const Json& list = JsonObject(json, where).at("decoders");
  SIMILE_CHECK(
      list.is_array(), ErrorKind::kInput,
      fmt::format("{}: \"decoders\" must be a list, but it is {}", where, describe_json(list)));
  std::vector<DecoderPointer> steps;
  for (const Json& step : list) {
    steps.push_back(decoder_at(step, fmt::format("{}: decoders[{}]", where, steps.size())));
  }
  return std::make_unique<DecoderSequence>(std::move(steps));
}

using Maker = DecoderPointer (*)(const Json&, const std::string&);

const ComponentTable<Maker> kDecoders = {
    {"WordPiece", read_word_piece_decoder}, {"ByteLevel", read_byte_level_decoder},
    {"Metaspace", read_metaspace_decoder},  {"BPEDecoder", read_suffix_decoder},
    {"ByteFallback", read_byte_fallback},   {"Replace", read_replace_decoder},
    {"Strip", read_strip_decoder},          {"Fuse", read_fuse},
    {"Sequence", read_decoder_sequence},
};

DecoderPointer decoder_at(const Json& json, const std::string& where) {
  return find_maker(kDecoders, json, where)(json, where);
}

}  // namespace

DecoderPointer make_decoder(const Json& json, const std::string& source) {
  if (json.is_null()) return nullptr;
  try {
    return decoder_at(json, source + ": decoder");
  } catch (const Error& error) {
    return std::make_unique<UnknownDecoder>(error.what());
  }
}

std::vector<std::string> decoder_names() { return names_of(kDecoders); }

}  // namespace simile::detail
