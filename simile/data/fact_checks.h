// SPDX-License-Identifier: Apache-2.0
// Previously fact-checked claims (Shaar et al., ACL 2020) as their authors publish them, turned
// into the tables that recipes read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simile {

constexpr int64_t kFactChecksTrained =
    800;  // posts before the tested ones (Chernyavskiy et al. 2022)

constexpr const char* kFactCheckPairs = "tweet-veclaim-pairs.tsv";
constexpr const char* kFactCheckClaims = "verified-claims.tsv";

// From tweet-veclaim-pairs.tsv (claim, fact: a post and the verified claim it repeats) and
// verified-claims.tsv (title, fact) in `folder`, both quoted as a .csv is, writes there
//
//   corpus.tsv                       id, text: each verified claim, numbered from 0
//   queries.tsv                      id, text: the post of each pair, t0, t1, ...
//   qrels.train.tsv, qrels.test.tsv  query_id, doc_id, relevance: of the first `trained` pairs and
//                                    of the others; claims of the same text are all relevant
//   train.pairs.tsv, test.pairs.tsv  sentence1, sentence2, score: the pairs themselves
//
// and returns their paths. Runs of white space become one space. Errors: ErrorKind::kInput with
// file and line: a row without two fields, a pair whose claim is not among the verified ones.
std::vector<std::string> write_fact_check_tables(const std::string& folder,
                                                 int64_t trained = kFactChecksTrained);

}  // namespace simile
