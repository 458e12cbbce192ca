// SPDX-License-Identifier: Apache-2.0
#include "simile/core/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/file.h"
#include "simile/core/unused_options.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Inner {
  std::string name = "mse";
  double margin = 0.5;
  void visit(OptionVisitor& v) {
    v.field("name", name, {"which", "", 0, 0, {"mse", "bsc"}});
    v.field("margin", margin, {"distance", "", 0, 2});
  }
};

struct Outer {
  int64_t steps = 10;
  bool verbose = false;
  std::vector<std::string> files;
  Inner loss;
  std::vector<Inner> stages;
  void visit(OptionVisitor& v) {
    v.field("steps", steps, {"how many", "steps", 1});
    v.field("verbose", verbose, {"talk"});
    v.field("files", files, {"inputs"});
    v.group("loss", loss, "the loss");
    v.list("stages", stages, "in order");
  }
};

Outer read(const std::string& text) {
  Outer options;
  read_options(parse_config(text, "r.yaml"), options);
  return options;
}

std::string error_from(const std::string& text) {
  return error_of(ErrorKind::kRecipe, [&] { read(text); });
}

TEST(Options, AnUnknownKeyIsLookedForInAllOfTheFile) {
  struct Case {
    const char* text;
    const char* meant;
  };
  const Case cases[] = {{"margin: 1\n", "did you mean 'loss.margin'?"},
                        {"max_steps: 1\n", "did you mean 'steps'?"},
                        {"loss: {max_steps: 1}\n", "did you mean 'steps'?"},
                        {"loss: {files: 1}\n", "did you mean 'files'?"},
                        {"loss_function: mse\n", "did you mean 'loss'?"},
                        {"verbos: true\n", "did you mean 'verbose'?"}};
  for (const Case& c : cases) EXPECT_THAT(error_from(c.text), HasSubstr(c.meant)) << c.text;
  for (const char* text : {"lr: 1\n", "xyzzy: 1\n"}) {
    EXPECT_THAT(error_from(text), ::testing::Not(HasSubstr("did you mean"))) << text;
  }
}

TEST(Options, AreReadFromYamlAndKeepDefaultsElsewhere) {
  const Outer o =
      read("steps: 3\nfiles: [a, b]\nloss: {margin: 1.5}\nstages:\n  - name: bsc\n  - {}\n");
  EXPECT_EQ(o.steps, 3);
  EXPECT_FALSE(o.verbose);
  EXPECT_THAT(o.files, ::testing::ElementsAre("a", "b"));
  EXPECT_EQ(o.loss.name, "mse");
  EXPECT_EQ(o.loss.margin, 1.5);
  ASSERT_EQ(o.stages.size(), 2u);
  EXPECT_EQ(o.stages[0].name, "bsc");
}

TEST(Options, ASingleValueSetsAGroupsFirstFieldAndAMapIsAListOfOne) {
  const Outer o = read("loss: bsc\nstages: {margin: 1}\nfiles: one");
  EXPECT_EQ(o.loss.name, "bsc");
  ASSERT_EQ(o.stages.size(), 1u);
  EXPECT_EQ(o.stages[0].margin, 1);
  EXPECT_THAT(o.files, ::testing::ElementsAre("one"));
}

TEST(Options, MistakesNameFileLineKeyAndRemedy) {
  EXPECT_THAT(error_from("\nstepz: 3"), AllOf(HasSubstr("r.yaml:2"), HasSubstr("'stepz'"),
                                              HasSubstr("did you mean 'steps'")));
  EXPECT_THAT(error_from("loss: {name: bsk}"),
              AllOf(HasSubstr("loss.name"), HasSubstr("did you mean 'bsc'")));
  EXPECT_THAT(error_from("loss:\n  margin: wide"),
              AllOf(HasSubstr("r.yaml:2"), HasSubstr("a number")));
  EXPECT_THAT(error_from("loss: {margin: 3}"), HasSubstr("between 0 and 2"));
  EXPECT_THAT(error_from("steps: 0"), HasSubstr("at least 1"));
  EXPECT_THAT(error_from("steps: 1.5"), HasSubstr("a whole number"));
  EXPECT_THAT(error_from("steps: [1]"), HasSubstr("found a list"));
  EXPECT_THAT(error_from("verbose: yes"), HasSubstr("true or false"));
  EXPECT_THAT(error_from("steps: 1\nsteps: 2"), HasSubstr("given twice"));
  EXPECT_THAT(error_from("a: [1"), HasSubstr("not valid YAML"));
  EXPECT_THAT(error_from("stages:\n  - name: mse\n  - nam: mse"),
              AllOf(HasSubstr("r.yaml:3"), HasSubstr("stages.1.nam")));
}

