#include "linkgain/exec/exec.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "exec_records.hpp"
#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/process/signals.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/report/answer.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::Contains;
using testing::SizeIs;

class Exec : public testing::Test {
 protected:
  Exec() {
    options_.command = {"sh"};
    options_.seed = 3;
  }

  ExecOutcome outcome_of(const RunDouble& run) {
    return execute_double(options_, make_exec_plan(options_, {{"PATH", "/usr/bin:/bin"}}), run);
  }

  ExecOptions options_;
};

/// Scatters by `share` of the time, alike in all variants.
double scattered(double time, int round, double share) {
  return time * (1.0 + share * (round % 3 - 1));
}

RunReport of_time(const RunPlace& place, double time) {
  return report_of(place, {{"time", one_value(time)}});
}

std::vector<std::string> codes(const Record& record) {
  std::vector<std::string> codes;
  for (const Warning& each : record.warnings) codes.push_back(each.code);
  return codes;
}

TEST_F(Exec, ComparesByRuns) {
  const auto outcome = outcome_of([](const RunPlace& place) {
    return of_time(place, scattered(place.variant == 0 ? 100.0 : 130.0, place.round, 0.001));
  });
  EXPECT_EQ(outcome.code, ExitCode::success);
  EXPECT_THAT(outcome.order, SizeIs(12));
  const Estimate& ratio = outcome.record.cases.at(0).ratios.at(0).ratio;
  EXPECT_NEAR(ratio.value, 1.3, 0.001);
  EXPECT_EQ(ratio.replicates, 6);
  EXPECT_TRUE(outcome.record.cases[0].converged);
  EXPECT_LT(ratio.interval->low, 1.3);
  EXPECT_GT(ratio.interval->high, 1.3);
  EXPECT_THAT(codes(outcome.record), testing::ElementsAre("exec-unseen"));
  EXPECT_EQ(parse_record(to_json(outcome.record), "it").cases[0].samples.size(), 12U);
}

TEST_F(Exec, KeepsRatesAsTimesSoThatEveryRatioIsASpeedUp) {
  options_.metrics = {"rate=([0-9]+)"};
  options_.higher_is_better = {kOnlyMetric};
  const auto outcome = outcome_of([](const RunPlace& place) {
    const double rate = scattered(place.variant == 0 ? 500.0 : 400.0, place.round, 0.001);
    return report_of(place,
                     {{"time", one_value(1.0 + 0.001 * place.round)}, {"rate", one_value(rate)}});
  });
  const CaseResult& rate = outcome.record.cases.at(1);
  EXPECT_EQ(case_name(rate.definition), "exec/rate/higher");
  EXPECT_NEAR(from_sample(*rate.definition.metric, *rate.variants[0].time), 500.0, 0.5);
  EXPECT_NEAR(rate.ratios.at(0).ratio.value, 1.25, 0.001);
}

TEST_F(Exec, SaysOfWhichRunsACommandWaitedForLinkgain) {
  const auto outcome = outcome_of([](const RunPlace& place) {
    RunReport report = of_time(place, scattered(10.0, place.round, 0.001));
    report.waited = Seconds{place.variant == 1 && place.round > 4 ? 0.6 + 0.1 * place.round : 0.09};
    return report;
  });
  const auto& warnings = outcome.record.warnings;
  const auto waited = std::ranges::find(warnings, "exec-waited", &Warning::code);
  ASSERT_NE(waited, warnings.end());
  EXPECT_THAT(waited->text, testing::AllOf(testing::HasSubstr("12 %"), testing::HasSubstr("host-5"),
                                           testing::Not(testing::HasSubstr("p2p-"))));
  EXPECT_EQ(std::ranges::count(warnings, "exec-waited", &Warning::code), 1);
  EXPECT_EQ(outcome.code, ExitCode::success);
}

TEST_F(Exec, AddsRoundsOnceWhereTheIntervalIsTooWide) {
  const auto outcome = outcome_of([](const RunPlace& place) {
    return of_time(place, scattered(place.variant == 0 ? 1.0 : 1.2, place.round, 0.02));
  });
  EXPECT_GT(outcome.order.size(), 12U);
  EXPECT_LE(outcome.order.size(), 24U);
  const auto wide = outcome_of([](const RunPlace& place) {
    return of_time(place, scattered(place.variant == 0 ? 1.0 : 1.2, place.round, 0.3));
  });
  EXPECT_THAT(wide.order, SizeIs(24));
  EXPECT_THAT(codes(wide.record), Contains("not-converged"));
  EXPECT_EQ(wide.code, ExitCode::success);
}

