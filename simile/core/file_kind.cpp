// SPDX-License-Identifier: Apache-2.0
#include "simile/core/file_kind.h"

#include <algorithm>
#include <cctype>

#include "simile/core/file.h"

namespace simile {
namespace {

using std::string_view_literals::operator""sv;

struct Kind {
  std::string_view mark;
  size_t at;  // byte where it stands
  const char* what;
};

constexpr const char* kArray =
    "a NumPy array; write texts one a line: numpy.savetxt(\"texts.txt\", a, fmt=\"%s\")";
constexpr const char* kPicture = "a picture; expected text";

constexpr Kind kKinds[] = {
    {"\x93NUMPY"sv, 0, kArray},
    {"PAR1"sv, 0,
     "a Parquet file; write it as CSV: duckdb -c \"COPY (FROM 'FILE') TO 'FILE.csv'\", or in "
     "Python pandas.read_parquet(\"FILE\").to_csv(\"FILE.csv\", index=False)"},
    {"ARROW1"sv, 0,
     "an Arrow (Feather) file; write it as CSV, in Python "
     "pandas.read_feather(\"FILE\").to_csv(\"FILE.csv\", index=False)"},
    {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, 0,
     "a document of an older Microsoft Office (.xls, .doc); save it as CSV or plain text in UTF-8"},
    {"%PDF-"sv, 0, "a PDF; take its text out: pdftotext FILE.pdf FILE.txt"},
    {"\x89PNG\r\n"sv, 0, kPicture},
    {"\xFF\xD8\xFF"sv, 0, kPicture},
    {"GIF8"sv, 0, kPicture},
    {"\x1F\x8B"sv, 0, "a gzip file (or one in another); unpack it: gunzip FILE"},
    {"\x28\xB5\x2F\xFD"sv, 0,
     "a zstd file; give it a name that ends in .zst, or unpack it: unzstd FILE"},
    {"BZh"sv, 0, "a bzip2 file; unpack it: bunzip2 FILE"},
    {"\xFD\067zXZ\0"sv, 0, "an xz file; unpack it: unxz FILE"},
    {"7z\xBC\xAF\x27\x1C"sv, 0, "a 7z archive; unpack it: 7z x FILE"},
    {"Rar!\x1A\x07"sv, 0, "a RAR archive; unpack it: unrar x FILE"},
    {"ustar"sv, 257, "a tar archive; unpack it (tar xf FILE) and give the files in it"},
    {"SQLite format 3\0"sv, 0,
     "an SQLite database; write a table of it as CSV: sqlite3 -csv -header FILE 'SELECT ...'"},
    {"\x89HDF\r\n"sv, 0, "an HDF5 file, as Keras and h5py write"},
    {"GGUF"sv, 0,
     "a GGUF file, which is for llama.cpp; take the model that it was made from (simile get "
     "ORG/NAME)"},
    {"\177ELF"sv, 0, "a program"},
    {"<?xml"sv, 0, "XML; take its texts out, one a line"},
    {"{\\rtf"sv, 0, "a document in RTF; save it as plain text in UTF-8"},
    {"\0\0\0\0{\""sv, 4, "the weights of a model (safetensors)"},
    {"# xet version"sv, 0, "not the file but a pointer of git-xet to it; fetch the file itself"},
    {"version https://git-lfs.github.com/spec/"sv, 0,
     "not the file but a pointer of Git LFS to it; run `git lfs pull` in its folder, or fetch the "
     "model: simile get ORG/NAME"}};

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::string_view without_space(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  return text.substr(begin);
}

// The name of the first entry shows the purpose of a zip archive.
std::string describe_zip(std::string_view start) {
  const std::string_view name = start.substr(std::min<size_t>(30, start.size()), 200);
  if (has(start, "[Content_Types].xml") || has(name, "xl/") || has(name, "_rels/")) {
    return "a document of Microsoft Office (.xlsx, .docx); save it as CSV or plain text in UTF-8";
  }
  if (has(name, "mimetypeapplication/vnd.oasis")) {
    return "a document of LibreOffice; save it as CSV or plain text in UTF-8";
  }
  if (has(name, ".npy")) {
    return "an .npz archive of NumPy; write the array in it as .npy: numpy.save(\"FILE.npy\", "
           "numpy.load(\"FILE.npz\")[\"NAME\"])";
  }
  if (has(name, "data.pkl")) return "a file of torch.save; expected another format";
  return "a zip archive; unpack it (unzip FILE) and give the files in it";
}

}  // namespace

std::string describe_foreign(std::string_view start) {
  for (const Kind& kind : kKinds) {
    if (start.size() >= kind.at && starts_with(start.substr(kind.at), kind.mark)) {
      return std::string("is ") + kind.what;
    }
  }
  if (starts_with(start, "PK\x03\x04"sv)) return "is " + describe_zip(start);
  std::string text(without_space(start).substr(0, 15));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (starts_with(text, "<!doctype html") || starts_with(text, "<html")) {
    return "is a web page (HTML), as an address gives that needs a login or does not exist; "
           "download the file itself again";
  }
  return "";
}

bool is_binary(std::string_view start) {
  const auto count = std::count_if(start.begin(), start.end(), [](unsigned char c) {
    return c == 0 || (c > 1 && c < 7) || (c > 13 && c < 27);  // \x01 may part fields
  });
  return count >= 8 && static_cast<size_t>(count) * 32 > start.size();
}

std::string describe_json_line(std::string_view line) {
  const std::string_view text = without_space(line);
  if (text.empty() || (text[0] != '[' && text[0] != '{')) return "";
  const std::string_view inner = without_space(text.substr(1));
  const bool is_object = text[0] == '{' && !inner.empty() && inner[0] == '"' && has(inner, "\":");
  const bool is_list = text[0] == '[' && !inner.empty() &&
                       ((inner[0] == '"' && (has(inner, "\",") || has(inner, "\"]"))) ||
                        (inner[0] == '{' && has(inner, "\"")) || inner == "{");
  if (!inner.empty() && !is_object && !is_list) return "";
  return "is JSON, but a file of texts has one text a line; give it a name that ends in .jsonl if "
         "each line is an object with a \"text\", or turn an array into lines: jq -r '.[]' FILE > "
         "texts.txt (of objects: jq -c '.[]' FILE > texts.jsonl)";
}

}  // namespace simile
