// SPDX-License-Identifier: Apache-2.0
// Shared by the commands: how one is added with its options, where results and progress go, how a
// signal ends work.
#pragma once

#include <CLI/App.hpp>  // not CLI/CLI.hpp, whose help and configuration files only main.cpp compiles
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "cli/terminal.h"
#include "simile/core/file.h"
#include "simile/core/options.h"
#include "simile/core/unused_options.h"

namespace simile::cli {

// Command-line options made from an options struct, so that name, help, default and range are in
// one place: `score_scale` becomes --score-scale, and `top_k` with OptionInfo::flags "-k,--top-k"
// both.
class OptionFlags : public OptionVisitor {
 public:
  // Adds one option per field to `command`; members of groups become options of their own. The
  // struct visited must outlive parsing. OptionInfo says what is required, positional or has other
  // names.
  explicit OptionFlags(CLI::App& command) : command_(command) {}

  void visit_value(const char* name, const OptionValue& value, const OptionInfo& info) override;
  void visit_group(const char* name, const std::string& help, const Members& members) override;
  void visit_list(const char* name, const std::string& help, const List& list) override;

 private:
  using MakeValue = std::function<OptionValue()>;

  std::string help_of(const OptionInfo& info) const;
  CLI::Option* add(const std::string& flag, const OptionValue& value, const OptionInfo& info);
  // Flags whose value is made when they are given; `example` has its type.
  CLI::Option* add_list(const std::string& flag, const OptionValue& example, const MakeValue& make,
                        const OptionInfo& info);
  CLI::Option* declare_optional(const std::string& flag, const OptionValue::Optional& value,
                                const OptionInfo& info);

  CLI::App& command_;
};

// The flag of an option: --score-scale of `score_scale`.
std::string flag_of(const std::string& option);

// Errors (ErrorKind::kUsage): the first that is found, by its flags, as refuse_idle_options() does
// for a recipe.
void refuse_idle_flags(const std::vector<IdleOptions>& found);

// Errors (ErrorKind::kUsage): a --dimensions (0: none) that is not that of an index's vectors.
void check_dimensions(int64_t given, int64_t of_index);

// CLI11 splits a word such as "[a, b]" as a list. A mark behind it, which OptionFlags removes, keeps
// it as it is.
constexpr char kProtection = '\x1f';
std::string protect_brackets(const std::string& word);

// Set by the options every command has.
struct CommonOptions {
  bool json = false;   // one JSON document on stdout instead of a table
  bool quiet = false;  // no progress on stderr
  int threads = 0;     // 0: all processors

  void visit(OptionVisitor& v);
};

inline constexpr const char* kResumeOrOverwrite =
    "--resume goes on with the run in the folder and --overwrite replaces it; give one";

// The recipe of a command and the values that replace its own.
struct RecipeArguments {
  std::string recipe;
  std::vector<std::string> overrides;
  bool is_required = true;

  void visit(OptionVisitor& v);
};

// The commands that train are in the program simile-training (cli/training/). `simile` becomes that
// program for them and for their flags; where it is missing they are listed, and say so.
struct TrainingCommand {
  std::string parent;  // "data" for `simile data check`, else empty
  std::string name, help;
};
const std::vector<TrainingCommand>& training_commands();
const std::string& training_help(const std::string& name);

// A command's arguments are a struct whose visit() declares its flags. `run` is the chosen work.
struct Commands {
  CLI::App& app;
  CommonOptions& common;
  std::function<void(Terminal&)>& run;

  // Adds a subcommand. `work` gets the arguments that were parsed and the terminal. If it takes
  // `json` or the CommonOptions between them the command has --json; without, its result is files,
  // or lines of JSON as it is.
  template <typename Arguments, typename Work>
  CLI::App* add(const std::string& name, const std::string& help, Work work) const;

  // The same for one of training_commands(), which has its help.
  template <typename Arguments, typename Work>
  CLI::App* add_training(const std::string& name, Work work) const {
    return add<Arguments>(name, training_help(name), work);
  }

  // Adds a subcommand that only holds others; add those to the returned Commands.
  Commands add_parent(const std::string& name, const std::string& help) const;

