// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/text/byte_level.h"
#include "simile/text/detail/components.h"
#include "simile/text/detail/growing_vocabulary.h"
#include "simile/text/detail/json_text.h"
#include "simile/text/detail/pair_merger.h"
#include "simile/text/detail/trained_document.h"
#include "simile/text/detail/trainers.h"
#include "simile/text/detail/word_counting.h"
#include "simile/text/unicode.h"

namespace simile::detail {
namespace {

// Longer words are cut, so that joining stays cheap.
constexpr size_t kMaxBytesPerWord = 256;

// The ids of the 256 bytes.
std::vector<int32_t> add_bytes(GrowingVocabulary& vocabulary) {
  std::vector<int32_t> ids;
  for (int byte = 0; byte < 256; ++byte) {
    std::string token;
    append_utf8(byte_level_character(static_cast<uint8_t>(byte)), token);
    ids.push_back(vocabulary.add(token));
  }
  return ids;
}

PairMerger cut_words(const CountedWords& words, const std::vector<int32_t>& byte_ids) {
  PairMerger merger;
  std::vector<int32_t> ids;
  for (const auto& [word, count] : words) {
    for (size_t begin = 0; begin < word.size(); begin += kMaxBytesPerWord) {
      ids.clear();
      for (const char byte : word.substr(begin, kMaxBytesPerWord)) {
        ids.push_back(byte_ids[static_cast<uint8_t>(byte)]);
      }
      if (ids.size() > 1) merger.add_word(ids, count);
    }
  }
  merger.count_pairs();
  return merger;
}

std::string model_text(const std::vector<std::string>& tokens,
                       const std::vector<TokenPair>& merges) {
  std::string text =
      R"({"type":"BPE","dropout":null,"unk_token":"<unk>","continuing_subword_prefix":"",)"
      R"("end_of_word_suffix":"","fuse_unk":false,"byte_fallback":false,"vocab":{)";
  const char* separator = "";
  for (size_t id = 0; id < tokens.size(); ++id) {
    text += fmt::format("{}{}:{}", separator, quote_json(tokens[id]), id);
    separator = ",";
  }
  text += "},\"merges\":[";
  separator = "";
  for (const TokenPair merge : merges) {
    text += fmt::format("{}[{},{}]", separator, quote_json(tokens[static_cast<size_t>(merge.left)]),
                        quote_json(tokens[static_cast<size_t>(merge.right)]));
    separator = ",";
  }
  return text + "]}";
}

}  // namespace

Tokenizer train_byte_pairs(const TextSource& next_text, const VocabularyTrainerOptions& options,
                           const std::vector<std::string>& special_tokens, EventSink& events) {
  const Json normalizer = trained_normalizer(false, options.lowercase);
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", true},
                           {"trim_offsets", true},
                           {"use_regex", true}};
  GrowingVocabulary vocabulary;
  for (const std::string& token : special_tokens) vocabulary.add(token);
  const std::vector<int32_t> byte_ids = add_bytes(vocabulary);
  SIMILE_CHECK(vocabulary.size() <= options.vocabulary_size, ErrorKind::kRecipe,
               fmt::format("vocabulary_size is {}, but the special tokens and the 256 bytes alone "
                           "are {}",
                           options.vocabulary_size, vocabulary.size()));
  const WordSink keep = [](std::string_view word, WordCounter& counter) { counter.add(word, 1); };
  const WordCounter counter =
      count_words(next_text, make_normalizer(normalizer, "training").get(),
                  *make_pre_tokenizer(byte_level, "training"), keep, events);
  PairMerger merger = cut_words(counter.sorted(), byte_ids);
  const auto join = [](const std::string& left, const std::string& right) { return left + right; };
  const std::vector<TokenPair> merges = learn_merges(options, merger, vocabulary, join, events);
  std::vector<int64_t> ids(special_tokens.size());
  const auto id_of = [&](const char* token) {
    return std::find(special_tokens.begin(), special_tokens.end(), token) - special_tokens.begin();
  };
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  const Json post_processor = {{"type", "RobertaProcessing"},
                               {"sep", {"</s>", id_of("</s>")}},
                               {"cls", {"<s>", id_of("<s>")}},
                               {"trim_offsets", true},
                               {"add_prefix_space", true}};
  return Tokenizer::parse(
      trained_document(special_tokens, ids, normalizer, byte_level, post_processor, byte_level,
                       model_text(vocabulary.tokens(), merges)),
      "learnt vocabulary");
}

}  // namespace simile::detail
