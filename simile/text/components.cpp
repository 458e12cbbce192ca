// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/components.h"

#include <algorithm>
#include <cstdlib>

#include "simile/core/file.h"
#include "simile/text/tokenizer.h"
#include "simile/text/utf8.h"

namespace simile::detail {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr size_t kByteTokenSize = 6;                  // of "<0xE2>"

std::string replace_all(const std::string& text, const std::string& found, const std::string& put) {
  std::vector<Span> places;
  TextPattern::literal(found).find(text, places);
  check_text_size(text.size() + places.size() * put.size());  // each of many steps may multiply it
  std::string out;
  size_t begin = 0;
  for (const Span place : places) {
    out.append(text, begin, place.begin - begin);
    out += put;
    begin = place.end;
  }
  return out.append(text, begin);
}

// The replacements of `cleanup`, in the order of the `tokenizers` library.
constexpr std::pair<const char*, const char*> kCleanUp[] = {
    {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
    {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
    {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
};

// The byte of a token like "<0xE2>"; -1: it is another.
int byte_of(const std::string& token) {
  if (token.size() != kByteTokenSize || !starts_with(token, "<0x") || token.back() != '>')
    return -1;
  const std::string digits = token.substr(3, 2);
  if (digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) return -1;
  return static_cast<int>(std::strtol(digits.c_str(), nullptr, 16));
}

// A decoder that cannot be read. Encoding works without it, so it fails only when it decodes.
class UnknownDecoder : public Decoder {
 public:
  explicit UnknownDecoder(std::string problem) : problem_(std::move(problem)) {}
  void decode(std::vector<std::string>&) const override {
    throw Error(ErrorKind::kInput, problem_);
  }

 private:
  std::string problem_;
};

// A space before each token but the first, unless it continues a word (`prefix`,
// "##"); with `cleanup`, none before marks and English contractions (" ." " n't").
class WordPieceDecoder : public Decoder {
 public:
  explicit WordPieceDecoder(const JsonObject& json)
      : prefix_(json.text_or("prefix", "##")), cleanup_(json.flag_or("cleanup", true)) {}
  void decode(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0 && starts_with(token, prefix_)) {
        token.erase(0, prefix_.size());
      } else if (i > 0) {
        token.insert(0, " ");
      }
      if (!cleanup_) continue;
      for (const auto& [found, put] : kCleanUp) token = replace_all(token, found, put);
    }
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

// Characters that stand for bytes (pre_tokenizer.h) become these bytes; tokens with other
// characters stay. Broken UTF-8 becomes U+FFFD.
class ByteLevelDecoder : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) {
      std::string of_token;
      bytes += decode_byte_level(token, of_token) ? of_token : token;
    }
    repair_utf8(bytes);
    tokens = {std::move(bytes)};
  }
};

// "Metaspace": `mark` becomes a space; those of the first token go, where encoding put one there.
class MetaspaceDecoder : public Decoder {
 public:
  explicit MetaspaceDecoder(const JsonObject& json)
      : mark_(json.text("replacement")),
        was_put_(json.flag_or("add_prefix_space", true) &&
                 json.text_or("prepend_scheme", "always") != "never") {}
  void decode(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = replace_all(tokens[i], mark_, i == 0 && was_put_ ? "" : " ");
    }
  }

 private:
  std::string mark_;
  bool was_put_;
};

// "BPEDecoder": `suffix` ("</w>") becomes a space, and nothing in the last token.
class SuffixDecoder : public Decoder {
 public:
  explicit SuffixDecoder(const JsonObject& json) : suffix_(json.text_or("suffix", "</w>")) {}
  void decode(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
    }
  }

 private:
  std::string suffix_;
};

// Consecutive tokens like "<0xE2>" become the text of their bytes, or one U+FFFD each.
class ByteFallbackDecoder : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::vector<std::string> out;
    std::string bytes;
    const auto end_bytes = [&] {
      if (is_valid_utf8(bytes)) {
        if (!bytes.empty()) out.push_back(bytes);
      } else {
        out.insert(out.end(), bytes.size(), kReplacement);
      }
      bytes.clear();
    };
    for (std::string& token : tokens) {
      const int byte = byte_of(token);
      if (byte >= 0) {
        bytes += static_cast<char>(byte);
        continue;
      }
      end_bytes();
      out.push_back(std::move(token));
    }
    end_bytes();
    tokens = std::move(out);
  }
};

// Each `found` in a token becomes `put`.
class ReplaceDecoder : public Decoder {
 public:
  explicit ReplaceDecoder(const JsonObject& json)
      : found_(JsonObject(json.at("pattern"), json.source() + ": pattern").text("String")),
        put_(json.text("content")) {}
  void decode(std::vector<std::string>& tokens) const override {
    size_t bytes = 0;
    for (std::string& token : tokens) {
      token = replace_all(token, found_, put_);
      check_text_size(bytes += token.size());
    }
  }

 private:
  std::string found_, put_;
};

