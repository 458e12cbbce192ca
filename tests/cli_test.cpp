// SPDX-License-Identifier: Apache-2.0
// The real program, as a user runs it: results, messages, exit codes, nothing half-written.
#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>

#include "tests/shell.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CliTest : public ShellTest {
 protected:
  CliTest() {
    write("texts.txt", "hello world\nthe quick brown fox\n");
    write("corpus.tsv", "id\ttext\na\tthe quick brown fox\nb\thello there\nc\tworld of text\n");
    write("pairs.tsv",
          "sentence1\tsentence2\tscore\nhello\thello\t5\nhello\tworld\t1\nfox\tthe fox\t4\n");
  }

  // No file under a temporary name was left behind.
  bool is_tidy() const {
    for (const auto& entry : fs::recursive_directory_iterator(path("."))) {
      if (entry.path().filename().string().find(".tmp-") != std::string::npos) return false;
    }
    return true;
  }
};

TEST_F(CliTest, RecipesAndTaskFilesTakeVariantsAndAFolderOfData) {
  write("task.yaml",
        "data: nowhere\ntasks: {name: first, task: sts, data: $data/pairs.tsv}\n"
        "variants:\n  halves: {tasks.name: second, tasks.score_scale: 2}\n");
  const Outcome outcome =
      shell("simile evaluate --model bm25 --task task.yaml data=. variant=halves --json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("second"));
  expect_error("simile evaluate --model bm25 --task task.yaml variant=thirds", 2, "[halves]");
  expect_error("simile evaluate --model bm25 --task sts --data pairs.tsv data=.", 2, "'data=.'");
}

TEST_F(CliTest, WhatACommandReadsIsNotItsOutput) {
  const std::string pairs = read_file(path("pairs.tsv"));
  const std::string evaluate = "simile evaluate --model bm25 --task sts --data pairs.tsv ";
  expect_error(evaluate + "--predictions pairs.tsv", 2, "would be replaced");
  expect_error(evaluate + "--output ./pairs.tsv", 2, "would be replaced");
  expect_error(evaluate + "--output a.tsv --predictions a.tsv", 2, "written twice");
  expect_error("simile mine --model bm25 --data pairs.tsv --output pairs.tsv", 2,
               "would be replaced");
  write("texts.jsonl", "{\"text\": \"a\"}\n");
  expect_error("simile encode --model $M --input texts.jsonl --output texts.jsonl", 2,
               "would be replaced");
  EXPECT_EQ(read_file(path("pairs.tsv")), pairs);
}

TEST_F(CliTest, WhatAPatternFitsIsNotTheOutput) {
  shell("cp pairs.tsv part-1.tsv; cp pairs.tsv part-2.tsv");
  const std::string part = read_file(path("part-2.tsv"));
  for (const char* command : {"evaluate --model bm25 --task sts", "mine --model bm25"}) {
    expect_error(fmt::format("simile {} --data 'part-*.tsv' --output part-2.tsv", command), 2,
                 "'part-2.tsv' is what the command reads ('part-2.tsv') and would be replaced");
  }
  EXPECT_EQ(read_file(path("part-2.tsv")), part);
}

TEST_F(CliTest, WhatARankingSetOrAModelHoldsIsNotTheOutput) {
  shell("mkdir -p beir/qrels; cp -r $M model; chmod -R u+w model");
  write("beir/corpus.jsonl",
        "{\"_id\": \"a\", \"text\": \"a fox\"}\n{\"_id\": \"b\", \"text\": \"a dog\"}\n");
  write("beir/corpus.tsv", "id\ttext\na\ta fox\n");
  write("beir/queries.jsonl", "{\"_id\": \"q\", \"text\": \"fox\"}\n");
  write("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\ta\t1\n");
  const std::string evaluate =
      "simile evaluate --model bm25 --task ranking --folder beir --output ";
  const std::string mine = "simile mine --model bm25 --folder beir --output ";
  for (const std::string name : {"corpus.jsonl", "corpus.tsv", "queries.jsonl", "qrels/test.tsv"}) {
    const std::string file = "beir/" + name, before = read_file(path(file));
    for (const std::string& command : {evaluate, mine}) {
      expect_error(command + file, 2, "'" + file + "' is what the command reads");
    }
    EXPECT_EQ(read_file(path(file)), before);
  }
  expect_error(evaluate + "beir", 2, "'beir' holds what the command reads");
  // A result may be kept beside the set, and written anew.
  for (int i = 0; i < 2; ++i) EXPECT_EQ(shell(evaluate + "beir/report.json").code, 0);
  expect_error(
      "simile evaluate --model hybrid:model --task sts --data pairs.tsv --output model/config.json",
      2, "'model/config.json' is what the command reads");
}

TEST_F(CliTest, WhatASearchReadsIsNotItsOutput) {
  ASSERT_EQ(shell("simile index build --model $M --index ix --corpus corpus.tsv").code, 0);
  write("q.jsonl", "{\"id\": \"q\", \"text\": \"fox\"}\n");
  write("v.json", "[1, 2]");
  const std::string manifest = read_file(path("ix/manifest.json"));
  const std::pair<const char*, const char*> cases[] = {
      {"search --index ix --queries q.jsonl --output", "q.jsonl"},
      {"search --index ix --vector v.json --format json --output", "v.json"},
      {"search --index ix --query fox --format json --output", "ix/manifest.json"},
      {"export --index ix --to opensearch --output", "ix/manifest.json"}};
  for (const auto& [command, output] : cases) {
    expect_error(fmt::format("simile {} {}", command, output), 2,
                 fmt::format("'{0}' is what the command reads ('{0}')", output));
  }
  EXPECT_EQ(read_file(path("q.jsonl")), "{\"id\": \"q\", \"text\": \"fox\"}\n");
  EXPECT_EQ(read_file(path("v.json")), "[1, 2]");
  EXPECT_EQ(read_file(path("ix/manifest.json")), manifest);
}

TEST_F(CliTest, EncodesTextsToEveryFormat) {
  const Outcome lines = shell("simile encode --model $M --input texts.txt");
  EXPECT_EQ(lines.code, 0) << lines.err;
  EXPECT_THAT(lines.out, StartsWith("{\"text\":\"hello world\",\"embedding\":["));
  EXPECT_EQ(shell("simile encode --model $M --input texts.txt --output v.npy").code, 0);
  const std::string npy = read_file(path("v.npy"));
  EXPECT_THAT(npy.substr(0, 128), AllOf(StartsWith("\x93NUMPY"), HasSubstr("'shape': (2, 32)")));
  EXPECT_EQ(npy.size(), 128u + 2 * 32 * 4);
  // The number of rows of a pipe is only known at its end.
  EXPECT_EQ(shell("cat texts.txt | simile encode --model $M --output p.npy").code, 0);
  EXPECT_EQ(read_file(path("p.npy")), npy);
  EXPECT_EQ(shell("cat texts.txt | simile encode --model $M --output v.tsv --dimensions 3").code,
            0);
  const std::string tsv = read_file(path("v.tsv"));
  EXPECT_EQ(std::count(tsv.begin(), tsv.end(), '\t'), 4);
}

TEST_F(CliTest, PrecisionsAreChosenByNameAndOneThatTheProcessorLacksIsRefused) {
  EXPECT_EQ(shell("simile encode --model $M --input texts.txt --output v.npy").code, 0);
  const Outcome bytes =
      shell("simile encode --model $M --input texts.txt --output b.npy --precision int8");
  EXPECT_EQ(bytes.code, 0) << bytes.err;
  EXPECT_EQ(read_file(path("v.npy")).size(), read_file(path("b.npy")).size());
  EXPECT_NE(read_file(path("v.npy")), read_file(path("b.npy")));
  const std::string older = "export SIMILE_ISA=baseline; ";
  expect_error(older + "simile encode --model $M --input texts.txt --precision bf16", 2,
               "it computes fp32 and int8");
  EXPECT_EQ(
      shell(older + "simile evaluate --model $M --task sts --data pairs.tsv --precision int8").code,
      0);
  expect_error("simile search --index i --query x --precision fp8", 2, "int8");
}

TEST_F(CliTest, AnIndexIsSearchedAndGrowsInItsOwnPrecision) {
  EXPECT_EQ(
      shell("simile index build --model $M --index i --corpus corpus.tsv --precision int8").code,
      0);
  EXPECT_THAT(shell("simile index info --index i").out, HasSubstr("int8"));
  const std::string search = "simile search --index i --query 'a fox' --json";
  const Outcome found = shell(search);
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_EQ(found.out, shell(search + " --precision int8").out);
  EXPECT_NE(found.out, shell(search + " --precision fp32").out);
  const std::string add = "simile index add --model $M --index i --corpus corpus.tsv";
  EXPECT_EQ(shell(add).code, 0);
  EXPECT_EQ(shell(search).out, found.out);
  expect_error(add + " --precision fp32", 2, "were computed in int8");
}

TEST_F(CliTest, TokenizesAndComparesTexts) {
  for (const std::string joined : {"simile-mini-3", "simile-mini-3-static"}) {
    EXPECT_THAT(shell("echo 'a cat' | simile tokenize --model " + joined).out,
                HasSubstr("\"a\",\"cat\""));
  }
  const Outcome tokens = shell("echo hello | simile tokenize --model $M");
  EXPECT_EQ(tokens.code, 0) << tokens.err;
  EXPECT_THAT(tokens.out,
              AllOf(StartsWith("{\"ids\":["), HasSubstr("[CLS]"), HasSubstr("\"offsets\"")));
  const Outcome same = shell("simile similarity --model $M 'hello world' 'hello world' fox");
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out, StartsWith("1.0000\thello world\thello world\n"));
}

