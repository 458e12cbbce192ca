// SPDX-License-Identifier: Apache-2.0
#include "simile/text/decoder.h"

#include <cstdlib>
#include <utility>

#include "simile/core/file.h"
#include "simile/text/byte_level.h"
#include "simile/text/normalized_text.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

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

}  // namespace

WordPieceDecoder::WordPieceDecoder(std::string prefix, bool cleanup)
    : prefix_(std::move(prefix)), cleanup_(cleanup) {}

void WordPieceDecoder::decode(std::vector<std::string>& tokens) const {
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

void ByteLevelDecoder::decode(std::vector<std::string>& tokens) const {
  std::string bytes;
  for (const std::string& token : tokens) {
    std::string of_token;
    bytes += decode_byte_level(token, of_token) ? of_token : token;
  }
  repair_utf8(bytes);
  tokens = {std::move(bytes)};
}

MetaspaceDecoder::MetaspaceDecoder(std::string mark, bool was_put)
    : mark_(std::move(mark)), was_put_(was_put) {}

void MetaspaceDecoder::decode(std::vector<std::string>& tokens) const {
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = replace_all(tokens[i], mark_, i == 0 && was_put_ ? "" : " ");
  }
}

SuffixDecoder::SuffixDecoder(std::string suffix) : suffix_(std::move(suffix)) {}

void SuffixDecoder::decode(std::vector<std::string>& tokens) const {
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
  }
}

void ByteFallbackDecoder::decode(std::vector<std::string>& tokens) const {
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

ReplaceDecoder::ReplaceDecoder(std::string found, std::string put)
    : found_(std::move(found)), put_(std::move(put)) {}

void ReplaceDecoder::decode(std::vector<std::string>& tokens) const {
  size_t bytes = 0;
  for (std::string& token : tokens) {
    token = replace_all(token, found_, put_);
    check_text_size(bytes += token.size());
  }
}

StripDecoder::StripDecoder(std::string character, int64_t begin, int64_t end)
    : character_(std::move(character)), begin_(begin), end_(end) {}

void StripDecoder::decode(std::vector<std::string>& tokens) const {
  const size_t size = character_.size();
  for (std::string& token : tokens) {
    for (int64_t i = 0; i < begin_ && starts_with(token, character_); ++i) token.erase(0, size);
    for (int64_t i = 0; i < end_ && ends_with(token, character_); ++i) {
      token.resize(token.size() - size);
    }
  }
}

void FuseDecoder::decode(std::vector<std::string>& tokens) const {
  std::string text;
  for (const std::string& token : tokens) text += token;
  tokens = {std::move(text)};
}

DecoderSequence::DecoderSequence(std::vector<std::unique_ptr<const Decoder>> steps)
    : steps_(std::move(steps)) {}

void DecoderSequence::decode(std::vector<std::string>& tokens) const {
  for (const auto& step : steps_) step->decode(tokens);
}

}  // namespace simile
