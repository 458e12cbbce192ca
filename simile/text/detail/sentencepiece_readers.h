// SPDX-License-Identifier: Apache-2.0
// Readers of the components that sentencepiece models use; rows of the tables in components.h.
#pragma once

#include <memory>
#include <string>

#include "simile/core/detail/json.h"
#include "simile/text/detail/model_tables.h"
#include "simile/text/normalizer.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/token_model.h"

namespace simile::detail {

std::unique_ptr<const Normalizer> read_precompiled(const Json& json, const std::string& where);
std::unique_ptr<const PreTokenizer> read_metaspace(const Json& json, const std::string& where);
std::unique_ptr<const TokenModel> read_unigram(const Json& json, ModelTables& tables, int64_t added,
                                               const std::string& where);

}  // namespace simile::detail
