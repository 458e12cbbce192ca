// SPDX-License-Identifier: Apache-2.0
#include "simile/data/catalogue.h"

#include <fmt/ranges.h>

#include <optional>
#include <set>

#include "simile/core/check.h"
#include "simile/core/config.h"
#include "simile/core/file.h"

namespace simile {
namespace {

constexpr const char* kBeir = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/";
constexpr const char* kUnpackBeir =
    "unzip; then task: ranking with queries.jsonl, corpus.jsonl and qrels/test.tsv";

// A set of the BEIR benchmark, with the MD5 its table of data sets publishes.
CatalogueSet beir(const std::string& name, const std::string& description,
                  const std::string& licence, const std::string& md5) {
  return {name,
          "BEIR: " + description,
          licence,
          kUnpackBeir,
          {{kBeir + name + ".zip", "", "md5:" + md5, 0}}};
}

struct CatalogueOptions {
  std::vector<CatalogueSet> sets;
  void visit(OptionVisitor& v) { v.list("sets", sets, "data sets, in the order to list"); }
};

}  // namespace

const std::vector<CatalogueSet>& builtin_catalogue() {
  static const std::vector<CatalogueSet> sets = {
      {"stsb",
       "STS Benchmark: 8628 sentence pairs with similarity 0 to 5",
       "scores CC BY-SA 4.0, texts by source (LICENSE.txt in the archive)",
       "tar -xzf; sts-*.csv are separated by tabs, without a header: score and texts are the "
       "fields 5, 6 and 7",
       {{"http://ixa2.si.ehu.eus/stswiki/images/4/48/Stsbenchmark.tar.gz", "",
         "md5:4eb0065aba063ef77873d3a9c8088811", 0}}},
      {"sickr",
       "SICK: 9840 sentence pairs with relatedness 1 to 5 and entailment",
       "CC BY-NC-SA 3.0",
       "unzip; SICK.txt has columns sentence_A, sentence_B, relatedness_score, entailment_label, "
       "SemEval_set",
       {{"https://zenodo.org/record/2787612/files/SICK.zip?download=1", "SICK.zip",
         "sha256:da272af924399fc2de4889ed55383e38822c10d16c4a949a89d597d09a0b7912", 217584}}},
      {"mrpc",
       "Microsoft Research Paraphrase Corpus: 5801 pairs, paraphrase 0 or 1",
       "Microsoft Research terms: research use",
       "rename to .tsv; columns: Quality, #1 String, #2 String",
       {{"https://dl.fbaipublicfiles.com/senteval/senteval_data/msr_paraphrase_train.txt", "",
         "sha256:60a9b09084528f0673eedee2b69cb941920f0b8cd0eeccefc464a98768457f89", 1047044},
        {"https://dl.fbaipublicfiles.com/senteval/senteval_data/msr_paraphrase_test.txt", "",
         "sha256:a04e271090879aaba6423d65b94950c089298587d9c084bf9cd7439bd785f784", 441275}}},
      {"qqp",
       "Quora Question Pairs: 404290 pairs of questions, duplicate 0 or 1, no split",
       "Quora terms: non-commercial",
       "left: question1, right: question2, score: is_duplicate; split it yourself",
       {{"http://qim.fs.quoracdn.net/quora_duplicate_questions.tsv", "",
         "sha256:b3350dbb1d98db1f5abca85d736ba514bf4da253fae53939303d79fe921ec7c8", 58176133}}},
      {"snli",
       "Stanford Natural Language Inference: 570152 pairs",
       "CC BY-SA 4.0",
       "unzip; format: nli with snli_1.0_*.jsonl, left: sentence1, right: sentence2, label: "
       "gold_label",
       {{"https://nlp.stanford.edu/projects/snli/snli_1.0.zip", "",
         "sha256:afb3d70a5af5d8de0d9d81e2637e0fb8c22d1235c2749d83125ca43dab0dbd3e", 94550081}}},
      {"pfcc_s",
       "Previously fact-checked claims (Snopes): 1000 tweets, 10396 verified claims",
       "none stated; texts of Snopes and Twitter",
       "tools/data/fact_checks.py of the source makes the tables that recipes read; then simile "
       "reproduce bsc-table3 --limit 200 trains on them",
       {{"https://raw.githubusercontent.com/sshaar/That-is-a-Known-Lie/"
         "cfe68342693cd4695e406ae734b5644ccfba0b32/data/snopes/fact-checking/"
         "tweet-veclaim-pairs.tsv",
         "", "sha256:823fab0a0645ac3b9b0b01c87eea6c6ab25f5a2267e038ff840951d31180766c", 344565},
        {"https://raw.githubusercontent.com/sshaar/That-is-a-Known-Lie/"
         "cfe68342693cd4695e406ae734b5644ccfba0b32/data/snopes/verified-claims.tsv",
         "", "sha256:b5f31b9049eedc8e0069afdaca34bdcee4d4594fee779e4789df26dd548960cc", 1574707}}},
      {"stackfaq",
       "StackFAQ: 719 answers to frequent questions, 1249 queries",
       "texts CC BY-SA (Stack Exchange); the authors ask to be cited",
       "one JSON document, to be turned into queries, corpus and qrels",
       {{"https://raw.githubusercontent.com/ML-Recipes/BERT-FAQ/"
         "0a927298f3487b371bc9c3b4b48fd0003d327bde/data/StackFAQ/stackExchange-FAQ.json",
         "", "", 0}}},
      beir("scifact", "300 scientific claims, 5183 abstracts", "CC BY 4.0",
           "5f7d1de60b170fc8027bb7898e2efca1"),
      beir("nfcorpus", "323 nutrition queries, 3633 documents", "see the publisher: academic use",
           "a89dba18a62ef92f7d323ec890a0d38d"),
      beir("fiqa", "648 questions on finance, 57638 answers", "see the publisher",
           "17918ed23cd04fb15047f73e6c3bd9d9"),
  };
  return sets;
}

std::string CatalogueFile::file_name() const {
  if (!name.empty()) return name;
  const std::string path = url.substr(0, url.find_first_of("?#"));
  return path.substr(path.rfind('/') + 1);
}

void CatalogueFile::visit(OptionVisitor& v) {
  v.field("url", url, {"where it is: http:// or https://"});
  v.field("name", name, {"name to store it under; empty: the last part of the URL"});
  v.field("checksum", checksum, {"sha256:HEX or md5:HEX; empty: not known"});
  v.field("bytes", bytes, {"its size; 0: not known", "bytes", 0});
}

void CatalogueSet::visit(OptionVisitor& v) {
  v.field("name", name, {"name of the set"});
  v.field("description", description, {"what it is"});
  v.field("licence", licence, {"under which terms it may be used"});
  v.field("advice", advice, {"what to do with the files"});
  v.list("files", files, "files of the set");
}

std::vector<CatalogueSet> read_catalogue(const std::string& path) {
  CatalogueOptions catalogue;
  read_options(load_config(path), catalogue);
  std::set<std::string> names;
  for (const CatalogueSet& set : catalogue.sets) {
    SIMILE_CHECK(!set.name.empty() && names.insert(set.name).second, ErrorKind::kRecipe,
                 "{}: expected sets of different names, found '{}'{}", path, set.name,
                 set.name.empty() ? "" : " twice");
    SIMILE_CHECK(!set.files.empty(), ErrorKind::kRecipe, "{}: the set '{}' lists no `files`", path,
                 set.name);
    std::set<std::string> files;
    for (const CatalogueFile& file : set.files) {
      const std::string name = file.file_name();
      SIMILE_CHECK(
          !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos,
          ErrorKind::kRecipe, "{}: '{}' of the set '{}' cannot be a file's name; give `name`", path,
          name, set.name);
      SIMILE_CHECK(files.insert(name).second, ErrorKind::kRecipe,
                   "{}: two files of the set '{}' would be stored as '{}'; give one another `name`",
                   path, set.name, name);
    }
  }
  return catalogue.sets;
}

const CatalogueSet& find_set(const std::vector<CatalogueSet>& catalogue, const std::string& name) {
  std::vector<std::string> names;
  for (const CatalogueSet& set : catalogue) {
    if (set.name == name) return set;
    names.push_back(set.name);
  }
  throw_error(ErrorKind::kUsage, "no data set is called '{}'{}; known are {}", name,
              did_you_mean(name, names), fmt::join(names, ", "));
}

std::vector<FetchedFile> fetch_set(const CatalogueSet& set, const std::string& folder,
                                   const std::vector<std::string>& accepted,
                                   const DownloadOptions& options, EventSink& events) {
  std::vector<FetchedFile> fetched;
  std::optional<Error> first;
  std::string messages;
  for (const CatalogueFile& file : set.files) {
    const std::string path = join_path(folder, file.file_name());
    try {
      fetched.push_back(
          {path, download({file.url, path, file.checksum, accepted}, options, events)});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kFailed) throw;
      if (!first) first = error;
      messages += (messages.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  if (first) throw Error(first->kind(), messages);
  return fetched;
}

}  // namespace simile