TEST_F(CliTest, EvaluatesModelsBesideBaselines) {
  const Outcome report = shell("simile evaluate --model $M --task sts --data pairs.tsv --json");
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_THAT(report.out, AllOf(HasSubstr("\"task\":\"sts\""), HasSubstr("\"examples\":3"),
                                HasSubstr("\"spearman\":")));
  const Outcome table =
      shell("simile evaluate --model $M --model bm25 --task sts --data pairs.tsv");
  EXPECT_THAT(table.out, AllOf(HasSubstr("bm25"), HasSubstr("spearman")));
}

TEST_F(CliTest, BuildsChangesAndSearchesAnIndex) {
  EXPECT_EQ(shell("simile index build --model $M --index ix --corpus corpus.tsv").code, 0);
  const Outcome hits =
      shell("simile search --index ix --mode vector --query 'hello there' --top-k 2 --json");
  EXPECT_EQ(hits.code, 0) << hits.err;
  EXPECT_THAT(hits.out, HasSubstr("\"hits\":[{\"id\":\"b\",\"score\":1.0"));
  EXPECT_EQ(shell("simile index delete --index ix b").code, 0);
  EXPECT_THAT(shell("simile index info --index ix").out, HasSubstr("documents    2"));
  EXPECT_EQ(shell("simile index add --model $M --index ix --corpus corpus.tsv").code, 0);
  EXPECT_THAT(shell("simile index info --index ix --json").out, HasSubstr("\"documents\":3"));
  write("queries.tsv", "id\ttext\nq1\thello\nq2\tfox\n");
  EXPECT_EQ(shell("simile search --index ix --queries queries.tsv --output r.trec").code, 0);
  EXPECT_THAT(read_file(path("r.trec")), StartsWith("q1 Q0 "));
}