TEST(Options, AMergeKeyBringsInWhatTheMapDoesNotSayItself) {
  const Outer o =
      read("stages:\n  - &first {name: bsc, margin: 1.5}\n  - {<<: *first, margin: 1}\n");
  ASSERT_EQ(o.stages.size(), 2u);
  EXPECT_EQ(o.stages[1].name, "bsc");
  EXPECT_EQ(o.stages[1].margin, 1);
  EXPECT_THAT(error_from("a: &a x\nloss: {<<: *a}"), HasSubstr("alias of a map"));
}

TEST(Options, AliasesThatUnfoldWithoutEndAreRefused) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 8; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(error_from(bomb), HasSubstr("aliases are unfolded"));
}

TEST(Options, OverridesReachIntoMapsAndLists) {
  ConfigNode node = parse_config("stages: [{name: mse}]", "r.yaml");
  apply_override(node, "steps=5");
  apply_override(node, "loss.margin=0.25");
  apply_override(node, "stages.0.name=bsc");
  apply_override(node, "files=[x, y]");
  Outer o;
  read_options(node, o);
  EXPECT_EQ(o.steps, 5);
  EXPECT_EQ(o.loss.margin, 0.25);
  EXPECT_EQ(o.stages[0].name, "bsc");
  EXPECT_EQ(o.files.size(), 2u);
  apply_override(node, "stages={name: mse}");
  apply_override(node, "stages.0.name=bsc");
  read_options(node, o);
  ASSERT_EQ(o.stages.size(), 1u);
  EXPECT_EQ(o.stages[0].name, "bsc");
  apply_override(node, "stages=[{}]");
  EXPECT_THROW(apply_override(node, "stages.4.name=bsc"), Error);
  EXPECT_THROW(apply_override(node, "novalue"), Error);
}

TEST(Options, AStarStandsForEveryItem) {
  ConfigNode node = parse_config("stages: [{name: mse}, {name: bsc, margin: 1}]", "r.yaml");
  apply_override(node, "stages.*.margin=2");
  Outer o;
  read_options(node, o);
  ASSERT_EQ(o.stages.size(), 2u);
  EXPECT_EQ(o.stages[0].margin, 2);
  EXPECT_EQ(o.stages[1].margin, 2);
  EXPECT_EQ(o.stages[1].name, "bsc");
  apply_override(node, "stages={name: mse}");
  apply_override(node, "stages.*.margin=0.5");
  read_options(node, o);
  ASSERT_EQ(o.stages.size(), 1u);
  EXPECT_EQ(o.stages[0].name, "mse");
  EXPECT_EQ(o.stages[0].margin, 0.5);
  apply_override(node, "stages=[]");
  EXPECT_NO_THROW(apply_override(node, "stages.*.margin=0.5"));
}

TEST(Options, AnOverrideBelowASingleValueKeepsTheValue) {
  ConfigNode node = parse_config("loss: bsc\nstages: bsc\nfiles: one", "r.yaml");
  apply_override(node, "loss.margin=0.25");
  apply_override(node, "stages.0.margin=1");
  apply_override(node, "files.0=two");
  Outer o;
  read_options(node, o);
  EXPECT_EQ(o.loss.name, "bsc");
  EXPECT_EQ(o.loss.margin, 0.25);
  ASSERT_EQ(o.stages.size(), 1u);
  EXPECT_EQ(o.stages[0].name, "bsc");
  EXPECT_EQ(o.stages[0].margin, 1);
  EXPECT_THAT(o.files, ::testing::ElementsAre("two"));
  apply_override(node, "loss.name=mse");
  read_options(node, o);
  EXPECT_EQ(o.loss.name, "mse");
  EXPECT_EQ(o.loss.margin, 0.25);
  apply_override(node, "steps.many=3");
  apply_override(node, "loss.wide=3");
  EXPECT_THROW(read_options(node, o), Error);
}

