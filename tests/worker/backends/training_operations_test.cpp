// What every backend's TrainingCommunication promises; run by mpirun with that of the program.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/random/philox.hpp"
#include "linkgain/base/errors.hpp"
#include "support/rank_test.hpp"
#include "training_world.hpp"

namespace linkgain::test {
namespace {

constexpr std::int64_t kParameters = 20'011;

enum class Kind { all_reduce, reduce_scatter, all_gather };
constexpr std::array kKinds{Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather};

/// Returns whole numbers whose sums are exact in single precision.
double value_of(int rank, std::int64_t place) {
  return static_cast<double>(1 + place % 97) + 1000.0 * rank;
}

class TrainingOperations : public RankTest, public ::testing::WithParamInterface<DataType> {
 protected:
  void SetUp() override {
    world_ = make_training_world(GetParam(), kParameters);
    refill();
  }

  void TearDown() override {
    world_.reset();
    session->barrier();
  }

  void refill() {
    expected_.clear();
    for (std::int64_t i = 0; i < kParameters; ++i)
      expected_.push_back(value_of(session->rank(), i));
    world_->write(expected_);
  }

  TrainingCommunication& communication() { return world_->communication(); }

  CommunicationTicket start(Kind kind, const ParameterRange& range) {
    switch (kind) {
      case Kind::all_reduce:
        return communication().all_reduce(world_->memory(), range);
      case Kind::reduce_scatter:
        return communication().reduce_scatter(world_->memory(), range);
      case Kind::all_gather:
        return communication().all_gather(world_->memory(), range);
    }
    throw std::invalid_argument("no such kind");
  }

  /// Notes what such an operation on the first values is to leave.
  void expect(Kind kind, const ParameterRange& range) {
    for (std::int64_t i = range.offset; i < range.end(); ++i) {
      expected_[static_cast<std::size_t>(i)] = result_of(kind, range, i);
    }
  }

  /// Returns a negative number where the operation may leave anything.
  double result_of(Kind kind, const ParameterRange& range, std::int64_t place) const {
    if (kind != Kind::all_reduce) {
      const auto owner = (place - range.offset) / (range.count / session->ranks());
      if (kind == Kind::all_gather) return value_of(static_cast<int>(owner), place);
      if (owner != session->rank()) return -1.0;
    }
    double sum = 0.0;
    for (int rank = 0; rank < session->ranks(); ++rank) sum += value_of(rank, place);
    return sum;
  }

  void check() {
    const std::vector<double> found = world_->read();
    ASSERT_EQ(found.size(), expected_.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (expected_[i] < 0.0) continue;
      ASSERT_EQ(found[i], expected_[i]) << i;
    }
  }

