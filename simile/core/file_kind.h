// SPDX-License-Identifier: Apache-2.0
// Recognises files of unexpected kinds by their first bytes. Safe to use from any thread.
#pragma once

#include <string>
#include <string_view>

namespace simile {

// Describes the kind of file that begins with `start` (512 bytes show all kinds) and what to do
// with it, as the end of a sentence after its name: "is a zip archive; unpack it ...". Empty for
// unknown kinds, such as text. Known: archives, compressed files, .npy, .npz, Parquet,
// spreadsheets, PDF, RTF, XML, pictures, databases, other programs' weights, pointers of Git LFS
// and git-xet, web pages.
std::string describe_foreign(std::string_view start);

// Whether `start` has more control characters than text in any encoding but UTF-16 and UTF-32.
bool is_binary(std::string_view start);

// The same for a first line that is JSON (array or object) instead of one text per line.
std::string describe_json_line(std::string_view line);

}  // namespace simile
