#include "linkgain/model/training_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "model_steps.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Computes nothing: notes which of its functions were reached.
class NotingModel : public TrainingModel {
 public:
  std::vector<std::string> calls;
  bool fails = false;  ///< every call of a step from now on

 private:
  void note(const std::string& call) {
    if (fails) throw std::runtime_error("as asked for");
    calls.push_back(call);
  }

  const ParameterTable& do_table() const override { return table_; }
  BatchShape do_shape() const override { return {1, 8}; }
  FlatMemory do_parameters() override { return {nullptr, DataType::float32, table_.count()}; }
  FlatMemory do_gradients() override { return do_parameters(); }
  FlatMemory do_squared_norm() override { return {nullptr, DataType::float32, 1}; }
  FlatMemory do_loss() override { return {nullptr, DataType::float32, 1}; }
  void* do_stream() override { return nullptr; }
  void do_start_timing() override { note("start"); }
  Seconds do_stop_timing() override {
    note("stop");
    return {2.0};
  }
  void do_begin_step(const StepInput&) override { note("begin"); }
  void do_forward(int segment) override { note("forward " + std::to_string(segment)); }
  void do_backward(int segment, GradientListener&) override {
    note("backward " + std::to_string(segment));
  }
  void do_parameters_changed(const ParameterRange&) override { note("changed"); }
  void do_clear_squared_norm() override {}
  void do_add_squared_norm(const ParameterRange&) override { note("norm"); }
  void do_update(const ParameterRange&, const OptimizerStep&) override { note("update"); }
  void do_synchronize() override {}
  void do_read_parameters(const ParameterRange&, double*) override { note("read parameters"); }
  void do_read_gradients(const ParameterRange&, double*) override { note("read gradients"); }
  void do_write_parameters(const ParameterRange&, const double*) override { note("write"); }
  double do_read_loss() override { return 0.0; }
  std::uint64_t do_parameter_hash() override { return 0; }
  std::uint64_t do_gradient_hash(const ParameterRange&) override {
    note("hash");
    return 7;
  }

  ParameterTable table_{gpt2_config(ModelSize::tiny)};
};

constexpr int kSegments = 4;

void run_forward(NotingModel& model) {
  model.begin_step({});
  for (int segment = 0; segment < kSegments; ++segment) model.forward(segment);
}

/// Segments whose forward, and whose backward, the model takes now.
std::vector<int> taken(const std::function<void(int)>& call) {
  std::vector<int> segments;
  for (int segment = -2; segment <= kSegments; ++segment) {
    try {
      call(segment);
      segments.push_back(segment);
    } catch (const std::logic_error&) {
    }
  }
  return segments;
}

TEST(TrainingModel, TakesAStepInItsOrder) {
  NotingModel model;
  OrderListener listener;
  run_forward(model);
  for (int segment = kSegments - 1; segment >= 0; --segment) model.backward(segment, listener);
  EXPECT_THAT(model.calls, ElementsAre("begin", "forward 0", "forward 1", "forward 2", "forward 3",
                                       "backward 3", "backward 2", "backward 1", "backward 0"));
}

TEST(TrainingModel, RefusesAllSegmentsOutsideOfAStep) {
  NotingModel model;
  OrderListener listener;
  const auto forward = [&](int segment) { model.forward(segment); };
  const auto backward = [&](int segment) { model.backward(segment, listener); };
  EXPECT_THAT(taken(forward), IsEmpty());
  EXPECT_THAT(taken(backward), IsEmpty());
  EXPECT_THAT(model.calls, IsEmpty());
  run_forward(model);
  EXPECT_THAT(taken(forward), IsEmpty());
  for (int segment = kSegments - 1; segment >= 0; --segment) model.backward(segment, listener);
  EXPECT_THAT(taken(forward), IsEmpty());
  EXPECT_THAT(taken(backward), IsEmpty());
}

// Asked for one after the other, upwards, only those in order are taken.
TEST(TrainingModel, RefusesSegmentsOutOfOrder) {
  NotingModel model;
  OrderListener listener;
  const auto backward = [&](int segment) { model.backward(segment, listener); };
  model.begin_step({});
  EXPECT_THROW(model.forward(1), std::logic_error);
  EXPECT_THAT(taken(backward), IsEmpty());
  model.forward(0);
  EXPECT_THROW(model.forward(0), std::logic_error);
  EXPECT_THROW(model.forward(2), std::logic_error);
  EXPECT_THAT(taken([&](int segment) { model.forward(segment); }), ElementsAre(1, 2, 3));
  EXPECT_THAT(taken(backward), ElementsAre(3));
  EXPECT_THAT(taken(backward), ElementsAre(2));
  EXPECT_THAT(taken(backward), ElementsAre(1));
  EXPECT_THAT(taken(backward), ElementsAre(0));
}

TEST(TrainingModel, BeginsAnewWithEveryStep) {
  NotingModel model;
  OrderListener listener;
  run_forward(model);
  model.begin_step({});
  EXPECT_THROW(model.backward(kSegments - 1, listener), std::logic_error);
  EXPECT_NO_THROW(model.forward(0));
}

TEST(TrainingModel, StaysWhereItWasAfterACallThatFailed) {
  NotingModel model;
  OrderListener listener;
  model.fails = true;
  EXPECT_THROW(model.begin_step({}), std::runtime_error);
  EXPECT_THROW(model.start_timing(), std::runtime_error);
  model.fails = false;
  EXPECT_THROW(model.forward(0), std::logic_error);
  EXPECT_THROW(model.stop_timing(), std::logic_error);
  run_forward(model);
  model.fails = true;
  EXPECT_THROW(model.backward(3, listener), std::runtime_error);
  model.fails = false;
  EXPECT_NO_THROW(model.backward(3, listener));
}

TEST(TrainingModel, EndsATimingThatBegan) {
  NotingModel model;
  EXPECT_THROW(model.stop_timing(), std::logic_error);
  model.start_timing();
  EXPECT_EQ(model.stop_timing().value, 2.0);
  EXPECT_THROW(model.stop_timing(), std::logic_error);
  EXPECT_THAT(model.calls, ElementsAre("start", "stop"));
}

TEST(TrainingModel, RefusesRangesThatTheParametersDoNotHave) {
  NotingModel model;
  double value = 0.0;
  const std::vector<std::function<void(const ParameterRange&)>> users{
      [&](const ParameterRange& range) { model.parameters_changed(range); },
      [&](const ParameterRange& range) { model.add_squared_norm(range); },
      [&](const ParameterRange& range) { model.update(range, {}); },
      [&](const ParameterRange& range) { model.read_parameters(range, &value); },
      [&](const ParameterRange& range) { model.read_gradients(range, &value); },
      [&](const ParameterRange& range) { model.write_parameters(range, &value); },
      [&](const ParameterRange& range) { EXPECT_EQ(model.gradient_hash(range), 7U); },
  };
  const std::int64_t count = model.table().count();
  for (const auto& use : users) {
    EXPECT_THROW(use({0, count + 1}), std::logic_error);
    EXPECT_THROW(use({count, 1}), std::logic_error);
    EXPECT_THROW(use({-1, 2}), std::logic_error);
    EXPECT_THROW(use({2, -1}), std::logic_error);
  }
  EXPECT_THAT(model.calls, IsEmpty());
  for (const auto& use : users) {
    use({0, count});
    use({count, 0});
  }
  EXPECT_EQ(model.calls.size(), 2 * users.size());
}

}  // namespace
}  // namespace linkgain::test
