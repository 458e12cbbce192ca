// SPDX-License-Identifier: Apache-2.0
#include "simile/data/detail/xml_reader.h"

#include <expat.h>
#include <fmt/format.h>

#include <exception>
#include <memory>
#include <type_traits>
#include <vector>

#include "simile/core/error.h"
#include "simile/data/detail/byte_source.h"
#include "simile/data/line_reader.h"

namespace simile {
namespace {

constexpr size_t kDeepest = 100;

class XmlFile {
 public:
  XmlFile(const std::string& path, XmlReceiver& receiver)
      : path_(path),
        bytes_(open_bytes(path)),
        receiver_(receiver),
        parser_(XML_ParserCreate(nullptr), &XML_ParserFree) {
    SIMILE_CHECK(parser_ != nullptr, ErrorKind::kInput,
                 fmt::format("cannot read {}: out of memory", path));
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(parser_.get(), &XmlFile::on_begin, &XmlFile::on_end);
    XML_SetCharacterDataHandler(parser_.get(), &XmlFile::on_text);
    XML_SetEntityDeclHandler(parser_.get(), &XmlFile::on_entity);
  }

  void read() {
    std::vector<char> chunk(1 << 16);
    for (bool last = false; !last;) {
      const size_t size = bytes_->read(chunk.data(), chunk.size());
      last = size == 0;
      const XML_Status status =
          XML_Parse(parser_.get(), chunk.data(), static_cast<int>(size), last ? 1 : 0);
      if (thrown_) std::rethrow_exception(thrown_);
      SIMILE_CHECK(status == XML_STATUS_OK, ErrorKind::kInput,
                   fmt::format("{}: this is not well-formed XML: {}", where(),
                               XML_ErrorString(XML_GetErrorCode(parser_.get()))));
    }
  }

 private:
  std::string where() const {
    return fmt::format("{}:{}", path_, XML_GetCurrentLineNumber(parser_.get()));
  }

  // No exception may pass through the parser, which is C.
  template <typename Body>
  void guard(const Body& body) {
    if (thrown_) return;
    try {
      body();
    } catch (...) {
      thrown_ = std::current_exception();
      XML_StopParser(parser_.get(), XML_FALSE);
    }
  }

  static void XMLCALL on_begin(void* self, const XML_Char* name, const XML_Char** attributes) {
    static_cast<XmlFile*>(self)->begin(name, attributes);
  }
  static void XMLCALL on_end(void* self, const XML_Char* name) {
    auto* file = static_cast<XmlFile*>(self);
    file->guard([&] {
      file->receiver_.end(name, file->texts_.back());
      file->texts_.pop_back();
    });
  }
  static void XMLCALL on_text(void* self, const XML_Char* text, int size) {
    auto* file = static_cast<XmlFile*>(self);
    file->guard([&] { file->add_text({text, static_cast<size_t>(size)}); });
  }
  static void XMLCALL on_entity(void* self, const XML_Char* name, int, const XML_Char*, int,
                                const XML_Char*, const XML_Char*, const XML_Char*,
                                const XML_Char*) {
    auto* file = static_cast<XmlFile*>(self);
    file->guard([&] {
      throw Error(ErrorKind::kInput, fmt::format("{}: the document defines the entity '{}'; "
                                                 "expected XML without definitions of its own",
                                                 file->where(), name));
    });
  }

  void begin(const XML_Char* name, const XML_Char** attributes) {
    guard([&] {
      SIMILE_CHECK(texts_.size() < kDeepest, ErrorKind::kInput,
                   fmt::format("{}: elements stand more than {} deep", where(), kDeepest));
      texts_.emplace_back();
      XmlReceiver::Attributes read;
      for (; *attributes != nullptr; attributes += 2) read.emplace(attributes[0], attributes[1]);
      receiver_.begin(name, read, where());
    });
  }

  // White space waits for the text after it.
  void add_text(std::string_view piece) {
    if (texts_.empty()) return;
    std::string& text = texts_.back();
    for (const char c : piece) {
      const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
      if (!space) {
        text += c;
      } else if (text.empty() || text.back() != ' ') {
        text += ' ';
      }
    }
    SIMILE_CHECK(
        static_cast<int64_t>(text.size()) <= kMaximumLineBytes, ErrorKind::kInput,
        fmt::format("{}: an element holds more than {} bytes of text", where(), kMaximumLineBytes));
  }

  std::string path_;
  std::unique_ptr<ByteSource> bytes_;
  XmlReceiver& receiver_;
  std::unique_ptr<std::remove_pointer_t<XML_Parser>, void (*)(XML_Parser)> parser_;
  std::vector<std::string> texts_;  // of the elements that are open
  std::exception_ptr thrown_;
};

}  // namespace

void read_xml(const std::string& path, XmlReceiver& receiver) { XmlFile(path, receiver).read(); }

}  // namespace simile
