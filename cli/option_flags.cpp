// SPDX-License-Identifier: Apache-2.0
#include "cli/option_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace simile::cli {
namespace {

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

// Whether the value, or an optional's, is a number or a list of them.
bool is_number(const OptionValue& value) {
  const auto& reference = value.reference();
  if (const auto* optional = std::get_if<OptionValue::Optional>(&reference)) {
    return is_number(optional->example());
  }
  if (const auto* list = std::get_if<OptionValue::List>(&reference)) {
    return is_number(list->element(list->size));
  }
  return std::holds_alternative<int64_t*>(reference) ||
         std::holds_alternative<int32_t*>(reference) ||
         std::holds_alternative<double*>(reference) || std::holds_alternative<float*>(reference);
}

// As CLI11 shows the default of a list: without spaces, and nothing for an empty one.
std::string show_default(const OptionValue& value) {
  std::string shown = show_option(value);
  if (std::holds_alternative<OptionValue::List>(value.reference())) {
    shown.erase(std::remove(shown.begin(), shown.end(), ' '), shown.end());
  }
  return shown == "[]" ? "" : shown;
}

}  // namespace

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
        } else if constexpr (std::is_same_v<Reference, OptionValue::List>) {
          CLI::Option* option = add_list(
              flag, value, [value] { return value; }, info);
          return option->default_str(show_default(value));
        } else if constexpr (std::is_same_v<Reference, OptionValue::Optional>) {
          return declare_optional(flag, reference, info);
        } else if constexpr (std::is_pointer_v<Reference> &&
                             !std::is_same_v<Reference, ConfigNode*>) {
          return command_.add_option(flag, *reference, help_of(info))->capture_default_str();
        } else {
          throw std::logic_error(fmt::format("option '{}' has no form on the command line", flag));
        }
      },
      value.reference());
}

CLI::Option* OptionFlags::add_list(const std::string& flag, const OptionValue& example,
                                   const MakeValue& make, const OptionInfo& info) {
  const auto take = [make](const CLI::results_t& texts) {
    const auto list = std::get<OptionValue::List>(make().reference());
    list.resize(0);
    list.resize(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      if (!assign(list.element(i), texts[i])) return false;
    }
    return true;
  };
  const auto& list = std::get<OptionValue::List>(example.reference());
  CLI::Option* option = command_.add_option(flag, take, help_of(info));
  option->type_name(type_name(list.element(list.size)));
  option->expected(CLI::detail::expected_max_vector_size);
  if (info.has_commas) {
    option->expected(1)->take_all();
  } else if (!info.takes_words && !option->get_positional()) {
    option->delimiter(',');
  }
  return option;
}

CLI::Option* OptionFlags::declare_optional(const std::string& flag,
                                           const OptionValue::Optional& value,
                                           const OptionInfo& info) {
  const OptionValue example = value.example();
  CLI::Option* option = nullptr;
  if (std::holds_alternative<OptionValue::List>(example.reference())) {
    option = add_list(flag, example, value.value, info);
  } else if (std::holds_alternative<bool*>(example.reference())) {
    return command_.add_flag_callback(
        flag, [make = value.value] { assign(make(), "true"); }, help_of(info));
  } else {
    const auto take = [make = value.value](const CLI::results_t& texts) {
      return assign(make(), texts[0]);
    };
    option = command_.add_option(flag, take, help_of(info));
    option->type_name(type_name(example))->expected(1);
  }
  if (value.shows_example) option->default_str(show_default(example));
  return option;
}

void OptionFlags::visit_value(const char* name, const OptionValue& value, const OptionInfo& info) {
  std::string flag = info.flags;
  if (flag.empty()) {
    flag = fmt::format("--{}", name);
    std::replace(flag.begin(), flag.end(), '_', '-');
  }
  CLI::Option* option = add(flag, value, info);
  if (is_number(value)) {  // CLI11 shows the message of a validator that returns one
    const auto check_range = [low = info.minimum, high = info.maximum](std::string& text) {
      double number = 0;
      if (!CLI::detail::lexical_cast(text, number) || !std::isfinite(number)) {
        return fmt::format("{} is not a number", text);
      }
      if (number < low) return fmt::format("{} is less than {}", text, low);
      if (number > high) return fmt::format("{} is more than {}", text, high);
      return std::string();
    };
    option->check(CLI::Validator(check_range, ""));
  }
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
