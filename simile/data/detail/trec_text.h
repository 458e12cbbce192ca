// SPDX-License-Identifier: Apache-2.0
// Topics and documents in the SGML of TREC. Used by simile/data/ranking_data.h.
//
//   topics     <top> <num> Number: 301 <title> International Organized Crime <desc> ... </top>
//              the text is the title; "Number:" and "Topic:" are taken off
//   documents  <DOC> <DOCNO> FT911-3 </DOCNO> <HEADLINE> ... </HEADLINE> <TEXT> ... </TEXT> </DOC>
//              the text is the first TITLE, HEADLINE or HEAD, and what stands in TEXT elements
//
// Tags are read in any case; tags within a text are a space, white space is one space, &amp; &lt;
// &gt; &quot; and &apos; are what they stand for. One block is in memory at a time.
//
// Errors (ErrorKind::kInput, with file and line): something else than a block, one without its end,
// its id or (of a topic) its title, one larger than kMaximumLineBytes, and what LineReader reports.
#pragma once

#include <string>

#include "simile/data/corpus.h"
#include "simile/data/line_reader.h"

namespace simile {

class TrecTextReader {
 public:
  enum class Kind { kTopics, kDocuments };

  TrecTextReader(const std::string& path, Kind kind) : lines_(path), kind_(kind) {}

  // False at the end.
  bool next(CorpusText& text);

  int64_t line() const { return begin_; }  // where the block read last begins
  int64_t replaced_bytes() const { return lines_.replaced_bytes(); }

 private:
  bool next_block(std::string& block);

  LineReader lines_;
  Kind kind_;
  int64_t begin_ = 0;
};

}  // namespace simile
