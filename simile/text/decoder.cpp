// SPDX-License-Identifier: Apache-2.0
#include "simile/text/decoder.h"

#include <cstdlib>

#include "simile/core/file.h"
#include "simile/text/byte_level.h"
#include "simile/text/detail/components.h"
#include "simile/text/utf8.h"

namespace simile::detail {
namespace {

using DecoderPointer = std::unique_ptr<const Decoder>;

DecoderPointer decoder_at(const Json& json, const std::string& where);

constexpr const char* kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr size_t kByteTokenSize = 6;                  // of "<0xE2>"

std::string replace_all(const std::string& text, const std::string& found, const std::string& put) {
  if (found.empty()) return text;
  std::vector<size_t> places;
  for (size_t at = text.find(found); at != std::string::npos;
       at = text.find(found, at + found.size())) {
    places.push_back(at);
  }
  check_text_size(text.size() + places.size() * put.size());  // each of many steps may multiply it
  std::string out;
  size_t begin = 0;
  for (const size_t at : places) {
    out.append(text, begin, at - begin);
    out += put;
    begin = at + found.size();
  }
  return out.append(text, begin);
}

// As the `tokenizers` library has it, in its order.
std::string clean_up(std::string text) {
  static const std::pair<const char*, const char*> rules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto& [found, put] : rules) text = replace_all(text, found, put);
  return text;
}

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
  WordPieceDecoder(const Json& json, const std::string& where) {
    check_options(json, {"prefix", "cleanup"}, where);
    prefix_ = JsonObject(json, where).text_or("prefix", "##");
    cleanup_ = JsonObject(json, where).flag_or("cleanup", true);
  }
  void decode(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0 && starts_with(token, prefix_)) {
        token.erase(0, prefix_.size());
      } else if (i > 0) {
        token.insert(0, " ");
      }
      if (cleanup_) token = clean_up(std::move(token));
    }
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

// Characters that stand for bytes (byte_level.h) become these; tokens with others
// stay. What is no UTF-8 becomes U+FFFD.
class ByteLevelDecoder : public Decoder {
 public:
  ByteLevelDecoder(const Json& json, const std::string& where) {
    check_options(json, {"add_prefix_space", "trim_offsets", "use_regex"}, where);
  }
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
  MetaspaceDecoder(const Json& json, const std::string& where) {
    check_options(json, {"replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"},
                  where);
    const JsonObject object(json, where);
    mark_ = object.text("replacement");
    was_put_ = object.flag_or("add_prefix_space", true) &&
               object.text_or("prepend_scheme", "always") != "never";
  }
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
  SuffixDecoder(const Json& json, const std::string& where) {
    check_options(json, {"suffix"}, where);
    suffix_ = JsonObject(json, where).text_or("suffix", "</w>");
  }
  void decode(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
    }
  }

 private:
  std::string suffix_;
};

// Tokens in a row like "<0xE2>" become the text of their bytes, or as many U+FFFD
// where that is no UTF-8.
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
  ReplaceDecoder(const Json& json, const std::string& where) {
    check_options(json, {"pattern", "content"}, where);
    const JsonObject object(json, where);
    found_ = JsonObject(object.at("pattern"), where + ": pattern").text("String");
    put_ = object.text("content");
  }
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

// At most so many of a character at the begin and end of each token go.
class StripDecoder : public Decoder {
 public:
  StripDecoder(const Json& json, const std::string& where) {
    check_options(json, {"content", "start", "stop"}, where);
    const JsonObject object(json, where);
    character_ = object.text("content");
    SIMILE_CHECK(!character_.empty(), ErrorKind::kInput,
                 fmt::format("{}: \"content\" must be a character, but it is empty", where));
    begin_ = object.integer("start", 0, kMaxId);
    end_ = object.integer("stop", 0, kMaxId);
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
  DecoderSequence(const Json& json, const std::string& where)
      : steps_(read_steps<Decoder>(json, "decoders", where, decoder_at)) {
    check_options(json, {"decoders"}, where);
  }
  void decode(std::vector<std::string>& tokens) const override {
    for (const auto& step : steps_) step->decode(tokens);
  }

 private:
  std::vector<std::unique_ptr<const Decoder>> steps_;
};

template <typename Step>
DecoderPointer read(const Json& json, const std::string& where) {
  return std::make_unique<Step>(json, where);
}

using Maker = DecoderPointer (*)(const Json&, const std::string&);

const ComponentTable<Maker> kDecoders = {
    {"WordPiece", read<WordPieceDecoder>},
    {"ByteLevel", read<ByteLevelDecoder>},
    {"Metaspace", read<MetaspaceDecoder>},
    {"BPEDecoder", read<SuffixDecoder>},
    {"ByteFallback", read_plain<Decoder, ByteFallbackDecoder>},
    {"Replace", read<ReplaceDecoder>},
    {"Strip", read<StripDecoder>},
    {"Fuse", read_plain<Decoder, FuseDecoder>},
    {"Sequence", read<DecoderSequence>},
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