TEST_F(CliTest, AnIndexHasAGraphWhereItIsAskedFor) {
  const Outcome built =
      shell("simile index build --model $M --index ix --corpus corpus.tsv --approximate always");
  EXPECT_EQ(built.code, 0);
  EXPECT_THAT(built.err, HasSubstr("a graph of 3 vectors"));
  EXPECT_THAT(shell("simile index info --index ix --json").out, HasSubstr("\"graph_vectors\":3"));
  const std::string search = "simile search --index ix --mode vector --query fox --json";
  EXPECT_EQ(shell(search).out, shell(search + " --exact").out);
  EXPECT_EQ(shell("simile index merge --index ix --approximate never").code, 0);
  EXPECT_THAT(shell("simile index info --index ix").out,
              AllOf(HasSubstr("approximate  never"), Not(HasSubstr("graph"))));
}

TEST_F(CliTest, OverlapCountsWhatTheTrainingFilesHold) {
  const Outcome table = shell("simile overlap texts.txt corpus.tsv --with texts.txt pairs.tsv");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("texts.txt         1         1         1  100.00\n"));
  EXPECT_THAT(table.err, HasSubstr("pairs.tsv: no text of at least 4 words"));
  const Outcome json =
      shell("simile overlap corpus.tsv --with pairs.tsv texts.txt --minimum-words 2 --list --json");
  EXPECT_THAT(json.out, HasSubstr("\"distinct\":2,\"found\":1,\"fraction\":0.5"));
  EXPECT_THAT(json.out, HasSubstr("{\"file\":\"texts.txt\",\"found_at\":\"corpus.tsv:2\",\"text\":"
                                  "\"the quick brown fox\"}"));
  write("long.txt", "and so the quick brown fox jumps over the lazy dog\n");
  write("asked.txt", "why the quick brown fox jumps over\n");
  const Outcome near = shell("simile overlap long.txt --with asked.txt --near 0.8 --list");
  EXPECT_THAT(near.out,
              AllOf(HasSubstr("     found       %      near\n"),
                    HasSubstr("asked.txt         1         1         0    0.00         1\n"),
                    HasSubstr("asked.txt\tlong.txt:1\t0.80\twhy the quick")));
  EXPECT_THAT(shell("simile overlap long.txt --with asked.txt --near 0.8 --json").out,
              HasSubstr("\"found\":0,\"fraction\":0.0,\"near\":1"));
  EXPECT_THAT(shell("simile overlap long.txt --with asked.txt --near 0.9 --json").out,
              HasSubstr("\"near\":0"));
  write("faq.tsv", "anchor\tpositive\nhow is bread made\tmix flour and water\n");
  write("test.tsv", "query\tdocument\nwhat is bread made of\tmix flour and water\n");
  const std::string line = "simile overlap faq.tsv texts.txt --with test.tsv texts.txt";
  EXPECT_THAT(shell(line).out,
              HasSubstr("pairs         pairs     found      left     found     right     found\n"
                        "test.tsv          1         0         1         0         1         1\n"));
  EXPECT_THAT(shell(line + " --json").out,
              HasSubstr("\"pairs\":{\"pairs\":1,\"found\":0,\"left\":1,\"left_found\":0,"
                        "\"right\":1,\"right_found\":1,\"pairs_with_right_found\":1}"));
  expect_error("simile overlap texts.txt --with texts.txt --near 2", 2, "near");
  expect_error("simile overlap texts.txt", 2, "--with");
  expect_error("simile overlap nowhere.txt --with texts.txt", 3, "nowhere.txt");
}

TEST_F(CliTest, CheckVerifiesAModelAndHelpIsEverywhere) {
  const Outcome check = shell("simile check --model $M");
  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("fingerprint"));
  for (const char* command :
       {"",      "encode",  "evaluate", "similarity", "index build", "search",   "overlap",
        "mine",  "compare", "report",   "data",       "data get",    "tokenize", "train-tokenizer",
        "check", "convert", "whiten",   "fuse",       "serve",       "docs"}) {
    EXPECT_EQ(shell(fmt::format("simile {} --help", command)).code, 0) << command;
  }
  EXPECT_THAT(shell("simile docs").out, HasSubstr("# Options"));
#ifdef SIMILE_WITH_TRAINING
  for (const char* command : {"train", "pretrain", "batches", "data check"}) {
    EXPECT_EQ(shell(fmt::format("simile {} --help", command)).code, 0) << command;
  }
#endif
}

