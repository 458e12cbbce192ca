// SPDX-License-Identifier: Apache-2.0
// The settings that a search may vary, as numbers: ranges, whole numbers, choices, and settings
// that only some choices have.
//
// A point has a value for each setting: the number for a range, the place in the list (from 0) for
// choices, and none for a setting that the point does not have. Samplers draw unit coordinates, one
// a setting in [0, 1); the surrogate sees features:
//
//   range          (v - low) / (high - low), of a logarithmic one the same of the logarithms; of
//                  whole numbers each has an interval of its own, and v is in the middle
//   choices        one feature each, 1 / sqrt(2) for the one that is taken: two differ by 1
//   does not have  0.5; 0 for all choices
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace simile {

// The setting exists only in points where `parent`, an earlier setting, has one of these choices.
struct SearchCondition {
  size_t parent = 0;
  std::vector<size_t> choices;
};

struct SearchSetting {
  enum class Kind { kReal, kInteger, kChoice };

  std::string name;
  Kind kind = Kind::kReal;
  double low = 0, high = 1;  // both included
  bool is_log = false;
  size_t choices = 0;                       // kChoice: how many
  int64_t grid_points = 3;                  // of a range, for a grid
  std::vector<SearchCondition> conditions;  // all of them
};

using SearchPoint = std::vector<std::optional<double>>;

class SearchSpace {
 public:
  // Errors (ErrorKind::kRecipe): low >= high, a logarithm of a number that is not above 0, no
  // choices, bounds of whole numbers that are not whole, a condition on a setting without choices.
  explicit SearchSpace(std::vector<SearchSetting> settings);

  const std::vector<SearchSetting>& settings() const { return settings_; }
  size_t size() const { return settings_.size(); }

  // Real values are rounded to four digits, as people write them, within their range.
  SearchPoint decode(const std::vector<double>& unit) const;
  std::vector<double> encode(const SearchPoint& point) const;  // unit coordinates; 0.5 for none
  std::vector<double> features(const SearchPoint& point) const;
  const std::vector<size_t>& feature_settings() const { return feature_settings_; }

  // Whether a point with these values of the settings before it has the setting.
  bool has_setting(size_t setting, const SearchPoint& point) const;

  // Whether the values are within their ranges, and just those are there that conditions ask for.
  bool contains(const SearchPoint& point) const;

  // All points of the grid, each once; of a range `grid_points` at equal distances, both ends
  // among them. Errors (kRecipe): more than 100,000.
  std::vector<SearchPoint> grid() const;

 private:
  std::vector<SearchSetting> settings_;
  std::vector<size_t> feature_settings_;  // of each feature the setting
};

}  // namespace simile
