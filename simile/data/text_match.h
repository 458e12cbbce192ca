// SPDX-License-Identifier: Apache-2.0
// Which texts two data sets share, whole or nearly. Texts are compared in their comparison form
// (simile/text/words.h), which ignores case and punctuation. Equal texts have equal
// numbers (TextForm), which is all that is kept of a set to find its texts in another one.
//
// Near texts: the shingles S(t) of a text are the runs of `shingle` consecutive words of its form,
// each once. A training text d holds this share of a test text t:
//
//   sum of w(s) over S(t) and S(d)  /  sum of w(s) over S(t),    w(s) = ln((N + 1) / n(s))
//
// with N test texts, n(s) of which have the shingle s. t is found in d when that is at least
// `share`. It is a share of the test text alone (the containment of Broder, "On the resemblance and
// containment of documents", 1997), so that a question is found in a long answer that quotes it.
// The similarity of the two wholes (Jaccard) would be small there. The weights are inverse document
// frequencies: a beginning that half of all questions share ("what is the best way to") is weak
// evidence. Without them a test text of 12 words keeps 7 of its 10 shingles of 3 words when one
// word in the middle changes.
//
// Test texts of fewer than 2 * shingle words do not count: "what are the symptoms" is everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simile/data/pair_dataset.h"

namespace simile {

// Texts of fewer words are greetings, names and numbers, which two sets may well share.
inline constexpr int64_t kTellingWords = 4;

struct TextForm {
  uint64_t key = 0;   // a 64-bit hash of the comparison key
  int32_t words = 0;  // of the comparison form

  bool is_telling() const { return words >= kTellingWords; }
};

TextForm text_form(std::string_view text);

// The form of each text, in parallel.
std::vector<TextForm> text_forms(const std::vector<std::string>& texts);

// Number of a pair, the same whichever text comes first.
uint64_t pair_key(const TextForm& a, const TextForm& b);

// Sorted, each once.
using KeySet = std::vector<uint64_t>;
KeySet key_set(std::vector<uint64_t> keys);
KeySet key_set(const std::vector<TextForm>& forms);
bool contains(const KeySet& keys, uint64_t key);
int64_t count_common(const KeySet& a, const KeySet& b);

inline constexpr int64_t kShingleWords = 3;

// Appends the shingles of a comparison form as 64-bit hashes, in order and with repeats; none for a
// form of fewer words. `shingle` is at least 1.
void append_shingles(std::string_view form, int64_t shingle, std::vector<uint64_t>& hashes);

struct NearText {
  int32_t text;  // number of the test text
  double share;
};

// All test texts, known by their shingles. Only the heaviest shingles of a text lead to it: enough
// that the others together weigh less than the required share (prefix filtering: Bayardo et al.,
// "Scaling up all pairs similarity search", WWW 2007). Exact, but that two shingles have the same
// hash by a chance of 1 in 10^19. Memory: about 40 bytes a shingle. Serves many threads.
class NearTextFinder {
 public:
  // `forms` are comparison forms, each once. Errors: ErrorKind::kRecipe for a share that is not
  // above 0 and at most 1, or a shingle below 1.
  NearTextFinder(const std::vector<std::string>& forms, double share,
                 int64_t shingle = kShingleWords);

  // The test texts found in a text, given by its form, by their numbers.
  std::vector<NearText> find(std::string_view form) const;

 private:
  struct Shingle {
    uint64_t hash;
    double weight;
  };
  struct Entry {
    uint64_t hash;
    int32_t text;
  };
  void list_shingles(const std::vector<std::string>& forms);
  void list_entries();
  // Beginning and end of a text's shingles, their weight, and the weight that must be found.
  const Shingle* begin_of(int32_t text) const;
  const Shingle* end_of(int32_t text) const { return begin_of(text + 1); }
  double total(int32_t text) const;
  double needed(int32_t text) const;

  double share_;
  int64_t shingle_;
  std::vector<Shingle> shingles_;  // of each text, the heaviest first
  std::vector<int64_t> offsets_;   // [texts + 1] where those of a text begin
  std::vector<Entry> entries_;     // by hash
  std::vector<int64_t> buckets_;   // [2^n + 1] where the entries begin whose hash begins with the
  int shift_ = 63;                 // 64 - shift_ bits of the number
};

// Leaves out a pair if one of its texts (left, right or a negative) is also a text of the test
// files, compared like whole texts in simile/data/overlap.h. If `overlap` is above 0, a pair is
// also left out if one of its texts contains at least that share of a test text. Texts of fewer
// than four words do not count.
struct LeaveOutOptions {
  std::vector<std::string> files;
  TableOptions table;  // a file with another separator in its header, or in UTF-8, is read as such
  double overlap = 0;
  int64_t shingle = kShingleWords;
};

struct LeftOut {
  int64_t equal = 0;                  // pairs
  int64_t near = 0;                   // others
  std::vector<std::string> warnings;  // of the files
};

// Keys of the telling texts of `files`, read as simile/data/overlap.h does. Errors: the readers'.
KeySet read_text_keys(const std::vector<std::string>& files, const TableOptions& table = {});

// Removes such pairs, in parallel. Errors: those of the readers, and of NearTextFinder.
LeftOut leave_out_texts_of(const LeaveOutOptions& options, PairDataset& data);

}  // namespace simile