TEST_F(CliTest, WhitensAModelByTheTextsItIsGiven) {
  std::string texts;
  for (int i = 0; i < 200; ++i) {
    texts += fmt::format("{} {} {}\n", i % 2 == 0 ? "the cat" : "a dog", i % 3 == 0 ? "sat" : "ran",
                         i % 7 < 3 ? "on the mat" : "under the red sun");
  }
  write("many.txt", texts);
  const Outcome json = shell(
      "simile whiten --model $M --input many.txt --output white --limit 90 --dimensions 8 "
      "--json --quiet");
  EXPECT_EQ(json.code, 0) << json.err;
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"texts\":90,\"dimensions_before\":32,\"dimensions\":8"),
                              HasSubstr("\"variance_kept\":")));
  EXPECT_EQ(shell("cat many.txt | simile whiten --model $M --input - --output all --power 0").code,
            0);
  EXPECT_EQ(shell("simile check --model white").code, 0);
  EXPECT_THAT(shell("simile similarity --model all 'the cat' 'the cat'").out,
              StartsWith("1.0000\t"));
  expect_error("simile whiten --model $M --input texts.txt --output few", 3,
               "needs at least 64 texts, and 2 were given");
  expect_error("simile whiten --model $M --input many.txt --output $M", 2, "would be replaced");
  EXPECT_TRUE(is_tidy());
  EXPECT_FALSE(fs::exists(path("few")));
}

TEST_F(CliTest, DataSetsAreListedAndFetchedByName) {
  const Outcome list = shell("simile data get --list");
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_THAT(list.out, AllOf(StartsWith("stsb"), HasSubstr("licence: CC BY-SA 4.0"),
                              HasSubstr("checksum not known")));
  EXPECT_THAT(shell("simile data get --list --json").out, StartsWith("[{\"name\":\"stsb\""));
  expect_error("simile data get stbs", 2, "did you mean 'stsb'?");
  expect_error("simile data get", 2, "--list");
  write("own.yaml", "sets: [{name: mine, files: {url: 'file:///etc/hosts'}}]");
  expect_error("simile data get mine --catalogue own.yaml", 2, "expected http:// or https://");
}

TEST_F(CliTest, ABuiltInModelIsCalledByItsName) {
  shell("mkdir shelf && cp -r $M shelf/tiny && chmod -R u+w shelf");
  const std::string named = "export SIMILE_MODELS=$PWD/shelf; ";
  for (const char* command :
       {"encode --input texts.txt --model ", "tokenize --input texts.txt --model ",
        "similarity hello fox --model "}) {
    const Outcome by_path = shell(std::string("simile ") + command + "$M");
    const Outcome by_name = shell(named + "simile " + command + "tiny");
    EXPECT_EQ(by_name.code, 0) << by_name.err;
    EXPECT_EQ(by_name.out, by_path.out) << command;
  }
  EXPECT_THAT(shell(named + "simile evaluate --model tiny --task sts --data pairs.tsv --json").out,
              HasSubstr("\"model\":\"tiny\""));
  EXPECT_THAT(shell(named + "simile check --model tiny").out, HasSubstr("model        tiny"));
  EXPECT_EQ(shell(named + "simile index build --model tiny --index ix --corpus corpus.tsv").code,
            0);
  EXPECT_THAT(shell("simile index info --index ix").out, HasSubstr("model        tiny"));
  EXPECT_EQ(shell(named + "simile search --index ix --query fox").code, 0);
  expect_error("simile search --index ix --query fox", 3, "SIMILE_MODELS");
  EXPECT_EQ(
      shell("mkdir models && cp -r shelf/tiny models/small && simile check --model small").code, 0);
  expect_error(named + "simile encode --model tinny", 3, "built-in models found: ");
  shell("mkdir tiny");  // not a model
  EXPECT_EQ(shell(named + "simile check --model tiny").code, 0);
  expect_error("simile check --model tiny", 3, "config.json");
  write("tiny/config.json", "{}");
  expect_error(named + "simile check --model tiny", 3, "config.json");
}

// Each block of cli/examples.txt: a command, its most common form, three examples.
TEST_F(CliTest, EveryCommandHasExamplesWithOptionsThatItKnows) {
  std::istringstream text(read_file(std::string(SIMILE_SOURCE_DIR) + "/cli/examples.txt"));
  std::map<std::string, std::vector<std::string>> blocks;
  std::string line, name;
  while (std::getline(text, line)) {
    EXPECT_LE(line.size(), 100) << line;
    if (line.empty()) continue;
    if (line[0] == ' ') {
      blocks[name].push_back(line);
    } else {
      name = line;
    }
  }
  std::map<std::string, std::string> helps;
  for (const auto& [command, lines] : blocks) {
    const std::string call = command == "simile" ? command : "simile " + command;
    const std::string& help = helps[command] = shell(call + " --help").out;
    EXPECT_EQ(lines.size(), 4) << command;
    for (const std::string& example : lines) EXPECT_THAT(help, HasSubstr(example + "\n"));
    std::istringstream all(help);
    while (std::getline(all, line)) EXPECT_LE(line.size(), 100) << call << ": " << line;
  }
  for (const char* command : {"train", "encode", "evaluate", "index", "index build", "compare"}) {
    const Outcome bare = shell(std::string("simile ") + command);
    EXPECT_EQ(bare.code, 2) << command;
    for (const std::string& example : blocks[command]) EXPECT_THAT(bare.err, HasSubstr(example));
  }
#ifdef SIMILE_WITH_TRAINING  // other builds do not know the options of training
  const std::regex words("simile ((index|data) )?[a-z-]+"), option(" (--[a-z-]+)");
  for (const auto& [command, lines] : blocks) {
    for (const std::string& example : lines) {
      std::smatch found;
      ASSERT_TRUE(std::regex_search(example, found, words) || command == "simile") << example;
      const std::string& help = helps[found.empty() ? "simile" : found.str().substr(7)];
      for (std::sregex_iterator at(example.begin(), example.end(), option), end; at != end; ++at) {
        EXPECT_THAT(help, HasSubstr((*at)[1].str())) << example;
      }
    }
  }
#endif
  std::istringstream listed(shell("simile docs options").out);
  while (std::getline(listed, line)) {
    if (line.rfind("## `simile ", 0) != 0) continue;
    EXPECT_EQ(blocks.count(line.substr(11, line.find('`', 11) - 11)), 1) << line;
  }
}

