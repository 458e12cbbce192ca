// SPDX-License-Identifier: Apache-2.0
// A default is in one place, the struct: everything that shows or uses it follows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/command_list.h"
#include "simile/core/options.h"

namespace simile::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

int64_t default_rows = 0;  // in place of a programmer who edits the struct

struct Window {
  int64_t rows = default_rows;
  void visit(OptionVisitor& v) { v.field("rows", rows, {"Rows in a window", "rows", 1, 900}); }
};

struct Arguments {
  Window window;
  void visit(OptionVisitor& v) { window.visit(v); }
};

Window read_recipe(const std::string& yaml) {
  Window window;
  read_options(parse_config(yaml, "r.yaml"), window);
  return window;
}

// A command whose flags the struct declares.
struct Command {
  CLI::App app{"test", "simile"};
  CommonOptions common;
  std::function<void(Terminal&)> run;
  int64_t rows = -1;

  Command() {
    app.require_subcommand(1);
    Commands{app, common, run}.add<Arguments>(
        "slide", "Slides", [this](const Arguments& given, Terminal&) { rows = given.window.rows; });
  }

  int64_t run_with(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());
    app.parse(words);
    Terminal terminal(true);
    run(terminal);
    return rows;
  }
};

TEST(OneDescription, ADefaultOfTheStructIsThatOfEveryFace) {
  for (const int64_t rows : {3, 700}) {
    default_rows = rows;
    const std::string shown = std::to_string(rows);
    SCOPED_TRACE(shown);

    EXPECT_EQ(Window{}.rows, rows) << "C++";
    EXPECT_EQ(read_recipe("{}").rows, rows) << "YAML";
    EXPECT_EQ(read_recipe("rows: 5").rows, 5);
    Window of_json;
    read_json_options("{}", "body", of_json);
    EXPECT_EQ(of_json.rows, rows) << "JSON body";
    EXPECT_EQ(json::parse(options_to_json(Window{}))["rows"], rows) << "run.json";

    EXPECT_EQ(Command().run_with({"slide"}), rows) << "flag";
    EXPECT_EQ(Command().run_with({"slide", "--rows", "5"}), 5);
    Command command;
    EXPECT_THAT(command.app.get_subcommand("slide")->help(), HasSubstr("--rows INT=" + shown));
    std::map<std::string, std::string> listed;
    for (const ListedOption& option : list_commands(command.app).common) {  // of the one command
      listed[option.names.back()] = option.default_value;
    }
    EXPECT_EQ(listed["--rows"], shown) << "docs, manual page, completions";

    Window window;
    EXPECT_THAT(options_to_markdown(window, "Windows"), HasSubstr("`" + shown + "`")) << "docs";
    const json schema = json::parse(options_to_schema<Window>());
    EXPECT_EQ(schema["properties"]["rows"]["default"], rows) << "OpenAPI";
    EXPECT_EQ(schema["properties"]["rows"]["maximum"], 900);
  }
}

}  // namespace
}  // namespace simile::cli
