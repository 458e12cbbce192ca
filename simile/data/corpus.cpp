// SPDX-License-Identifier: Apache-2.0
#include "simile/data/corpus.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "simile/core/error.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

using Titles = CorpusReader::Titles;

// `named`: whether there are options for the columns.
std::vector<Column> columns_to_read(Titles titles, bool named, const CorpusColumns& chosen = {}) {
  std::vector<Column> columns = {{"id", {"id", "_id"}, true, named},
                                 {"text", {"text"}, true, named}};
  if (titles == Titles::kPrepend) columns.push_back({"title", {"title"}, false, named});
  const std::string* const names[] = {&chosen.id, &chosen.text, &chosen.title};
  for (size_t c = 0; c < columns.size(); ++c) {
    if (names[c]->empty()) continue;
    columns[c].names = {*names[c]};
    columns[c].required = true;
  }
  return columns;
}

using Json = nlohmann::ordered_json;

// `is_typed`: the row tells numbers from texts.
Json json_of(const NamedField& field, bool is_typed) {
  if (is_typed && field.kind == NamedField::Kind::kText) return field.value;
  Json spelt = Json::parse(field.value, nullptr, false);
  return is_typed || spelt.is_number() ? spelt : Json(field.value);
}

ReadOptions read_others(const CorpusColumns& columns) {
  ReadOptions options;
  options.others = columns.metadata;
  return options;
}

}  // namespace

void CorpusColumns::visit(OptionVisitor& v) {
  v.field("id", id, {"column of the ids; id or _id by default"});
  v.field("text", text, {"column of the texts; text by default"});
  v.field("title", title, {"column put before the text; title, where there is one, by default"});
  v.field("metadata", metadata,
          {"columns kept with each document, to be shown and filtered by; * for all others"});
}

CorpusReader::CorpusReader(const std::string& path, Titles titles)
    : CorpusReader(std::vector<std::string>{path}, titles) {}

CorpusReader::CorpusReader(const std::string& path, Titles titles, const CorpusColumns& columns)
    : paths_({path}),
      reader_(path, columns_to_read(titles, true, columns), read_others(columns)),
      with_titles_(titles == Titles::kPrepend),
      missing_metadata_(columns.metadata.begin(), columns.metadata.end()) {}

CorpusReader::CorpusReader(const std::vector<std::string>& paths, Titles titles,
                           ReadOptions options)
    : paths_(paths),
      reader_(paths, columns_to_read(titles, false), std::move(options)),
      with_titles_(titles == Titles::kPrepend) {}

void CorpusReader::check_id(const Row& row) {
  const std::string& id = row.fields[0];
  if (id.empty()) reader_.fail(row, 0, "expected an id, found nothing");
  const Place place{static_cast<int64_t>(places_.size()), row.line, row.file};
  const auto [found, is_new] = places_.emplace(id, place);
  if (is_new) return;
  const Place& first = found->second;
  reader_.fail(row, 0,
               fmt::format("the id '{}' already stands in line {}{}", id, first.line,
                           first.file == row.file ? "" : " of " + paths_[first.file]));
}

// The columns of a .jsonl are known when all of it was read.
void CorpusReader::check_metadata() const {
  if (missing_metadata_.empty() || missing_metadata_.count("*") > 0) return;
  if (table_format(paths_[0]) != TableFormat::kJsonl) return;
  throw Error(ErrorKind::kInput,
              fmt::format("{}: no row has a column '{}', expected for 'metadata'", paths_[0],
                          *missing_metadata_.begin()));
}

std::string CorpusReader::metadata_of(Row& row) {
  if (row.others.empty()) return "";
  const bool is_typed = table_format(paths_[row.file]) == TableFormat::kJsonl;
  Json object = Json::object();
  for (const NamedField& field : row.others) {
    missing_metadata_.erase(field.name);
    object[field.name] = json_of(field, is_typed);
  }
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool CorpusReader::next(CorpusText& text) {
  Row row;
  do {
    if (!reader_.next(row)) {
      check_metadata();
      return false;
    }
  } while (!reader_.accept([&] { check_id(row); }));
  text.id = std::move(row.fields[0]);
  text.metadata = metadata_of(row);
  const bool titled = with_titles_ && !row.fields[2].empty();
  text.title = titled ? trim(row.fields[2]) : "";
  text.text = titled ? trim(row.fields[2] + " " + row.fields[1]) : std::move(row.fields[1]);
  return true;
}

int64_t CorpusReader::find(const std::string& id) const {
  const auto found = places_.find(id);
  return found == places_.end() ? -1 : found->second.position;
}

}  // namespace simile
