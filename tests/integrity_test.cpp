// SPDX-License-Identifier: Apache-2.0
// Random bits flipped in the files of an index, a model, a run's state and stored vectors: each is
// refused with a message that names the file, or changes nothing that is read. SIMILE_FLIPS=5000 in
// the environment flips 5000 instead of 500.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "simile/core/error.h"
#include "simile/derive/convert.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/index/index_builder.h"
#include "simile/index/search_index.h"
#include "simile/model/embedding_store.h"
#include "simile/model/model_card.h"
#include "simile/model/safetensors.h"
#include "tests/shell.h"

namespace simile {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kGolden = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";

const std::vector<std::string>& texts() {
  static const std::vector<std::string> texts = {
      "the quick brown fox", "hello world",    "hello there", "the lazy dog",
      "a cat on the mat",    "rain in spring", "x",           "jumps over the dog"};
  return texts;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

class IntegrityTest : public ShellTest {
 protected:
  IntegrityTest() {
    convert_model(kGolden, path("model"), TensorType::kF32, silent_events());
    const ModelFolder folder = open_model_folder(path("model"), silent_events());
    const SentenceEncoder encoder = SentenceEncoder::load(path("model"), silent_events());
    fingerprint_ = model_fingerprint(folder);
    vectors_ = encoder.encode(texts(), {}, silent_events());
    build_index();
    make_folders(path("run/states"));
    write("run/run.json", "{}");
    write_sealed_tensors(path("run/states/0000-1.safetensors"),
                         {{"weights", {vectors_.rows, vectors_.cols}, vectors_.values.data()}},
                         {{"format", "simile state"}, {"recipe", "{\"seed\":1}"}});
    EmbeddingStoreWriter writer(path("vectors.npy"), vectors_.rows, vectors_.cols);
    writer.append(vectors_);
    writer.finish("fingerprint");
  }

  void build_index() const {
    IndexBuilder builder(path("index"), {fingerprint_, "../model", vectors_.cols,
                                         VectorMetric::kInnerProduct, "fp32", path("model")});
    std::vector<Document> documents;
    for (const std::string& text : texts()) documents.push_back({"id of " + text, text});
    builder.add(documents, vectors_);
    builder.commit();
  }

  std::string search() const {
    const SearchIndex index = SearchIndex::open(path("index"), fingerprint_, "model");
    std::string found;
    const SearchSettings settings = read_search_settings(path("index"));
    for (const auto& hits : index.search({texts(), vectors_}, 4, settings)) {
      for (const SearchHit& hit : hits) {
        found += hit.id + hit.text + bytes_of(std::vector<double>{hit.score});
      }
    }
    return found;
  }

  std::string encode() const {
    return bytes_of(SentenceEncoder::load(path("model"), silent_events())
                        .encode(texts(), {}, silent_events())
                        .values);
  }

  std::string read_state() const {
    const SafetensorsFile file(path("run/states/0000-1.safetensors"));
    check_seal(file);
    std::string all = file.metadata().at("recipe");
    for (const TensorInfo& tensor : file.tensors()) {
      all += tensor.name + shape_text(tensor.shape) + std::string(file.bytes(tensor));
    }
    return all;
  }

  std::string read_vectors() const {
    const EmbeddingStore store(path("vectors.npy"));
    std::vector<float> row(static_cast<size_t>(store.dimension()));
    std::string all;
    for (int64_t i = 0; i < store.rows(); ++i) {
      store.row(i, row.data());
      all += bytes_of(row);
    }
    return all;
  }

  // In and below a folder of the test.
  std::vector<std::string> files_of(const std::string& name) const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(path(name))) {
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  static void flip(const std::string& file, uint64_t bit) {
    std::string bytes = read_file(file);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    std::ofstream(file, std::ios::binary) << bytes;
  }

  std::string fingerprint_;
  Matrix<float> vectors_;
};

TEST_F(IntegrityTest, AFlippedBitIsRefusedOrChangesNothing) {
  struct Kind {
    std::vector<std::string> files;
    std::function<std::string()> read;
    std::string whole;
    int refused = 0, harmless = 0;
  };
  std::vector<Kind> kinds = {
      {files_of("index"), [this] { return search(); }, ""},
      {files_of("model"), [this] { return encode(); }, ""},
      {files_of("run/states"), [this] { return read_state(); }, ""},
      {{path("vectors.npy"), path("vectors.npy.json")}, [this] { return read_vectors(); }, ""}};
  for (Kind& kind : kinds) kind.whole = kind.read();
  const char* const wanted = std::getenv("SIMILE_FLIPS");
  const int flips = wanted == nullptr ? 500 : std::atoi(wanted);
  std::mt19937_64 random(17);
  for (int i = 0; i < flips; ++i) {
    Kind& kind = kinds[static_cast<size_t>(i) % kinds.size()];
    const std::string& file = kind.files[random() % kind.files.size()];
    const uint64_t bit = random() % (8 * fs::file_size(file));
    flip(file, bit);
    try {
      ASSERT_EQ(kind.read(), kind.whole) << file << ", bit " << bit;
      ++kind.harmless;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(fs::path(path("index")).parent_path().string())) << file;
      ++kind.refused;
    }
    flip(file, bit);
  }
  for (const Kind& kind : kinds) {
    EXPECT_GT(kind.refused, kind.harmless) << kind.files.front();
    fmt::print("{}: {} flips refused, {} without effect\n",
               fs::relative(kind.files.front(), path(".")).string(), kind.refused, kind.harmless);
  }
}

TEST_F(IntegrityTest, DamagedWordsAreToldByEverySearchOfAnOpenIndex) {
  EXPECT_EQ(shell("simile index delete --index index 'id of x'").code, 0);
  const std::string words = path("index/segments/segment-1.bin.words");
  flip(words, 8 * fs::file_size(words) - 1);
  const SearchIndex index = SearchIndex::open(path("index"), fingerprint_, "model");
  const SearchSettings settings = read_search_settings(path("index"));
  for (int time = 0; time < 2; ++time) {
    try {
      index.search({texts(), vectors_}, 4, settings);
      ADD_FAILURE() << "nothing was told";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(words));
    }
  }
}