TEST_F(Exec, AddsNoRoundsForATimeBesideMetricsThatWereAskedFor) {
  options_.metrics = {"rate=([0-9]+)", "other=([0-9]+)"};
  const auto outcome_with = [this](double share_of_other) {
    return outcome_of([=](const RunPlace& place) {
      const auto value = [&](double share) {
        return one_value(scattered(place.variant == 0 ? 1.0 : 1.2, place.round, share));
      };
      return report_of(
          place, {{"time", value(0.3)}, {"rate", value(0.001)}, {"other", value(share_of_other)}});
    });
  };
  const auto narrow = outcome_with(0.001);
  EXPECT_THAT(narrow.order, SizeIs(12));
  EXPECT_THAT(codes(narrow.record), testing::Not(Contains("not-converged")));
  const auto wide = outcome_with(0.3);
  EXPECT_THAT(wide.order, SizeIs(24));
  const auto warning = std::ranges::find(wide.record.warnings, "not-converged", &Warning::code);
  ASSERT_NE(warning, wide.record.warnings.end());
  EXPECT_THAT(warning->text, testing::EndsWith(" for other"));
}

/// Wastes no rounds, which bring no lost run back, and the variant's other runs decide nothing.
TEST_F(Exec, AddsNoRoundsForWhatRunsWereLostOf) {
  options_.metrics = {"loss=([0-9]+)", "rate=([0-9]+)"};
  const auto runs_with = [this](double share_of_rate, bool is_lost) {
    const auto outcome = outcome_of([=](const RunPlace& place) {
      const auto value = [&](double share) {
        return one_value(scattered(place.variant == 0 ? 1.0 : 1.2, place.round, share));
      };
      RunReport report = report_of(
          place, {{"time", value(0.001)}, {"loss", value(0.3)}, {"rate", value(share_of_rate)}});
      if (is_lost && place.variant == 1 && place.round == 2) {
        report.values["loss"] = {.missing = "no line matched"};
      }
      return report;
    });
    return outcome.order.size();
  };
  EXPECT_EQ(runs_with(0.001, false), 24U) << "the interval of the loss is too wide";
  EXPECT_EQ(runs_with(0.001, true), 12U);
  EXPECT_EQ(runs_with(0.3, true), 24U) << "that of the rate, of which none is lost, is too";
  options_.metrics.clear();
  const auto failed = outcome_of([](const RunPlace& place) {
    RunReport report = of_time(place, scattered(1.0, place.round, 0.3));
    if (place.variant == 1 && place.round == 2) report.failure = "exit status 3";
    if (report.failure) report.values.clear();
    return report;
  });
  EXPECT_THAT(failed.order, SizeIs(12));
}

TEST_F(Exec, WarnsOfARateOfWhichLessIsBetter) {
  const auto warns = [this](const std::string& metric, const std::string& unit,
                            const std::string& words = {}) {
    options_.metrics = {metric};
    options_.units = unit.empty() ? std::vector<std::string>{} : std::vector<std::string>{unit};
    const auto outcome = outcome_of([&](const RunPlace& place) {
      MetricValues values = one_value(1.0);
      values.words = words;
      return report_of(place, {{"time", one_value(1.0)}, {"generated", values}});
    });
    return std::ranges::count(codes(outcome.record), "rate-unmarked") == 1;
  };
  for (const char* metric :
       {"train_samples_per_second.*?([0-9.]+)", "([0-9.]+) tok/s", "rate=([0-9.]+) it/sec",
        "Throughput: ([0-9.]+)", "rate=tg128.*?([0-9.]+) ±", "([0-9.]+) t/s",
        "bandwidth ([0-9.]+) GB/s$", "tokens per second: ([0-9.]+)", "tg128.*?([0-9.]+) ±",
        "pp512 .*?([0-9.]+)"}) {
    EXPECT_TRUE(warns(metric, "")) << metric;
  }
  EXPECT_TRUE(warns("generated ([0-9.]+)", "tok/s"));
  for (const char* words : {" tokens per second", " t/s ", "it/s", " req/s"}) {
    EXPECT_TRUE(warns("generated ([0-9.]+)", "", words)) << words;
  }
  EXPECT_FALSE(warns("generated ([0-9.]+)", "", " s/it"));
  for (const char* metric : {"train_runtime.*?([0-9.]+)", "ms/step: ([0-9.]+)", "loss=([0-9.]+)",
                             "learning_rate=([0-9.e-]+)", "seconds per step: ([0-9.]+)"}) {
    EXPECT_FALSE(warns(metric, "")) << metric;
  }
  options_.higher_is_better = {kOnlyMetric};
  EXPECT_FALSE(warns("([0-9.]+) tok/s", ""));
}

