// SPDX-License-Identifier: Apache-2.0
#include "simile/data/text_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "simile/core/error.h"
#include "simile/data/path_list.h"

namespace simile {
namespace {

constexpr TextListOptions kOptions{/*skip_blank_lines=*/true, /*limit=*/0};
constexpr int64_t kReportEvery = 20000;  // texts between two reports of progress

CorpusFile inspect_file(const std::string& path, EventSink& events) {
  CorpusFile file;
  file.path = path;
  TextListReader reader(path, kOptions);
  for (TextItem item; reader.next(item);) {
    ++file.texts;
    file.bytes += static_cast<int64_t>(item.text.size());
    file.hash = stream_key(file.hash, item.text);
    if (file.texts % kReportEvery == 0) events.progress({"read", file.texts, 0, "texts", {}});
  }
  SIMILE_CHECK(file.texts > 0, ErrorKind::kInput,
               fmt::format("'{}' has no text; expected one text a line", path));
  const ReadReport& report = reader.report();
  SIMILE_CHECK(report.replaced_bytes * 100 <= file.bytes, ErrorKind::kInput,
               fmt::format("'{}' is not text: {} of its bytes are not UTF-8; expected plain, "
                           "gzip or zstd text, one text a line",
                           path, report.replaced_bytes));
  if (report.replaced_bytes > 0) events.warning(report.warning());
  return file;
}

}  // namespace

std::vector<CorpusFile> inspect_corpus(const std::vector<std::string>& paths, EventSink& events) {
  SIMILE_CHECK(!paths.empty(), ErrorKind::kRecipe, "the recipe names no `corpus` file");
  std::vector<CorpusFile> files;
  for (const std::string& path : expand_paths(paths)) files.push_back(inspect_file(path, events));
  return files;
}

TextStream::TextStream(const std::vector<CorpusFile>& files, int64_t buffer, uint64_t seed,
                       uint64_t epoch)
    : capacity_(static_cast<size_t>(std::max<int64_t>(buffer, 1))),
      random_(seed, "text stream", epoch) {
  for (const CorpusFile& file : files) {
    sources_.push_back({TextListReader(file.path, kOptions), file.texts, 0});
  }
}

bool TextStream::next(std::string& text) {
  std::string read;
  while (buffer_.size() < capacity_ && read_next(read)) buffer_.push_back(std::move(read));
  if (buffer_.empty()) return false;
  const auto place = static_cast<size_t>(random_.below(buffer_.size()));
  text = std::move(buffer_[place]);
  buffer_[place] = std::move(buffer_.back());
  buffer_.pop_back();
  return true;
}

// From the file that is least far through; the first of equals.
bool TextStream::read_next(std::string& text) {
  Source* chosen = nullptr;
  for (Source& source : sources_) {
    if (source.read >= source.texts) continue;
    if (chosen == nullptr || source.read * chosen->texts < chosen->read * source.texts) {
      chosen = &source;
    }
  }
  if (chosen == nullptr) return false;
  TextItem item;
  SIMILE_CHECK(chosen->reader.next(item), ErrorKind::kInput,
               fmt::format("'{}' holds fewer texts than when the run began; corpus files must not "
                           "be changed meanwhile",
                           chosen->reader.report().file));
  ++chosen->read;
  text = std::move(item.text);
  return true;
}

}  // namespace simile