  // A subcommand with the common options; `work` runs after parsing when it was chosen.
  CLI::App* add_bare(const std::string& name, const std::string& help, bool has_json,
                     std::function<void(Terminal&)> work) const;
};

template <typename Arguments, typename Work>
CLI::App* Commands::add(const std::string& name, const std::string& help, Work work) const {
  constexpr bool kTakesJson = std::is_invocable_v<Work, Arguments&, bool, Terminal&>;
  constexpr bool kTakesCommon =
      std::is_invocable_v<Work, Arguments&, const CommonOptions&, Terminal&>;
  auto arguments = std::make_shared<Arguments>();
  const auto run_it = [arguments, work, &options = common](Terminal& terminal) {
    if constexpr (kTakesJson) {
      work(*arguments, options.json, terminal);
    } else if constexpr (kTakesCommon) {
      work(*arguments, options, terminal);
    } else {
      work(*arguments, terminal);
    }
  };
  CLI::App* command = add_bare(name, help, kTakesJson || kTakesCommon, run_it);
  OptionFlags flags(*command);
  arguments->visit(flags);
  return command;
}

// Lets each option of the command stand in the environment too: SIMILE_PORT for --port. The command
// line wins.
void take_environment(CLI::App& command);
// Warns of variables SIMILE_... that are no option of the command, and are not read elsewhere.
void warn_of_environment(const CLI::App& command, EventSink& events);

void add_batches(const Commands& commands);  // in simile-training only
void add_check(const Commands& commands);
Commands add_data(const Commands& commands);    // returns the command that data_check belongs to
void add_data_check(const Commands& commands);  // in simile-training only
void add_derive(const Commands& commands);      // convert, whiten, join, fuse
void add_distill(const Commands& commands);     // in simile-training only
void add_docs(const Commands& commands);
void add_encode(const Commands& commands);    // and merge
void add_evaluate(const Commands& commands);  // and predict, similarity
void add_export(const Commands& commands);
void add_get(const Commands& commands);
void add_index(const Commands& commands);
void add_init(const Commands& commands);  // in simile-training only
void add_mine(const Commands& commands);
void add_overlap(const Commands& commands);
void add_report(const Commands& commands);     // and compare
void add_reproduce(const Commands& commands);  // and ablate; in simile-training only
void add_search(const Commands& commands);
void add_serve(const Commands& commands);
void add_tokenizer(const Commands& commands);  // tokenize, train-tokenizer
void add_train(const Commands& commands);      // in simile-training only
void add_tune(const Commands& commands);       // in simile-training only

// A text as a JSON string; broken UTF-8 becomes U+FFFD.
std::string quote(const std::string& text);

// Where a command's result goes: stdout, or a file that appears only when it is complete.
class Output {
 public:
  explicit Output(const std::string& path);  // empty or "-": stdout
  void write(std::string_view bytes);
  void rewrite_start(std::string_view bytes);  // of a file alone, see AtomicFile
  void finish();  // flushes and, for a file, renames into place; errors are ErrorKind::kIo

 private:
  std::optional<AtomicFile> file_;
};

// Writes all of a result at once.
void write_result(std::string_view text, const std::string& path = "-");

// A document in one line; broken UTF-8 becomes U+FFFD.
std::string json_line(const nlohmann::ordered_json& document);

// Prints the document with --json, else the text.
void print_result(bool json, const nlohmann::ordered_json& document, const std::string& text);

// Thrown by a command whose exit code is that of another program.
struct ExitCode {
  int code;
};

// Set in the environment of processes that `simile train --processes` starts.
inline constexpr const char* kStartedProcess = "SIMILE_PROCESSES";

// Signals: after catch_signals(), SIGINT, SIGTERM and SIGHUP (unless it is ignored) are only noted;
// signal_received() returns the number (0: none). Long work stops at its next report of progress,
// reading from a pipe or terminal stops where it waits; a second SIGINT or SIGTERM ends at once,
// but not a process that start_processes() started.
void catch_signals();
int signal_received();
// Throws ErrorKind::kInterrupted when a signal was received. For loops that read input.
void check_signal();

}  // namespace simile::cli
