// SPDX-License-Identifier: Apache-2.0
// Small mistakes of a newcomer: what is said, and that nothing wrong ends with 0.
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/shell.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class MessagesTest : public ShellTest {
 protected:
  MessagesTest() {
    write("pairs.tsv", "anchor\tpositive\nred apple\ta red apple\nblue sky\tthe sky is blue\n");
    write("red.tsv", "anchor\tpositive\nred apple\ta red apple\nred car\ta red car\n");
    write("one.tsv", "anchor\tpositive\nred apple\ta red apple\n");
    write("table.tsv", "id\ttext\nd1\tred apple\nd2\tblue sky\n");
    write("list.txt", "red apple\nblue sky\n");
  }
};

TEST_F(MessagesTest, MistakesAreToldWithWhatToDo) {
  struct Case {
    const char* line;
    int code;
    const char* message;
  };
  const Case cases[] = {
      {"simile evalute", 2, "unknown command 'evalute' (did you mean 'evaluate'?)"},
      {"simile xyzzy", 2, "unknown command 'xyzzy'; simile --help lists all"},
      {"simile data gett", 2, "unknown command 'gett' (did you mean 'get'?)"},
      {"simile encode --modle x", 2, "--modle: did you mean '--model'?"},
      {"simile mine --model bm25 --data pairs.tsv --output t.tsv --max-score nan", 2,
       "nan is not a number"},
      {"simile mine --model bm25 --data red.tsv --output t.tsv --max-score -1", 1,
       "a higher --max-score would keep more"},
      {"simile mine --model bm25 --data one.tsv --output t.tsv", 1,
       "nothing is written; there are"},
      {"simile mine --model bm25 --data red.tsv --output t.tsv --format n-tuple --count 9", 1,
       "lower --count"},
      {"simile evaluate --model bm25 --task sts --data pairs.tsv --metrics map", 2, "metrics"},
      {"simile evaluate --model bm25 --task sts --data pairs.tsv", 3, "task sts compares scores"},
      {"simile fit pairs.tsv", 2, "unknown command 'fit': `simile train RECIPE.yaml`"},
      {"simile embed 'a text'", 2, "`simile encode`"},
      {"simile encode 'a text'", 2, "texts come from --input FILE or stdin"},
      {"simile encode --model \"$M\" --input list.txt 'a text'", 2, "texts come from --input"},
      {"simile encode --modle x 'a text'", 2, "--modle: did you mean '--model'?"},
      {"simile encode --model \"$M\" --normalize_embeddings", 2, "of unit length already"},
      {"simile encode --model \"$M\" --input list.txt --device gpu", 2, "device"},
      {"simile search --index i 'red'", 2, "given as --query 'TEXT'"},
      {"simile search --index i --query red --k 3", 2, "--top-k"},
      {"simile tokenize --model \"$M\" 'red'", 2, "texts come from --input"},
      {"simile encode --model org/all-MiniLM-L6-v2 --input list.txt", 3, "simile get"},
      {"simile encode --model all-MiniLM-L6-v2 --input list.txt", 3, "simile get"},
      {"simile evaluate --model bm25 --task ranking --data table.tsv", 3,
       "left: COLUMN in a recipe, --left 'COLUMN' in a command"},
      {"simile evaluate --model bm25 --task EmbeddingSimilarityEvaluator --data pairs.tsv", 2,
       "that is `task: sts` here"},
      {"simile evaluate --model bm25 --task information_retrieval --data pairs.tsv", 2,
       "that is `task: ranking` here"},
      {"simile encode --model \"$M\" --column text", 2, "--column names a column of a table"},
      {"simile encode --model \"$M\" --input table.tsv --column name", 3, "no column 'name'"},
      {"touch t.txt; simile encode --model \"$M\" --input t.txt --output t.tsv", 3,
       "t.txt: no text was found"},
      {"simile encode --model \"$M\"", 3, "stdin: no text was found"},
      {"simile encode --model $'\\e[31mred'", 3, "\\x1b[31mred"}};
  for (const Case& c : cases) {
    expect_error(c.line, c.code, c.message);
    EXPECT_THAT(shell(c.line).err, Not(HasSubstr("\x1b"))) << c.line;
    EXPECT_FALSE(file_exists(path("t.tsv"))) << c.line;
  }
}

