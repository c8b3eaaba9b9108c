#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "model_steps.hpp"

namespace linkgain::test {

/// Reads each gradient as soon as the model says that it is final.
class FinalListener : public GradientListener {
 public:
  explicit FinalListener(TrainingModel& told) : model_(told) {}
  std::vector<int> order;
  std::vector<std::vector<double>> values;

 private:
  void do_gradient_is_final(int tensor) override {
    const ParameterRange range = model_.table().tensors()[static_cast<std::size_t>(tensor)].range();
    order.push_back(tensor);
    values.emplace_back(static_cast<std::size_t>(range.count));
    model_.read_gradients(range, values.back().data());
  }

  TrainingModel& model_;
};

/// A step's backward tells of gradients in the table's order, and nothing adds to them afterwards.
inline void expect_told_when_final(TrainingModel& model, std::span<const std::int32_t> tokens) {
  FinalListener listener(model);
  run_forward(model, {.tokens = tokens});
  run_backward(model, listener);
  EXPECT_THAT(listener.order, ::testing::ElementsAreArray(model.table().ready_order()));
  const auto gradients = gradients_of(model);
  for (std::size_t i = 0; i < listener.order.size(); ++i) {
    const auto& tensor = model.table().tensors()[static_cast<std::size_t>(listener.order[i])];
    const auto begin = gradients.begin() + tensor.offset;
    EXPECT_EQ(listener.values[i], std::vector<double>(begin, begin + tensor.count()))
        << tensor.name;
  }
}

}  // namespace linkgain::test
