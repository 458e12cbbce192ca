// SPDX-License-Identifier: Apache-2.0
// Public data sets that `simile data get` fetches by name: their addresses and descriptions.
//
// Files are stored as their publishers serve them and archives are not unpacked; `advice` of a set
// is the next step for the user. A set comes with its publisher's licence, which may forbid what
// you plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/options.h"
#include "simile/data/download.h"

namespace simile {

struct CatalogueFile {
  std::string url;
  std::string name;      // under which it is stored; empty: the last part of the URL
  std::string checksum;  // "sha256:HEX" or "md5:HEX", as published; empty: not known
  int64_t bytes = 0;     // 0: not known

  std::string file_name() const;
  void visit(OptionVisitor& v);
};

struct CatalogueSet {
  std::string name, description, licence, advice;
  std::vector<CatalogueFile> files;

  void visit(OptionVisitor& v);
};

// The sets known to this version, with checksums where publishers or other catalogues have them.
const std::vector<CatalogueSet>& builtin_catalogue();

// A catalogue of your own: YAML or JSON, {sets: [{name: ..., files: [{url: ...}]}]}. Errors:
// ErrorKind::kRecipe for unknown keys, a set without name or file, two of the same name.
std::vector<CatalogueSet> read_catalogue(const std::string& path);

// Errors: ErrorKind::kUsage for an unknown name, with the nearest one.
const CatalogueSet& find_set(const std::vector<CatalogueSet>& catalogue, const std::string& name);

struct FetchedFile {
  std::string path, checksum;
};

// Fetches all files of a set into `folder`. `accepted`: checksums to accept for files whose own is
// unknown or has changed. Errors: those of download(), the first after all files were tried.
std::vector<FetchedFile> fetch_set(const CatalogueSet& set, const std::string& folder,
                                   const std::vector<std::string>& accepted,
                                   const DownloadOptions& options, EventSink& events);

}  // namespace simile
