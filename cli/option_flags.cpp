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

// Sets a single value from its text; false where it is none of its type.
bool assign(const OptionValue& value, const std::string& text) {
  return std::visit(
      [&](const auto& reference) {
        using Reference = std::decay_t<decltype(reference)>;
        if constexpr (std::is_pointer_v<Reference> && !std::is_same_v<Reference, ConfigNode*>) {
          return CLI::detail::lexical_cast(text, *reference);
        } else {
          return false;
        }
      },
      value.reference());
}

const char* type_name(const OptionValue& value) {
  const auto& reference = value.reference();
  if (std::holds_alternative<std::string*>(reference)) return "TEXT";
  const bool is_real =
      std::holds_alternative<double*>(reference) || std::holds_alternative<float*>(reference);
  return is_real ? "FLOAT" : "INT";
}

}  // namespace

CLI::Validator at_least(double low) {
  return range_check(low, std::numeric_limits<double>::infinity());
}

std::string OptionFlags::flag_name(const char* name, const OptionInfo& info) const {
  const auto given = names_.find(name);
  if (given != names_.end()) return given->second;
  if (!info.flags.empty()) return info.flags;
  std::string flag = name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return "--" + flag;
}

std::string OptionFlags::help_of(const OptionInfo& info) const {
  return owner_prefix() + info.help + (info.unit.empty() ? "" : " [" + info.unit + "]");
}

CLI::Option* OptionFlags::add(const std::string& flag, const OptionValue& value,
                              const OptionInfo& info) {
  return std::visit(
      [&](const auto& reference) -> CLI::Option* {
        using Reference = std::decay_t<decltype(reference)>;
        if constexpr (std::is_same_v<Reference, bool*>) {
          return command_.add_flag(flag, *reference, help_of(info));
        } else if constexpr (std::is_same_v<Reference, std::string*>) {
          return command_.add_option(flag, *reference, help_of(info))->capture_default_str();
        } else if constexpr (std::is_same_v<Reference, OptionValue::List>) {
          return add_list(flag, value, info);
        } else if constexpr (std::is_same_v<Reference, OptionValue::Optional>) {
          return add_optional(flag, reference, info);
        } else if constexpr (std::is_arithmetic_v<std::remove_pointer_t<Reference>>) {
          return command_.add_option(flag, *reference, help_of(info))
              ->capture_default_str()
              ->check(range_check(info.minimum, info.maximum));
        } else {
          throw std::logic_error(fmt::format("option '{}' has no form on the command line", flag));
        }
      },
      value.reference());
}

CLI::Option* OptionFlags::add_list(const std::string& flag, const OptionValue& value,
                                   const OptionInfo& info) {
  const auto list = std::get<OptionValue::List>(value.reference());
  const auto take = [list](const CLI::results_t& texts) {
    list.resize(0);
    list.resize(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      if (!assign(list.element(i), texts[i])) return false;
    }
    return true;
  };
  CLI::Option* option = command_.add_option(flag, take, help_of(info));
  std::string standard = show_option(value);
  standard.erase(std::remove(standard.begin(), standard.end(), ' '), standard.end());
  option->type_name(type_name(list.element(list.size)))->default_str(standard);
  option->expected(1, CLI::detail::expected_max_vector_size);
  if (info.has_commas) {
    option->expected(1)->take_all();
  } else {
    option->delimiter(',');
  }
  return option;
}

CLI::Option* OptionFlags::add_optional(const std::string& flag, const OptionValue::Optional& value,
                                       const OptionInfo& info) {
  const OptionValue example = value.example();
  const auto take = [value](const CLI::results_t& texts) {
    return assign(value.value(), texts[0]);
  };
  if (std::holds_alternative<bool*>(example.reference())) {
    return command_.add_flag_callback(
        flag, [take] { take({"true"}); }, help_of(info));
  }
  CLI::Option* option = command_.add_option(flag, take, help_of(info));
  option->type_name(type_name(example))->expected(1);
  if (!std::holds_alternative<std::string*>(example.reference())) {
    option->check(range_check(info.minimum, info.maximum));
  }
  return option;
}

void OptionFlags::visit_value(const char* name, const OptionValue& value, const OptionInfo& info) {
  note_choices(name, info);
  if (skip_.count(name) > 0) return;
  CLI::Option* option = add(flag_name(name, info), value, info);
  if (!info.choices.empty()) option->check(CLI::IsMember(info.choices));
  if (info.is_required) option->required();
}

void OptionFlags::visit_group(const char*, const std::string&, const Members& members) {
  members(*this);
}

void OptionFlags::visit_list(const char* name, const std::string&, const List&) {
  throw std::logic_error(fmt::format("option list '{}' has no form on the command line", name));
}

}  // namespace simile::cli
