// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/temperature.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <limits>

#include "simile/core/error.h"

namespace simile {
namespace {

TemperatureOptions trained(double value, const std::string& parametrization) {
  return {value, true, 1e-3, parametrization};
}

TEST(Temperature, FixedOneIsAConstant) {
  const Temperature temperature(TemperatureOptions{0.05, false, 1e-3, "log"});
  EXPECT_FALSE(temperature.trainable());
  EXPECT_EQ(temperature.value(), 0.05);
  EXPECT_DOUBLE_EQ(temperature.scale(torch::ones({1}, torch::kFloat64)).item<double>(), 20.0);
}

TEST(Temperature, TrainedOneStartsAtItsValueAndPassesTheGradientOn) {
  for (const std::string parametrization : {"log", "scale"}) {
    const Temperature temperature(trained(0.25, parametrization));
    EXPECT_NEAR(temperature.value(), 0.25, 1e-7);
    const torch::Tensor scale = temperature.scale(torch::ones({1}));
    EXPECT_NEAR(scale.item<double>(), 4.0, 1e-6);
    scale.backward();
    const double expected = parametrization == "log" ? 4.0 : 1.0;  // d exp(p)/dp = s
    EXPECT_NEAR(temperature.parameter().grad().item<double>(), expected, 1e-6);
  }
}

TEST(Temperature, ClampKeepsItInBounds) {
  for (const std::string parametrization : {"log", "scale"}) {
    for (const double parameter : {-1e9, 1e9}) {
      Temperature temperature(trained(1.0, parametrization));
      temperature.load_state(parameter);
      const double expected = parameter > 0 ? kMinimumTemperature : kMaximumTemperature;
      EXPECT_NEAR(temperature.value(), expected, 1e-5 * expected);
      EXPECT_GE(temperature.value(), kMinimumTemperature);
      EXPECT_LE(temperature.value(), kMaximumTemperature);
    }
  }
}

TEST(Temperature, StateReturnsBitForBit) {
  Temperature temperature(trained(0.07, "log")), other(trained(1.0, "log"));
  other.load_state(temperature.state());
  EXPECT_EQ(other.state(), temperature.state());
  EXPECT_THROW(other.load_state(std::numeric_limits<double>::quiet_NaN()), Error);
}

}  // namespace
}  // namespace simile
