// SPDX-License-Identifier: Apache-2.0
#include "cli/input.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <istream>
#include <streambuf>

#include "cli/command.h"
#include "simile/core/check.h"
#include "simile/core/parallel.h"

namespace simile::cli {
namespace {

// stdin, where std::cin would go on waiting after a signal.
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

}  // namespace

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
  return file.tasks;
}

}  // namespace simile::cli
