// SPDX-License-Identifier: Apache-2.0
// Reading the body of a request into the struct that describes it. Each mistake is a RequestError
// that names the key, what was expected and what was found. Null stands for a key that is missing;
// keys that the struct does not have are ignored, as TEI and OpenAI do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/core/options.h"
#include "simile/serve/embedder.h"
#include "simile/serve/serve_options.h"

namespace simile::detail {

// How many elements a list of the body may have: request_texts, or bulk_texts.
enum class BodySize { kUsual, kBulk };

// Errors: kMalformed for a body that is not a JSON object, or is nested deeper than 100 levels;
// kInvalid for values that the struct does not allow. Then the operator's limits: kInvalid for a
// text beyond text_bytes, or outside the lengths of its OptionInfo; kEmpty for an empty list, and
// an empty text where one character is the least; kTooManyInputs for a list that is too long.
void read_body(std::string_view body, const ServeLimits& limits, BodySize size,
               const OptionVisitor::Members& members);

// The same from the query string of an address; a name that occurs several times gives a list.
// Errors: kInvalid, also for a name that the struct does not have.
using AddressQuery = std::vector<std::pair<std::string, std::string>>;
void read_query(const AddressQuery& query, const OptionVisitor::Members& members);

// Reads texts, none of them empty, or token ids from `node`, the value of `key` in the body: a
// text, a list of ids, or a list of texts and such lists. Errors: kInvalid, kEmpty, kTooManyInputs.
OptionInfo inputs_info(const std::string& help);
std::vector<TextInput> read_inputs(const ConfigNode& node, const std::string& key,
                                   const ServeLimits& limits, BodySize size = BodySize::kUsual);

// A list of token ids, or a list of such lists. Errors: kInvalid, kEmpty, kTooManyInputs.
OptionInfo id_lists_info(const std::string& help);
std::vector<std::vector<int32_t>> read_id_lists(const ConfigNode& node, const std::string& key,
                                                const ServeLimits& limits);

// The texts in `node`, one or a list of up to bulk_texts, each as it is or as {"text": it}. Errors: the
// same.
std::vector<std::string> read_documents(const ConfigNode& node, const std::string& key,
                                        const ServeLimits& limits);

// `node`, an object of texts, numbers, true and false which `key` gave, as JSON; empty for none and
// for an object without members. `with_nulls`: a patch, whose members may be null, too, and which is
// "{}" without members. Errors: kInvalid.
std::string read_metadata(const ConfigNode& node, const std::string& key, bool with_nulls = false);

}  // namespace simile::detail
