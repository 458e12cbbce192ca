// SPDX-License-Identifier: Apache-2.0
// `simile init` and `simile train --data`: a table in, a recipe that trains out.
#include <string>

#include "tests/shell.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using InitTest = ShellTest;

TEST_F(InitTest, TheShippedQuestionsTrainByTheLineThatIsPrinted) {
  const Outcome outcome = shell("simile init $S/examples/faq/train.pairs.tsv --model $M --quiet");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("train.pairs.tsv: 1040 rows, pairs that belong together"),
                    HasSubstr("question (texts)       1040  left"),
                    HasSubstr("entry (ids)             208  nothing"),
                    HasSubstr("1040 pairs of 1248 distinct texts"),
                    HasSubstr("with test 'test': 0 of 439 judged pairs"),
                    HasSubstr("\nsimile train faq.yaml\n")));
  EXPECT_THAT(
      read_file(path("faq.yaml")),
      AllOf(HasSubstr("left: question, right: answer, score: \"\"}"), HasSubstr("split: dev}"),
            HasSubstr("tests: {name: test, task: ranking"), Not(HasSubstr("learning_rate"))));
  const Outcome train = shell("simile train faq.yaml stages.steps=2 --quiet");
  EXPECT_EQ(train.code, 0) << train.err;
  EXPECT_THAT(train.out, AllOf(HasSubstr("439"), HasSubstr("map"), HasSubstr("test")));
  expect_error("simile init $S/examples/faq/train.pairs.tsv", 2, "'faq.yaml' is there already");
  expect_error("simile init $S/examples/rail/test.tsv", 2, "is named as a test, on which nothing");
}

TEST_F(InitTest, TheTableIsNotTheRecipe) {
  shell("cp $S/examples/faq/train.pairs.tsv mine.tsv");
  expect_error("simile init mine.tsv --model $M --output mine.tsv --overwrite --quiet", 2,
               "'mine.tsv' is what the command reads");
}

TEST_F(InitTest, EachTaskGetsARecipeThatTrains) {
  const std::string make =
      "for i in $(seq 60); do echo \"how is $i,it is $i so,it is $((i + 1)),$((i % 2)),k$((i % "
      "3))\";"
      "done >rows; w() { { echo $2; cut -d, -f$3 rows; } >$1; }\n"
      "w pairs.csv question,answer 1,2; w triples.csv anchor,positive,negative 1-3\n"
      "w labelled.csv left,right,label 1,2,4; w classes.csv text,intent 1,5\n"
      "awk -F, 'BEGIN {OFS=\"\\t\"; print \"a\", \"b\", \"score\"} {print $1, $2, NR % 6}' rows "
      ">scored.tsv\n"
      "awk -F, '{printf \"{\\\"text\\\": \\\"%s\\\", \\\"label\\\": \\\"%s\\\"}\\n\", $1, $5}' "
      "rows >lines.jsonl\n";
  const Outcome outcome =
      shell(make +
            "for t in pairs.csv triples.csv labelled.csv classes.csv scored.tsv lines.jsonl; do\n"
            "  simile init $t --model $M --quiet >$t.out || exit 1\n"
            "  simile data check ${t%.*}.yaml --quiet >/dev/null || exit 2\n"
            "  $(tail -1 $t.out) stages.steps=2 --quiet --output run-${t%.*} >$t.run || exit 3\n"
            "done; cat *.run");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* metric : {"map", "ap", "accuracy", "spearman"}) {
    EXPECT_THAT(outcome.out, HasSubstr(metric));
  }
  // The recipe made in memory is the same.
  const Outcome same =
      shell(make +
            "simile train --data pairs.csv --model $M stages.steps=2 --quiet --output in-memory "
            ">/dev/null &&"
            "cmp run-pairs/model/model.safetensors in-memory/model/model.safetensors &&"
            "cmp run-pairs/run.json in-memory/run.json");
  EXPECT_EQ(same.code, 0) << same.err << same.out;
  expect_error("simile train", 2, "give a recipe (.yaml), or a table to train on: --data");
  expect_error("simile train pairs.yaml --model $M", 2, "--model belongs to --data; a recipe's");
  expect_error("simile train pairs.csv", 2, "`simile train --data pairs.csv` makes one and trains");
}

TEST_F(InitTest, ATableOfAnotherEncodingAndSeparatorIsTheSameAtEveryDoor) {
  const Outcome outcome = shell(
      "{ echo 'key,title,body,other'; for i in $(seq 40); do\n"
      "  echo \"k$i,Über $i,\\\"größe $i; 5 €, so\\\",wie groß ist $i\"; done; } >a.csv\n"
      "sed 's/; / @ /g; s/,\\([^ ]\\)/;\\1/g; s/ @ /; /' a.csv | iconv -f UTF-8 -t CP1252 >b.csv\n"
      "printf 'query_id\\tdoc_id\\trelevance\\nk1\\tk1\\t1\\n' >q.tsv\n"
      "for o in 'a.csv' 'b.csv --encoding windows-1252'; do\n"
      "  f=${o%.csv*}; e=${o#*.csv}\n"
      "  simile encode --model $M --input $f.csv --text body $e --output $f.npy --quiet || exit 1\n"
      "  simile index build --index $f --model $M --corpus $f.csv --id key --text body $e --quiet "
      "|| exit 2\n"
      "  simile search --index $f --query 'größe 7' --top-k 3 --json --quiet >$f.hits || exit 3\n"
      "  simile evaluate --model bm25 --task ranking --queries $f.csv --corpus $f.csv --qrels "
      "q.tsv "
      "--id key --text body --title title $e --output $f.report --quiet >$f.table || exit 4\n"
      "  simile mine --model bm25 --data $f.csv --left other --right body $e --output $f.tsv "
      "--quiet "
      ">/dev/null || exit 5\n"
      "  simile overlap $f.csv --with $f.csv $e --columns body --json --quiet | sed s/$f.csv/X/g "
      ">$f.overlap || exit 6\n"
      "  simile train --data $f.csv --left other --right body --model $M $e stages.steps=2 "
      "--output run-$f --quiet >/dev/null || exit 7\n"
      "done\n"
      "cmp a.npy b.npy && cmp a.hits b.hits && cmp a.table b.table && cmp a.tsv b.tsv && "
      "cmp a.overlap b.overlap && cmp run-a/model/model.safetensors run-b/model/model.safetensors");
  EXPECT_EQ(outcome.code, 0) << outcome.err << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("b.csv is separated by ';'"));
  EXPECT_THAT(shell("simile encode --model $M --input b.csv --text body --delimiter ';'").err,
              AllOf(HasSubstr("bytes are not UTF-8 and were read as U+FFFD, the first in b.csv:2; "
                              "name the file's encoding, such as windows-1252 (--encoding)")));
}

TEST_F(InitTest, ARecipeElsewhereFindsTheTable) {
  const Outcome outcome = shell(
      "mkdir -p data recipes; { echo a,b; for i in $(seq 30); do echo \"how is $i,it is $i\"; "
      "done; } "
      ">data/pairs.csv; simile init data/pairs.csv --model $M -o recipes/own.yaml --quiet &&"
      "simile data check recipes/own.yaml --json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("27 pairs of 54 distinct texts"),
                                 HasSubstr("\nsimile train recipes/own.yaml\n")));
}

}  // namespace
}  // namespace simile
