// SPDX-License-Identifier: Apache-2.0
#include "cli/input.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <istream>
#include <set>
#include <streambuf>
#include <utility>

#include "cli/command.h"
#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/data/reader.h"
#include "simile/report/run_folder.h"
#include "simile/text/utf8.h"

namespace simile::cli {
namespace {

// stdin; unlike std::cin it stops waiting after a signal.
class StandardInput : public std::streambuf {
 protected:
  int_type underflow() override {
    ssize_t count = -1;
    do {
      check_signal();
      count = read(STDIN_FILENO, buffer_, sizeof buffer_);
    } while (count < 0 && errno == EINTR);
    SIMILE_CHECK(count >= 0, ErrorKind::kInput, "cannot read stdin: {}", std::strerror(errno));
    if (count == 0) return traits_type::eof();
    setg(buffer_, buffer_, buffer_ + count);
    return traits_type::to_int_type(buffer_[0]);
  }

 private:
  char buffer_[1 << 16];
};

struct TaskFile {
  std::vector<EvaluationOptions> tasks;
  void visit(OptionVisitor& v) { v.list("tasks", tasks, "evaluations, in the order to report"); }
};

// What a command reads that is given these paths.
std::vector<std::string> files_read(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::vector<std::string> fitting = {path};
    try {
      fitting = expand_paths(fitting);
    } catch (const Error&) {  // no file fits: reading it will tell
    }
    files.insert(files.end(), fitting.begin(), fitting.end());
    std::error_code ignored;
    for (std::filesystem::recursive_directory_iterator it(path, ignored), end;
         !ignored && it != end; it.increment(ignored)) {
      files.push_back(it->path().string());
    }
  }
  return files;
}

}  // namespace

std::string on_one_line(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t control = control_size(text, i);
    if (control == 0) {
      out += text[i++];
      continue;
    }
    out += text[i] >= '\t' && text[i] <= '\r' ? " " : kReplacement;
    i += control;
  }
  return out;
}

std::string show_counts(const CountReply& counts) {
  std::string out = counts.count ? fmt::format("{} documents found\n", *counts.count) : "";
  for (const FacetCounts& facet : counts.facets.value_or(std::vector<FacetCounts>())) {
    for (const FacetCounts::Value& value : facet.values) {
      const auto bound = [](const std::optional<double>& one) {
        return one ? fmt::format("{:g}", *one) : "";
      };
      out += fmt::format("{:8}  {} = {}\n", value.count, on_one_line(facet.column),
                         value.value ? on_one_line(config_to_json(*value.value))
                                     : fmt::format("{}..{}", bound(value.from), bound(value.to)));
    }
    if (facet.more_values) {
      out += fmt::format("          {} and {} other values\n", on_one_line(facet.column),
                         *facet.more_values);
    }
    out += fmt::format("{:8}  without {}\n", facet.without, on_one_line(facet.column));
  }
  return out;
}

TextListReader open_texts(const std::string& input, const std::string& encoding) {
  check_signal();
  TextListOptions options;
  options.table.encoding = encoding;
  if (input != "-") return TextListReader(input, options);
  static StandardInput bytes;
  static std::istream stream(&bytes);
  stream.clear();
  stream.exceptions(std::ios::badbit);  // lets what underflow() throws pass
  return TextListReader(stream, "stdin", false, options);
}

std::vector<std::string> paths_of(const RankingDataOptions& options) {
  std::vector<std::string> paths = {options.queries, options.corpus, options.qrels};
  if (options.folder.empty()) return paths;
  for (const char* name : {"queries.*", "corpus.*", "qrels.*", "qrels"}) {
    paths.push_back(join_path(options.folder, name));
  }
  return paths;
}

void check_outputs(const std::vector<std::string>& outputs,
                   const std::vector<std::string>& inputs) {
  const std::vector<std::string> read = files_read(inputs);
  const auto is_file = [](const std::string& path) { return !path.empty() && path != "-"; };
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!is_file(outputs[i])) continue;
    check_no_part_of_run(outputs[i]);
    for (const std::string& input : read) {
      if (is_file(input)) check_not_read(outputs[i], input);
    }
    for (size_t j = 0; j < i; ++j) {
      SIMILE_CHECK(
          !is_file(outputs[j]) || real_path(outputs[j]) != real_path(outputs[i]), ErrorKind::kUsage,
          "'{}' would be written twice, with different contents; give two names", outputs[i]);
    }
  }
}

void check_any_text(int64_t texts, const ReadReport& report) {
  SIMILE_CHECK(texts > 0, ErrorKind::kInput,
               "{}: no text was found; expected one text a line, or .jsonl with 'text'",
               report.file);
}

void warn_about(const ReadReport& report, Terminal& terminal) {
  if (!report.warning().empty()) terminal.warning(report.warning());
}

bool is_task_file(const std::string& task) {
  const std::string ending = std::filesystem::path(task).extension().string();
  return ending == ".yaml" || ending == ".yml" || ending == ".json";
}

std::vector<EvaluationOptions> read_task_file(const std::string& path,
                                              const std::vector<std::string>& overrides) {
  TaskFile file;
  read_options(load_recipe(path, overrides), file);
  SIMILE_CHECK(!file.tasks.empty(), ErrorKind::kRecipe, "'{}' lists no `tasks`", path);
  std::set<std::pair<std::string, std::string>> told;
  for (const EvaluationOptions& task : file.tasks) {
    SIMILE_CHECK(told.emplace(task.task, task.name).second, ErrorKind::kRecipe,
                 "'{}': two tasks '{}' have the name '{}'; give each a `name` of its own, by which "
                 "reports tell them apart",
                 path, task.task, task.name);
  }
  return file.tasks;
}

}  // namespace simile::cli
