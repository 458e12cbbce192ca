// SPDX-License-Identifier: Apache-2.0
// Tokens back to text, as the "decoder" of a tokenizer.json says.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace simile {

// One step: the tokens of a text become others, which are the text once they are joined.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Errors (kInput): a decoder that is not known, or not as expected; a text of more than 1 GiB.
  virtual void decode(std::vector<std::string>& tokens) const = 0;
};

// "WordPiece": a space before each token but the first, unless it continues a word (`prefix`,
// "##"); with `cleanup`, none before marks and English contractions (" ." " n't").
class WordPieceDecoder : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup);
  void decode(std::vector<std::string>& tokens) const override;

 private:
  std::string prefix_;
  bool cleanup_;
};

// "ByteLevel": characters that stand for bytes (byte_level.h) become these; tokens with others
// stay. What is no UTF-8 becomes U+FFFD.
class ByteLevelDecoder : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override;
};

// "Metaspace": `mark` becomes a space; those of the first token go, where encoding put one there.
class MetaspaceDecoder : public Decoder {
 public:
  MetaspaceDecoder(std::string mark, bool was_put);
  void decode(std::vector<std::string>& tokens) const override;

 private:
  std::string mark_;
  bool was_put_;
};

// "BPEDecoder": `suffix` ("</w>") becomes a space, and nothing in the last token.
class SuffixDecoder : public Decoder {
 public:
  explicit SuffixDecoder(std::string suffix);
  void decode(std::vector<std::string>& tokens) const override;

 private:
  std::string suffix_;
};

// "ByteFallback": tokens in a row like "<0xE2>" become the text of their bytes, or as many U+FFFD
// where that is no UTF-8.
class ByteFallbackDecoder : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override;
};

// "Replace": each `found` in a token becomes `put`.
class ReplaceDecoder : public Decoder {
 public:
  ReplaceDecoder(std::string found, std::string put);
  void decode(std::vector<std::string>& tokens) const override;

 private:
  std::string found_, put_;
};

// "Strip": at most so many of a character at the begin and end of each token go.
class StripDecoder : public Decoder {
 public:
  StripDecoder(std::string character, int64_t begin, int64_t end);
  void decode(std::vector<std::string>& tokens) const override;

 private:
  std::string character_;
  int64_t begin_, end_;
};

// "Fuse": all tokens become one.
class FuseDecoder : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override;
};

// "Sequence": one step after the other.
class DecoderSequence : public Decoder {
 public:
  explicit DecoderSequence(std::vector<std::unique_ptr<const Decoder>> steps);
  void decode(std::vector<std::string>& tokens) const override;

 private:
  std::vector<std::unique_ptr<const Decoder>> steps_;
};

}  // namespace simile
