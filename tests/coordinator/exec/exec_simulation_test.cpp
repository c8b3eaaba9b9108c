#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/exec/exec_plan.hpp"
#include "linkgain/patterns/output_metrics.hpp"

/// How often two variants of one program look different, and how often a difference is found: by
/// the order of runs that exec draws and the intervals that it shows.
namespace linkgain::test {
namespace {

constexpr int kRepetitions = 1500;

/// Returns two standard errors of this share among the repetitions.
double by_chance(double share) { return 2.0 * std::sqrt(share * (1.0 - share) / kRepetitions); }

/// Slows what runs in the first half of each period by 10 %.
class Neighbour {
 public:
  Neighbour(double period, double phase) : period_(period), phase_(phase) {}

  /// Returns how long work of so many seconds takes that begins at `start`.
  double time_of(double start, double work) const {
    const double half = period_ / 2.0;
    const double work_in_period = half / kSlowness + half;
    const double whole = std::floor(work / work_in_period);
    double left = work - whole * work_in_period;
    double place = std::fmod(start + phase_, period_);
    double taken = whole * period_;
    while (left > 0.0) {
      const bool slow = place < half;
      const double until_change = (slow ? half : period_) - place;
      const double done = std::min(left, until_change / (slow ? kSlowness : 1.0));
      const double time = done * (slow ? kSlowness : 1.0);
      left = done < left ? left - done : 0.0;
      taken += time;
      place = slow ? half : 0.0;
    }
    return taken;
  }

