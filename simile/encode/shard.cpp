// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/shard.h"

#include <algorithm>
#include <charconv>
#include <memory>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/model/embedding_store.h"

namespace simile {
namespace {

constexpr std::string_view kVectorsEnding = ".npy";

bool take_count(std::string_view& text, int64_t& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<size_t>(parsed.ptr - text.data()));
  return parsed.ec == std::errc();
}

// Vectors are copied this many at a time.
constexpr size_t kRowsWritten = 4096;

// The vectors of a shard and the rows they are, each checked against the other.
struct ShardFile {
  explicit ShardFile(const std::string& path)
      : path(path), rows(read_shard_rows(path)), file(path), matrix(parse_npy(path, file.bytes())) {
    const std::string_view numbers = file.bytes().substr(matrix.offset);
    SIMILE_CHECK(matrix.number == NpyNumber::kFloat &&
                     matrix.rows == static_cast<int64_t>(rows.rows.size()) &&
                     hash_bytes(numbers) == rows.vectors,
                 ErrorKind::kInput,
                 "{}: its vectors are not those that '{}' was written with; encode shard {} again",
                 path, rows_path(path), rows.shard.name());
  }

  std::string_view next() {
    const size_t width = static_cast<size_t>(matrix.columns) * sizeof(float);
    return file.bytes().substr(matrix.offset + written++ * width, width);
  }

  std::string path;
  ShardRows rows;
  MappedFile file;
  NpyMatrix matrix;
  size_t written = 0;
};

void check_alike(const ShardFile& first, const ShardFile& other) {
  const auto differs = [&](const std::string& what, const std::string& one,
                           const std::string& two) {
    SIMILE_CHECK(one == two, ErrorKind::kInput,
                 "{} and {} do not belong together: the {} is '{}' in the one and '{}' in the "
                 "other; encode all shards in the same way",
                 first.path, other.path, what, one, two);
  };
  differs("number of shards", std::to_string(first.rows.shard.count),
          std::to_string(other.rows.shard.count));
  differs("list of texts", first.rows.list, other.rows.list);
  differs("number of settings", std::to_string(first.rows.settings.size()),
          std::to_string(other.rows.settings.size()));
  auto same = other.rows.settings.begin();
  for (const auto& [name, value] : first.rows.settings) {
    differs("setting", name, same->first);
    differs(name, value, (same++)->second);
  }
  differs("size of a vector", std::to_string(first.matrix.columns),
          std::to_string(other.matrix.columns));
}

using ShardFiles = std::vector<std::unique_ptr<ShardFile>>;

ShardFiles open_shards(const std::vector<std::string>& paths) {
  SIMILE_CHECK(!paths.empty(), ErrorKind::kUsage, "no shard was given to merge");
  ShardFiles files;
  for (const std::string& path : paths) files.push_back(std::make_unique<ShardFile>(path));
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a->rows.shard.index < b->rows.shard.index; });
  const int64_t count = files[0]->rows.shard.count;
  for (size_t i = 0; i < files.size(); ++i) {
    check_alike(*files[0], *files[i]);
    SIMILE_CHECK(i == 0 || files[i - 1]->rows.shard.index != files[i]->rows.shard.index,
                 ErrorKind::kInput, "{} and {} are both shard {}", files[i - 1]->path,
                 files[i]->path, files[i]->rows.shard.name());
  }
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    SIMILE_CHECK(i < files.size() && files[i]->rows.shard.index == static_cast<int64_t>(i),
                 ErrorKind::kInput, "shard {}/{} is missing", i, count);
  }
  return files;
}

// Which shard holds each row.
std::vector<int32_t> find_owners(const ShardFiles& files) {
  std::vector<int32_t> owners(static_cast<size_t>(files[0]->rows.texts), -1);
  size_t rows = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    rows += files[i]->rows.rows.size();
    int64_t before = -1;
    for (const int64_t row : files[i]->rows.rows) {
      const bool good =
          row > before && row < files[0]->rows.texts && owners[static_cast<size_t>(row)] < 0;
      SIMILE_CHECK(good, ErrorKind::kInput, "{}: row {} is out of its order, or in two shards",
                   rows_path(files[i]->path), row);
      owners[static_cast<size_t>(row)] = static_cast<int32_t>(i);
      before = row;
    }
  }
  SIMILE_CHECK(rows == owners.size(), ErrorKind::kInput, "the shards hold {} rows of {}", rows,
               owners.size());
  return owners;
}

}  // namespace

std::string Shard::name() const { return fmt::format("{}/{}", index, count); }

Shard parse_shard(const std::string& text) {
  Shard shard;
  std::string_view rest = text;
  bool good = take_count(rest, shard.index) && !rest.empty() && rest.front() == '/';
  if (good) rest.remove_prefix(1);
  good = good && take_count(rest, shard.count) && rest.empty();
  SIMILE_CHECK(good && shard.index >= 0 && shard.index < shard.count &&
                   static_cast<double>(shard.count) <= kMostShards,
               ErrorKind::kUsage,
               "shard '{}': expected I/N, such as 0/4, 1/4, 2/4 and 3/4 for four shards", text);
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
  detail::Json json = detail::Json::parse(options_to_json(rows));
  json[detail::kSeal] = detail::seal_of(json);
  write_file_atomic(rows_path(vectors_path), detail::dump_json(json, -1) + "\n");
}

ShardRows read_shard_rows(const std::string& vectors_path) {
  SIMILE_CHECK(ends_with(vectors_path, kVectorsEnding), ErrorKind::kUsage,
               "'{}': expected the .npy that `simile encode --shard` wrote", vectors_path);
  const std::string path = rows_path(vectors_path);
  SIMILE_CHECK(file_exists(path), ErrorKind::kInput,
               "{0}: '{1}', which says which rows these vectors are, is not beside it; `simile "
               "encode --shard` writes both",
               vectors_path, path);
  detail::check_seal(detail::read_json(path), path, "encode the shard again");
  ShardRows found;
  read_json_options(read_file(path), path, found);
  return found;
}

MergedShards merge_shards(const std::vector<std::string>& paths, const std::string& output,
                          EventSink& events) {
  SIMILE_CHECK(ends_with(output, ".npy"), ErrorKind::kUsage,
               "output '{}': expected a name ending in .npy", output);
  for (const std::string& path : paths) check_not_read(output, path);
  const ShardFiles files = open_shards(paths);
  const std::vector<int32_t> owners = find_owners(files);
  MergedShards merged;
  merged.shards = static_cast<int64_t>(files.size());
  merged.rows = static_cast<int64_t>(owners.size());
  merged.columns = files[0]->matrix.columns;
  AtomicFile file(output);
  file.write(npy_header(NpyNumber::kFloat, merged.rows, merged.columns));
  for (size_t begin = 0; begin < owners.size(); begin += kRowsWritten) {
    const size_t end = std::min(owners.size(), begin + kRowsWritten);
    std::string bytes;
    for (size_t row = begin; row < end; ++row) {
      bytes += files[static_cast<size_t>(owners[row])]->next();
    }
    file.write(bytes);
    events.progress({"merge", static_cast<int64_t>(end), merged.rows, "rows", {}});
  }
  file.commit();
  return merged;
}

}  // namespace simile