TEST_F(Exec, WarnsOfVariablesThatDoNotEnterTheContainer) {
  ExecPlan plan = make_exec_plan(options_, {{"PATH", "/usr/bin:/bin"}});
  const auto warning_of_runs = [&] {
    const auto outcome = execute_double(
        options_, plan, RunDouble([](const RunPlace& place) { return of_time(place, 1.0); }));
    const auto& all = outcome.record.warnings;
    const auto found = std::ranges::find(all, "exec-container", &Warning::code);
    return found == all.end() ? Warning{} : *found;
  };
  EXPECT_EQ(warning_of_runs().code, "") << "no container";
  plan.command = {"docker", "run", "-e", "NCCL_WIN_ENABLE", "image"};
  EXPECT_THAT(warning_of_runs().text, testing::StartsWith("NCCL_NVLS_ENABLE, NCCL_P2P_DISABLE of"));
  EXPECT_THAT(warning_of_runs().text, testing::EndsWith("P2P is not switched"));
  EXPECT_THAT(warning_of_runs().advice,
              testing::HasSubstr(": -e NCCL_NVLS_ENABLE -e NCCL_P2P_DISABLE"));
  plan.command.insert(plan.command.begin() + 2, "--env-host");
  EXPECT_EQ(warning_of_runs().code, "");
  plan.command = {"env", "NCCL_P2P_DISABLE=0", "train"};
  EXPECT_THAT(warning_of_runs().text, testing::StartsWith("NCCL_P2P_DISABLE of "));
  EXPECT_THAT(warning_of_runs().advice, testing::HasSubstr("no values for NCCL_P2P_DISABLE"));
  plan.command = {"docker", "run", "client"};
  plan.server = ServerPlan{.command = {"sh"}, .ready = LinePattern("ready", "--ready")};
  EXPECT_EQ(warning_of_runs().code, "") << "the client need not get them";
  plan.server->command = plan.command;
  EXPECT_EQ(warning_of_runs().code, "exec-container");
}

TEST_F(Exec, SaysThatAComposeFileMustListVariables) {
  ExecPlan plan = make_exec_plan(options_, {{"PATH", "/usr/bin:/bin"}});
  const auto codes_of_runs = [&] {
    return codes(execute_double(options_, plan, RunDouble([](const RunPlace& place) {
                                  return of_time(place, 1.0);
                                }))
                     .record);
  };
  EXPECT_THAT(codes_of_runs(), testing::Not(Contains("exec-compose")));
  plan.server =
      ServerPlan{.command = {"docker", "compose", "up"}, .ready = LinePattern("ready", "--ready")};
  EXPECT_THAT(codes_of_runs(), Contains("exec-compose"));
  EXPECT_THAT(codes_of_runs(), testing::Not(Contains("exec-container")));
}