TEST_F(IntegrityTest, TheProgramRefusesAndChecksWhatIsDamaged) {
  const std::string query = "simile search --index index --query hello";
  EXPECT_EQ(shell(query).code, 0);
  for (const char* what :
       {"--index index", "--model model", "--run run", "--vectors vectors.npy"}) {
    const Outcome whole = shell(std::string("simile check ") + what);
    EXPECT_EQ(whole.code, 0) << whole.err;
    EXPECT_THAT(whole.out, HasSubstr("checksums    right")) << what;
  }
  flip(path("model/model.safetensors"), 8 * fs::file_size(path("model/model.safetensors")) - 1);
  expect_error(query, 3, "model.safetensors");
  expect_error("simile check --model model", 3, "--write-checksums");
  const Outcome meant = shell("simile check --model model --write-checksums");
  EXPECT_NE(meant.code, 3) << meant.err;  // the self test is not that of these weights
  flip(path("run/states/0000-1.safetensors"), 8000);
  expect_error("simile check --run run", 3, "0000-1.safetensors");
  flip(path("vectors.npy"), 8 * 200);
  expect_error("simile check --vectors vectors.npy", 3, "is damaged");
  expect_error("simile check --run run --index index", 2, "give one of --model");
}

TEST_F(IntegrityTest, AChangedTextIsFoundByACheckAlsoWhereNobodyAsksForIt) {
  std::string documents = read_file(path("index/documents.sqlite"));
  documents[documents.find("springrain") + 6] = 'R';  // an id, and behind it the text
  std::ofstream(path("index/documents.sqlite"), std::ios::binary) << documents;
  expect_error("simile check --index index", 3,
               "documents.sqlite' is damaged: document \"id of rain in spring\" is not the one of "
               "its vector");
  expect_error("simile search --index index --query 'rain in spring'", 3, "documents.sqlite");
  write("same.tsv", "id\ttext\nid of rain in spring\tmore\n");
  expect_error("simile index add --index index --corpus same.tsv", 3, "documents.sqlite");
  expect_error("simile index delete --index index 'id of rain in spring'", 3, "documents.sqlite");
}

TEST_F(IntegrityTest, ATrainedTokenizerIsVerifiedToo) {
  write("texts.txt", "the cat sat on the mat\nthe dog ran\n");
  EXPECT_EQ(shell("simile train-tokenizer --input texts.txt --output tokens --vocab-size 40").code,
            0);
  EXPECT_EQ(shell("simile tokenize --model tokens <texts.txt").code, 0);
  flip(path("tokens/tokenizer.json"), 8 * 400);
  expect_error("simile tokenize --model tokens <texts.txt", 3, "checksums.json");
}

TEST_F(IntegrityTest, AnIndexMovesWithItsModel) {
  write("c.tsv", "id\ttext\nx\thello\n");
  EXPECT_EQ(shell("mkdir a && cp -r model a/model && simile index build --model a/model --index "
                  "a/index --corpus c.tsv")
                .code,
            0);
  const std::string search = " && simile search --query hello --index ";
  EXPECT_EQ(shell("mv a b" + search + "b/index").code, 0);
  EXPECT_EQ(shell("mkdir c && mv b/index c" + search + "c/index --model b/model").code, 0);
  expect_error("simile search --query hello --index c/index", 3, "--model");
  EXPECT_EQ(shell("simile index add --index c/index --model b/model --corpus c.tsv").code, 0);
}

