// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "simile/core/file.h"
#include "simile/encode/sentence_encoder.h"

namespace simile {
namespace {

TEST(ModelReference, ThePageIsPrintedByTheProgram) {
  EXPECT_EQ(model_reference(), read_file(SIMILE_SOURCE_DIR "/docs/models.md"))
      << "print it anew: simile docs models > docs/models.md";
}

}  // namespace
}  // namespace simile