TEST_F(Exec, WarnsOfInheritedVariables) {
  const ExecPlan plan = make_exec_plan(options_, {{"PATH", "/usr/bin:/bin"}});
  Record record;
  record.settings = settings_of(options_, plan, {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_ALGO", "Ring"}});
  record.status = RunStatus::complete;
  conclude(record);
  EXPECT_EQ(std::ranges::count(record.warnings, "inherited-variable", &Warning::code), 1)
      << "p2p-forbidden says the other";
  const auto inherited = std::ranges::find(record.warnings, "inherited-variable", &Warning::code);
  EXPECT_THAT(inherited->text, testing::StartsWith("NCCL_ALGO=Ring "));
}

TEST_F(Exec, EndsWhereEveryVariantFailedAndNoRunEndedWell) {
  const auto outcome = outcome_of([](const RunPlace& place) {
    RunReport report = report_of(place, {});
    report.failure = "exit status 1";
    return report;
  });
  EXPECT_LE(outcome.order.size(), 3U) << "a variant may have its second run first";
  EXPECT_EQ(outcome.code, ExitCode::incomplete);
}

TEST_F(Exec, DoesNotCountWarmUp) {
  options_.warm_up = 2;
  const auto outcome = outcome_of([](const RunPlace& place) {
    return of_time(place, place.warm_up ? 1000.0 : scattered(1.0, place.round, 0.001));
  });
  EXPECT_THAT(outcome.order, SizeIs(16));
  EXPECT_NEAR(outcome.record.cases[0].variants[0].time->value, 1.0, 0.01);
  EXPECT_EQ(outcome.record.settings.program->warm_up, 2);
}

TEST_F(Exec, WarmsUpNoLongerThanTheBudgetAllows) {
  options_.warm_up = 100;
  options_.rounds = 1;
  options_.budget = Seconds{1.0};
  const auto outcome = outcome_of([](const RunPlace& place) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return of_time(place, 0.05);
  });
  EXPECT_GT(outcome.order.size(), 3U);
  EXPECT_LE(outcome.order.size(), 20U);
  EXPECT_EQ(outcome.record.cases.at(0).samples.size(), 2U) << "one round all the same";
}

TEST_F(Exec, RunsEveryVariantEquallyOftenAndOnceWhateverTheBudget) {
  options_.rounds = 200;
  for (unsigned seed = 0; seed < 10; ++seed) {
    options_.seed = seed;
    options_.budget = Seconds{seed % 2 == 0 ? 0.4 : 0.01};
    const auto outcome = outcome_of([](const RunPlace& place) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      return of_time(place, 0.01);
    });
    EXPECT_LE(outcome.order.size(), seed % 2 == 0 ? 60U : 2U);
    const auto first = std::ranges::count(outcome.order, 0, &RunPlace::variant);
    EXPECT_GE(first, 1) << seed;
    EXPECT_EQ(first * 2, std::ssize(outcome.order)) << seed;
    EXPECT_EQ(outcome.record.cases.at(0).stopped, StopReason::out_of_time);
    EXPECT_EQ(ending_of(outcome.record), kEndedByBudget);
  }
}

/// What the warnings of that code say, and how the numbers compare, where each run printed this.
class ExecOfNumbers : public Exec {
 protected:
  std::vector<std::string> texts(const std::string& code,
                                 const std::function<MetricValues(const RunPlace&)>& loss) {
    options_.metrics = {"loss=([0-9]+)"};
    record_ = outcome_of([&](const RunPlace& place) {
                return report_of(place, {{"time", one_value(scattered(1.0, place.round, 0.001))},
                                         {"loss", loss(place)}});
              }).record;
    std::vector<std::string> texts;
    for (const Warning& each : record_.warnings) {
      if (each.code == code) texts.push_back(each.text);
    }
    return texts;
  }

  Record record_;
};

TEST_F(ExecOfNumbers, SaysThatFewDigitsDecide) {
  const auto few_digits = [&](double of_first, double of_other, double unit) {
    return texts("few-digits", [=](const RunPlace& place) {
      const double number = place.variant == 0 ? of_first : of_other;
      return MetricValues{.samples = {number}, .resolution = unit / number};
    });
  };
  EXPECT_THAT(few_digits(3.0, 4.0, 1.0),
              testing::ElementsAre(testing::StartsWith("loss is printed in steps of 29.2 %")));
  EXPECT_TRUE(record_.cases[1].ratios[0].ratio.may_be(1.0));
  EXPECT_THAT(record_.runs, SizeIs(12)) << "more runs would print the same";
  EXPECT_THAT(codes(record_), testing::Not(Contains("not-converged")));
  EXPECT_THAT(few_digits(3.0, 3.0, 1.0), SizeIs(1));
  EXPECT_THAT(few_digits(3.00, 3.01, 0.01), SizeIs(1)) << "too few to tell them apart";
  EXPECT_THAT(few_digits(3.00, 4.00, 0.01), testing::IsEmpty());
  EXPECT_FALSE(record_.cases[1].ratios[0].ratio.may_be(1.0));
  EXPECT_EQ(parse_record(to_json(record_), "it").cases[1].samples[0].resolution,
            record_.cases[1].samples[0].resolution);
}

