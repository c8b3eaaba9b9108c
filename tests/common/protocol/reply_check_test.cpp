#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/protocol/protocol.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using namespace protocol;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// As it comes from a job.
void require_possible_line(const Reply& reply, std::optional<int> ranks) {
  require_possible(decode_reply(encode(reply)), ranks);
}

HelloReply two_ranks() {
  HelloReply reply;
  reply.machine.ranks.resize(2);
  reply.machine.ranks[1].rank = 1;
  return reply;
}

OpenReply opened() {
  return {.handle = 1,
          .execution = {.operations_per_sample = kMostOperations},
          .per_operation = Seconds{1e-6},
          .plan = std::nullopt};
}

RunReply timed(double first, double second) {
  return {.seconds = {first, second}, .health = {{}, {}}};
}

VerifyReply verified(std::int64_t checked, std::int64_t wrong, double largest_error = 0.0) {
  VerifyReply reply;
  reply.verification.checked = checked;
  reply.verification.wrong = wrong;
  reply.verification.largest_error = largest_error;
  return reply;
}

/// Replies that are refused, and with what.
class Refusals {
 public:
  template <typename Kind>
  void add(const std::string& what, Kind reply, const std::function<void(Kind&)>& change) {
    EXPECT_NO_THROW(require_possible_line(reply, 2)) << what;
    change(reply);
    add(what, reply);
  }
  void add(const std::string& what, const Reply& reply) {
    all_.refuse(what, [&] { require_possible_line(reply, 2); });
  }

  Situations& all() { return all_; }

 private:
  Situations all_;
};

TEST(RequirePossible, TakesWhatJobsMeasure) {
  EXPECT_NO_THROW(require_possible_line(two_ranks(), 2));
  EXPECT_NO_THROW(require_possible_line(opened(), 2));
  EXPECT_NO_THROW(require_possible_line(timed(1e-9 / 1e6, 1e6), 2));
  EXPECT_NO_THROW(require_possible_line(RunReply{{0.5, std::nullopt}, {{40, 0.0, 0, {}}, {}}}, 2));
  EXPECT_NO_THROW(require_possible_line(verified(1, 1, kInfinite), 2));
  EXPECT_NO_THROW(require_possible_line(CountersReply{{{0, kMost, {}, {}}, {}}, "", ""}, 2));
  EXPECT_NO_THROW(
      require_possible_line(HostCopyReply{{HostCopyRates{34.8, 1e-3}, std::nullopt}}, 2));
  EXPECT_NO_THROW(require_possible_line(DoneReply{}, 2));
  EXPECT_NO_THROW(require_possible_line(ErrorReply{"no", "", -1}, 2));
}

TEST(RequirePossible, AsksForNoRanksWhereTheyAreNotKnown) {
  EXPECT_NO_THROW(require_possible_line(HelloReply{}, std::nullopt));
  EXPECT_NO_THROW(require_possible_line(RunReply{}, std::nullopt));
}

TEST(RequirePossible, RefusesWhatNoJobMeasures) {
  Refusals refusals;
  refusals.all().about("hello");
  refusals.add("no ranks", HelloReply{});
  refusals.add<HelloReply>("one of two", two_ranks(), [](auto& r) { r.machine.ranks.pop_back(); });
  refusals.add<HelloReply>("rank 0 twice", two_ranks(),
                           [](auto& r) { r.machine.ranks[1].rank = 0; });
  refusals.add<HelloReply>("start", two_ranks(), [](auto& r) { r.ranks_time = Seconds{-1.0}; });
  refusals.all().about("open");
  for (const std::int64_t operations : {std::int64_t{-5}, std::int64_t{0}, kMost}) {
    refusals.add<OpenReply>("operations", opened(),
                            [=](auto& r) { r.execution.operations_per_sample = operations; });
  }
  refusals.add<OpenReply>("discarded", opened(),
                          [](auto& r) { r.execution.discarded_per_sample = -1; });
  refusals.add<OpenReply>("slots", opened(), [](auto& r) { r.execution.buffer_slots = 0; });
  refusals.add<OpenReply>("estimate", opened(), [](auto& r) { r.per_operation = Seconds{-1e9}; });
  refusals.add<OpenReply>("long batch", opened(), [](auto& r) { r.per_operation = Seconds{10.0}; });
  refusals.add<OpenReply>("calibration", opened(),
                          [](auto& r) { r.calibrating_time = Seconds{-1e9}; });
  refusals.all().about("run");
  refusals.add("negative", timed(-1.0, 1e-6));
  refusals.add("zero", timed(0.0, 1e-6));
  refusals.add("endless", timed(1e308, 1e308));
  refusals.add("subnormal", timed(1e-320, 1e-6));
  refusals.add("one time", RunReply{.seconds = {0.5}, .health = {{}, {}}});
  refusals.add("one health", RunReply{.seconds = {0.5, 0.5}, .health = {{}}});
  refusals.add<RunReply>("power", timed(0.5, 0.5), [](auto& r) { r.health[1].power_w = -1.0; });
  refusals.add<RunReply>("reading", timed(0.5, 0.5), [](auto& r) { r.health_seconds = -1.0; });
  refusals.all().about("verify");
  refusals.add("negative", verified(10, -7));
  refusals.add("more than all", verified(3, 7));
  refusals.add("nothing checked", verified(0, 0));
  refusals.add("error", verified(10, 1, -1.0));
  refusals.all().about("counters and copies");
  refusals.add("negative", CountersReply{{{-1, {}, {}, {}}, {}}, "", ""});
  refusals.add("one rank", CountersReply{{{}}, "", ""});
  refusals.add("rate", HostCopyReply{{HostCopyRates{-1.0, 1.0}, std::nullopt}});
  refusals.add("no rate", HostCopyReply{{HostCopyRates{1.0, 0.0}, std::nullopt}});
  refusals.all().expect_golden("impossible_replies.txt");
}

}  // namespace
}  // namespace linkgain::test
