// SPDX-License-Identifier: Apache-2.0
#include "simile/model/model_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/file_kind.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 3;  // CACHE/models--ORG--NAME/snapshots/COMMIT
constexpr size_t kMostFiles = 10000;
constexpr size_t kMostNamed = 5;
constexpr uintmax_t kLongestPointer = 1024;

// Endings of weights that the program does not read, and what they are for.
constexpr std::pair<const char*, const char*> kOtherWeights[] = {
    {".gguf", "llama.cpp (GGUF)"},  {".onnx", "ONNX Runtime"},
    {".h5", "TensorFlow"},          {".msgpack", "JAX"},
    {"_model.xml", "OpenVINO"},     {".pt", "its own torch code"},
    {".pth", "its own torch code"}, {".ckpt", "its own torch code"}};

std::string folder_of(const std::string& file) {
  const size_t slash = file.rfind('/');
  return slash == file.npos ? "" : file.substr(0, slash + 1);
}

// Whether a file is the model's in a form for other programs.
bool is_export(const std::string& file) {
  static const std::set<std::string> folders = {"onnx", "openvino", "coreml", "tflite", "gguf"};
  return folders.count(file.substr(0, file.find('/'))) > 0;
}

// Folders below, the uppermost of each branch, that hold a model.
std::vector<std::string> models_below(const std::string& top,
                                      const std::vector<std::string>& files) {
  std::set<std::string> models;
  for (const std::string& file : files) {
    const std::string folder = folder_of(file);
    const bool is_marked = file == folder + "config.json" || file == folder + "modules.json";
    const bool has_weights = std::any_of(files.begin(), files.end(), [&](const auto& other) {
      return starts_with(other, folder) && is_weight_file(other);
    });
    if (is_marked && has_weights && !is_export(file)) models.insert(folder);
  }
  std::vector<std::string> uppermost;
  for (const std::string& model : models) {  // a folder comes before those in it
    if (uppermost.empty() || !starts_with(model, uppermost.back())) uppermost.push_back(model);
  }
  for (std::string& model : uppermost) {
    model = top.empty() ? model : join_path(top, model);
    model.pop_back();
  }
  return uppermost;
}

}  // namespace

std::vector<std::string> list_model_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator() && files.size() < kMostFiles;
       entry.increment(error)) {
    if (entry.depth() == kDeepest) entry.disable_recursion_pending();
    std::error_code ignored;  // a link into nothing
    if (entry->is_regular_file(ignored)) {
      files.push_back(entry->path().lexically_relative(folder).generic_string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool is_weight_file(const std::string& name) {
  return ends_with(name, ".safetensors") || ends_with(name, ".bin");
}

std::vector<std::string> choose_model_files(const std::vector<std::string>& files) {
  std::set<std::string> with_safetensors;
  for (const std::string& file : files) {
    if (ends_with(file, ".safetensors")) with_safetensors.insert(folder_of(file));
  }
  std::vector<std::string> chosen;
  for (const std::string& file : files) {
    const std::string name = file.substr(folder_of(file).size());
    const bool is_torch = name == "pytorch_model.bin" ||
                          (starts_with(name, "pytorch_model-") && ends_with(name, ".bin"));
    const bool is_read = ends_with(name, ".json") || ends_with(name, ".txt") ||
                         ends_with(name, ".model") || ends_with(name, ".safetensors") ||
                         name == "README.md" || starts_with(name, "LICENSE") ||
                         (is_torch && with_safetensors.count(folder_of(file)) == 0);
    const bool is_hidden = starts_with(file, ".") || file.find("/.") != file.npos;
    if (is_read && !is_hidden && !is_export(file)) chosen.push_back(file);
  }
  return chosen;
}

std::string explain_no_weights(const std::vector<std::string>& files) {
  for (const auto& [ending, program] : kOtherWeights) {
    for (const std::string& file : files) {
      if (!ends_with(file, ending)) continue;
      return fmt::format(
          "has its weights only in '{}', a file for {}; expected model.safetensors or "
          "pytorch_model.bin: take the model that it was made from (simile get ORG/NAME), or save "
          "that with save_pretrained() of transformers",
          file, program);
    }
  }
  return "has neither model.safetensors nor pytorch_model.bin, nor an index of several such files "
         "(.index.json); copy or fetch the whole model again";
}

std::string explain_no_model(const std::string& folder, const std::vector<std::string>& files) {
  const auto has = [&](const char* file) {
    return std::count(files.begin(), files.end(), file) > 0;
  };
  if (has("adapter_config.json") && !has("config.json")) {
    return "is an adapter (LoRA), which changes another model; merge it into that model "
           "(merge_and_unload() of the Python package peft), save the result and give its folder";
  }
  const std::vector<std::string> chosen = choose_model_files(files);
  if (has("config.json") || has("modules.json")) {
    return std::any_of(chosen.begin(), chosen.end(), is_weight_file) ? ""
                                                                     : explain_no_weights(files);
  }
  const std::vector<std::string> below = models_below(folder, files);
  if (!below.empty()) {
    const auto end = below.begin() + static_cast<int64_t>(std::min(below.size(), kMostNamed));
    return fmt::format("holds no model itself, but models lie below it: '{}'{}; give that path",
                       fmt::join(below.begin(), end, "', '"), end == below.end() ? "" : " ...");
  }
  const std::string weights = explain_no_weights(files);
  return starts_with(weights, "has its") ? weights : "has neither config.json nor modules.json";
}

void refuse_lfs_pointers(const std::string& folder) {
  for (const std::string& file : choose_model_files(list_model_files(folder))) {
    if (std::count(file.begin(), file.end(), '/') > 1) continue;
    const std::string path = join_path(folder, file);
    std::error_code error;
    if (fs::file_size(path, error) > kLongestPointer || error) continue;
    const std::string bytes = read_file(path);  // weights, which hold zeros, tell their kind later
    const std::string foreign = bytes.find('\0') == bytes.npos ? describe_foreign(bytes) : "";
    SIMILE_CHECK(foreign.empty(), ErrorKind::kInput, "'{}' {}", path, foreign);
  }
}

}  // namespace simile