TEST_F(ExecOfNumbers, SaysThatVariantsMatchedUnequallyOften) {
  const auto differ = [&](std::int64_t other) {
    return texts("matches-differ", [=](const RunPlace& place) {
      return MetricValues{.samples = {5.0 + 0.001 * place.round},
                          .count = place.variant == 0 ? 1000 : other};
    });
  };
  EXPECT_THAT(differ(500), testing::ElementsAre(testing::AllOf(testing::HasSubstr(" 1000 times "),
                                                               testing::HasSubstr(" 500 times "))));
  EXPECT_THAT(differ(985), SizeIs(1));
  EXPECT_THAT(differ(995), testing::IsEmpty());
  EXPECT_THAT(differ(1000), testing::IsEmpty());
}

/// Counts twelve more errors of a link after the third run.
ErrorCounts crc_errors_after_three(std::size_t runs) {
  return {{{0, ErrorKind::nvlink_crc_errors, 3, 1}, runs < 3 ? 40 : 52}};
}

TEST_F(Exec, HasWhatWasCountedOfErrorsOnLinks) {
  ExecDouble world([](const RunPlace& place) {
    return of_time(place, scattered(place.variant == 0 ? 100.0 : 130.0, place.round, 0.001));
  });
  world.count = crc_errors_after_three;
  const auto outcome =
      execute_double(options_, make_exec_plan(options_, {{"PATH", "/usr/bin:/bin"}}), world);
  EXPECT_EQ(outcome.code, ExitCode::success);
  ASSERT_TRUE(outcome.record.link_errors);
  const LinkErrors& errors = *outcome.record.link_errors;
  EXPECT_EQ(errors.readings, 13) << "before the first run and after each";
  ASSERT_THAT(errors.grown, SizeIs(1));
  EXPECT_EQ(errors.grown[0].growth, 12);
  EXPECT_THAT(codes(outcome.record), Contains("link-errors"));
  EXPECT_EQ(parse_record(to_json(outcome.record), "it").link_errors, errors);
}

/// Returns the warning of a run that failed with these last lines, on GPUs with these faults.
Warning warning_of_failure(ExecOptions options, const std::vector<std::string>& last_lines,
                           const std::vector<GpuFault>& faults) {
  options.variants = {"p2p"};
  options.rounds = 1;
  ExecDouble world([&](const RunPlace& place) {
    RunReport report = report_of(place, {});
    report.failure = "exit status 1";
    report.last_lines = last_lines;
    return report;
  });
  world.gpu_faults = faults;
  const auto outcome =
      execute_double(options, make_exec_plan(options, {{"PATH", "/usr/bin:/bin"}}), world);
  const auto failed = std::ranges::find(outcome.record.warnings, "run-failed", &Warning::code);
  return failed == outcome.record.warnings.end() ? Warning{} : *failed;
}

TEST_F(Exec, SaysOfARunThatFailedWhatTheGpusSay) {
  const Warning failed =
      warning_of_failure(options_, {"CUDA error: unspecified launch failure", "Aborted"},
                         {{"GPU 1: Xid 79", "check the slot"}, {"unread", "look as root", true}});
  EXPECT_THAT(failed.text, testing::EndsWith("\nGPU 1: Xid 79\nunread"));
  EXPECT_THAT(failed.advice,
              testing::AllOf(testing::HasSubstr("719"), testing::HasSubstr("; check the slot; "),
                             testing::EndsWith("runs/double.log")));
}

TEST_F(Exec, SaysNothingOfGpusThatCannotBeAskedWhereNoneIsNamed) {
  const Warning failed =
      warning_of_failure(options_, {"python: can't open file 'trian.py'"},
                         {{"GPU 1: Xid 79", "check the slot"}, {"unread", "look as root", true}});
  EXPECT_THAT(failed.text, testing::EndsWith("'trian.py'\nGPU 1: Xid 79"));
  EXPECT_THAT(failed.advice, testing::Not(testing::HasSubstr("root")));
}

TEST_F(Exec, KeepsTheOthersOfARunThatFails) {
  const auto outcome = outcome_of([](const RunPlace& place) {
    RunReport report = of_time(place, scattered(1.0, place.round, 0.001));
    if (place.variant == 1 && place.round == 3) {
      report.failure = "exit status 3";
      report.values.clear();
    }
    return report;
  });
  EXPECT_EQ(outcome.code, ExitCode::incomplete);
  EXPECT_EQ(outcome.record.status, RunStatus::incomplete);
  EXPECT_THAT(codes(outcome.record), Contains("run-failed"));
  EXPECT_THAT(launch_medians(outcome.record.cases[0], 0), SizeIs(6));
  EXPECT_THAT(launch_medians(outcome.record.cases[0], 1), SizeIs(5));
}

