// SPDX-License-Identifier: Apache-2.0
// Command-line options made from an options struct, so that name, help, default and range stand in
// one place: `score_scale` becomes --score-scale, and `top_k` with OptionInfo::flags "-k,--top-k"
// both.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>

#include "simile/core/options.h"

namespace simile::cli {

class OptionFlags : public OptionVisitor {
 public:
  // Adds one option per field to `command`; members of groups become options of their own. The
  // struct visited must outlive parsing. OptionInfo says what is required, positional or has other
  // names.
  explicit OptionFlags(CLI::App& command) : command_(command) {}

  void visit_value(const char* name, const OptionValue& value, const OptionInfo& info) override;
  void visit_group(const char* name, const std::string& help, const Members& members) override;
  void visit_list(const char* name, const std::string& help, const List& list) override;

 private:
  using MakeValue = std::function<OptionValue()>;

  std::string help_of(const OptionInfo& info) const;
  CLI::Option* add(const std::string& flag, const OptionValue& value, const OptionInfo& info);
  // Flags whose value is made when they are given; `example` has its type.
  CLI::Option* add_list(const std::string& flag, const OptionValue& example, const MakeValue& make,
                        const OptionInfo& info);
  CLI::Option* declare_optional(const std::string& flag, const OptionValue::Optional& value,
                                const OptionInfo& info);

  CLI::App& command_;
};

}  // namespace simile::cli
