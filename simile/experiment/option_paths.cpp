// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/detail/option_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace simile {
namespace {

using OptionKind = FoundOption::Kind;

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool is_index(const std::string& part) {
  return !part.empty() && std::all_of(part.begin(), part.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool fits(const std::vector<std::string>& wanted, size_t w, const std::vector<std::string>& path,
          size_t p) {
  if (p == path.size()) return w == wanted.size();
  const bool is_item = is_index(path[p]);
  if (w < wanted.size() && (wanted[w] == path[p] || (wanted[w] == "*" && is_item))) {
    return fits(wanted, w + 1, path, p + 1);
  }
  return is_item && path[p] == "0" && fits(wanted, w, path, p + 1);
}

// The kind of a value, and the number that it is, if it is one.
FoundOption found_value(const OptionValue& value) {
  return std::visit(
      [](const auto& reference) -> FoundOption {
        using Reference = std::decay_t<decltype(reference)>;
        if constexpr (std::is_same_v<Reference, bool*>) {
          return {"", OptionKind::kTruth, 0};
        } else if constexpr (std::is_same_v<Reference, std::string*>) {
          return {"", OptionKind::kText, 0};
        } else if constexpr (std::is_same_v<Reference, double*> ||
                             std::is_same_v<Reference, float*>) {
          return {"", OptionKind::kReal, static_cast<double>(*reference)};
        } else if constexpr (std::is_same_v<Reference, int64_t*> ||
                             std::is_same_v<Reference, int32_t*>) {
          return {"", OptionKind::kWhole, static_cast<double>(*reference)};
        } else {
          return {"", OptionKind::kList, 0};
        }
      },
      value.reference());
}

// The first option of a group, which a single value in the group's place sets.
class FirstOption : public OptionVisitor {
 public:
  OptionKind kind = OptionKind::kGroup;
  double number = 0;

  void visit_value(const char*, const OptionValue& value, const OptionInfo&) override {
    if (std::exchange(is_taken_, true)) return;
    const FoundOption found = found_value(value);
    kind = found.kind;
    number = found.number;
  }
  void visit_group(const char*, const std::string&, const Members& members) override {
    if (!std::exchange(is_taken_, true)) {
      FirstOption inner;
      members(inner);
      kind = inner.kind;
      number = inner.number;
    }
  }
  void visit_list(const char*, const std::string&, const List&) override { is_taken_ = true; }

 private:
  bool is_taken_ = false;
};

class OptionFinder : public OptionVisitor {
 public:
  OptionFinder(const std::vector<std::string>& wanted, std::string prefix,
               std::vector<FoundOption>& found)
      : wanted_(wanted), prefix_(std::move(prefix)), found_(found) {}

  void visit_value(const char* name, const OptionValue& value, const OptionInfo&) override {
    const FoundOption found = found_value(value);
    add(name, found.kind, found.number);
  }
  void visit_group(const char* name, const std::string&, const Members& members) override {
    FirstOption first;
    members(first);
    add(name, first.kind, first.number);
    OptionFinder inner(wanted_, prefix_ + name + ".", found_);
    members(inner);
  }
  void visit_list(const char* name, const std::string&, const List& list) override {
    add(name, OptionKind::kGroup);
    for (size_t i = 0; i < list.size; ++i) {
      OptionFinder inner(wanted_, fmt::format("{}{}.{}.", prefix_, name, i), found_);
      list.element(inner, i);
    }
  }

 private:
  void add(const std::string& name, OptionKind kind, double number = 0) {
    const std::string path = prefix_ + name;
    if (fits(wanted_, 0, split_path(path), 0)) found_.push_back({path, kind, number});
  }

  const std::vector<std::string>& wanted_;
  std::string prefix_;
  std::vector<FoundOption>& found_;
};

}  // namespace

std::vector<FoundOption> find_options(const TrainOptions& options, const std::string& path) {
  std::vector<FoundOption> found;
  TrainOptions visited = options;
  const std::vector<std::string> wanted = split_path(path);
  OptionFinder finder(wanted, "", found);
  visited.visit(finder);
  return found;
}

std::string name_of(FoundOption::Kind kind) {
  switch (kind) {
    case OptionKind::kGroup:
      return "a group of options";
    case OptionKind::kTruth:
      return "true or false";
    case OptionKind::kWhole:
      return "a whole number";
    case OptionKind::kReal:
      return "a number";
    case OptionKind::kText:
      return "a name or text";
    case OptionKind::kList:
      return "a list";
  }
  return "";
}

}  // namespace simile
