// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/shard.h"

#include <fmt/format.h>

#include <charconv>

#include "simile/core/detail/json.h"
#include "simile/core/detail/sealed_json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

constexpr int64_t kMostShards = 1000000;
constexpr int64_t kMostRows = int64_t{1} << 40;
constexpr std::string_view kVectorsEnding = ".npy";

bool take_count(std::string_view& text, int64_t& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<size_t>(parsed.ptr - text.data()));
  return parsed.ec == std::errc();
}

}  // namespace

std::string Shard::name() const { return fmt::format("{}/{}", index, count); }

Shard parse_shard(const std::string& text) {
  Shard shard;
  std::string_view rest = text;
  bool good = take_count(rest, shard.index) && !rest.empty() && rest.front() == '/';
  if (good) rest.remove_prefix(1);
  good = good && take_count(rest, shard.count) && rest.empty();
  SIMILE_CHECK(
      good && shard.index >= 0 && shard.index < shard.count && shard.count <= kMostShards,
      ErrorKind::kUsage,
      fmt::format("shard '{}': expected I/N, such as 0/4, 1/4, 2/4 and 3/4 for four shards", text));
  return shard;
}

bool ShardSelection::take(std::string_view text) {
  const uint64_t size = text.size();
  list_.add({reinterpret_cast<const char*>(&size), sizeof size});
  list_.add(text);
  const int64_t row = found_.texts++;
  const bool mine = hash64(text) % static_cast<uint64_t>(found_.shard.count) ==
                    static_cast<uint64_t>(found_.shard.index);
  if (mine) found_.rows.push_back(row);
  return mine;
}

ShardRows ShardSelection::finish(ShardRows::Settings settings) {
  found_.settings = std::move(settings);
  found_.list = list_.digits();
  found_.vectors = vectors_.digits();
  return std::move(found_);
}

std::string rows_path(const std::string& vectors_path) {
  return vectors_path.substr(0, vectors_path.size() - kVectorsEnding.size()) + ".rows.json";
}

void write_shard_rows(const std::string& vectors_path, const ShardRows& rows) {
  detail::Json settings = detail::Json::object();
  for (const auto& [name, value] : rows.settings) settings[name] = value;
  detail::Json json = {{"shard", rows.shard.index}, {"shards", rows.shard.count},
                       {"texts", rows.texts},       {"list", rows.list},
                       {"settings", settings},      {"vectors", rows.vectors},
                       {"rows", rows.rows}};
  json[detail::kSeal] = detail::seal_of(json);
  write_file_atomic(rows_path(vectors_path), detail::dump_json(json, -1) + "\n");
}

ShardRows read_shard_rows(const std::string& vectors_path) {
  SIMILE_CHECK(
      ends_with(vectors_path, kVectorsEnding), ErrorKind::kUsage,
      fmt::format("'{}': expected the .npy that `simile encode --shard` wrote", vectors_path));
  const std::string path = rows_path(vectors_path);
  SIMILE_CHECK(file_exists(path), ErrorKind::kInput,
               fmt::format("{0}: '{1}', which says which rows these vectors are, is not beside it; "
                           "`simile encode --shard` writes both",
                           vectors_path, path));
  const detail::Json json = detail::read_json(path);
  detail::check_seal(json, path, "encode the shard again");
  const detail::JsonObject object(json, path);
  ShardRows found;
  found.shard.count = object.integer("shards", 1, kMostShards);
  found.shard.index = object.integer("shard", 0, found.shard.count - 1);
  found.texts = object.integer("texts", 0, kMostRows);
  found.list = object.text("list");
  for (const auto& [name, value] : object.at("settings").items()) {
    found.settings.emplace_back(name, value.get<std::string>());
  }
  found.vectors = object.text("vectors");
  found.rows = object.at("rows").get<std::vector<int64_t>>();
  return found;
}

}  // namespace simile