TEST(Options, JsonReadsBackToTheSameValues) {
  Outer o = read(
      "steps: 3\nfiles: ['a \"quoted\"', \"tab\\t\"]\nloss: {margin: 0.1}\nstages: [{name: bsc}]");
  const std::string json = options_to_json(o);
  Outer back = read(json);
  EXPECT_EQ(options_to_json(back), json);
  EXPECT_EQ(back.files[0], "a \"quoted\"");
  EXPECT_EQ(back.loss.margin, 0.1);
}

struct Paths {
  std::string data, model;
  void visit(OptionVisitor& v) {
    v.field("data", data, path_info("a file"));
    v.field("model", model, name_or_path_info("a folder or a name", {"config.json"}));
  }
};

TEST(Options, PathsStartFromTheRecipesFolderAndNamesStay) {
  const std::string folder =
      ::testing::TempDir() + "simile_options_" + std::to_string(getpid()) + "/";
  make_folders(folder + "beside");
  write_file_atomic(folder + "r.yaml", "");
  const auto read_paths = [&](const std::string& text) {
    Paths paths;
    read_options(parse_config(text, folder + "r.yaml"), paths);
    return paths;
  };
  EXPECT_EQ(read_paths("data: x.tsv").data, folder + "x.tsv");
  EXPECT_EQ(read_paths("model: simile-mini-3").model, "simile-mini-3");
  EXPECT_EQ(read_paths("model: beside").model, "beside");  // a folder of something else
  write_file_atomic(folder + "beside/config.json", "{}");
  EXPECT_EQ(read_paths("model: beside").model, folder + "beside");
  EXPECT_EQ(read_paths("model: ./simile-mini-3").model, folder + "simile-mini-3");
  EXPECT_EQ(read_paths("model: a/b").model, "a/b");  // of the hub
  make_folders(folder + "a/b");
  EXPECT_EQ(read_paths("model: a/b").model, folder + "a/b");
  EXPECT_EQ(read_paths("model: a/b/c").model, folder + "a/b/c");
  EXPECT_EQ(read_paths("model: /a/b").model, "/a/b");
  EXPECT_EQ(read_paths("model: ''").model, "");
  std::filesystem::remove_all(folder);
}