  std::unique_ptr<TrainingWorld> world_;
  std::vector<double> expected_;  ///< of this rank's memory
};

TEST_P(TrainingOperations, KnowTheRanks) {
  EXPECT_EQ(communication().rank(), session->rank());
  EXPECT_EQ(communication().ranks(), session->ranks());
}

TEST_P(TrainingOperations, WorkInTheirRangeAlone) {
  const int ranks = session->ranks();
  const std::array ranges{ParameterRange{3, 331 * ranks}, ParameterRange{3001, 1 * ranks},
                          ParameterRange{kParameters - 777 * ranks, 777 * ranks}};
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    communication().wait(start(kKinds[i], ranges[i]));
    expect(kKinds[i], ranges[i]);
    check();
  }
}

TEST_P(TrainingOperations, AllReduceTakesWhatRanksDoNotDivide) {
  for (const ParameterRange range : {ParameterRange{17, 1}, {1001, 2003}, {0, kParameters}}) {
    refill();
    communication().wait(start(Kind::all_reduce, range));
    expect(Kind::all_reduce, range);
    check();
  }
}

TEST_P(TrainingOperations, OnNothingDoNothing) {
  for (const Kind kind : kKinds) communication().wait(start(kind, {kParameters, 0}));
  check();
}

/// Lets each rank wait in an order of its own.
TEST_P(TrainingOperations, MayBeWaitedForInAnyOrder) {
  constexpr std::size_t kOperations = 15;
  const int ranks = session->ranks();
  for (std::size_t step = 1; step <= 4; ++step) {
    refill();
    std::vector<CommunicationTicket> tickets;
    std::int64_t begin = 1;
    for (std::size_t i = 0; i < kOperations; ++i) {
      const Kind kind = kKinds[i % kKinds.size()];
      const ParameterRange range{begin, static_cast<std::int64_t>(i * 17 + 3) * ranks};
      tickets.push_back(start(kind, range));
      expect(kind, range);
      begin = range.end() + 1;
      if (i % 4 == 0) communication().progress();
    }
    ASSERT_LT(begin, kParameters);
    // None has a divisor in common with 15, so that all are visited; with 14 from last to first.
    constexpr std::array<std::size_t, 6> kStrides{14, 1, 4, 7, 2, 8};
    const std::size_t stride = kStrides[(step + static_cast<std::size_t>(session->rank())) % 6];
    for (std::size_t i = 0; i < kOperations; ++i) {
      communication().wait(tickets[(i + 1) * stride % kOperations]);
    }
    communication().progress();
    check();
  }
}

TEST_P(TrainingOperations, GoOnFromWhatOthersLeft) {
  const ParameterRange range{9, 1009 * session->ranks()};
  communication().wait(start(Kind::reduce_scatter, range));
  communication().wait(start(Kind::all_gather, range));
  expect(Kind::all_reduce, range);
  check();
  for (int turn = 0; turn < 2; ++turn) {
    communication().wait(start(Kind::all_reduce, range));
    for (std::int64_t i = range.offset; i < range.end(); ++i) {
      expected_[static_cast<std::size_t>(i)] *= session->ranks();
    }
    check();
  }
}

TEST_P(TrainingOperations, AllReduceLeavesTheSameBitsEverywhere) {
  std::vector<double> values(kParameters);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = kernels::random_normal({7, 200, static_cast<std::uint32_t>(session->rank()), 0}, i);
  }
  world_->write(values);
  communication().wait(start(Kind::all_reduce, {0, kParameters}));
  const std::vector<double> sums = world_->read();
  std::string bytes(sums.size() * sizeof(double), '\0');
  std::memcpy(bytes.data(), sums.data(), bytes.size());
  for (const std::string& each : session->share(bytes)) EXPECT_TRUE(each == bytes);
  EXPECT_NE(sums, values);
}

TEST_P(TrainingOperations, RefuseUnequalShards) {
  const ParameterRange range{0, 3 * session->ranks() + 1};
  EXPECT_THROW(start(Kind::reduce_scatter, range), UsageError);
  EXPECT_THROW(start(Kind::all_gather, range), UsageError);
  communication().wait(start(Kind::reduce_scatter, {0, 3 * session->ranks()}));
  expect(Kind::reduce_scatter, {0, 3 * session->ranks()});
  check();
}

TEST_P(TrainingOperations, RefuseWhatTheMemoryDoesNotHave) {
  for (const Kind kind : kKinds) {
    EXPECT_THROW(start(kind, {kParameters - session->ranks() + 1, session->ranks()}),
                 std::logic_error);
    EXPECT_THROW(start(kind, {-1, session->ranks()}), std::logic_error);
  }
  check();
}

TEST_P(TrainingOperations, AreWaitedForOnce) {
  const CommunicationTicket ticket = start(Kind::all_reduce, {0, 10});
  EXPECT_THROW(communication().wait({ticket.number + 1}), std::logic_error);
  communication().wait(ticket);
  EXPECT_THROW(communication().wait(ticket), std::logic_error);
}

INSTANTIATE_TEST_SUITE_P(In, TrainingOperations,
                         ::testing::Values(DataType::float32, DataType::float64),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace linkgain::test
