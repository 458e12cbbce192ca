// SPDX-License-Identifier: Apache-2.0
// Command-line options made from an options struct, so that name, help, default and range stand in
// one place: `score_scale` becomes --score-scale, and `top_k` with OptionInfo::flags "-k,--top-k"
// both.
#pragma once

#include <CLI/App.hpp>
#include <map>
#include <set>
#include <string>

#include "simile/core/options.h"

namespace simile::cli {

// Refuses numbers below `low`.
CLI::Validator at_least(double low);

class OptionFlags : public OptionVisitor {
 public:
  // Adds one option per field to `command`, but for those in `skip`. The struct visited must
  // outlive parsing. Members of groups become options of their own. `names` are other names, as
  // CLI11 takes them, of fields: {"prompt", "--prompt,--prompt-name"}.
  explicit OptionFlags(CLI::App& command, std::set<std::string> skip = {},
                       std::map<std::string, std::string> names = {})
      : command_(command), skip_(std::move(skip)), names_(std::move(names)) {}

  void visit_value(const char* name, const OptionValue& value, const OptionInfo& info) override;
  void visit_group(const char* name, const std::string& help, const Members& members) override;
  void visit_list(const char* name, const std::string& help, const List& list) override;

 private:
  std::string flag_name(const char* name, const OptionInfo& info) const;
  std::string help_of(const OptionInfo& info) const;
  CLI::Option* add(const std::string& flag, const OptionValue& value, const OptionInfo& info);
  CLI::Option* add_list(const std::string& flag, const OptionValue& value, const OptionInfo& info);
  CLI::Option* add_optional(const std::string& flag, const OptionValue::Optional& value,
                            const OptionInfo& info);

  CLI::App& command_;
  std::set<std::string> skip_;
  std::map<std::string, std::string> names_;
};

}  // namespace simile::cli
