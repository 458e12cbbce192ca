// SPDX-License-Identifier: Apache-2.0
#include "simile/core/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <map>
#include <new>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"

namespace simile {
namespace {

constexpr size_t kPiece = size_t{1} << 20;  // bytes of a file that are resident at a time

std::string to_digits(const XXH128_hash_t& hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

namespace fs = std::filesystem;
using detail::Json;
using detail::JsonObject;

constexpr int64_t kFormat = 1;
constexpr const char* kHash = "xxh3-128";
constexpr int kMostAbove = 3;  // heads/NAME/model.safetensors is the deepest

struct FileSum {
  int64_t bytes = 0;
  std::string hash;
};
using FileSums = std::map<std::string, FileSum>;  // by name

void add_sums(const std::string& folder, const std::string& prefix, FileSums& sums) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string(), path = entry.path().string();
    const bool is_own = prefix.empty() && name == kChecksumFile;
    const bool is_for_people = starts_with(name, ".") || ends_with(name, ".md") ||
                               starts_with(name, "LICENSE") || starts_with(name, "NOTICE");
    if (is_own || is_for_people) continue;
    if (entry.is_directory()) {
      const std::string below = prefix + name + "/" + kChecksumFile;
      const std::string nested = join_path(path, kChecksumFile);
      if (file_exists(nested)) {
        sums[below] = {static_cast<int64_t>(fs::file_size(nested)), hash_file(nested)};
      } else {
        add_sums(path, prefix + name + "/", sums);
      }
    } else if (entry.is_regular_file()) {
      sums[prefix + name] = {static_cast<int64_t>(entry.file_size()), hash_file(path)};
    }
  }
}

FileSums read_sums(const std::string& folder) {
  const std::string path = join_path(folder, kChecksumFile);
  FileSums sums;
  if (!file_exists(path)) return sums;
  const Json parsed = detail::read_json(path);
  const JsonObject json(parsed, path);
  json.integer("format", kFormat, kFormat);
  SIMILE_CHECK(json.text("hash") == kHash, ErrorKind::kInput,
               "{}: \"hash\" is \"{}\"; expected \"{}\"", path, json.text("hash"), kHash);
  const Json& files = json.at("files");
  SIMILE_CHECK(files.is_object() && !files.empty(), ErrorKind::kInput,
               "{}: \"files\" must name files, but it is {}", path, detail::describe_json(files));
  for (const auto& [name, value] : files.items()) {
    const fs::path inside = name;
    SIMILE_CHECK(!name.empty() && !inside.is_absolute() &&
                     std::count(inside.begin(), inside.end(), fs::path("..")) == 0,
                 ErrorKind::kInput, "{}: '{}' is no name of a file in this folder", path, name);
    const JsonObject file(value, path);
    sums[name] = {file.integer("bytes", 0, std::numeric_limits<int64_t>::max()), file.text("hash")};
  }
  return sums;
}

void verify(const std::string& folder, const std::string& name, const FileSum& expected) {
  const std::string path = join_path(folder, name);
  const std::string remedy = fmt::format(
      "copy the folder again, or, where the change was meant, write {0} anew with `simile check "
      "--model '{1}' --write-checksums`, or delete it",
      kChecksumFile, folder);
  SIMILE_CHECK(file_exists(path), ErrorKind::kInput, "'{}' is missing, {} names it; {}", path,
               kChecksumFile, remedy);
  const auto bytes = static_cast<int64_t>(fs::file_size(path));
  SIMILE_CHECK(bytes == expected.bytes && hash_file(path) == expected.hash, ErrorKind::kInput,
               "'{}' is damaged or was changed: its checksum is not the one in {}; {}", path,
               kChecksumFile, remedy);
}

}  // namespace

struct Hash128::State {
  State() : hash(XXH3_createState()) {
    if (hash == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(hash);
  }
  ~State() { XXH3_freeState(hash); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  XXH3_state_t* hash;
};

Hash128::Hash128() : state_(std::make_unique<State>()) {}
Hash128::~Hash128() = default;

void Hash128::add(std::string_view bytes) {
  if (!bytes.empty()) XXH3_128bits_update(state_->hash, bytes.data(), bytes.size());
}

std::string Hash128::digits() const { return to_digits(XXH3_128bits_digest(state_->hash)); }

std::string hash_bytes(std::string_view bytes) {
  return to_digits(XXH3_128bits(bytes.data(), bytes.size()));
}

HashKey hash_key(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

uint64_t hash64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string hash_file(const std::string& path) {
  const MappedFile file(path);
  Hash128 hash;
  for (size_t at = 0; at < file.bytes().size(); at += kPiece) {
    const std::string_view piece = file.bytes().substr(at, kPiece);
    hash.add(piece);
    file.release(at, piece.size());
  }
  return hash.digits();
}

void write_checksums(const std::string& folder) {
  FileSums sums;
  try {
    add_sums(folder, "", sums);
  } catch (const fs::filesystem_error& error) {
    throw_error(ErrorKind::kIo, "cannot read '{}': {}", folder, error.what());
  }
  Json files = Json::object();
  for (const auto& [name, sum] : sums) files[name] = {{"bytes", sum.bytes}, {"hash", sum.hash}};
  const Json json = {{"format", kFormat}, {"hash", kHash}, {"files", std::move(files)}};
  write_file_atomic(join_path(folder, kChecksumFile), detail::dump_json(json) + "\n");
}

int64_t verify_checksums(const std::string& folder,
                         const std::function<bool(const std::string& name)>& skip) {
  const FileSums sums = read_sums(folder);
  for (const auto& [name, sum] : sums) {
    if (skip == nullptr || !skip(name)) verify(folder, name, sum);
  }
  return static_cast<int64_t>(sums.size());
}

std::vector<std::string> folders_with_checksums(const std::string& folder) {
  std::vector<std::string> folders;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!file_exists(join_path(entry.path().string(), kChecksumFile))) continue;
    folders.push_back(entry.path().string());
  }
  std::sort(folders.rbegin(), folders.rend());
  return folders;
}

int64_t verify_all_checksums(const std::string& folder) {
  const FileSums sums = read_sums(folder);
  auto count = static_cast<int64_t>(sums.size());
  const std::string ending = std::string("/") + kChecksumFile;
  for (const auto& [name, sum] : sums) {
    verify(folder, name, sum);
    if (!ends_with(name, ending)) continue;
    count += verify_all_checksums(join_path(folder, name.substr(0, name.size() - ending.size())));
  }
  return count;
}

void verify_checksum(const std::string& path) {
  fs::path folder = fs::path(path).parent_path(), name = fs::path(path).filename();
  for (int above = 0; above <= kMostAbove; ++above) {
    const std::string here = folder.empty() ? "." : folder.string();
    const FileSums sums = read_sums(here);
    const auto found = sums.find(name.generic_string());
    if (found != sums.end()) return verify(here, found->first, found->second);
    if (!folder.has_filename()) return;
    name = folder.filename() / name;
    folder = folder.parent_path();
  }
}

}  // namespace simile
