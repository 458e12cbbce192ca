// SPDX-License-Identifier: Apache-2.0
// What one run of many says.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "simile/train/selection.h"

namespace simile {

// Tells which run speaks; its news other than warnings would bury those of all.
class RunEvents : public SelectionSink {
 public:
  RunEvents(std::string label, std::set<std::string>& told, EventSink& events)
      : label_(std::move(label)), told_(told), events_(events) {}
  // What several runs have to say of their data is said once.
  void warning(const std::string& message) override {
    if (told_.insert(message).second) events_.warning(label_ + ": " + message);
  }
  void progress(const Progress& progress) override { events_.progress(progress); }
  void selected(const SelectedValue& /*value*/) override {}

 private:
  std::string label_;
  std::set<std::string>& told_;
  EventSink& events_;
};

}  // namespace simile