TEST_F(CliTest, BadUsageAndInputAreOneMessageAndAnExitCode) {
  expect_error("simile", 2, "Subcommands:");
  expect_error("simile encode --modell x", 2, "--model");
  expect_error("simile encode --model $M --output v.bin --input texts.txt", 2, ".npy");
  expect_error("simile encode --model nowhere --input texts.txt", 3, "nowhere");
  expect_error("simile encode --model $M --input nowhere.txt", 3, "nowhere.txt");
  expect_error("simile evaluate --model $M --task stss --data pairs.tsv", 2, "did you mean 'sts'");
  expect_error("simile evaluate --model $M --task sts --data pairs.tsv --left text", 3, "text");
  expect_error("simile evaluate --model $M --task sts --data empty.tsv", 3, "empty.tsv");
  write("empty.tsv", "");
  expect_error("simile evaluate --model $M --task sts --data empty.tsv", 3, "empty.tsv");
  write("bad.tsv", "sentence1\tsentence2\tscore\na\tb\thigh\n");
  expect_error("simile evaluate --model $M --task sts --data bad.tsv", 3, "bad.tsv:2");
  write("classes.tsv", "sentence\tlabel\na\tgood\nb\tbad\n");
  expect_error("simile evaluate --model bm25 --task classification --data classes.tsv", 2,
               "bm25 has no heads");
  expect_error("simile evaluate --model bm25 --task classification --data pairs.tsv", 3,
               "sentence");
  expect_error("simile search --index ix --query x", 3, "ix");
}

TEST_F(CliTest, BrokenUtf8IsReplacedCountedAndSaid) {
  write("broken.txt", "ok\nbro\xff\xfeken\n");
  const Outcome outcome = shell("simile encode --model $M --input broken.txt");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("warning"), HasSubstr("broken.txt"), HasSubstr("UTF-8")));
}

TEST_F(CliTest, DamagedAndForeignModelsAreRefused) {
  shell("cp -r $M model && chmod -R u+w model");
  const std::string weights = read_file(path("model/model.safetensors"));
  write("model/model.safetensors", weights.substr(0, weights.size() / 2));
  expect_error("simile check --model model", 3, "model.safetensors");
  write("model/model.safetensors", weights);
  std::string config = read_file(path("model/config.json"));
  const size_t at = config.find("\"intermediate_size\"");
  ASSERT_NE(at, std::string::npos);
  config.insert(config.find(':', at) + 2, "1");
  write("model/config.json", config);
  expect_error("simile check --model model", 3, "intermediate");
}

TEST_F(CliTest, AnIndexOfAnotherModelIsRefused) {
  EXPECT_EQ(shell("simile index build --model $M --index ix --corpus corpus.tsv").code, 0);
  shell("cp -r $M model && chmod -R u+w model && echo extra >> model/vocab.txt");
  const Outcome outcome = shell("simile search --index ix --model model --query x");
  EXPECT_EQ(outcome.code, 3) << outcome.err;
}

TEST_F(CliTest, AFolderThatHoldsOtherFilesIsNotReplaced) {
  fs::create_directories(path("keep"));
  write("keep/thesis.txt", "years of work");
  expect_error("simile index build --model $M --index keep --corpus corpus.tsv", 2, "keep");
  expect_error("simile train-tokenizer --input texts.txt --output keep --vocab-size 30", 2, "keep");
  EXPECT_EQ(read_file(path("keep/thesis.txt")), "years of work");
  EXPECT_TRUE(is_tidy());
}

TEST_F(CliTest, EncodingGoesOnWhereItWasStopped) {
  const std::string encode = "encode --model $M --threads 1 --input ";
  ASSERT_EQ(
      shell("seq 60000 | sed 's/.*/the cat & sat on mat &/' > t.txt; head -n 4000 t.txt > few.txt; "
            "sed 3s/cat/dog/ t.txt > other.txt")
          .code,
      0);
  for (const std::string name : {"o.npy", "o.jsonl"}) {
    SCOPED_TRACE(name);
    const std::string resume = " --resume --output " + name;
    const Outcome stopped =
        shell("\"$P\" " + encode + "t.txt" + resume + " & pid=$!; until test -e " + name +
              ".part.json; do sleep 0.01; done; kill -TERM $pid; wait $pid");
    EXPECT_EQ(stopped.code, 143) << stopped.err;
    EXPECT_THAT(stopped.err, HasSubstr("what is done is in '" + name + ".part'"));
    const std::string refused = "remove " + name + ".part and " + name + ".part.json";
    expect_error("simile " + encode + "few.txt" + resume, 3, refused);
    expect_error("simile " + encode + "other.txt" + resume, 3, refused);
    expect_error("simile " + encode + "t.txt --dimensions 16" + resume, 3, refused);
    expect_error("cp " + name + ".part kept; printf x | dd of=" + name +
                     ".part conv=notrunc bs=1 seek=200 2>dd; simile " + encode + "t.txt" + resume,
                 3, refused);
    const Outcome resumed = shell("mv kept " + name + ".part; simile " + encode + "t.txt" + resume +
                                  " && simile " + encode + "t.txt --output whole-" + name +
                                  " && cmp " + name + " whole-" + name + " && ls");
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_THAT(resumed.err, HasSubstr(" texts were encoded before"));
    EXPECT_THAT(resumed.out, Not(HasSubstr(".part")));
  }
  expect_error("simile " + encode + "t.txt --resume", 2, "--output");
}

