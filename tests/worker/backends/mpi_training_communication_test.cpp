#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "backends.hpp"
#include "linkgain/base/errors.hpp"
#include "support/rank_test.hpp"
#include "training_world.hpp"

namespace linkgain::test {
namespace {

/// Serves all tests, as reading MPI's variables takes a quarter of a second.
Backend& backend() {
  static const auto made = make_mpi_backend(*RankTest::session, Bytes{1 << 20});
  return *made;
}

/// `Element` in the memory of the CPU, where a model has computed whatever it has enqueued.
template <typename Element>
class CpuWorld : public TrainingWorld {
 public:
  CpuWorld(DataType type, std::int64_t count)
      : type_(type),
        values_(static_cast<std::size_t>(count)),
        communication_(backend().open_training_communication(nullptr)) {}

  TrainingCommunication& communication() override { return *communication_; }
  FlatMemory memory() override {
    return {values_.data(), type_, static_cast<std::int64_t>(values_.size())};
  }
  void write(const std::vector<double>& values) override {
    values_.assign(values.begin(), values.end());
  }
  std::vector<double> read() override { return {values_.begin(), values_.end()}; }

 private:
  DataType type_;
  std::vector<Element> values_;
  std::unique_ptr<TrainingCommunication> communication_;
};

class MpiTrainingCommunication : public RankTest {
 protected:
  std::unique_ptr<TrainingWorld> world_ = make_training_world(DataType::float64, 1 << 16);
};

TEST_F(MpiTrainingCommunication, MovesDataWhereItIsOnlyLookedAfter) {
  const FlatMemory memory = world_->memory();
  world_->write(std::vector<double>(1 << 16, 1.0));
  const auto ticket = world_->communication().all_reduce(memory, {0, memory.count});
  // Nothing but progress() runs on any rank, until the sum has come or never will.
  const volatile double* last = static_cast<double*>(memory.at(memory.count - 1));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (*last != session->ranks() && std::chrono::steady_clock::now() < end) {
    world_->communication().progress();
  }
  EXPECT_EQ(*last, session->ranks());
  world_->communication().wait(ticket);
}

TEST_F(MpiTrainingCommunication, RefusesMoreThanMpiCounts) {
  const std::int64_t count = std::int64_t{1} << 31;
  const FlatMemory memory{world_->memory().data, DataType::float64, 2 * count};
  TrainingCommunication& communication = world_->communication();
  EXPECT_THROW(communication.all_reduce(memory, {0, count}), MachineError);
  if (count % session->ranks() != 0) return;
  EXPECT_THROW(communication.reduce_scatter(memory, {0, count}), MachineError);
  EXPECT_THROW(communication.all_gather(memory, {0, count}), MachineError);
}

TEST_F(MpiTrainingCommunication, RefusesTypesThatNoCpuModelHas) {
  for (const DataType type : {DataType::bfloat16, DataType::int32}) {
    const FlatMemory memory{world_->memory().data, type, 64};
    EXPECT_THROW(world_->communication().all_reduce(memory, {0, 64}), MachineError);
  }
}

TEST_F(MpiTrainingCommunication, RefusesAModelOnAGpu) {
  int stream = 0;
  EXPECT_THROW(backend().open_training_communication(&stream), MachineError);
}

TEST_F(MpiTrainingCommunication, PutsItsCallsOnNoStream) {
  EXPECT_EQ(world_->communication().stream(), nullptr);
}

/// Runs two at once, neither of which takes the other's messages.
TEST_F(MpiTrainingCommunication, KeepsToItself) {
  const auto other = make_training_world(DataType::float64, 1 << 16);
  world_->write(std::vector<double>(1 << 16, 1.0));
  other->write(std::vector<double>(1 << 16, 10.0));
  const bool is_first = session->rank() % 2 == 0;
  const auto start = [](TrainingWorld& world) {
    return world.communication().all_reduce(world.memory(), {0, 1 << 16});
  };
  // The ranks do not agree on which comes first.
  TrainingWorld& first = is_first ? *world_ : *other;
  TrainingWorld& second = is_first ? *other : *world_;
  const auto first_ticket = start(first);
  const auto second_ticket = start(second);
  second.communication().wait(second_ticket);
  first.communication().wait(first_ticket);
  EXPECT_THAT(world_->read(), ::testing::Each(1.0 * session->ranks()));
  EXPECT_THAT(other->read(), ::testing::Each(10.0 * session->ranks()));
}

}  // namespace

std::unique_ptr<TrainingWorld> make_training_world(DataType type, std::int64_t count) {
  if (type == DataType::float32) return std::make_unique<CpuWorld<float>>(type, count);
  return std::make_unique<CpuWorld<double>>(type, count);
}

}  // namespace linkgain::test

int main(int argc, char** argv) { return linkgain::test::run_rank_tests(argc, argv); }