TEST_F(MessagesTest, EncodeTakesAColumnAndTellsOfATableReadAsAList) {
  const Outcome list = shell("simile encode --model \"$M\" --input list.txt");
  const Outcome column = shell("simile encode --model \"$M\" --input table.tsv --column text");
  EXPECT_EQ(column.code, 0) << column.err;
  EXPECT_EQ(column.out, list.out);
  EXPECT_THAT(column.err, Not(HasSubstr("embedded whole")));
  const Outcome whole = shell("simile encode --model \"$M\" --input table.tsv");
  EXPECT_THAT(whole.err, AllOf(HasSubstr("every line is embedded whole"), HasSubstr("(id, text)"),
                               HasSubstr("--column NAME embeds one column")));
  EXPECT_EQ(std::count(whole.out.begin(), whole.out.end(), '\n'), 3);
}

// CLI11 takes a word in brackets for a list.
TEST_F(MessagesTest, TextsIdsAndFilesInBracketsAreTakenAsTheyAre) {
  EXPECT_THAT(shell("simile similarity --model \"$M\" '[red, blue]' '[]'").out,
              testing::EndsWith("\t[red, blue]\t[]\n"));
  write("[a,b].tsv", "id\ttext\n[d1,d2]\tred\nd1\tblue\n[]\tsky\nd2\tapple\n");
  const Outcome built = shell("simile index build --index i --model \"$M\" --corpus '[a,b].tsv'");
  EXPECT_EQ(built.code, 0) << built.err;
  EXPECT_EQ(shell("simile index delete --index i '[d1,d2]' '[]'").code, 0);
  EXPECT_THAT(shell("simile index list --index i").out,
              AllOf(HasSubstr("d1\t"), HasSubstr("d2\t"), Not(HasSubstr("["))));
  const Outcome trained = shell(
      "simile train-tokenizer --input list.txt --output t --vocab-size 30 --special-tokens "
      "'[PAD],[UNK],[CLS],[SEP],[MASK]'");
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(shell("simile search --index i --query '[red, blue]' --top-k 1").code, 0);
  EXPECT_THAT(shell("simile index info --index i '[red]'").err,
              AllOf(HasSubstr("[red]"), Not(HasSubstr("x1f"))));
}

