// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/mean_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"

namespace simile {
namespace {

TEST(MeanModel, AnotherActivationIsNamed) {
  const std::string golden = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";
  const std::string other = testing::TempDir() + "simile_mean_" + std::to_string(getpid());
  std::filesystem::remove_all(other);
  std::filesystem::copy(golden, other);
  detail::Json config = detail::read_json(join_path(other, "config.json"));
  config["hidden_act"] = "relu";
  write_file_atomic(join_path(other, "config.json"), config.dump());
  MeanOptions options;
  options.models = {golden, other};
  options.output = other + "_mean";
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { average_models(options, silent_events()); }),
              testing::HasSubstr("the activation is gelu in the first and relu in the second"));
  std::filesystem::remove_all(other);
}

}  // namespace
}  // namespace simile