TEST(Options, DocumentationListsEveryFieldWithItsDefault) {
  Outer o;
  const std::string text = options_to_markdown(o, "Outer");
  for (const char* part :
       {"| `steps` | `10` | how many [steps] |", "`loss.margin`", "`stages[].name`"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

struct Choosing {
  std::string order = "random";
  int64_t shingle = 1;
  std::vector<std::string> stop_words;
  Inner of_words;
  double share = 0;
  void visit(OptionVisitor& v) {
    v.field("order", order, choice_info("how", {"random", "words", "sorted"}));
    v.only_for("order", {"words"}, [&](OptionVisitor& of) {
      of.field("shingle", shingle, {"words to share"});
      of.field("stop_words", stop_words, {"left out"});
      of.group("loss", of_words, "its own");
    });
    v.only_for("order", {"random", "words"},
               [&](OptionVisitor& of) { of.field("share", share, {"how many"}); });
    v.only_for("format", {"x"}, [&](OptionVisitor&) {});  // a choice of another struct
  }
};

TEST(OwnedOptions, ThoseOfAnotherChoiceAreNamedWithTheChoicesThatTakeThem) {
  Choosing options;
  EXPECT_EQ(find_foreign_options("order", "order", options), "");
  options.stop_words = {"the"};
  options.of_words.margin = 1;
  options.share = 0.5;
  EXPECT_EQ(find_foreign_options("order", "order", options),
            "the order random does not take: stop_words, loss.margin; remove it, or choose the "
            "order it belongs to (stop_words: words; loss.margin: words)");
  options.order = "words";
  EXPECT_EQ(find_foreign_options("order", "order", options), "");
  options = {};
  options.order = "sorted";
  options.share = 0.5;
  EXPECT_THAT(find_foreign_options("order", "order", options), HasSubstr("(share: random, words)"));
}

TEST(OwnedOptions, DocumentationNamesTheirChoices) {
  Choosing options;
  const std::string text = options_to_markdown(options, "Choosing");
  for (const char* part :
       {"| words: words to share |", "| words: its own |", "| all but sorted: how many |"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

struct Record {
  std::string id;
  std::optional<int64_t> rank;
  std::optional<Inner> inner;
  std::vector<double> scores = {0.5, 1};
  std::vector<std::vector<int64_t>> marks;
  std::map<std::string, double> figures;
  std::map<std::string, Inner> losses;
  std::vector<std::string> texts;
  std::vector<std::optional<double>> cells;
  ConfigNode metadata;
  float weight = 0.25F;
  void visit(OptionVisitor& v) {
    v.field("id", id, OptionInfo{"its name"}.required());
    v.field("rank", rank, {"place", "", 1, 10});
    v.field("inner", inner, {"a part"});
    v.field("scores", scores, {"numbers", "", 0, 2});
    v.field("marks", marks, {"pairs"});
    v.field("figures", figures, {"by name"});
    v.field("losses", losses, {"structs by name"});
    v.field("texts", texts, OptionInfo{"one or several"}.one_or_more());
    v.field("cells", cells, {"figures, some missing"});
    v.field("metadata", metadata, {"anything"});
    v.field("weight", weight, {"a share"});
  }
};

const char* const kRecord =
    R"({"id":"a","rank":3,"inner":{"name":"bsc","margin":1.0},"scores":[0.0,1.5],)"
    R"("marks":[[1,2],[]],"figures":{"map":0.5},"losses":{"x":{"name":"mse","margin":0.5}},)"
    R"("texts":["t"],"cells":[0.5,null],"metadata":{"f":true,"n":1,"t":"1"},"weight":0.25})";

Record read_record(const std::string& json) {
  Record record;
  read_options(parse_json_config(json, "the body"), record, OptionSource::kJson);
  return record;
}

TEST(Records, AnyNestingIsReadAndWrittenBackToTheByte) {
  EXPECT_EQ(options_to_json(read_record(kRecord), -1), kRecord);
  Record yaml;
  read_options(parse_config("id: a\nscores: 1\nmarks: [[1, 2]]\ncells: [~, 2]\nlosses: {x: bsc}\n",
                            "r.yaml"),
               yaml);
  EXPECT_THAT(yaml.scores, ::testing::ElementsAre(1));
  EXPECT_THAT(yaml.marks, ::testing::ElementsAre(::testing::ElementsAre(1, 2)));
  EXPECT_FALSE(yaml.cells.at(0).has_value());
  EXPECT_EQ(yaml.cells.at(1), 2);
  EXPECT_EQ(yaml.losses.at("x").name, "bsc");
}

TEST(Records, AnOptionalWithoutAValueIsLeftOut) {
  const std::string json = options_to_json(read_record(R"({"id":"a","rank":null,"extra":1})"), -1);
  EXPECT_THAT(json, ::testing::Not(HasSubstr("rank")));
  EXPECT_THAT(json, ::testing::Not(HasSubstr("extra")));
}

TEST(Records, JsonKeepsTypesApart) {
  struct Case {
    const char* json;
    const char* key;
    const char* problem;
  };
  const Case cases[] = {{R"({})", "id", R"("id" is missing)"},
                        {R"({"idd":"a"})", "id", R"("id" is missing; is "idd" meant to be it?)"},
                        {R"({"id":1})", "id", R"("id" must be a text, but it is number 1)"},
                        {R"({"id":"a","rank":"3"})", "rank",
                         R"("rank" must be a whole number between 1 and 10, but it is string "3")"},
                        {R"({"id":"a","rank":11})", "rank",
                         R"("rank" must be a whole number between 1 and 10, but it is number 11)"},
                        {R"({"id":"a","rank":1.5})", "rank",
                         R"("rank" must be a whole number between 1 and 10, but it is number 1.5)"},
                        {R"({"id":"a","scores":0.5})", "scores",
                         R"("scores" must be a list of numbers, but it is number 0.5)"},
                        {R"({"id":"a","scores":[0,3]})", "scores[1]",
                         R"("scores[1]" must be a number between 0 and 2, but it is number 3)"},
                        {R"({"id":"a","marks":[[1],[true]]})", "marks[1][0]",
                         R"("marks[1][0]" must be a whole number, but it is boolean true)"},
                        {R"({"id":"a","inner":{"name":"bsk"}})", "inner.name",
                         R"("inner.name" must be one of mse, bsc, but it is string "bsk")"},
                        {R"({"id":"a","losses":{"x":[]}})", "losses.x",
                         R"("losses.x" must be an object, but it is array [])"},
                        {R"({"id":"a","figures":[]})", "figures",
                         R"("figures" must be an object, but it is array [])"}};
  for (const Case& c : cases) {
    try {
      read_record(c.json);
      ADD_FAILURE() << c.json;
    } catch (const OptionError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_EQ(error.key, c.key);
      EXPECT_EQ(error.problem, c.problem);
      EXPECT_EQ(error.what(), std::string("the body: ") + c.problem);
    }
  }
  EXPECT_THAT(read_record(R"({"id":"a","texts":"t"})").texts, ::testing::ElementsAre("t"));
  EXPECT_THAT(error_of(ErrorKind::kInput, [] { read_record("[]"); }), HasSubstr("an object"));
}

TEST(Records, ARequiredKeyIsAskedForInARecipeToo) {
  Record record;
  EXPECT_THAT(
      error_of(ErrorKind::kRecipe, [&] { read_options(parse_config("rank: 1", "r"), record); }),
      HasSubstr("'id' is missing"));
}

TEST(Records, TheSchemaHasBoundsChoicesDefaultsAndWhatIsRequired) {
  const std::string schema = options_to_schema<Record>();
  for (
      const char* part :
      {R"("rank":{"type":"integer","minimum":1,"maximum":10,"description":"place"})",
       R"("required":["id"])", R"("enum":["mse","bsc"])",
       R"("scores":{"type":"array","items":{"type":"number","minimum":0.0,"maximum":2.0},"default":[0.5,1.0])",
       R"("marks":{"type":"array","items":{"type":"array","items":{"type":"integer"}},)",
       R"("additionalProperties":{"type":"number"})",
       R"("texts":{"oneOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}])",
       R"("metadata":{"type":"object","description":"anything"})"}) {
    EXPECT_THAT(schema, HasSubstr(part));
  }
}

// Gives a text to the optional called `name`, as a flag does.
class GiveText : public OptionVisitor {
 public:
  GiveText(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}
  void visit_value(const char* name, const OptionValue& value, const OptionInfo&) override {
    const auto& optional = std::get<OptionValue::Optional>(value.reference());
    EXPECT_FALSE(optional.has_value);
    if (name == name_) *std::get<std::string*>(optional.value().reference()) = text_;
  }
  void visit_group(const char*, const std::string&, const Members&) override {}
  void visit_list(const char*, const std::string&, const List&) override {}

 private:
  std::string name_, text_;
};

TEST(GivenOptions, OnlyGivenOnesReplaceThoseOfAnother) {
  GivenOptions<Inner> given;
  Inner kept;
  kept.name = "bsc";
  kept.margin = 1.5;
  EXPECT_FALSE(given.any());
  EXPECT_EQ(given.over(kept).name, "bsc");
  GiveText give("name", "mse");
  given.visit(give);
  EXPECT_THAT(given.names(), ::testing::ElementsAre("name"));
  EXPECT_EQ(given.over(kept).name, "mse") << "though it is the default";
  EXPECT_EQ(given.over(kept).margin, 1.5);
}

TEST(GivenOptions, FieldsCanBeLeftOut) {
  GivenOptions<Inner> given;
  GiveText give("name", "bsc");
  given.visit(give, {"name"});
  EXPECT_FALSE(given.any());
}

}  // namespace
}  // namespace simile