TEST_F(CliTest, AnIndexIsReplacedOnlyWhenAskedTo) {
  fs::create_directories(path("ix"));
  const std::string build = "simile index build --model $M --index ix --corpus ";
  EXPECT_EQ(shell(build + "corpus.tsv").code, 0);
  write("one.tsv", "id\ttext\nz\thello\n");
  expect_error(build + "one.tsv", 2, "--overwrite");
  EXPECT_THAT(shell("simile index info --index ix").out, HasSubstr("documents    3"));
  EXPECT_EQ(shell(build + "one.tsv --overwrite").code, 0);
  EXPECT_THAT(shell("simile index info --index ix").out, HasSubstr("documents    1"));
}

TEST_F(CliTest, TextsThatAreCutAreCounted) {
  std::string text = "id\ttext\na\tshort\nb\t";
  for (int i = 0; i < 400; ++i) text += "hello world ";
  write("long.tsv", text + "\n");
  const std::string told = "1 of 2 texts were cut at the model's limit";
  for (const char* command :
       {"index build --index ix --corpus long.tsv", "index add --index ix --corpus long.tsv",
        "search --index ix --queries long.tsv"}) {
    const Outcome outcome = shell(std::string("simile ") + command + " --model $M");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(told)) << command;
  }
  write("qrels.tsv", "query_id\tdoc_id\trelevance\na\ta\t1\n");
  EXPECT_THAT(
      shell("simile evaluate --model $M --task ranking --queries long.tsv --corpus long.tsv "
            "--qrels qrels.tsv")
          .err,
      HasSubstr(told));
}

TEST_F(CliTest, ASignalEndsWaitingForInput) {
  // Bits 2 and 4000: SIGINT and SIGTERM are caught from here on; sanitizers catch others too.
  const std::string wait_and_stop =
      " & child=$!; until grep -q '^SigCgt:.*[4-7c-f]..[2367abef]$' /proc/$child/status || ! kill "
      "-0 $child; "
      "do sleep 0.02; done; sleep 0.2; kill -TERM $child; wait $child; code=$?; "
      "kill $writer; exit $code";
  for (const char* command :
       {"tokenize --model $M", "encode --model $M", "encode --model $M --input pipe",
        "train-tokenizer --input - --output vocabulary --vocab-size 30"}) {
    const bool from_stdin = std::string(command).find("pipe") == std::string::npos;
    const Outcome outcome =
        shell(std::string("rm -f pipe; mkfifo pipe; sleep 60 >pipe & writer=$!; \"$P\" ") +
              command + (from_stdin ? " <pipe" : "") + wait_and_stop);
    EXPECT_EQ(outcome.code, 143) << command << "\n" << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("simile: ")) << command;
  }
  EXPECT_FALSE(folder_exists(path("vocabulary")));
  EXPECT_TRUE(is_tidy());
}

TEST_F(CliTest, AnIndexIsSearchedByVectorsByWordsAndByBoth) {
  EXPECT_EQ(shell("simile index build --model $M --index ix --corpus corpus.tsv").code, 0);
  EXPECT_THAT(shell("simile search --index ix --query 'hello there' --top-k 1 --json").out,
              AllOf(HasSubstr("\"id\":\"b\""), HasSubstr("\"vector_score\":1.0"),
                    HasSubstr("\"lexical_score\":1.")));
  expect_error("simile index settings --index ix", 2, "say what to change");
  EXPECT_EQ(shell("simile index settings --index ix --mode lexical --hybrid-weight 0.3").code, 0);
  EXPECT_THAT(shell("simile index info --index ix").out,
              AllOf(HasSubstr("mode         lexical"), HasSubstr("hybrid_weight 0.3")));
  // Words need no model.
  EXPECT_THAT(
      shell("simile search --index ix --model nowhere --query there --json").out,
      AllOf(HasSubstr("\"hits\":[{\"id\":\"b\",\"score\":0."), Not(HasSubstr("vector_score"))));
  EXPECT_THAT(shell("simile search --index ix --query zebra --json").out, HasSubstr("\"hits\":[]"));
  expect_error("simile search --index ix --mode hybrid --dimensions 8 --query there", 2,
               "--dimensions 8: the vectors of the index have 32 numbers; leave the option out");
  write("ix/search.json", "{\"mode\":\"vector\",\"checksum\":\"0\"}");
  expect_error("simile search --index ix --query there", 3, "search.json");
}

TEST_F(CliTest, TitlesAreIndexedAndIdsMustDiffer) {
  write("titled.tsv", "id\ttitle\ttext\na\thello\tworld\nb\t\tfox\n");
  EXPECT_EQ(shell("simile index build --model $M --index ix --corpus titled.tsv").code, 0);
  EXPECT_THAT(
      shell("simile search --index ix --mode vector --query 'hello world' --top-k 1 --json").out,
      HasSubstr(
          "\"hits\":[{\"id\":\"a\",\"score\":1.0,\"title\":\"hello\",\"text\":\"hello world\""));
  write("twice.tsv", "id\ttext\na\tx\nb\ty\na\tz\n");
  expect_error("simile index build --model $M --index new --corpus twice.tsv", 3, "twice.tsv:4");
  EXPECT_FALSE(folder_exists(path("new")));
  expect_error("simile search --index ix --queries twice.tsv", 3, "twice.tsv:4");
  write("broken.tsv", "id\ttext\na\tbro\xff\xfeken\n");
  const Outcome outcome = shell("simile search --index ix --queries broken.tsv");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("warning"), HasSubstr("broken.tsv"), HasSubstr("UTF-8")));
}

