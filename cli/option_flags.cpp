// SPDX-License-Identifier: Apache-2.0
#include "cli/option_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace simile::cli {
namespace {

// CLI11 shows the message of a validator that returns one.
CLI::Validator range_check(double low, double high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        double number = 0;
        if (!CLI::detail::lexical_cast(text, number) || !std::isfinite(number))
          return fmt::format("{} is not a number", text);
        if (number < low) return fmt::format("{} is less than {}", text, low);
        if (number > high) return fmt::format("{} is more than {}", text, high);
        return std::string();
      },
      "");
}

}  // namespace

CLI::Validator at_least(double low) {
  return range_check(low, std::numeric_limits<double>::infinity());
}

std::string OptionFlags::flag_name(const char* name) const {
  const auto given = names_.find(name);
  if (given != names_.end()) return given->second;
  std::string flag = name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return "--" + flag;
}

std::string OptionFlags::help_of(const OptionInfo& info) const {
  return owner_prefix() + info.help + (info.unit.empty() ? "" : " [" + info.unit + "]");
}

template <typename T>
CLI::Option* OptionFlags::add(const char* name, T& value, const OptionInfo& info) {
  if (skip_.count(name) > 0) return nullptr;
  CLI::Option* option =
      command_.add_option(flag_name(name), value, help_of(info))->capture_default_str();
  if (!info.choices.empty()) option->check(CLI::IsMember(info.choices));
  return option;
}

void OptionFlags::field(const char* name, bool& value, const OptionInfo& info) {
  if (skip_.count(name) == 0) command_.add_flag(flag_name(name), value, help_of(info));
}

void OptionFlags::field(const char* name, int64_t& value, const OptionInfo& info) {
  if (CLI::Option* option = add(name, value, info))
    option->check(range_check(info.minimum, info.maximum));
}

void OptionFlags::field(const char* name, double& value, const OptionInfo& info) {
  if (CLI::Option* option = add(name, value, info))
    option->check(range_check(info.minimum, info.maximum));
}

void OptionFlags::field(const char* name, std::string& value, const OptionInfo& info) {
  note_choices(name, info);
  add(name, value, info);
}

void OptionFlags::field(const char* name, std::vector<std::string>& value, const OptionInfo& info) {
  CLI::Option* option = add(name, value, info);
  if (option == nullptr) return;
  if (info.has_commas) {
    option->expected(1)->take_all();
  } else {
    option->delimiter(',');
  }
}

void OptionFlags::visit_group(const char*, const std::string&, const Members& members) {
  members(*this);
}

void OptionFlags::visit_list(const char* name, const std::string&, const List&) {
  throw std::logic_error(fmt::format("option list '{}' has no form on the command line", name));
}

}  // namespace simile::cli
