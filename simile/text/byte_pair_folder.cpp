// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/text/detail/json_text.h"
#include "simile/text/detail/tokenizer_folder.h"
#include "simile/text/unicode.h"

namespace simile::detail {
namespace {

enum class Family { kRoberta, kGpt2 };

struct ClassRow {
  const char* name;
  Family family;
};

constexpr std::array<ClassRow, 4> kClasses = {{{"RobertaTokenizer", Family::kRoberta},
                                               {"BartTokenizer", Family::kRoberta},
                                               {"LongformerTokenizer", Family::kRoberta},
                                               {"GPT2Tokenizer", Family::kGpt2}}};

// The files of a folder, read.
struct Folder {
  std::string vocabulary_path;
  std::string config_path;
  Json vocabulary;
  Json config = Json::object();
};

Folder read_folder(const std::string& folder) {
  Folder files;
  files.vocabulary_path = join_path(folder, "vocab.json");
  files.config_path = join_path(folder, "tokenizer_config.json");
  files.vocabulary = read_json(files.vocabulary_path);
  SIMILE_CHECK(files.vocabulary.is_object(), ErrorKind::kInput,
               fmt::format("{} must be an object from token to id, but it is {}",
                           files.vocabulary_path, describe_json(files.vocabulary)));
  if (file_exists(files.config_path)) files.config = read_json(files.config_path);
  return files;
}

Family find_family(const Folder& files) {
  const std::string name =
      plain_class_name(JsonObject(files.config, files.config_path).text_or("tokenizer_class", ""));
  if (name.empty()) {
    const bool has_both = files.vocabulary.contains("<s>") && files.vocabulary.contains("</s>");
    return has_both ? Family::kRoberta : Family::kGpt2;
  }
  std::string known;
  for (const ClassRow& row : kClasses) {
    if (name == row.name) return row.family;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  throw Error(ErrorKind::kInput,
              fmt::format("{}: tokenizer_class \"{}\" with vocab.json and merges.txt is not "
                          "supported; known are {}. Save the tokeniser as tokenizer.json",
                          files.config_path, name, known));
}

Json read_merges_file(const std::string& path) {
  const std::string text = read_file(path);
  SIMILE_CHECK(is_valid_utf8(text), ErrorKind::kInput, fmt::format("{} is not valid UTF-8", path));
  Json merges = Json::array();
  size_t line = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string merge = text.substr(begin, end - begin);
    begin = end + 1;
    ++line;
    if (!merge.empty() && merge.back() == '\r') merge.pop_back();
    if (merge.empty() || (line == 1 && merge.compare(0, 8, "#version") == 0)) continue;
    SIMILE_CHECK(std::count(merge.begin(), merge.end(), ' ') == 1, ErrorKind::kInput,
                 fmt::format("{}:{}: a merge must be two tokens with a space between, but it is "
                             "\"{}\"",
                             path, line, merge));
    merges.push_back(std::move(merge));
  }
  return merges;
}

// The id of a special token; null when the vocabulary has no such token.
Json find_id(const Folder& files, const std::string& token) {
  const auto found = files.vocabulary.find(token);
  return found == files.vocabulary.end() ? Json() : *found;
}

Json added_tokens(const Folder& files, const std::vector<std::string>& names,
                  const std::string& mask) {
  Json tokens = Json::array();
  std::vector<std::string> done;
  for (const std::string& name : names) {
    const Json id = find_id(files, name);
    if (id.is_null() || std::find(done.begin(), done.end(), name) != done.end()) continue;
    done.push_back(name);
    tokens.push_back(special_token_entry(name, 0));
    tokens.back()["id"] = id;
    tokens.back()["lstrip"] = name == mask;
  }
  return tokens;
}

Json end_token(const Folder& files, const std::string& name) {
  const Json id = find_id(files, name);
  SIMILE_CHECK(!id.is_null(), ErrorKind::kInput,
               fmt::format("{}: the special token \"{}\" is not in the vocabulary",
                           files.vocabulary_path, name));
  return {name, id};
}

}  // namespace

std::string plain_class_name(const std::string& name) {
  const std::string fast = "Fast";
  if (name == fast || !ends_with(name, fast)) return name;
  return name.substr(0, name.size() - fast.size());
}

std::string byte_pair_document(const std::string& folder) {
  const Folder files = read_folder(folder);
  const JsonObject config(files.config, files.config_path);
  const bool prefix_space = config.flag_or("add_prefix_space", false);
  const auto name = [&](const char* key, const std::string& fallback) {
    return read_token_name(files.config, key, fallback, files.config_path);
  };
  Json post_processor;
  Json added;
  if (find_family(files) == Family::kRoberta) {
    const std::string cls = name("cls_token", "<s>");
    const std::string sep = name("sep_token", "</s>");
    const std::string mask = name("mask_token", "<mask>");
    post_processor = {{"type", "RobertaProcessing"},
                      {"sep", end_token(files, sep)},
                      {"cls", end_token(files, cls)},
                      {"trim_offsets", true},
                      {"add_prefix_space", prefix_space}};
    added = added_tokens(
        files, {cls, name("pad_token", "<pad>"), sep, name("unk_token", "<unk>"), mask}, mask);
  } else {
    const std::string end = "<|endoftext|>";
    post_processor = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", false}};
    added = added_tokens(files,
                         {name("bos_token", end), name("eos_token", end), name("unk_token", end),
                          name("pad_token", end)},
                         "");
  }
  const Json document = {{"version", "1.0"},
                         {"truncation", nullptr},
                         {"padding", nullptr},
                         {"added_tokens", added},
                         {"normalizer", nullptr},
                         {"pre_tokenizer",
                          {{"type", "ByteLevel"},
                           {"add_prefix_space", prefix_space},
                           {"trim_offsets", true},
                           {"use_regex", true}}},
                         {"post_processor", post_processor},
                         {"decoder",
                          {{"type", "ByteLevel"},
                           {"add_prefix_space", true},
                           {"trim_offsets", true},
                           {"use_regex", true}}},
                         {"model",
                          {{"type", "BPE"},
                           {"dropout", nullptr},
                           {"unk_token", nullptr},
                           {"continuing_subword_prefix", nullptr},
                           {"end_of_word_suffix", nullptr},
                           {"fuse_unk", false},
                           {"byte_fallback", false},
                           {"ignore_merges", false},
                           {"vocab", files.vocabulary},
                           {"merges", read_merges_file(join_path(folder, "merges.txt"))}}}};
  return dump_json(document, -1);
}

}  // namespace simile::detail
