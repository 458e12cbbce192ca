// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/search_space.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "simile/core/check.h"

namespace simile {
namespace {

using SettingKind = SearchSetting::Kind;

constexpr double kInactive = 0.5;
constexpr int64_t kMaxGridPoints = 100000;

void check_setting(const SearchSetting& setting) {
  const auto check = [&setting](bool good, const std::string& message) {
    SIMILE_CHECK(good, ErrorKind::kRecipe, "'{}': {}", setting.name, message);
  };
  if (setting.kind == SettingKind::kChoice) {
    check(setting.choices > 0, "`choices` is empty; a setting needs one at least");
    return;
  }
  check(std::isfinite(setting.low) && std::isfinite(setting.high) && setting.low < setting.high,
        fmt::format("`low` should be below `high`, found {} and {}", setting.low, setting.high));
  check(!setting.is_log || setting.low > 0,
        fmt::format("`scale: log` needs `low` above 0, found {}", setting.low));
  check(setting.grid_points >= 1,
        fmt::format("`points` should be 1 at least, found {}; the grid would be empty",
                    setting.grid_points));
  check(
      setting.grid_points <= kMaxGridPoints,
      fmt::format("`points` should be {} at most, found {}", kMaxGridPoints, setting.grid_points));
  if (setting.kind != SettingKind::kInteger) return;
  check(setting.low == std::floor(setting.low) && setting.high == std::floor(setting.high),
        fmt::format("the ends of a range of whole numbers should be such, found {} and {}",
                    setting.low, setting.high));
}

// The ends between which unit coordinates are laid out.
std::pair<double, double> scale_ends(const SearchSetting& setting) {
  const double end = setting.high + (setting.kind == SettingKind::kInteger ? 1 : 0);
  if (setting.is_log) return {std::log(setting.low), std::log(end)};
  return {setting.low, end};
}

double round_to_digits(double value) {
  return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

double value_at(const SearchSetting& setting, double unit) {
  if (setting.kind == SettingKind::kChoice) {
    const auto count = static_cast<double>(setting.choices);
    return std::clamp(std::floor(unit * count), 0.0, count - 1);
  }
  const auto [low, high] = scale_ends(setting);
  const double place = low + unit * (high - low);
  const double value = setting.is_log ? std::exp(place) : place;
  const bool is_whole = setting.kind == SettingKind::kInteger;
  // Rounding of the logarithm may miss a whole number from below.
  return std::clamp(is_whole ? std::floor(value + 1e-9) : round_to_digits(value), setting.low,
                    setting.high);
}

double place_of(const SearchSetting& setting, double value) {
  if (setting.kind == SettingKind::kChoice) {
    return (value + 0.5) / static_cast<double>(setting.choices);
  }
  const auto [low, high] = scale_ends(setting);
  const double middle = value + (setting.kind == SettingKind::kInteger ? 0.5 : 0.0);
  return ((setting.is_log ? std::log(middle) : middle) - low) / (high - low);
}

std::vector<double> grid_values(const SearchSetting& setting) {
  std::vector<double> values;
  if (setting.kind == SettingKind::kChoice) {
    for (size_t i = 0; i < setting.choices; ++i) values.push_back(static_cast<double>(i));
    return values;
  }
  const auto last = static_cast<double>(setting.grid_points - 1);
  for (int64_t i = 0; i < setting.grid_points; ++i) {
    const double part = last > 0 ? static_cast<double>(i) / last : 0.5;
    const double value = setting.is_log ? setting.low * std::pow(setting.high / setting.low, part)
                                        : setting.low + (setting.high - setting.low) * part;
    const bool is_whole = setting.kind == SettingKind::kInteger;
    values.push_back(std::clamp(is_whole ? std::round(value) : round_to_digits(value), setting.low,
                                setting.high));
  }
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

SearchSpace::SearchSpace(std::vector<SearchSetting> settings) : settings_(std::move(settings)) {
  SIMILE_CHECK(!settings_.empty(), ErrorKind::kRecipe, "the search space has no settings");
  for (size_t i = 0; i < settings_.size(); ++i) {
    check_setting(settings_[i]);
    for (const SearchCondition& condition : settings_[i].conditions) {
      const size_t parent = condition.parent;
      SIMILE_CHECK(parent < i && settings_[parent].kind == SettingKind::kChoice, ErrorKind::kRecipe,
                   "'{}': `when` should name a setting with choices that stands before it",
                   settings_[i].name);
    }
    const bool is_choice = settings_[i].kind == SettingKind::kChoice;
    feature_settings_.insert(feature_settings_.end(), is_choice ? settings_[i].choices : 1, i);
  }
}

bool SearchSpace::has_setting(size_t setting, const SearchPoint& point) const {
  const auto& conditions = settings_[setting].conditions;
  return std::all_of(conditions.begin(), conditions.end(), [&](const SearchCondition& condition) {
    const std::optional<double>& parent = point[condition.parent];
    return parent && std::count(condition.choices.begin(), condition.choices.end(),
                                static_cast<size_t>(*parent)) > 0;
  });
}

SearchPoint SearchSpace::decode(const std::vector<double>& unit) const {
  SearchPoint point(size());
  for (size_t i = 0; i < size(); ++i) {
    if (has_setting(i, point)) point[i] = value_at(settings_[i], unit[i]);
  }
  return point;
}

std::vector<double> SearchSpace::encode(const SearchPoint& point) const {
  std::vector<double> unit(size(), kInactive);
  for (size_t i = 0; i < size(); ++i) {
    if (point[i]) unit[i] = place_of(settings_[i], *point[i]);
  }
  return unit;
}

std::vector<double> SearchSpace::features(const SearchPoint& point) const {
  std::vector<double> features;
  features.reserve(feature_settings_.size());
  for (size_t i = 0; i < size(); ++i) {
    if (settings_[i].kind != SettingKind::kChoice) {
      features.push_back(point[i] ? place_of(settings_[i], *point[i]) : kInactive);
      continue;
    }
    for (size_t choice = 0; choice < settings_[i].choices; ++choice) {
      const bool is_taken = point[i] && static_cast<size_t>(*point[i]) == choice;
      features.push_back(is_taken ? std::sqrt(0.5) : 0.0);
    }
  }
  return features;
}

bool SearchSpace::contains(const SearchPoint& point) const {
  if (point.size() != size()) return false;
  for (size_t i = 0; i < size(); ++i) {
    if (point[i].has_value() != has_setting(i, point)) return false;
    if (!point[i]) continue;
    const SearchSetting& setting = settings_[i];
    const bool is_choice = setting.kind == SettingKind::kChoice;
    const double low = is_choice ? 0 : setting.low;
    const double high = is_choice ? static_cast<double>(setting.choices) - 1 : setting.high;
    const bool is_whole = setting.kind != SettingKind::kReal;
    if (*point[i] < low || *point[i] > high) return false;
    if (is_whole && *point[i] != std::floor(*point[i])) return false;
  }
  return true;
}

std::vector<SearchPoint> SearchSpace::grid() const {
  std::vector<SearchPoint> points = {SearchPoint()};
  for (size_t i = 0; i < size(); ++i) {
    const std::vector<double> values = grid_values(settings_[i]);
    std::vector<SearchPoint> longer;
    const auto check_size = [&longer] {
      SIMILE_CHECK(static_cast<int64_t>(longer.size()) <= kMaxGridPoints, ErrorKind::kRecipe,
                   "the grid has more than {} points; take fewer `points` or choices",
                   kMaxGridPoints);
    };
    for (SearchPoint& point : points) {
      point.emplace_back();
      if (!has_setting(i, point)) {
        longer.push_back(point);
        check_size();
        continue;
      }
      for (const double value : values) {
        point[i] = value;
        longer.push_back(point);
        check_size();
      }
    }
    points = std::move(longer);
  }
  return points;
}

}  // namespace simile
