// SPDX-License-Identifier: Apache-2.0
// Training pairs out of plain articles: texts near each other are more similar in meaning than
// texts further apart, and texts of one article are the hard cases.
//
// The file has one paragraph a line and a blank line between articles; plain, .gz or .zst. With
// `titles` the first line of an article is its title, otherwise a paragraph. In a .jsonl each object
// is an article, with a paragraph on each line of its `text`, and perhaps a `title`. Kinds of pairs:
//
//   neighbouring_sentences  two consecutive sentences of a paragraph
//   paragraph_lead          the first sentence of a paragraph, and the rest of that paragraph
//   sentence_rest           each sentence of a paragraph, and the rest around it on both sides
//                           (inverse cloze task: Lee et al., ACL 2019, section 4)
//   article_lead            the first sentence of the article, and each later paragraph of it
//   title_lead              the title of the article, and its first paragraph
//   title_paragraph         the title of the article, and each later paragraph
//
// Sentences are those of simile/text/passages.h; white space separates words. A
// sentence serves only with minimum_words to maximum_words words, a title with any number. A
// paragraph (or its rest) is cut after the last sentence that keeps it within maximum_words, and is
// used if at least one sentence fits and the rest has minimum_words. The rest of a sentence_rest is
// cut between words, to maximum_words / 2 words before the sentence and as many after it; a side
// may have what the other lacks. A space replaces the sentence. No equal texts.
//
// With hard_negatives, each pair has one text that does not match the left one, drawn uniformly
// from the texts of the right one's kind (sentences, rests, paragraphs) in the same article:
//
//   neighbouring_sentences, paragraph_lead  at least negative_distance sentences (paragraphs) away
//                                           from both texts, on either side
//   sentence_rest                           a paragraph, cut as above, at least negative_distance
//                                           paragraphs away
//   article_lead                            at least negative_distance paragraphs after the right
//                                           text, which is then the one nearer to the lead
//
// A pair whose article has no such text is left out. To a title every text of its article belongs,
// so that its kinds have no such negatives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/options.h"
#include "simile/data/pair_dataset.h"

namespace simile {

const std::vector<std::string>& document_pair_kinds();

struct DocumentPairOptions {
  std::vector<std::string> pairs = {"neighbouring_sentences"};
  bool titles = false;
  bool hard_negatives = false;
  int64_t negative_distance = 5;
  int64_t minimum_words = 5;
  int64_t maximum_words = 60;
  std::string language = "en";
  int64_t seed = 1;

  void visit(OptionVisitor& v) {
    v.field("pairs", pairs,
            choice_info("kinds of pairs: two sentences in a row; the first sentence of a paragraph "
                        "and its rest; each sentence and the rest of its paragraph around it; the "
                        "first sentence of an article and each later paragraph; the title and the "
                        "first paragraph; the title and each later paragraph",
                        document_pair_kinds()));
    v.field("titles", titles,
            {"the first line of each article is its title; otherwise it is a paragraph"});
    v.field("hard_negatives", hard_negatives,
            {"give each pair a text of the same article, further away, that does not match; pairs "
             "of articles too short for one are left out"});
    v.field(
        "negative_distance", negative_distance,
        {"hard_negatives: sentences (other kinds: paragraphs) from a pair to its negative", "", 1});
    v.field("minimum_words", minimum_words, {"shorter sentences are not used", "words", 1});
    v.field(
        "maximum_words", maximum_words,
        {"longer sentences are not used, longer paragraphs are cut after a sentence", "words", 1});
    v.field("language", language,
            {"language of the abbreviations that end no sentence: de, en, es, fr, it, pt or ru"});
    v.field("seed", seed, {"chooses the negatives, and the pairs where a limit is set"});
  }
};

// Pairs in the order of articles, then of `options.pairs`, then of the text; score 1, one column of
// negatives with hard_negatives. `limit` > 0 keeps a uniform sample of that many in the same order;
// memory is that of the sample and of one article. The negative of a pair does not depend on the
// limit. Errors: ErrorKind::kRecipe for no kind, an unknown or repeated one, one of titles without
// `titles` or with hard_negatives, or minimum_words over maximum_words; ErrorKind::kInput for a
// file that yields no pair, and the errors of LineReader.
PairDataset read_document_pairs(const std::vector<std::string>& paths,
                                const DocumentPairOptions& options, int64_t limit);

}  // namespace simile
