// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/detail/json.h"

namespace simile::detail {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal(const Json& object) {
  return error_of(ErrorKind::kInput,
                  [&] { check_seal(object, "rows.json", "build the index anew"); });
}

Json sealed() {
  Json object = {{"count", 3}, {"model", "small"}};
  object[kSeal] = seal_of(object);
  return object;
}

TEST(SealedJson, IsTakenAsItWasWritten) {
  EXPECT_EQ(refusal(sealed()), "");
  EXPECT_EQ(refusal(parse_json(dump_json(sealed(), 2), "rows.json")), "");
  EXPECT_EQ(seal_of(sealed()), seal_of({{"count", 3}, {"model", "small"}})) << "not of itself";
}

TEST(SealedJson, AnyChangeIsToldWithWhatToDo) {
  const std::vector<std::function<void(Json&)>> changes = {
      [](Json& object) { object["count"] = 4; },   [](Json& object) { object["count"] = "3"; },
      [](Json& object) { object["model"] = ""; },  [](Json& object) { object["more"] = nullptr; },
      [](Json& object) { object.erase("model"); }, [](Json& object) { object[kSeal] = ""; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Json object = sealed();
    changes[i](object);
    EXPECT_THAT(refusal(object), AllOf(HasSubstr("rows.json is damaged or was changed by hand"),
                                       HasSubstr("build the index anew")))
        << "change " << i;
  }
}

TEST(SealedJson, OneWithoutASealIsRefused) {
  EXPECT_THAT(refusal({{"count", 3}}), HasSubstr(kSeal));
}

}  // namespace
}  // namespace simile::detail
