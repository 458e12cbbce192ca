// SPDX-License-Identifier: Apache-2.0
#include "simile/data/fact_checks.h"

#include <fmt/format.h>

#include <unordered_map>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/line_reader.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

std::string with_single_spaces(const std::string& text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const DecodedCharacter character = decode_character(text, at);
    if ((character_properties(character.code_point) & kWhiteSpace) == 0) {
      result.append(text, at, character.size);
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
    at += character.size;
  }
  if (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

struct TextPair {
  std::string first, second, where;
};

std::vector<TextPair> read_pairs(const std::string& path) {
  LineReader lines(path);
  const NextLine next = [&lines](std::string& line) { return lines.next(line); };
  std::vector<TextPair> pairs;
  bool is_header = true;
  for (std::string line; lines.next(line); is_header = false) {
    const std::string where = lines.where();
    const auto fields = split_csv(line, where, next, kMaximumLineBytes, '\t');
    SIMILE_CHECK(fields.size() == 2, ErrorKind::kInput,
                 fmt::format("{}: expected 2 fields, found {}", where, fields.size()));
    if (is_header) continue;
    pairs.push_back({with_single_spaces(fields[0]), with_single_spaces(fields[1]), where});
  }
  return pairs;
}

class TableWriter {
 public:
  explicit TableWriter(std::string folder) : folder_(std::move(folder)) {}

  void write(const std::string& name, const std::string& text) {
    paths_.push_back(join_path(folder_, name));
    write_file_atomic(paths_.back(), text);
  }
  std::vector<std::string> paths() const { return paths_; }

 private:
  std::string folder_;
  std::vector<std::string> paths_;
};

}  // namespace

std::vector<std::string> write_fact_check_tables(const std::string& folder, int64_t trained) {
  std::unordered_map<std::string, std::vector<size_t>> numbers;  // of a claim's text
  std::string corpus = "id\ttext\n";
  const auto claims = read_pairs(join_path(folder, kFactCheckClaims));
  for (size_t i = 0; i < claims.size(); ++i) {
    corpus += fmt::format("{}\t{}\n", i, claims[i].second);
    numbers[claims[i].second].push_back(i);
  }
  std::string queries = "id\ttext\n";
  std::string qrels[2], pairs[2];
  for (std::string& part : qrels) part = "query_id\tdoc_id\trelevance\n";
  for (std::string& part : pairs) part = "sentence1\tsentence2\tscore\n";
  const auto rows = read_pairs(join_path(folder, kFactCheckPairs));
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& [post, claim, where] = rows[i];
    const auto found = numbers.find(claim);
    SIMILE_CHECK(found != numbers.end(), ErrorKind::kInput,
                 fmt::format("{}: its claim is not in {}: '{}'", where, kFactCheckClaims,
                             shorten_text(claim, 60)));
    queries += fmt::format("t{}\t{}\n", i, post);
    const size_t part = static_cast<int64_t>(i) < trained ? 0 : 1;
    pairs[part] += fmt::format("{}\t{}\t1\n", post, claim);
    for (const size_t number : found->second) {
      qrels[part] += fmt::format("t{}\t{}\t1\n", i, number);
    }
  }
  TableWriter writer(folder);
  writer.write("corpus.tsv", corpus);
  writer.write("queries.tsv", queries);
  writer.write("qrels.train.tsv", qrels[0]);
  writer.write("qrels.test.tsv", qrels[1]);
  writer.write("train.pairs.tsv", pairs[0]);
  writer.write("test.pairs.tsv", pairs[1]);
  return writer.paths();
}

}  // namespace simile