TEST_F(CliTest, AnIndexKeepsItsDimensionAndItsModel) {
  EXPECT_EQ(
      shell("simile index build --model $M --index ix --corpus corpus.tsv --dimensions 8").code, 0);
  EXPECT_EQ(shell("simile index add --model $M --index ix --corpus corpus.tsv").code, 0);
  EXPECT_THAT(shell("simile search --index ix --query 'hello there' --top-k 1").out,
              HasSubstr("b  hello there"));
  shell(
      "cp -r $M model && chmod -R u+w model && "
      "echo '{\"similarity_fn_name\":\"manhattan\"}' > model/config_sentence_transformers.json");
  expect_error("simile search --index ix --model model --query x", 3, "fingerprint");
  EXPECT_EQ(shell("simile index build --model model --index new --corpus corpus.tsv").code, 0);
}

TEST_F(CliTest, SearchWritesTheFormatAskedForOrNone) {
  EXPECT_EQ(shell("simile index build --model $M --index ix --corpus corpus.tsv").code, 0);
  write("queries.tsv", "id\ttext\nq1\thello\nq2\tfox\n");
  const std::string search = "simile search --index ix --queries queries.tsv --top-k 1 ";
  expect_error(search + "--output x.tsv", 2, ".trec");
  EXPECT_FALSE(file_exists(path("x.tsv")));
  const std::string document = shell(search + "--json").out;
  EXPECT_THAT(document, StartsWith("[{\"query_id\":\"q1\""));
  EXPECT_THAT(document, ::testing::EndsWith("]}]\n"));
  EXPECT_EQ(shell(search + "--output x.jsonl").code, 0);
  const std::string lines = read_file(path("x.jsonl"));
  EXPECT_THAT(lines,
              AllOf(StartsWith("{\"query_id\":\"q1\""), HasSubstr("\n{\"query_id\":\"q2\"")));
  expect_error("simile tokenize --model $M --input texts.txt --json", 2, "--json");
}

TEST_F(CliTest, EvaluatesARunOfSomebodyElse) {
  write("run.trec", "q1 Q0 a 1 0.5 x\nq1 Q0 b 2 0.5 x\nq2 Q0 c 1 1 x\n");
  write("qrels.txt", "q1 0 b 1\nq2 0 c 1\n");
  const std::string evaluate =
      "simile evaluate --run run.trec --qrels qrels.txt --metrics mrr --json";
  EXPECT_THAT(shell(evaluate).out, AllOf(HasSubstr("\"examples\":2"), HasSubstr("\"mrr\":1.0")));
  EXPECT_THAT(shell(evaluate + " --ties input").out, HasSubstr("\"mrr\":0.75"));
  EXPECT_THAT(shell(evaluate + " --ties input --intervals").out,
              HasSubstr(R"("intervals":{"mrr":{"low":0.5,"high":1.0}})"));
  shell(evaluate + " --predictions a.tsv");
  shell(evaluate + " --ties input --predictions b.tsv");
  EXPECT_EQ(read_file(path("b.tsv")),
            "query_id\tquery\tmrr\tfirst_relevant\ttop_id\ttop_text\trelevant_id\trelevant_text\n"
            "q1\t\t0.5\t2\t\t\t\t\nq2\t\t1\t1\t\t\t\t\n");
  EXPECT_THAT(shell("simile compare b.tsv a.tsv --json").out, HasSubstr("\"difference\":0.25"));
  expect_error(evaluate + " --predictions b.trec", 2, ".tsv");
  expect_error("simile evaluate --run run.trec", 2, "--qrels");
  expect_error(evaluate + " --data pairs.tsv", 2, "--data");
  expect_error(evaluate + " --model $M", 2, "--model");
  expect_error("simile evaluate --qrels qrels.txt", 2, "--task");
}

TEST_F(CliTest, ATaskFileReportsItsSetsAndTheirMean) {
  write("more.tsv",
        "sentence1\tsentence2\tscore\nfox\tthe fox\t1\nhello\tworld\t3\nhello\tfox\t5\n");
  write("tasks.yaml",
        "tasks:\n  - {task: sts, name: one, data: pairs.tsv}\n  - {task: sts, name: two, data: "
        "more.tsv}\n");
  write("sts", "a file of this name is no task file");
  const std::string evaluate = "simile evaluate --model bm25 --model tfidf --json ";
  EXPECT_EQ(shell(evaluate + "--task sts --data pairs.tsv").code, 0);
  const std::string out = shell(evaluate + "--task tasks.yaml").out;
  EXPECT_THAT(out, AllOf(HasSubstr("\"name\":\"two\""),
                         HasSubstr("\"name\":\"mean\",\"model\":\"tfidf\"")));
  const auto spearman = [&](const std::string& name) {
    const size_t report = out.find("\"name\":\"" + name + "\",\"model\":\"bm25\"");
    return std::stod(out.substr(out.find("\"spearman\":", report) + 11));
  };
  EXPECT_DOUBLE_EQ(spearman("mean"), (spearman("one") + spearman("two")) / 2);
  expect_error(evaluate + "--task tasks.yaml --data pairs.tsv", 2, "--data");
  expect_error(evaluate + "--task nowhere.yaml", 3, "nowhere.yaml");
  write("same.yaml", "tasks: [{task: sts, data: pairs.tsv}, {task: sts, data: more.tsv}]\n");
  expect_error(evaluate + "--task same.yaml", 2, "give each a `name` of its own");
}