TEST_F(Exec, GivesUpAVariantThatFailsTwiceInARow) {
  const auto outcome = outcome_of([](const RunPlace& place) {
    RunReport report = of_time(place, 1.0);
    if (place.variant == 1) report.failure = "SIGSEGV";
    if (place.variant == 1) report.values.clear();
    return report;
  });
  EXPECT_EQ(std::ranges::count(outcome.order, 1, &RunPlace::variant), 2);
  EXPECT_EQ(outcome.order.back().variant, 1) << "without two variants nothing is run again";
  EXPECT_EQ(outcome.code, ExitCode::incomplete);
}

/// Covers orders that begin with two runs of the variant that fails.
TEST_F(Exec, RunsEveryVariantOnceWhateverFails) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    options_.seed = seed;
    const auto outcome = outcome_of([](const RunPlace& place) {
      RunReport report = of_time(place, 1.0);
      if (place.variant == 1) report.failure = "exit status 3";
      if (place.variant == 1) report.values.clear();
      return report;
    });
    EXPECT_THAT(outcome.order, Contains(testing::Field(&RunPlace::variant, 0))) << seed;
    EXPECT_EQ(std::ranges::count(outcome.order, 1, &RunPlace::variant), 2) << seed;
    EXPECT_EQ(outcome.record.cases.at(0).samples.empty(), false) << seed;
  }
}

TEST_F(Exec, SaysWhenARunLacksANumber) {
  options_.metrics = {"loss=([0-9]+)"};
  const auto outcome = outcome_of([](const RunPlace& place) {
    MetricValues loss = one_value(2.0 + 0.001 * place.round);
    if (place.variant == 0 && place.round == 2) loss = {.missing = "no line matched"};
    return report_of(place, {{"time", one_value(1.0)}, {"loss", loss}});
  });
  EXPECT_EQ(outcome.code, ExitCode::incomplete);
  EXPECT_THAT(codes(outcome.record), Contains("metric-missing"));
  EXPECT_THAT(launch_medians(outcome.record.cases[1], 0), SizeIs(5));
}

TEST_F(Exec, SaysOnceWhatManyRunsLack) {
  options_.metrics = {"loss=([0-9]+)"};
  const auto outcome = outcome_of([](const RunPlace& place) {
    const bool odd = place.round == 3;
    const MetricValues missing{.missing = odd ? "'x' is no number" : "no line matched"};
    return report_of(
        place, {{"time", one_value(1.0)}, {"loss", place.variant == 0 ? one_value(2.0) : missing}});
  });
  std::vector<std::string> texts;
  for (const Warning& each : outcome.record.warnings) {
    if (each.code == "metric-missing") texts.push_back(each.text);
  }
  EXPECT_THAT(texts, testing::UnorderedElementsAre(
                         testing::AllOf(testing::StartsWith("no loss in host-1, "),
                                        testing::HasSubstr(" more: no line matched")),
                         testing::StartsWith("no loss in host-3: ")));
}

TEST_F(Exec, EndsAfterARoundThatGaveNoneOfAMetric) {
  options_.metrics = {"loss=([0-9]+)", "speed=([0-9]+)"};
  const auto outcome = outcome_of([](const RunPlace& place) {
    return report_of(place, {{"time", one_value(1.0)},
                             {"loss", one_value(2.0)},
                             {"speed", {.missing = "no line matched"}}});
  });
  EXPECT_THAT(outcome.order, SizeIs(2));
  EXPECT_EQ(outcome.code, ExitCode::incomplete);
}

TEST_F(Exec, TakesTheMedianOfSeveralSamplesOfARun) {
  options_.metrics = {"it=([0-9]+)"};
  options_.metric_use = MetricUse::all;
  const auto outcome = outcome_of([](const RunPlace& place) {
    return report_of(place, {{"time", one_value(1.0 + 0.001 * place.round)},
                             {"it", {.samples = {1.0, 100.0, 5.0 + 0.001 * place.round}}}});
  });
  EXPECT_NEAR(outcome.record.cases[1].variants[0].time->value, 5.0, 0.01);
  EXPECT_EQ(outcome.record.cases[1].ratios[0].ratio.replicates, 6);
}