TEST_F(IntegrityTest, WritersThatCrossLoseNothing) {
  const Outcome outcome = shell(
      "for i in 1 2 3 4 5 6; do printf \"id\\ttext\\nnew $i\\thello $i\\n\" > $i.tsv; simile index "
      "add --index index --corpus $i.tsv & pids=\"$pids $!\"; done; for p in $pids; do wait $p || "
      "exit 1; done");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(shell("simile check --index index").out, HasSubstr("documents    14"));
}

// The first process builds; the others end with a message, and none of their files is left.
TEST_F(IntegrityTest, OfParallelBuildsAtOnePathOneStands) {
  for (int i = 1; i <= 4; ++i) {
    std::string corpus = "id\ttext\n";
    for (int row = 0; row < i; ++row) corpus += fmt::format("{}\thello {}\n", row, i);
    write(fmt::format("{}.tsv", i), corpus);
  }
  for (int round = 0; round < 5; ++round) {
    shell(
        "rm -rf ix; for i in 1 2 3 4; do (simile index build --model model --index ix --corpus "
        "$i.tsv 2>$i.err; echo $? >$i.code) & done; wait");
    int winner = 0;
    for (int i = 1; i <= 4; ++i) {
      const std::string code = read_file(path(fmt::format("{}.code", i)));
      const std::string err = read_file(path(fmt::format("{}.err", i)));
      if (code == "0\n") {
        EXPECT_EQ(winner, 0) << "two ended with 0";
        winner = i;
        continue;
      }
      EXPECT_EQ(code, "2\n") << err;
      EXPECT_THAT(err, AnyOf(HasSubstr("another process is building an index in 'ix'"),
                             HasSubstr("'ix' is an index already")));
    }
    EXPECT_THAT(shell("simile check --index ix").out,
                HasSubstr(fmt::format("documents    {}", winner)));
    EXPECT_EQ(shell("ls -d ix.*").out, "");
  }
}

TEST_F(IntegrityTest, DocumentsThatAreAddedHaveThePromptOfTheOthers) {
  shell("cp -r \"$M\" prompting && rm -f prompting/checksums.json");
  write("prompting/config_sentence_transformers.json",
        R"({"prompts": {"query": "who is ", "document": "it is ", "other": "the quick "}})");
  write("all.tsv", "id\ttext\na\tbrown fox\nb\thello world\n");
  write("a.tsv", "id\ttext\na\tbrown fox\n");
  write("b.tsv", "id\ttext\nb\thello world\n");
  const std::string build = "simile index build --model prompting --prompt other --index ";
  const std::string search = "simile search --query fox --json --index ";
  const Outcome made = shell(build + "whole --corpus all.tsv && " + build +
                             "grown --corpus a.tsv && simile index add --index grown --corpus "
                             "b.tsv && simile index build --model prompting --index plain "
                             "--corpus all.tsv");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(shell(search + "grown").out, shell(search + "whole").out);
  EXPECT_NE(shell(search + "plain").out, shell(search + "whole").out);
  EXPECT_THAT(shell("simile index info --index grown").out, HasSubstr("prompt       other"));
  const std::string add = "simile index add --corpus b.tsv --index ";
  expect_error(add + "grown --prompt document", 2, "have the prompt 'other'; leave the option out");
  expect_error(add + "plain --prompt other", 2, "have the model's prompt for documents");
  EXPECT_EQ(shell(add + "grown --prompt other").code, 0);
}

TEST_F(IntegrityTest, WhatAnIndexLacksOrGetsEmptyIsTold) {
  expect_error("simile index delete --index index 'id of x' nowhere 'not there'", 3,
               "no document \"not there\", \"nowhere\"; nothing was removed");
  EXPECT_EQ(shell("simile index delete --index index 'id of x'").code, 0);
  write("empty.tsv", "id\ttext\na\t\nb\thello\nc\t  \n");
  const Outcome added = shell("simile index add --index index --corpus empty.tsv");
  EXPECT_EQ(added.code, 0) << added.err;
  EXPECT_THAT(added.err, HasSubstr("2 of 3 documents have no text (the first: \"a\")"));
  write("body.tsv", "id\tbody\nd\thello\n");
  expect_error("simile index add --index index --corpus body.tsv", 3,
               "Name the column to use: text");
  EXPECT_EQ(shell("simile index add --index index --corpus body.tsv --text body").code, 0);
  expect_error("simile search --index index --queries body.tsv", 3, "columns found: id, body");
}

}  // namespace
}  // namespace simile
