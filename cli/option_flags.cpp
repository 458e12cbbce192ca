// SPDX-License-Identifier: Apache-2.0
#include "cli/option_flags.h"

#include <fmt/format.h>

#include <algorithm>

namespace simile::cli {
namespace {

std::string flag_name(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

// CLI11 shows the message of a validator that returns one.
CLI::Validator range_check(const OptionInfo& info) {
  return CLI::Validator(
      [low = info.minimum, high = info.maximum](std::string& text) {
        double number = 0;
        if (!CLI::detail::lexical_cast(text, number))
          return fmt::format("{} is not a number", text);
        if (number < low) return fmt::format("{} is less than {}", text, low);
        if (number > high) return fmt::format("{} is more than {}", text, high);
        return std::string();
      },
      "");
}

}  // namespace

template <typename T>
CLI::Option* OptionFlags::add(const char* name, T& value, const OptionInfo& info) {
  if (skip_.count(name) > 0) return nullptr;
  CLI::Option* option =
      command_.add_option(flag_name(name), value, info.help)->capture_default_str();
  if (!info.choices.empty()) option->check(CLI::IsMember(info.choices));
  return option;
}

void OptionFlags::field(const char* name, bool& value, const OptionInfo& info) {
  if (skip_.count(name) == 0) command_.add_flag(flag_name(name), value, info.help);
}

void OptionFlags::field(const char* name, int64_t& value, const OptionInfo& info) {
  if (CLI::Option* option = add(name, value, info)) option->check(range_check(info));
}

void OptionFlags::field(const char* name, double& value, const OptionInfo& info) {
  if (CLI::Option* option = add(name, value, info)) option->check(range_check(info));
}

void OptionFlags::field(const char* name, std::string& value, const OptionInfo& info) {
  add(name, value, info);
}

void OptionFlags::field(const char* name, std::vector<std::string>& value, const OptionInfo& info) {
  if (CLI::Option* option = add(name, value, info)) option->delimiter(',');
}

void OptionFlags::visit_group(const char*, const std::string&, const Members& members) {
  members(*this);
}

void OptionFlags::visit_list(const char* name, const std::string&, const List&) {
  throw std::logic_error(fmt::format("option list '{}' has no form on the command line", name));
}

}  // namespace simile::cli