// Removes up to a given number of one character from the beginning and end of each token.
class StripDecoder : public Decoder {
 public:
  explicit StripDecoder(const JsonObject& json)
      : character_(json.text("content")),
        begin_(json.integer("start", 0, kMaxId)),
        end_(json.integer("stop", 0, kMaxId)) {
    SIMILE_CHECK(!character_.empty(), ErrorKind::kInput,
                 json.source() + ": \"content\" must be a character, but it is empty");
  }
  void decode(std::vector<std::string>& tokens) const override {
    const size_t size = character_.size();
    for (std::string& token : tokens) {
      for (int64_t i = 0; i < begin_ && starts_with(token, character_); ++i) token.erase(0, size);
      for (int64_t i = 0; i < end_ && ends_with(token, character_); ++i) {
        token.resize(token.size() - size);
      }
    }
  }

 private:
  std::string character_;
  int64_t begin_, end_;
};

// All tokens become one.
class FuseDecoder : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::string text;
    for (const std::string& token : tokens) text += token;
    tokens = {std::move(text)};
  }
};

// One step after the other.
class DecoderSequence : public Decoder {
 public:
  explicit DecoderSequence(const JsonObject& json)
      : steps_(read_steps<Decoder>(json, "decoders")) {}
  void decode(std::vector<std::string>& tokens) const override {
    for (const auto& step : steps_) step->decode(tokens);
  }

 private:
  std::vector<std::unique_ptr<const Decoder>> steps_;
};

template <typename Part>
constexpr auto make = make_part<Decoder, Part>;

}  // namespace

void check_options(const JsonObject& json, const std::vector<const char*>& known) {
  for (const auto& item : json.json().items()) {
    const std::string& key = item.key();
    if (key == "type" || std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw_error(ErrorKind::kInput, "{}: option \"{}\" of {} is not supported; known are {}",
                json.source(), key, describe_json(json.at("type")),
                known.empty() ? "none" : fmt::format("\"{}\"", fmt::join(known, "\", \"")));
  }
}

TextPattern read_pattern(const JsonObject& json) {
  const Json& pattern = json.at("pattern");
  const bool known = pattern.is_object() && pattern.size() == 1 &&
                     pattern.begin().value().is_string() &&
                     (pattern.contains("String") || pattern.contains("Regex"));
  SIMILE_CHECK(known, ErrorKind::kInput,
               "{}: \"pattern\" must be {{\"String\": text}} or {{\"Regex\": text}}, but it is {}",
               json.source(), describe_json(pattern));
  const std::string text = pattern.begin().value().get<std::string>();
  return pattern.contains("String") ? TextPattern::literal(text)
                                    : TextPattern::regex(text, json.source());
}

std::vector<AddedToken> read_added_tokens(const Json& json, const std::string& source) {
  const std::string where = source + ": added_tokens";
  if (json.is_null()) return {};
  SIMILE_CHECK(json.is_array(), ErrorKind::kInput, "{} must be a list, but it is {}", where,
               describe_json(json));
  std::vector<AddedToken> tokens;
  for (const Json& item : json) {
    const JsonObject object(item, where);
    AddedToken token;
    token.content = object.text("content");
    token.id = static_cast<int32_t>(object.integer("id", 0, kMaxId));
    token.special = object.flag_or("special", false);
    token.single_word = object.flag_or("single_word", false);
    token.lstrip = object.flag_or("lstrip", false);
    token.rstrip = object.flag_or("rstrip", false);
    token.normalized = object.flag_or("normalized", !token.special);
    if (!token.content.empty()) tokens.push_back(std::move(token));
  }
  return tokens;
}

template <>
const ComponentTable<Decoder>& component_table() {
  static const ComponentTable<Decoder> table = {
      {"WordPiece", {"prefix", "cleanup"}, make<WordPieceDecoder>},
      {"ByteLevel", {"add_prefix_space", "trim_offsets", "use_regex"}, make<ByteLevelDecoder>},
      {"Metaspace",
       {"replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"},
       make<MetaspaceDecoder>},
      {"BPEDecoder", {"suffix"}, make<SuffixDecoder>},
      {"ByteFallback", {}, make<ByteFallbackDecoder>},
      {"Replace", {"pattern", "content"}, make<ReplaceDecoder>},
      {"Strip", {"content", "start", "stop"}, make<StripDecoder>},
      {"Fuse", {}, make<FuseDecoder>},
      {"Sequence", {"decoders"}, make<DecoderSequence>},
  };
  return table;
}

std::unique_ptr<const Decoder> make_decoder(const Json& json, const std::string& source) {
  if (json.is_null()) return nullptr;
  try {
    return make_component<Decoder>(json, source + ": decoder");
  } catch (const Error& error) {
    return std::make_unique<UnknownDecoder>(error.what());
  }
}

}  // namespace simile::detail

namespace simile {

std::vector<std::pair<std::string, std::vector<std::string>>> tokenizer_component_names() {
  using namespace detail;
  return {{"normalizer", names_of(component_table<Normalizer>())},
          {"pre_tokenizer", names_of(component_table<PreTokenizer>())},
          {"model", model_names()},
          {"post_processor", post_processor_names()},
          {"decoder", names_of(component_table<Decoder>())}};
}

}  // namespace simile
