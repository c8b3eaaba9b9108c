#include "timed_communication.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "training_ranks.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Log = std::vector<std::string>;

/// Its clock goes on by a second with each mark.
class LoggedMarks : public LaneMarks {
 public:
  explicit LoggedMarks(Log& log) : log_(log) {}

 private:
  std::size_t do_put(Lane lane) override {
    log_.push_back(lane == Lane::model ? "mark model" : "mark communication");
    return used_++;
  }
  void do_hold_communication(std::size_t mark) override {
    log_.push_back("hold for " + std::to_string(mark));
  }
  std::vector<double> do_read() override {
    std::vector<double> times;
    for (std::size_t i = 0; i < used_; ++i) times.push_back(static_cast<double>(i));
    used_ = 0;
    return times;
  }

  Log& log_;
  std::size_t used_ = 0;
};

/// Numbers its tickets from 100 on.
class LoggedCommunication : public TrainingCommunication {
 public:
  explicit LoggedCommunication(Log& log) : log_(log) {}

 private:
  int do_rank() const override { return 1; }
  int do_ranks() const override { return 3; }
  CommunicationTicket do_all_reduce(const FlatMemory&, const ParameterRange& range) override {
    return start("all_reduce", range);
  }
  CommunicationTicket do_reduce_scatter(const FlatMemory&, const ParameterRange& range) override {
    return start("reduce_scatter", range);
  }
  CommunicationTicket do_all_gather(const FlatMemory&, const ParameterRange& range) override {
    return start("all_gather", range);
  }
  void do_wait(CommunicationTicket ticket) override {
    log_.push_back("wait for " + std::to_string(ticket.number));
  }
  void do_progress() override { log_.emplace_back("progress"); }
  void* do_stream() override { return &log_; }

  CommunicationTicket start(const std::string& what, const ParameterRange& range) {
    log_.push_back(what + " at " + std::to_string(range.offset));
    return {next_++};
  }

  Log& log_;
  std::int64_t next_ = 100;
};

class TimedCommunicationTest : public ::testing::Test {
 protected:
  /// Starts three all-reduces, at 0, 1 and 2, and waits for the second, the first and the third.
  void step(const StepMode& mode) {
    timed.begin_step(mode);
    std::vector<CommunicationTicket> tickets;
    for (std::int64_t i = 0; i < 3; ++i) tickets.push_back(timed.all_reduce({}, {i, 1}));
    for (const std::size_t i : {1, 0, 2}) timed.wait(tickets[i]);
    timed.end_step();
  }

  Log log;
  LoggedMarks marks{log};
  TimedCommunication timed{std::make_unique<LoggedCommunication>(log), marks};
};

TEST_F(TimedCommunicationTest, UnwatchedAddsNothing) {
  step({});
  EXPECT_THAT(log, ElementsAre("all_reduce at 0", "all_reduce at 1", "all_reduce at 2",
                               "wait for 101", "wait for 100", "wait for 102"));
  EXPECT_THAT(timed.read(), IsEmpty());
}

TEST_F(TimedCommunicationTest, PassesAllElseOn) {
  EXPECT_EQ(timed.rank(), 1);
  EXPECT_EQ(timed.ranks(), 3);
  EXPECT_EQ(timed.stream(), &log);
  timed.progress();
  timed.wait(timed.reduce_scatter({}, {5, 1}));
  timed.wait(timed.all_gather({}, {6, 1}));
  EXPECT_THAT(log, ElementsAre("progress", "reduce_scatter at 5", "wait for 100", "all_gather at 6",
                               "wait for 101"));
}

TEST_F(TimedCommunicationTest, PerformsOnlyWhatItIsToldTo) {
  step({.first = 1, .last = 2});
  EXPECT_THAT(log, ElementsAre("all_reduce at 1", "wait for 100"));
  log.clear();
  step({.last = 0});
  EXPECT_THAT(log, IsEmpty());
  step({.first = 2});
  EXPECT_THAT(log, ElementsAre("all_reduce at 2", "wait for 101"));
}

