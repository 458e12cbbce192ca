// SPDX-License-Identifier: Apache-2.0
// Texts of files too large for memory, mixed and shuffled as they are read.
//
// The files are read at once, each at the pace that makes all of them end together, and pass
// through a buffer from which a random text is drawn. The order is a pure function of (files, seed,
// epoch). Blank lines are skipped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/event.h"
#include "simile/core/random.h"
#include "simile/data/text_list.h"

namespace simile {

// Contents of a corpus file, read from end to end.
struct CorpusFile {
  std::string path;
  int64_t texts = 0;  // not blank
  int64_t bytes = 0;  // of those texts
  uint64_t hash = 0;  // of those texts in their order
};

// Reads every file (simile/data/path_list.h) to its end, so that a damaged one is found before long
// work begins. Errors (ErrorKind::kInput): no file at all, one that cannot be read or has no text,
// and one that is not text: more than 1 % of its bytes are not UTF-8.
std::vector<CorpusFile> inspect_corpus(const std::vector<std::string>& paths, EventSink& events);

class TextStream {
 public:
  // `buffer`: texts to draw from, at least 1 (1 keeps the order of each file).
  TextStream(const std::vector<CorpusFile>& files, int64_t buffer, uint64_t seed, uint64_t epoch);

  // False at the end of the epoch. Errors: as TextListReader.
  bool next(std::string& text);

 private:
  struct Source {
    TextListReader reader;
    int64_t texts, read;
  };
  bool read_next(std::string& text);  // in the files' order

  std::vector<Source> sources_;
  size_t capacity_;
  std::vector<std::string> buffer_;
  RandomStream random_;
};

}  // namespace simile
