// SPDX-License-Identifier: Apache-2.0
// Elements of an XML file as they come, in bounded memory. Used by simile/data/semeval.h.
#pragma once

#include <map>
#include <string>

namespace simile {

// What takes the elements. What its functions throw ends the reading and is thrown by read_xml().
class XmlReceiver {
 public:
  using Attributes = std::map<std::string, std::string>;

  virtual ~XmlReceiver() = default;
  // `where` is "file.xml:12".
  virtual void begin(const std::string& name, const Attributes& attributes,
                     const std::string& where) = 0;
  // `text` is what stands in the element itself, with white space as one space.
  virtual void end(const std::string& name, const std::string& text) = 0;
};

// Plain, .gz or .zst. Errors (ErrorKind::kInput, with file and line): what is not well-formed,
// elements nested more than 100 deep, an element with more than kMaximumLineBytes of text, a
// document that defines entities (which could grow without bound), and what cannot be read.
void read_xml(const std::string& path, XmlReceiver& receiver);

}  // namespace simile
