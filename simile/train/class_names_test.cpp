// SPDX-License-Identifier: Apache-2.0
#include "simile/train/class_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/data/detail/test_files.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ToldClasses : public EventSink {
 public:
  void info(const std::string& message) override { text += message + "\n"; }
  std::string text;
};

class ClassNamesTest : public ::testing::Test, protected TestFiles {
 protected:
  ClassNamesTest() {
    write("news.tsv", "sentence\tlabel\na\tsport\nb\tarts\nc\tsport\n");
    HeadSettings head;
    head.name = "topic";
    head.output = "classes";
    options_.heads = {head};
    ObjectiveOptions objective;
    objective.data.path = path("news.tsv");
    objective.data.format = "classes";
    objective.head = "topic";
    options_.stages.resize(2);
    options_.stages[1].objectives = {objective};
  }

  std::vector<std::string> names() {
    fill_class_names(options_, told_);
    return options_.heads[0].class_names;
  }

  TrainOptions options_;
  ToldClasses told_;
};

TEST_F(ClassNamesTest, ComeFromTheDataThatTrainsTheHead) {
  EXPECT_THAT(names(), ElementsAre("arts", "sport"));
  EXPECT_EQ(told_.text, "the head 'topic' has the 2 classes of " + path("news.tsv") + "\n");
}

TEST_F(ClassNamesTest, GivenOnesStay) {
  options_.heads[0].class_names = {"sport", "arts", "rest"};
  EXPECT_THAT(names(), ElementsAre("sport", "arts", "rest"));
  EXPECT_EQ(told_.text, "");
}

TEST_F(ClassNamesTest, AreNotLookedForElsewhere) {
  options_.stages[1].objectives[0].head = "other";
  EXPECT_THAT(names(), IsEmpty());
  options_.stages[1].objectives[0].head = "topic";
  options_.stages[1].objectives[0].data.format = "table";
  EXPECT_THAT(names(), IsEmpty());
  options_.heads[0].output = "score";
  options_.stages[1].objectives[0].data.format = "classes";
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(ClassNamesTest, AFileThatIsMissingIsNamed) {
  options_.stages[1].objectives[0].data.path = path("none.tsv");
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { names(); }), HasSubstr("none.tsv"));
}

}  // namespace
}  // namespace simile