// The .npy of a file, which is read twice, is that of a pipe.
TEST_F(MessagesTest, EncodeCountsWhatItWritesToNpy) {
  const Outcome outcome = shell(
      "simile encode --model \"$M\" --input list.txt --output a.npy && simile encode --model "
      "\"$M\" --output b.npy < list.txt && cmp a.npy b.npy");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(MessagesTest, RankingIsMeasuredOnATableOfPairs) {
  const Outcome outcome =
      shell("simile evaluate --model bm25 --task ranking --data pairs.tsv --metrics map --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json report = Json::parse(outcome.out);
  EXPECT_EQ(report["examples"], 2);
  EXPECT_EQ(report["metrics"]["map"], 1.0);
  expect_error("simile evaluate --model bm25 --task ranking --data pairs.tsv --qrels q.tsv", 2,
               "give one of them");
}

TEST_F(MessagesTest, FiguresOfSeenDocumentsAreToldApart) {
  write("seen.txt", "The sky is blue.\n");
  const Outcome outcome = shell(
      "simile evaluate --model bm25 --task ranking --data pairs.tsv --metrics map --seen seen.txt");
  EXPECT_THAT(outcome.out, HasSubstr("map 100.00 on 1 queries whose document was in training, "
                                     "100.00 on the other 1"));
}

TEST_F(MessagesTest, OptionsWithoutEffectAreRefused) {
  write("t.txt", "a b\nc\n");
  const std::pair<const char*, const char*> cases[] = {
      {"similarity --model bm25 a b --dimensions 8", "--dimensions is for encoders"},
      {"evaluate --model tfidf --task sts --data pairs.tsv --score '' --score-scale 5",
       "`score_scale` does nothing without a column `score`"},
      {"evaluate --model bm25 --task ranking --data pairs.tsv --batch-tokens 5",
       "--batch-tokens is for encoders and does nothing with bm25"},
      {"evaluate --model bm25 --task ranking --data pairs.tsv --metrics map --gain exponential",
       "`gain` does nothing where no metric is ndcg"},
      {"evaluate --model bm25 --task sts --data pairs.tsv --fold-seed 3", "without `folds`"},
      {"mine --model bm25 --data pairs.tsv --output m.tsv --seed 3",
       "--seed is of --method random"},
      {"mine --model bm25 --folder . --output m.tsv --filter 'a = b'", "of a table of pairs"},
      {"tokenize --model $M --input t.txt --truncation only_first", "--max-length"},
      {"overlap t.txt --with t.txt --shingle 2", "--shingle is of --near"},
      {"whiten --model $M --input t.txt --output w --limit 0 --seed 4", "--seed chooses"},
      {"train-tokenizer --input t.txt --output tt --type bpe --alphabet-limit 50",
       "the type bpe does not take: alphabet_limit"},
  };
  for (const auto& [command, message] : cases) {
    expect_error(std::string("simile ") + command, 2, message);
  }
}

#ifdef SIMILE_WITH_TRAINING

TEST_F(MessagesTest, ARunsFolderIsItsRecipeToResume) {
  write("r.yaml",
        "architecture: {layers: 1, hidden: 16, heads: 2, intermediate: 16}\n"
        "stages: {objectives: {data: {path: pairs.tsv}, loss: mnrl, batch_size: 2}, steps: 2}\n");
  const std::string train =
      "simile train r.yaml tokenizer=\"$M\" stages.0.learning_rate=3e-3 --output run";
  const Outcome first = shell(train);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("no column 'score': all 2 pairs"));
  expect_error("simile train run", 2, "add --resume to go on with it");
  expect_error("simile encode --model run --input list.txt", 3, "its model is '");
  expect_error("simile train . --resume", 2, "without a run.json");
  expect_error(
      "simile train r.yaml tokenizer=\"$M\" stages.0.learning_rate=1e-3 --output run --resume", 2,
      "give now: stages.0.learning_rate 0.003, now 0.001; `simile train run --resume` goes");
  const Outcome resumed = shell("simile train run --resume");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(resumed.out.substr(0, 20), first.out.substr(0, 20));
  expect_error("simile train r.yaml tokenizer=\"$M\" name=../../evil", 2,
               "expected a name without '/'");
  expect_error(train + "2 stages.0.objectives.0.batch_size=1", 2, "compares each example with");
  expect_error(train + "2 stages.0.objectives.0.loss=MultipleNegativesRankingLoss", 2,
               "is `loss: mnrl` here");
}

TEST_F(MessagesTest, WordsOfOtherTrainersAreUnderstood) {
  write("r.yaml",
        "architecture: {layers: 1, hidden: 16, heads: 2, intermediate: 16}\n"
        "stages: {objectives: {data: {path: pairs.tsv}, loss: mnrl, batch_size: 2}, steps: 2}\n");
  struct Case {
    const char* words;
    const char* meant;
  };
  const Case cases[] = {
      {"epochs=3", "did you mean 'stages.0.epochs'?"},
      {"lr=2e-5", "did you mean 'stages.0.learning_rate'?"},
      {"loss=mnrl", "did you mean 'stages.0.objectives.0.loss'?"},
      {"per_device_train_batch_size=8", "did you mean 'stages.0.objectives.0.batch_size'?"},
      {"stages.0.batch_size=8", "did you mean 'stages.0.objectives.0.batch_size'?"},
      {"stages.0.num_train_epochs=3", "did you mean 'stages.0.epochs'?"},
      {"stages.0.warmup_ratio=0.1", "did you mean 'stages.0.schedule.warmup_fraction'?"},
      {"stages.0.objectives.0.data.anchor=anchor", "objectives.0.data.left'?"},
      {"stages.0.objectives.0.data.negative=n", "objectives.0.data.negatives'?"},
      {"stages.0.objectives.0.loss.temperature=0.05", "loss.scale', which is 1 / it?"},
      {"--epochs 3", "given after it as KEY=VALUE, such as stages.0.epochs=..."},
      {"--model \"$M\"", "another is given as model=NAME"},
      {"--data pairs.tsv", "the recipe (RECIPE.yaml) names the data"}};
  for (const Case& c : cases) {
    const std::string line = std::string("simile data check r.yaml tokenizer=\"$M\" ") + c.words;
    expect_error(line, 2, c.meant);
  }
  for (const char* line : {"simile train pairs.tsv", "simile data check pairs.tsv"}) {
    expect_error(line, 2, "'pairs.tsv' is data, and what is given here is a recipe");
  }
}

TEST_F(MessagesTest, ClassesComeFromTheData) {
  write("classes.tsv", "text\tlabel\nred apple\tfruit\nblue sky\tweather\nred pear\tfruit\n");
  write("c.yaml",
        "architecture: {layers: 1, hidden: 16, heads: 2, intermediate: 16}\n"
        "heads: {name: topic, kind: linear, output: classes}\n"
        "stages: {objectives: {data: {path: classes.tsv, format: classes}, batch_size: 2,\n"
        "  loss: softmax_classification, head: topic}, steps: 2}\n");
  const Outcome outcome = shell("simile train c.yaml tokenizer=\"$M\" --output run");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("the head 'topic' has the 2 classes of"));
  EXPECT_THAT(read_file(path("run/run.json")), HasSubstr("\"weather\""));
}

#endif

}  // namespace
}  // namespace simile
