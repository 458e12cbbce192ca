// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <limits>
#include <tuple>

#include "simile/batch/order_table.h"
#include "simile/core/check.h"
#include "simile/core/random.h"
#include "simile/neighbours/clusters.h"
#include "simile/neighbours/neighbours.h"
#include "simile/text/words.h"

namespace simile {
namespace {

// An example with what it is sorted by: key, then tie, then its own number.
struct Record {
  uint64_t key;
  uint32_t tie;
  int32_t example;

  bool operator<(const Record& other) const {
    return std::tie(key, tie, example) < std::tie(other.key, other.tie, other.example);
  }
};

using Records = std::vector<Record>;

// Gives groups random numbers to sort their examples by; in a group these stay in order.
class Groups {
 public:
  Groups(int64_t examples, uint64_t seed, uint64_t epoch) : stream_(seed, "order groups", epoch) {
    records_.reserve(examples);
  }

  void start() {
    const uint64_t high = stream_.next();
    group_ = high << 32 | stream_.next();
  }
  void add(int32_t example) {
    records_.push_back({group_, static_cast<uint32_t>(records_.size()), example});
  }

  ExampleOrder take_order() {
    std::sort(records_.begin(), records_.end());
    ExampleOrder order;
    order.reserve(records_.size());
    for (const Record& record : records_) order.push_back(record.example);
    return order;
  }

