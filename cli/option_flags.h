// SPDX-License-Identifier: Apache-2.0
// Command-line options made from an options struct, so that name, help, default and range stand in
// one place: `score_scale` becomes --score-scale.
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

  void field(const char* name, bool& value, const OptionInfo& info) override;
  void field(const char* name, int64_t& value, const OptionInfo& info) override;
  void field(const char* name, double& value, const OptionInfo& info) override;
  void field(const char* name, std::string& value, const OptionInfo& info) override;
  void field(const char* name, std::vector<std::string>& value, const OptionInfo& info) override;
  void visit_group(const char* name, const std::string& help, const Members& members) override;
  void visit_list(const char* name, const std::string& help, const List& list) override;

 private:
  std::string flag_name(const char* name) const;
  std::string help_of(const OptionInfo& info) const;
  template <typename T>
  CLI::Option* add(const char* name, T& value, const OptionInfo& info);

  CLI::App& command_;
  std::set<std::string> skip_;
  std::map<std::string, std::string> names_;
};

}  // namespace simile::cli
