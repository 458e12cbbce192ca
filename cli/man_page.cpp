// SPDX-License-Identifier: Apache-2.0
#include "cli/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace simile::cli {
namespace {

constexpr const char* kDescription = R"(.SH DESCRIPTION
Trains sentence encoders, evaluates them, turns texts into vectors, searches with these and serves them over HTTP.
A model is a folder in the layout of sentence\-transformers, or the name of one that comes with the program.
Results go to standard output, progress and warnings to standard error.
)";

constexpr const char* kEnd = R"(.SH EXIT STATUS
.TP
.B 0
All is well.
.TP
.B 1
The work failed: no space left, a loss that is not finite, a check that does not hold.
.TP
.B 2
The command line, an option or a recipe cannot be used.
.TP
.B 3
An input file, a model or an index cannot be used.
.TP
.B 130, 143
Ended by SIGINT or SIGTERM, with everything saved.
.SH ENVIRONMENT
.TP
.B SIMILE_MODELS
Folders, separated by colons, in which models called by name are looked for first.
.TP
.B OMP_NUM_THREADS
Threads to compute with where
.B \-\-threads
does not say.
.SH FILES
.TP
.I /usr/share/simile/models
Models that come with the program.
.TP
.I /etc/default/simile
What the service
.B simile.service
is started with; an example is
.IR /usr/share/doc/simile/simile.env .
.SH EXAMPLES
.nf
simile similarity \-\-model simile\-mini\-2 "how do I reset my password" "forgot my password"
simile encode \-\-model simile\-mini\-2 \-\-input texts.txt \-\-output vectors.npy
simile index build \-\-model simile\-mini\-2 \-\-index faq.index \-\-corpus corpus.tsv
simile search \-\-index faq.index \-\-query "no new messages"
.fi
)";

// A text as man(7) prints it.
std::string escaped(const std::string& text) {
  std::string out = text.empty() || (text[0] != '.' && text[0] != '\'') ? "" : "\\&";
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out;
}

std::string entry(const ListedOption& option) {
  const std::string value =
      option.choices.empty() ? "VALUE" : fmt::format("{}", fmt::join(option.choices, "|"));
  std::string text =
      fmt::format(".TP\n.B {}", escaped(fmt::format("{}", fmt::join(option.names, ", "))));
  if (option.takes_value && !option.positional) text += fmt::format(" \\fI{}\\fR", escaped(value));
  text += fmt::format("\n{}", escaped(option.help));
  if (option.positional && !option.choices.empty()) {
    text +=
        fmt::format(" (one of {})", escaped(fmt::format("{}", fmt::join(option.choices, ", "))));
  }
  if (option.required) text += " (required)";
  if (!option.default_value.empty())
    text += fmt::format(" (default: {})", escaped(option.default_value));
  return text + "\n";
}

std::string synopsis(const CommandList& list) {
  std::string text = ".SH SYNOPSIS\n.nf\n";
  for (const ListedCommand& command : list.commands) {
    if (command.inner.empty())
      text += fmt::format("\\fB{}\\fR [\\fIOPTION\\fR ...]\n", escaped(command.name));
  }
  return text + ".fi\n";
}

}  // namespace

std::string man_page(const CommandList& list, const std::string& version) {
  std::string page = fmt::format(
      ".\\\" Printed by `simile docs man`.\n.TH SIMILE 1 \"\" \"simile {}\" \"User Commands\"\n"
      ".SH NAME\nsimile \\- train, evaluate and serve sentence encoders\n",
      version);
  page += synopsis(list) + kDescription + ".SH OPTIONS OF EVERY COMMAND\n";
  for (const ListedOption& option : list.common) page += entry(option);
  page += ".SH COMMANDS\n";
  for (const ListedCommand& command : list.commands) {
    if (!command.inner.empty()) continue;
    page += fmt::format(".SS {}\n{}.\n", escaped(command.name), escaped(command.help));
    for (const ListedOption& option : command.options) page += entry(option);
  }
  return page + kEnd;
}

}  // namespace simile::cli