TEST_F(TimedCommunicationTest, HoldsForReadinessBeforeItMarksTheStart) {
  timed.begin_step({.is_watched = true});
  log.clear();
  const auto ticket = timed.all_reduce({}, {7, 1});
  EXPECT_THAT(log, ElementsAre("mark model", "hold for 1", "mark communication", "all_reduce at 7",
                               "mark communication"));
  log.clear();
  timed.wait(ticket);
  EXPECT_THAT(log, ElementsAre("wait for 100", "mark model"));
  timed.end_step();
}

TEST_F(TimedCommunicationTest, TellsTheTimesOfWatchedSteps) {
  step({.is_watched = true});
  step({});
  step({.last = 1, .is_watched = true});
  const auto steps = timed.read();
  ASSERT_EQ(steps.size(), 2U);
  // begin, then three marks for each operation, resumed, finish
  EXPECT_EQ(numbers_of({&steps[0], 1}),
            (std::vector<double>{0, 10, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  // One that is not performed has the mark of readiness alone.
  EXPECT_EQ(numbers_of({&steps[1], 1}),
            (std::vector<double>{12, 18, 19, 13, 14, 15, 16, 16, 16, 17, 17, 17}));
  EXPECT_THAT(timed.read(), IsEmpty());
}

TEST_F(TimedCommunicationTest, PutsTheSameMarksOnTheModelWhateverIsPerformed) {
  const auto on_model = [&] { return std::ranges::count(log, "mark model"); };
  step({.is_watched = true});
  const auto all = on_model();
  log.clear();
  step({.last = 0, .is_watched = true});
  EXPECT_EQ(on_model(), all);
  EXPECT_EQ(std::ranges::count(log, "mark communication"), 0);
}

TEST_F(TimedCommunicationTest, RefusesStepsThatLeaveOperationsUnderWay) {
  timed.begin_step({.last = 0});
  const auto ticket = timed.all_reduce({}, {0, 1});
  EXPECT_THROW(timed.end_step(), std::logic_error);
  EXPECT_THROW(timed.begin_step({}), std::logic_error);
  EXPECT_THROW(timed.read(), std::logic_error);
  timed.wait(ticket);
  EXPECT_THROW(timed.wait(ticket), std::logic_error);
  EXPECT_NO_THROW(timed.end_step());
}

/// Returns the parameters after some steps of a rank of its own.
std::vector<double> trained(TrainingStrategy strategy, const StepMode& mode) {
  TrainingCase alone;
  alone.ranks = 1;
  alone.settings.strategy = strategy;
  alone.settings.buckets.limit = Bytes{8 << 10};
  ThreadExchange exchange(1);
  EventLog events;
  Log log;
  LoggedMarks marks(log);
  auto timed = std::make_unique<TimedCommunication>(
      std::make_unique<ThreadCommunication>(exchange, 0, events), marks);
  TimedCommunication& communication = *timed;
  TrainingRun run = make_run(alone, std::move(timed), events);
  for (int step = 0; step < 3; ++step) {
    communication.begin_step(mode);
    run.run_step(step);
    communication.end_step();
  }
  const std::size_t watched = mode.is_watched && strategy == TrainingStrategy::ddp ? 3 : 0;
  EXPECT_EQ(communication.read().size(), watched);
  const auto is_reduction = [](const Event& each) { return each.what == "all_reduce"; };
  const auto performed = std::min(mode.last, run.plan().buckets.size()) - mode.first;
  const auto expected = strategy == TrainingStrategy::ddp ? 3 * performed : 0;
  EXPECT_EQ(std::ranges::count_if(events, is_reduction), static_cast<std::ptrdiff_t>(expected));
  return parameters_of(run.model());
}

/// Shows that a step of ddp that performs nothing stands for one of `none`.
TEST(TimedTraining, TrainsTheSameHoweverItIsTimed) {
  const auto expected = trained(TrainingStrategy::none, {});
  EXPECT_EQ(trained(TrainingStrategy::ddp, {.last = 0}), expected);
  EXPECT_EQ(trained(TrainingStrategy::ddp, {.last = 0, .is_watched = true}), expected);
  EXPECT_EQ(trained(TrainingStrategy::ddp, {.first = 2, .is_watched = true}), expected);
  EXPECT_EQ(trained(TrainingStrategy::ddp, {.is_watched = true}), expected);
}

}  // namespace
}  // namespace linkgain::test