 private:
  static constexpr double kSlowness = 1.1;
  double period_;
  double phase_;
};

/// What a program printed.
struct Printed {
  double number = 0.0;
  double resolution = 0.0;
};

Printed read(const std::string& text) {
  const double number = parse_number(text).value();
  return {number, unit_of_last_digit(text) / number};
}

/// What the run at `place` gave, which is the number `index` of all.
using Program = std::function<Printed(const RunPlace& place, int index)>;

ExecPlan plan_of(int rounds) {
  ExecPlan plan;
  plan.variants = {{"a", {}}, {"b", {}}};
  plan.rounds = rounds;
  return plan;
}

/// Estimates the ratio of the two variants by one exec.
Estimate ratio_of(const ExecPlan& plan, const Program& program) {
  Record record;
  record.settings.variants = plan.variants;
  CaseResult& result = record.cases.emplace_back();
  result.definition = program_case({.name = "loss"});
  for (const Variant& variant : plan.variants) {
    result.variants.emplace_back().variant = variant.name;
  }
  int index = 0;
  for (const RunPlace& place : run_order(plan)) {
    const Printed printed = program(place, index++);
    Sample sample;
    sample.variant = place.variant;
    sample.launch = place.round - 1;
    sample.times = {Seconds{printed.number}};
    sample.health.resize(1);
    sample.resolution = printed.resolution;
    result.samples.push_back(std::move(sample));
  }
  summarise(record);
  return record.cases[0].ratios.at(0).ratio;
}

bool claims_difference(const Estimate& ratio) {
  return ratio.interval ? !ratio.interval->holds(1.0) : std::abs(ratio.value - 1.0) > 1e-12;
}

/// Returns the share of repetitions that claim a difference. `program_of` makes a program of its
/// own for each of them.
double claims(int rounds, const std::function<Program(std::mt19937_64&)>& program_of) {
  ExecPlan plan = plan_of(rounds);
  std::mt19937_64 random(7);
  int found = 0;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    plan.seed = static_cast<unsigned>(random());
    found += claims_difference(ratio_of(plan, program_of(random))) ? 1 : 0;
  }
  return static_cast<double>(found) / kRepetitions;
}

double normal(std::mt19937_64& random) { return std::normal_distribution<double>()(random); }

/// Runs work of so many seconds, one after the other, beside a neighbour of that period.
double claims_beside(double period, double work, int rounds) {
  return claims(rounds, [=](std::mt19937_64& random) -> Program {
    const Neighbour neighbour(period, std::uniform_real_distribution<double>(0, period)(random));
    double now = 0.0;
    return [=, &random](const RunPlace&, int) mutable {
      const double time = neighbour.time_of(now, work * (1.0 + 0.001 * normal(random)));
      now += time;
      return Printed{time};
    };
  });
}

TEST(ExecSimulation, NeighboursOfNoPeriodLookLikeADifference) {
  struct Situation {
    double period;  ///< in runs
    int rounds;
  };
  const Situation situations[] = {{0.3, 6},  {2.1, 4}, {2.1, 6},  {2.1, 10},
                                  {4.2, 10}, {8.4, 6}, {12.6, 6}, {50.0, 6}};
  for (const auto& [period, rounds] : situations) {
    EXPECT_LE(claims_beside(period, 1.0, rounds), 0.08 + by_chance(0.08))
        << "period of " << period << " runs, " << rounds << " rounds";
  }
}

TEST(ExecSimulation, ACronJobOfEachMinuteLooksLikeNoDifference) {
  for (const double work : {13.0, 15.0}) {
    EXPECT_LE(claims_beside(60.0, work, 6), 0.08 + by_chance(0.08)) << work << " s";
  }
}

TEST(ExecSimulation, DriftLooksLikeNoDifference) {
  const auto claims_with = [](const std::function<double(double)>& drift) {
    return claims(6, [=](std::mt19937_64& random) -> Program {
      return [=, &random](const RunPlace&, int index) {
        return Printed{1.0 + drift(index / 11.0) + 0.002 * normal(random)};
      };
    });
  };
  EXPECT_LE(claims_with([](double share) { return 0.1 * share; }), 0.06 + by_chance(0.06));
  for (const double place : {0.1, 0.3}) {
    EXPECT_LE(claims_with([=](double share) { return share < place ? 0.1 : 0.0; }),
              0.06 + by_chance(0.06))
        << "a step at " << place;
  }
  // 74 of 924 orders have at most one slow run of a variant.
  EXPECT_LE(claims_with([](double share) { return share < 0.5 ? 0.1 : 0.0; }),
            0.08 + by_chance(0.08));
}

/// Prints so many decimals of a number that scatters.
Program printing(double number, double deviation, int decimals, std::mt19937_64& random) {
  return [=, &random](const RunPlace&, int) {
    return read(fmt::format("{:.{}f}", number + deviation * normal(random), decimals));
  };
}

TEST(ExecSimulation, CoarseDigitsLookLikeNoDifference) {
  for (const double deviation : {0.1, 1.0}) {  // of a unit of the last digit
    for (const double number : {4.0, 40.5}) {
      const double rate = claims(
          6, [=](std::mt19937_64& random) { return printing(number, deviation, 0, random); });
      EXPECT_LE(rate, 0.06 + by_chance(0.06)) << number << " ± " << deviation;
    }
  }
}

TEST(ExecSimulation, NumbersRoundedApartAreInconclusive) {
  for (const auto& [a, b] : {std::pair{"3", "4"}, {"0.9", "1.0"}, {"1e2", "2e2"}, {"99", "100"}}) {
    const Estimate ratio = ratio_of(plan_of(6), [a = a, b = b](const RunPlace& place, int) {
      return read(place.variant == 0 ? a : b);
    });
    ASSERT_TRUE(ratio.interval) << a;
    EXPECT_TRUE(ratio.interval->holds(1.0)) << a << " and " << b;
  }
  for (const auto& [a, b] : {std::pair{"3.00", "4.00"}, {"3", "5"}}) {
    const Estimate ratio = ratio_of(plan_of(6), [a = a, b = b](const RunPlace& place, int) {
      return read(place.variant == 0 ? a : b);
    });
    EXPECT_GT(ratio.interval.value().low, 1.0) << a << " and " << b;
  }
}

TEST(ExecSimulation, ConstantSidesLookLikeNoDifference) {
  for (const int rounds : {3, 6}) {
    for (const double share : {0.2, 0.5}) {
      const double rate = claims(rounds, [=](std::mt19937_64& random) -> Program {
        return [=, &random](const RunPlace&, int) {
          return read(std::bernoulli_distribution(share)(random) ? "4.0000" : "2.0000");
        };
      });
      EXPECT_LE(rate, 0.06 + by_chance(0.06)) << rounds << " rounds, " << share;
    }
  }
}

/// Prints 3 each time on one side, 2 or 4 on the other.
TEST(ExecSimulation, ASideThatIsConstantHasAnIntervalByTheOther) {
  const Estimate ratio = ratio_of(plan_of(6), [](const RunPlace& place, int) {
    return read(place.variant == 0 ? "3.00" : place.round % 2 == 0 ? "2.00" : "4.00");
  });
  ASSERT_TRUE(ratio.interval);
  EXPECT_TRUE(ratio.interval->holds(1.0));
  EXPECT_LT(ratio.interval->low, 0.8);
  EXPECT_GT(ratio.interval->high, 1.2);
}

/// Holds exec to what run, compare and check are held to: six runs whose variants scatter alike, or
/// one three times as much.
TEST(ExecSimulation, IntervalsHoldTheTruth) {
  constexpr double kRatio = 1.7;
  std::mt19937_64 random(11);
  for (const double scale : {1.0, 3.0}) {
    ExecPlan plan = plan_of(6);
    int held = 0;
    for (int repetition = 0; repetition < kRepetitions; ++repetition) {
      plan.seed = static_cast<unsigned>(random());
      const Estimate ratio = ratio_of(plan, [&](const RunPlace& place, int) {
        const bool first = place.variant == 0;
        return Printed{(first ? 1.0 : kRatio) *
                       std::exp(0.01 * (first ? 1.0 : scale) * normal(random))};
      });
      held += ratio.may_be(kRatio) ? 1 : 0;
    }
    const double share = static_cast<double>(held) / kRepetitions;
    EXPECT_GE(share, 0.93 - by_chance(0.05)) << scale;
    EXPECT_LE(share, 0.97 + by_chance(0.05)) << scale;
  }
}

/// Finds the shift in runs that scatter by 1 % as often as before all runs were shuffled and digits
/// counted; three digits are enough.
TEST(ExecSimulation, AShiftOfThreePercentIsFoundAsOften) {
  const auto found_in = [](int decimals) {
    return claims(6, [=](std::mt19937_64& random) -> Program {
      return [=, &random](const RunPlace& place, int) {
        const double number = (place.variant == 0 ? 5.0 : 5.15) * (1.0 + 0.01 * normal(random));
        return read(fmt::format("{:.{}f}", number, decimals));
      };
    });
  };
  EXPECT_GE(found_in(6), 0.98);
  EXPECT_GE(found_in(2), 0.98);
}

}  // namespace
}  // namespace linkgain::test
