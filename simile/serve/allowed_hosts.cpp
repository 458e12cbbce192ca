// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/allowed_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "simile/serve/request_error.h"

namespace simile {
namespace {

constexpr size_t kLongestShown = 100;

}  // namespace

std::string host_name(const std::string& written) {
  const size_t scheme = written.find("://");
  std::string name = scheme == std::string::npos ? written : written.substr(scheme + 3);
  if (!name.empty() && name[0] == '[') {
    name = name.substr(1, name.find(']') - 1);
  } else if (std::count(name.begin(), name.end(), ':') == 1) {
    name.resize(name.find(':'));
  }
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

AllowedHosts::AllowedHosts(const ServeOptions& options)
    : looks_(!options.allow_host.empty() ||
             (is_loopback(options.host) && options.api_key_file.empty())) {
  for (const std::string& name : options.allow_host) names_.push_back(host_name(name));
  if (std::find(names_.begin(), names_.end(), "*") != names_.end()) looks_ = false;
}

bool AllowedHosts::allows(const std::string& name) const {
  return is_loopback(name) || std::find(names_.begin(), names_.end(), name) != names_.end();
}

void AllowedHosts::check(const std::string& host, const std::string& origin) const {
  if (!looks_) return;
  for (const auto& [header, value] : {std::pair("Host", host), std::pair("Origin", origin)}) {
    const std::string name = host_name(value);
    if (value.empty() || allows(name)) continue;
    const std::string shown = name.substr(0, kLongestShown);
    throw RequestError(
        Refusal::kForbidden,
        fmt::format("the header {} names \"{}\", and this server answers {}; if that is its name, "
                    "start it with --allow-host {}",
                    header, shown,
                    names_.empty() ? "this machine alone"
                                   : "only to this machine's names and those it was given",
                    shown));
  }
}

}  // namespace simile