TEST_F(CliTest, AFullDiskLeavesNothingBehind) {
  expect_error("simile encode --model $M --input texts.txt >/dev/full", 1, "No space left");
  write("many.txt", [] {
    std::string text;
    for (int i = 0; i < 400; ++i) text += fmt::format("hello world {}\n", i);
    return text;
  }());
  const std::string limited = "trap '' XFSZ; ulimit -f 16; ";
  write("v.npy", "old");
  expect_error(limited + "simile encode --model $M --input many.txt --output v.npy --quiet", 1,
               "v.npy");
  EXPECT_EQ(read_file(path("v.npy")), "old");
  expect_error(limited + "simile index build --model $M --index ix --corpus corpus.tsv", 1, "ix");
  EXPECT_FALSE(folder_exists(path("ix")));
  EXPECT_TRUE(is_tidy());
}

#ifdef SIMILE_WITH_TRAINING
TEST_F(CliTest, PretrainsFromGzipTextAndTrainsOnFromThere) {
  shell(
      "for i in $(seq 60); do t=\"$t fox\"; echo \"the quick brown fox says hello world$t\"; done "
      "| gzip > t.gz");
  write("pretrain.yaml", R"(
architecture: {layers: 1, hidden: 32, heads: 2, intermediate: 64, positions: 32}
tokenizer: vocabulary
corpus: t.gz
max_length: 16
batch_tokens: 100
steps: 6
held_out: {path: texts.txt, every_steps: 3}
)");
  write("train.yaml", R"(
model: first/model
precision: fp16
stages:
  mixing: round_robin
  objectives:
    - {data: {path: pairs.tsv, score_scale: 5}, loss: mse, batch_size: 2}
    - {data: {path: t.gz, format: texts, limit: 8}, loss: simcse, batch_size: 4}
  epochs: 2
baselines: []
)");
  EXPECT_EQ(shell("simile train-tokenizer --input t.gz --output vocabulary --vocab-size 60").code,
            0);
  const Outcome first = shell("simile pretrain pretrain.yaml --output first");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr("masked_accuracy"), HasSubstr("perplexity")));
  const Outcome second = shell("simile train train.yaml --output second");
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(shell("simile check --model second/model").code, 0);
  const Outcome data = shell("simile data check train.yaml");
  EXPECT_EQ(data.code, 0) << data.err;
  EXPECT_THAT(data.out, HasSubstr("pairs.tsv: 3 pairs of 4 distinct texts, 1 of two equal sides"));
  expect_error("simile data check train.yaml stages.0.objectives.0.data.right=score", 2,
               "1 mistake was found");
  EXPECT_THAT(read_file(path("out")), HasSubstr("mistake: "));
  EXPECT_THAT(shell("simile evaluate --model words:second/model --task sts --data pairs.tsv").out,
              HasSubstr("words:second/model"));
  shell("head -c 60 t.gz > cut.gz");
  expect_error("simile pretrain pretrain.yaml corpus=cut.gz --output third", 3, "cut.gz");
  EXPECT_FALSE(folder_exists(path("third")));
}

TEST_F(CliTest, ATerminatedTrainingSavesAndResumesToTheSameModel) {
  write("recipe.yaml", R"(
name: small
architecture: {layers: 2, hidden: 32, heads: 2, intermediate: 64, positions: 32}
tokenizer: TOKENIZER
max_length: 32
stages:
  objectives: {data: {path: pairs.tsv, score_scale: 5}, loss: mse, batch_size: 2}
  epochs: 400
  learning_rate: 1e-4
  selection: {metric: dev.spearman, every_epochs: 100}
evaluations: {name: dev, task: sts, data: pairs.tsv}
baselines: []
)");
  shell("sed -i \"s#TOKENIZER#$M#\" recipe.yaml");
  EXPECT_EQ(shell("simile train recipe.yaml --output whole").code, 0);
  // A terminal that closes sends SIGHUP.
  for (const auto& [name, code] : {std::pair{"TERM", 143}, std::pair{"HUP", 129}}) {
    const Outcome stopped =
        shell("'" SIMILE_PROGRAM
              "' train recipe.yaml --output cut --overwrite & child=$!; "
              "while [ ! -s cut/metrics.jsonl ] && kill -0 $child; do sleep 0.01; done; "
              "kill -" +
              std::string(name) + " $child; wait $child");
    EXPECT_EQ(stopped.code, code) << stopped.err;
    EXPECT_THAT(stopped.err, HasSubstr("--resume"));
    const Outcome resumed = shell("simile train recipe.yaml --output cut --resume --json");
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    for (const char* file : {"model/model.safetensors", "metrics.jsonl"}) {
      EXPECT_EQ(read_file(path(std::string("whole/") + file)),
                read_file(path(std::string("cut/") + file)));
    }
    shell("rm -r cut");
  }
  expect_error("simile train recipe.yaml --output whole", 2, "--overwrite");
  expect_error("simile train recipe.yaml stages.0.objectives.0.los=mse --output x", 2,
               "did you mean 'loss'");
}
#endif

}  // namespace
}  // namespace simile