TEST_F(Exec, KeepsWhatWasMeasuredWhenInterrupted) {
  Record record;
  const ExecPlan plan = make_exec_plan(options_, {{"PATH", "/usr/bin:/bin"}});
  record.settings = settings_of(options_, plan, {});
  const ScratchFolder folder;
  JournalWriter journal(folder.path() / "journal.jsonl");
  ExecObserver nobody;
  ExecDouble world([&](const RunPlace& place) {
    if (world.order.size() == 6) throw Interrupted(SIGTERM);
    return of_time(place, scattered(1.0, place.round, 0.01));
  });
  world.count = crc_errors_after_three;
  EXPECT_THROW(execute(plan, world, record, journal, nobody), Interrupted);
  conclude(record);
  EXPECT_EQ(record.status, RunStatus::interrupted);
  EXPECT_THAT(record.cases.at(0).samples, SizeIs(5));
  const Record kept = read_record(folder.path() / "journal.jsonl");
  EXPECT_THAT(kept.cases.at(0).samples, SizeIs(5));
  EXPECT_EQ(kept.settings.program, record.settings.program);
  EXPECT_THAT(kept.runs, SizeIs(5));
  ASSERT_TRUE(kept.link_errors);
  EXPECT_EQ(kept.link_errors->grown, record.link_errors->grown);
}

/// Cuts a journal behind each of its lines, as a crash does.
TEST_F(Exec, CountsNoRunWithoutItsNumbersOfAJournalThatIsCut) {
  options_.metrics = {"loss ([0-9.]+)"};
  const ExecPlan plan = make_exec_plan(options_, {{"PATH", "/usr/bin:/bin"}});
  Record record;
  record.settings = settings_of(options_, plan, {});
  const ScratchFolder folder;
  JournalWriter journal(folder.path() / "journal.jsonl");
  ExecObserver nobody;
  ExecDouble world([&](const RunPlace& place) {
    if (world.order.size() == 4) throw Interrupted(SIGTERM);
    const double value = scattered(1.0, place.round, 0.01);
    return report_of(place, {{"time", one_value(value)}, {"loss", one_value(value)}});
  });
  EXPECT_THROW(execute(plan, world, record, journal, nobody), Interrupted);
  std::ifstream file(folder.path() / "journal.jsonl");
  std::string text;
  Situations answers;
  for (std::string line; std::getline(file, line);) {
    text += line + "\n";
    Record cut = parse_journal(text, "journal");
    summarise(cut);
    const RunSummary summary(cut);
    for (const CaseSummary& each : summary.cases) {
      for (const VariantSummary& variant : each.variants) {
        EXPECT_EQ(variant.ended.lost(), 0U);
        EXPECT_EQ(variant.launches, variant.ended.all) << "of each metric";
      }
    }
    answers.add(fmt::format("{} lines", std::ranges::count(text, '\n')),
                answer_sentence(summary, answer_of(summary)));
  }
  answers.expect_golden("answers_of_cut_journals.txt");
}

TEST_F(Exec, SaysThatASwitchSeemsToDoNothingUnlessTimesDiffer) {
  options_.variants = {"p2p", "off:VLLM_NOP=1"};
  options_.arguments = {"off:--disable-custom-all-reduce"};
  const auto codes_at = [&](double other) {
    const auto outcome = outcome_of([=](const RunPlace& place) {
      const double time = place.variant == 0 ? 100.0 : other;
      RunReport report = of_time(place, scattered(time, place.round, 0.001));
      GpuEvidence gpu;
      gpu.traffic.nvlink_sent = 4'000'000'000;
      report.evidence = {.gpus = {gpu}};
      return report;
    });
    EXPECT_EQ(outcome.code, ExitCode::success);
    return codes(outcome.record);
  };
  EXPECT_THAT(codes_at(100.0), testing::ElementsAre("exec-same-bytes"));
  EXPECT_THAT(codes_at(130.0), testing::IsEmpty());
}

TEST_F(Exec, WarnsWhereTheCallerForbidsP2p) {
  const ExecPlan plan = make_exec_plan(options_, {{"PATH", "/usr/bin:/bin"}});
  Record record;
  record.settings = settings_of(options_, plan, {{"NCCL_P2P_DISABLE", "1"}});
  record.status = RunStatus::complete;
  conclude(record);
  EXPECT_EQ(std::ranges::count(record.warnings, "p2p-forbidden", &Warning::code), 1)
      << "host sets it itself";
}

}  // namespace
}  // namespace linkgain::test