 private:
  RandomStream stream_;
  Records records_;
  uint64_t group_ = 0;
};

// Cuts the runs of equal words into groups.
void cut_runs(Records by_word, int64_t group_size, Groups& groups) {
  std::sort(by_word.begin(), by_word.end());
  int64_t size = 0;
  uint64_t word = 0;
  for (const Record& record : by_word) {
    if (size == 0 || size == group_size || record.key != word) {
      groups.start();
      size = 0;
    }
    groups.add(record.example);
    word = record.key;
    ++size;
  }
}

// The articles, pronouns, prepositions and other function words of English.
constexpr const char* kEnglish =
    // articles and determiners
    "a an the this that these those each every either neither any some all both few many much "
    "more most several such another other others same own no none "
    // pronouns
    "i me my mine myself you your yours yourself yourselves he him his himself she her hers "
    "herself it its itself we us our ours ourselves they them their theirs themselves one ones "
    "who whom whose which what whatever whoever someone somebody something anyone anybody anything "
    "everyone everybody everything nobody nothing "
    // prepositions
    "about above across after against along among around as at before behind below beneath beside "
    "besides between beyond by despite down during except for from in inside into like near of off "
    "on onto out outside over per past since than through throughout till to toward towards under "
    "until up upon via with within without "
    // conjunctions
    "and but or nor so yet if unless because although though while whereas whether when whenever "
    "where wherever why how then else "
    // auxiliary verbs
    "am is are was were be been being do does did doing done have has had having can could may "
    "might must shall should will would ought cannot get gets got "
    // adverbs of degree, place and time without a subject of their own
    "again also already always almost even ever here just maybe never not now often only perhaps "
    "quite rather really sometimes soon still there thus too very "
    // what is left of contractions
    "s t d m o re ve ll don doesn didn isn aren wasn weren hasn haven hadn won wouldn shouldn "
    "couldn mustn needn ain";

constexpr unsigned kByWords = OrderRow::kGroups | OrderRow::kSide | OrderRow::kLabelledNegatives;

ExampleOrder order_by(const OrderData& data, const WordsOf& words_of) {
  return order_words(data.size(), words_of, data.options.group_size, data.seed, data.epoch);
}

}  // namespace

ExampleOrder order_words(int64_t examples, const WordsOf& words_of, int64_t group_size,
                         uint64_t seed, uint64_t epoch) {
  SIMILE_CHECK(examples >= 0 && examples <= std::numeric_limits<int32_t>::max(), ErrorKind::kFailed,
               "order by words: {} examples; at most 2^31 - 1 can be ordered", examples);
  SIMILE_CHECK(group_size >= 1, ErrorKind::kFailed,
               "order by words: group_size is {}; expected 1 or more", group_size);
  RandomStream draws(seed, "order words", epoch);
  Groups groups(examples, seed, epoch);
  Records by_word;
  by_word.reserve(examples);
  std::vector<uint64_t> words;
  for (int64_t example = 0; example < examples; ++example) {
    words.clear();
    words_of(example, words);
    if (words.empty()) {
      groups.start();
      groups.add(static_cast<int32_t>(example));
      continue;
    }
    const uint64_t word = words[draws.below(words.size())];
    by_word.push_back({word, draws.next(), static_cast<int32_t>(example)});
  }
  cut_runs(std::move(by_word), group_size, groups);
  return groups.take_order();
}

const std::vector<std::string>& english_stop_words() {
  static const std::vector<std::string> words = split_words(kEnglish);
  return words;
}

TextShingler::TextShingler(int64_t shingle, const std::vector<std::string>& stop_words)
    : shingle_(shingle) {
  SIMILE_CHECK(shingle >= 1, ErrorKind::kFailed, "shingles of {} words: expected 1 or more",
               shingle);
  for (const std::string& entry : stop_words.empty() ? english_stop_words() : stop_words) {
    for (std::string& word : split_words(entry)) stop_words_.insert(std::move(word));
  }
}

void TextShingler::append(const std::string& text, std::vector<uint64_t>& words) const {
  std::vector<uint64_t> hashes;
  for (const std::string& word : split_words(text)) {
    if (stop_words_.count(word) == 0) hashes.push_back(stream_key(0, word));
  }
  if (hashes.empty()) return;
  const size_t size = std::min(hashes.size(), static_cast<size_t>(shingle_));
  for (size_t begin = 0; begin + size <= hashes.size(); ++begin) {
    uint64_t hash = hashes[begin];
    for (size_t i = begin + 1; i < begin + size; ++i) {
      hash = (hash ^ hash >> 29) * 0x9E3779B97F4A7C15ull + hashes[i];  // depends on their order
    }
    words.push_back(hash);
  }
}

OrderRow words_row() {
  const auto visit = [](OrderOptions& options, OptionVisitor& v) {
    v.field(
        "shingle", options.shingle,
        {"consecutive words, stop words left out, that examples of a group share", "words", 1, 16});
    v.field("stop_words", options.stop_words,
            {"words that do not count, in lower case; empty: a built-in English list"});
  };
  const auto order = [](const OrderData& data) {
    const std::vector<int32_t> texts = data.side();
    return order_by(data, [&](int64_t example, std::vector<uint64_t>& words) {
      const auto& own = (*data.words)[texts[example]];
      words.insert(words.end(), own.begin(), own.end());
    });
  };
  OrderRow row{"words", "groups of examples that share a word or phrase", kByWords, visit, order};
  row.find_words = [](const OrderData& data) {
    TextWords words(data.texts.size());
    const TextShingler shingler(data.options.shingle, data.options.stop_words);
    for (const int32_t text : data.side()) {
      const auto number = static_cast<size_t>(text);
      if (words[number].empty()) shingler.append(data.originals[number], words[number]);
    }
    return words;
  };
  return row;
}

OrderRow clusters_row() {
  const auto visit = [](OrderOptions& options, OptionVisitor& v) {
    v.field("clusters", options.clusters, {"number of clusters of the vectors", "", 1, 1e6});
  };
  const auto order = [](const OrderData& data) {
    const std::vector<int32_t> clusters =
        cluster_vectors(data.vectors(), std::min(data.options.clusters, data.size()),
                        stream_key(data.seed, fmt::format("clusters/{}", data.epoch)));
    return order_by(data, [&](int64_t example, std::vector<uint64_t>& words) {
      words.push_back(static_cast<uint64_t>(clusters[example]));
    });
  };
  return {"clusters", "groups of examples from one k-means cluster", kByWords | OrderRow::kVectors,
          visit, order};
}

OrderRow neighbour_words_row() {
  const auto visit = [](OrderOptions& options, OptionVisitor& v) {
    v.field("top_words", options.top_words,
            {"group by a neighbour drawn from this many nearest ones", "examples", 1, 1000});
  };
  const auto order = [](const OrderData& data) {
    NeighbourReport report;
    const Matrix<int32_t> neighbours = nearest_neighbours(
        data.vectors(), std::min(data.options.top_words, data.size() - 1), &report);
    data.tell(report);
    return order_by(data, [&](int64_t example, std::vector<uint64_t>& words) {
      const int32_t* own = neighbours.row(example);
      words.insert(words.end(), own, own + neighbours.cols);
    });
  };
  return {"neighbour_words", "groups of examples that share a neighbour",
          kByWords | OrderRow::kVectors, visit, order};
}

}  // namespace simile
