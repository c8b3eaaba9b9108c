#include "linkgain/model/optimizer.hpp"

#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

TEST(OptimizerStep, LearnsLessFromStepToStep) {
  const OptimizerSettings settings;
  EXPECT_DOUBLE_EQ(optimizer_step(settings, 0, 200).learning_rate, 5e-5);
  EXPECT_DOUBLE_EQ(optimizer_step(settings, 100, 200).learning_rate, 2.5e-5);
  EXPECT_DOUBLE_EQ(optimizer_step(settings, 199, 200).learning_rate, 5e-5 / 200);
  EXPECT_EQ(optimizer_step(settings, 200, 200).learning_rate, 0.0);
  EXPECT_EQ(optimizer_step(settings, 300, 200).learning_rate, 0.0);
}

TEST(OptimizerStep, CorrectsMomentsThatBeginAtZero) {
  const OptimizerSettings settings;
  EXPECT_DOUBLE_EQ(optimizer_step(settings, 0, 10).correction1, 0.1);
  EXPECT_DOUBLE_EQ(optimizer_step(settings, 1, 10).correction1, 0.19);
  EXPECT_NEAR(optimizer_step(settings, 0, 10).correction2, 0.001, 1e-15);
  EXPECT_NEAR(optimizer_step(settings, 1, 10).correction2, 0.001999, 1e-15);
}

TEST(ClipFactor, LeavesSmallGradientsAlone) {
  EXPECT_EQ(clip_factor(0.0, 1.0), 1.0);
  EXPECT_EQ(clip_factor(0.25, 1.0), 1.0);
  EXPECT_NEAR(clip_factor(4.0, 1.0), 0.5, 1e-6);
  EXPECT_LT(clip_factor(1.0, 1.0), 1.0);  // as PyTorch's
}

}  // namespace
}  // namespace linkgain::test
