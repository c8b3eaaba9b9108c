#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "exec_records.hpp"
#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/html/run_page.hpp"
#include "linkgain/record/record_json.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/screen/screen.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "support/situations.hpp"

/// Variants at each value of an axis, and a control beside them.
namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const Environment kArmsPath{{"PATH", "/usr/bin:/bin"}};

/// Gives options for a server's throughput over its load.
ExecOptions load_options() {
  ExecOptions options;
  options.argv = {"linkgain", "exec", "--", "sh", "ask.sh", "{LOAD}"};
  options.command = {"sh", "ask.sh", "--load", "{LOAD}"};
  options.axis = "LOAD=64,1,8";
  options.metrics = {"rate=([0-9.]+)"};
  options.higher_is_better = {kOnlyMetric};
  options.units = {"tok/s"};
  options.seed = 3;
  return options;
}

ExecOptions control_options() {
  ExecOptions options;
  options.argv = {"linkgain", "exec", "--control", "--", "sh", "{variant}"};
  options.command = {"sh", "{variant}"};
  options.control = true;
  options.seed = 3;
  return options;
}

ExecPlan arms_plan(const ExecOptions& options) { return make_exec_plan(options, kArmsPath); }

/// Gives rates by value of the axis and variant; rounds differ by 0.1 %.
ExecOutcome rates_outcome(const ExecOptions& options,
                          const std::vector<std::vector<double>>& rates) {
  return execute_double(options, arms_plan(options), [&](const RunPlace& place) {
    const double rate =
        rates.at(static_cast<std::size_t>(place.value)).at(static_cast<std::size_t>(place.variant));
    const double factor = 1.0 + 0.001 * ((place.round + place.variant) % 3 - 1);
    return report_of(place,
                     {{"time", one_value(5.0 * factor)}, {"rate", one_value(rate * factor)}});
  });
}

const std::vector<std::vector<double>> kTurning{
    {80.0, 100.0, 80.0}, {400.0, 400.0, 400.0}, {1300.0, 1000.0, 1300.0}};

std::string answer_of_record(const Record& record) {
  const RunSummary summary(record);
  return answer_sentence(summary, answer_of(summary));
}

std::string refused_plan(const ExecOptions& options) {
  return refusal_of([&] { arms_plan(options); });
}

TEST(ExecAxis, MakesACaseOfEachMetricAndValue) {
  const ExecPlan plan = arms_plan(load_options());
  std::vector<std::string> names;
  for (const Case& each : plan.cases) names.push_back(case_name(each));
  EXPECT_THAT(names, ElementsAre("exec/time/LOAD=1", "exec/time/LOAD=8", "exec/time/LOAD=64",
                                 "exec/start-up/LOAD=1", "exec/start-up/LOAD=8",
                                 "exec/start-up/LOAD=64", "exec/rate/higher/LOAD=1",
                                 "exec/rate/higher/LOAD=8", "exec/rate/higher/LOAD=64"));
  for (const std::string& name : names) EXPECT_EQ(case_name(parse_case_name(name)), name);
}

TEST(ExecAxis, RunsEachVariantAtEachValueInOneRandomOrder) {
  ExecOptions options = load_options();
  options.rounds = 4;
  options.warm_up = 1;
  const ExecPlan plan = arms_plan(options);
  const std::vector<RunPlace> order = run_order(plan);
  ASSERT_EQ(order.size(), 6U + 24U);
  std::map<std::pair<int, int>, std::set<int>> rounds;
  std::set<std::string> names;
  for (const RunPlace& place : order) {
    names.insert(name_of(plan, place));
    if (!place.warm_up) rounds[{place.variant, place.value}].insert(place.round);
  }
  EXPECT_EQ(names.size(), order.size());
  EXPECT_TRUE(names.contains("host-LOAD=8-3"));
  EXPECT_EQ(rounds.size(), 6U);
  for (const auto& [arm, of_arm] : rounds) EXPECT_THAT(of_arm, ElementsAre(1, 2, 3, 4));
  const std::vector<RunPlace> first(order.begin() + 6, order.begin() + 12);
  EXPECT_TRUE(std::ranges::any_of(first, [](const RunPlace& each) { return each.value > 0; }));
}

TEST(ExecAxis, SaysP2pOnlyOfValuesAtWhichItWasTaken) {
  ExecOptions options = load_options();
  options.rounds = 4;
  const ExecOutcome outcome =
      execute_double(options, arms_plan(options), [&](const RunPlace& place) {
        RunReport report = report_of(
            place, {{"time", one_value(5.0 + place.variant)}, {"rate", one_value(100.0)}});
        const bool is_by_p2p = place.variant == 0 && place.value == 1;
        report.evidence.connections = {{is_by_p2p ? "P2P/CUMEM" : "SHM/direct/direct", 0, 1}};
        return report;
      });
  const RunSummary summary(outcome.record);
  int by_path = 0;
  for (const CaseSummary& each : summary.cases) {
    const bool is_at_8 = each.definition().metric->at == "LOAD=8";
    EXPECT_EQ(each.contrast == Contrast::p2p, is_at_8) << case_name(each.definition());
    by_path += is_at_8;
  }
  EXPECT_GT(by_path, 0);
}

TEST(ExecAxis, HasARowForEachMetricThatWasAskedFor) {
  ExecOptions options = load_options();
  options.metrics = {"rate=([0-9.]+)", "ttft=([0-9.]+)"};
  options.higher_is_better = {"rate"};
  options.units = {"rate=tok/s"};
  options.rounds = 4;
  const ExecOutcome outcome =
      execute_double(options, arms_plan(options), [&](const RunPlace& place) {
        const double factor = 1.0 + 0.001 * ((place.round + place.variant) % 3 - 1);
        const double slower = place.variant == 1 && place.value == 1 ? 1.3 : 1.0;
        return report_of(place, {{"time", one_value(5.0 * factor)},
                                 {"rate", one_value(100.0 * factor / (1.0 + 0.1 * place.variant))},
                                 {"ttft", one_value(0.2 * factor * slower)}});
      });
  const RunSummary summary(outcome.record);
  std::vector<std::string> rows;
  for (const AnswerRow& row : answer_of(summary, 4).rows) {
    rows.push_back(case_name(row.of->definition()));
  }
  EXPECT_THAT(rows, ElementsAre("exec/rate/higher/LOAD=1", "exec/rate/higher/LOAD=8",
                                "exec/rate/higher/LOAD=64", "exec/ttft/LOAD=8"));
}

/// Gives a server's run, whose last metric changes most.
Record server_record(const ExecOptions& options) {
  return execute_double(
             options, arms_plan(options),
             [&](const RunPlace& place) {
               const double factor = 1.0 + 0.001 * ((place.round + place.variant) % 3 - 1);
               const double slower = place.variant == 1 ? 1.0 + 0.1 * place.value : 1.0;
               return report_of(place, {{"time", one_value(5.0 * factor)},
                                        {"start-up", one_value(2.0 * factor)},
                                        {"tokens", one_value(300.0 * factor / slower)},
                                        {"ttft", one_value(70.0 * factor * slower)},
                                        {"tpot", one_value(8.0 * factor * slower * slower)}});
             })
      .record;
}

TEST(ExecAxis, HasTheFirstMetricAtEachValueOnTheScreen) {
  ExecOptions options = load_options();
  options.server = "sleep 1000";
  options.ready = "up";
  options.control = true;
  options.metrics = {"tokens=([0-9.]+)", "ttft=([0-9.]+)", "tpot=([0-9.]+)"};
  options.higher_is_better = {"tokens"};
  options.units = {"tokens=tok/s", "ttft=ms", "tpot=ms"};
  Record record = server_record(options);
  Situations said;
  const auto add = [&](const std::string& situation, std::size_t told) {
    const std::string shown =
        screen(RunSummary(record), "Details: linkgain report x", {.columns = 80}, told);
    EXPECT_LE(line_count(shown), kMostScreenLines);
    said.add(situation, shown);
  };
  add("no warning", record.warnings.size());
  for (int i = 0; i < 3; ++i) record.warnings.push_back({"exec-waited", "it waited", ""});
  add("three warnings", record.warnings.size() - 3);
  options.axis = "LOAD=1";
  for (int load = 2; load <= 25; ++load) options.axis += "," + std::to_string(load);
  options.rounds = 3;
  options.metrics.resize(1);
  options.units.resize(1);
  record = server_record(options);
  add("more values than fit", record.warnings.size());
  said.expect_golden("screen_axis_of_server.txt");
}

TEST(ExecAxis, ReplacesItsNameWhereverWordsOfCommandsStand) {
  ExecOptions options = load_options();
  options.server = "sleep {LOAD}{round}";
  options.ready = "up";
  options.arguments = {"host:--most={LOAD}"};
  options.command = {"sh", "-c", "ask {LOAD} ${LOAD} {OTHER}", "{args}"};
  const ExecPlan plan = arms_plan(options);
  const RunPlace place{.variant = 1, .round = 2, .value = 2};
  EXPECT_THAT(command_of(plan, place),
              ElementsAre("sh", "-c", "ask 64 ${LOAD} {OTHER}", "--most=64"));
  EXPECT_THAT(server_of(plan, place), ElementsAre("sleep", "642"));
  EXPECT_THAT(dry_run_text(plan, kArmsPath), HasSubstr(": host at LOAD=64\n"));
  options.axis.clear();
  EXPECT_EQ(command_of(arms_plan(options), {})[2], "ask {LOAD} ${LOAD} {OTHER}");
}

TEST(ExecAxis, RefusesWhatCannotBeMeant) {
  Situations said;
  ExecOptions options = load_options();
  said.refuse_each({"LAOD=1,2", "LOAD=1,8,1", "LOAD=1,1.0", "LOAD", "LOAD=", "LOAD=1,,2",
                    "LOAD=a/b", "1=2", "=2", "round=1,2"},
                   [&](const char* axis) {
                     options.axis = axis;
                     arms_plan(options);
                   });
  options = load_options();
  options.variants = {"p2p", "x:BATCH={LOAD}"};
  said.add("{LOAD} in a variable of a variant", refused_plan(options));
  options = control_options();
  options.variants = {"a:X=1", "control:X=1"};
  said.add("a variant called control", refused_plan(options));
  said.expect_golden("arms_refused.txt");
}

TEST(ExecAxis, SaysBetweenWhichValuesTheSpeedUpTurns) {
  const ExecOptions options = load_options();
  Situations said;
  const auto add = [&](const std::string& situation,
                       const std::vector<std::vector<double>>& rates) {
    said.add(situation, answer_of_record(rates_outcome(options, rates).record));
  };
  add("it turns", kTurning);
  add("it turns at once", {{80.0, 100.0}, {450.0, 400.0}, {1300.0, 1000.0}});
  add("it begins", {{100.0, 100.0}, {400.0, 400.0}, {1300.0, 1000.0}});
  add("it ends", {{120.0, 100.0}, {400.0, 400.0}, {1000.0, 1000.0}});
  add("it is everywhere", {{120.0, 100.0}, {440.0, 400.0}, {1300.0, 1000.0}});
  add("it is nowhere", {{100.0, 100.0}, {400.0, 400.0}, {1000.0, 1000.0}});
  said.expect_golden("axis_answers.txt");
}

TEST(ExecAxis, IsShownByTablesPicturesAndFiles) {
  ExecOptions options = load_options();
  const Record record = rates_outcome(options, kTurning).record;
  const RunSummary summary(record);
  const std::string shown = screen(summary, "Details: linkgain report x", {.columns = 80});
  EXPECT_LE(line_count(shown), kMostScreenLines);
  expect_golden(shown, "screen_axis.txt");
  const std::string page = run_page(summary);
  EXPECT_THAT(page, HasSubstr("rate over LOAD"));
  EXPECT_THAT(page, HasSubstr("p2p against host"));
  Record read = parse_record(to_json(record), "it");
  judge(read);
  EXPECT_EQ(answer_of_record(read), answer_of_record(record));
  EXPECT_EQ(read.runs, record.runs);
  EXPECT_EQ(read.settings.variants, record.settings.variants);
  options.axis = "LOAD=low,high";
  const Record words = rates_outcome(options, kTurning).record;
  EXPECT_THAT(answer_of_record(words), Not(HasSubstr("crosses")));
  EXPECT_THAT(run_page(RunSummary(words)), HasSubstr("rate at LOAD=high"));
}

/// Gives rates of 130 beside 100 wherever `fails` says no.
ExecOutcome outcome_where(const ExecOptions& options,
                          const std::function<bool(const RunPlace&)>& fails) {
  return execute_double(options, arms_plan(options), [&](const RunPlace& place) -> RunReport {
    if (fails(place)) {
      return {.place = place,
              .failure = "exit status 1",
              .last_lines = {"out of memory"},
              .log = "runs/x.log"};
    }
    const double rate = (place.variant == 0 ? 130.0 : 100.0) * (1.0 + 0.001 * (place.round % 3));
    return report_of(place, {{"time", one_value(1.0)}, {"rate", one_value(rate)}});
  });
}

TEST(ExecAxis, LosesRunsOfAValueAlone) {
  const ExecOutcome outcome = outcome_where(
      load_options(), [](const RunPlace& place) { return place.variant == 1 && place.value == 2; });
  EXPECT_EQ(outcome.code, ExitCode::incomplete);
  EXPECT_EQ(std::ranges::count_if(
                outcome.order,
                [](const RunPlace& place) { return place.variant == 1 && place.value == 2; }),
            2);
  const RunSummary summary(outcome.record);
  const std::string shown = screen(summary, "Details: linkgain report x", {.columns = 80});
  EXPECT_THAT(shown, AllOf(HasSubstr("failed  0 of 2"), Not(HasSubstr("skipped"))));
  const std::string page = run_page(summary);
  EXPECT_THAT(page, Not(HasSubstr("status of the")));
  const std::string asked = page.substr(page.find("Is anything wrong?"));
  EXPECT_LT(asked.find("exit status 1"), asked.find("</section>"));
}

TEST(ExecAxis, SaysWhatHappenedWhereThereIsNoSpeedUp) {
  Situations said;
  const auto add = [&](const std::string& situation,
                       const std::function<bool(const RunPlace&)>& fails) {
    said.add(situation, answer_of_record(outcome_where(load_options(), fails).record));
  };
  add("the second fails at a value",
      [](const RunPlace& place) { return place.variant == 1 && place.value == 2; });
  add("it fails at two",
      [](const RunPlace& place) { return place.variant == 1 && place.value != 0; });
  add("the first fails at a value",
      [](const RunPlace& place) { return place.variant == 0 && place.value == 0; });
  add("both fail there", [](const RunPlace& place) { return place.value == 2; });
  add("one run of it fails there", [](const RunPlace& place) {
    return place.variant == 1 && place.value == 2 && place.round == 2;
  });
  add("the second fails everywhere", [](const RunPlace& place) { return place.variant == 1; });
  said.expect_golden("axis_failures.txt");
}

/// Gives times by variant; rounds differ by 0.1 %, or by `noise`.
Record control_record(const ExecOptions& options, const std::vector<double>& times,
                      double noise = 0.001) {
  const auto run = [&](const RunPlace& place) {
    const double factor = 1.0 + noise * ((place.round + place.variant) % 3 - 1);
    return report_of(
        place, {{"time", one_value(times.at(static_cast<std::size_t>(place.variant)) * factor)}});
  };
  return execute_double(options, arms_plan(options), run).record;
}

TEST(ExecControl, RunsAsTheFirstVariantDoes) {
  ExecOptions options = control_options();
  options.variants = {"a:X=1", "b:X=2"};
  options.arguments = {"a:--fast"};
  const ExecPlan plan = arms_plan(options);
  ASSERT_EQ(plan.variants.size(), 3U);
  EXPECT_EQ(plan.variants[2].environment, plan.variants[0].environment);
  EXPECT_EQ(command_of(plan, {.variant = 2}), command_of(plan, {.variant = 0}));
  EXPECT_EQ(name_of(plan, {.variant = 2}), "control-1");
}

TEST(ExecControl, SaysWhatADifferenceOfNothingIs) {
  Situations said;
  const auto add = [&](const std::string& situation, const Record& record) {
    const bool is_warned =
        std::ranges::count(record.warnings, "control-differs", &Warning::code) > 0;
    said.add(situation, answer_of_record(record) + (is_warned ? "\nwarned" : ""));
  };
  const ExecOptions options = control_options();
  add("as it should be", control_record(options, {1.0, 1.2, 1.0}));
  add("it would not show much", control_record(options, {1.0, 1.2, 1.0}, 0.4));
  const Record differing = control_record(options, {1.0, 1.2, 1.03});
  add("it differs", differing);
  EXPECT_THAT(std::ranges::find(differing.warnings, "control-differs", &Warning::code)->text,
              HasSubstr("differ: time by 3 %"));
  ExecOptions alone = options;
  alone.variants = {"p2p"};
  add("beside one variant", control_record(alone, {1.0, 1.0}));
  ExecOptions named = options;
  named.variants = {"a:X=1", "b:X=2", "c:X=3"};
  add("beside three", control_record(named, {1.0, 1.2, 1.3, 1.0}));
  ExecOptions along = load_options();
  along.control = true;
  add("on an axis", rates_outcome(along, kTurning).record);
  std::vector<std::vector<double>> rates = kTurning;
  rates[1][2] = 440.0;
  add("on an axis, where it differs", rates_outcome(along, rates).record);
  said.expect_golden("control_answers.txt");
}

/// Moves the same bytes as the first variant, in the same time, as it should.
TEST(ExecControl, IsNoSwitchThatDoesNothing) {
  const auto codes_of = [](const ExecOptions& options) {
    const auto run = [](const RunPlace& place) {
      RunReport report = report_of(place, {{"time", one_value(1.0 + 0.001 * (place.round % 3))}});
      report.evidence = {.gpus = {{.gpu = 0, .used = true}}, .processes_looked = 1};
      report.evidence.gpus[0].traffic.nvlink_sent = std::int64_t{1} << 30;
      return report;
    };
    std::vector<std::string> codes;
    const Record record = execute_double(options, arms_plan(options), run).record;
    for (const Warning& each : record.warnings) codes.push_back(each.code);
    return codes;
  };
  ExecOptions options = control_options();
  options.variants = {"a:X=1", "b:X=2"};
  options.control = false;
  EXPECT_THAT(codes_of(options), testing::Contains("exec-same-bytes"));
  options.variants = {"a:X=1"};
  options.control = true;
  EXPECT_THAT(codes_of(options), testing::Not(testing::Contains("exec-same-bytes")));
}

TEST(ExecControl, EndsWithWhatItStandsBeside) {
  const ExecOptions options = control_options();
  const auto outcome =
      execute_double(options, arms_plan(options), [](const RunPlace& place) -> RunReport {
        if (place.variant == 1) return {.place = place, .failure = "lost", .log = "runs/x.log"};
        return report_of(place, {{"time", one_value(1.0)}});
      });
  EXPECT_LT(outcome.order.size(), 18U);
  EXPECT_EQ(outcome.code, ExitCode::incomplete);
}

TEST(ExecControl, LeavesTheOthersTheirTable) {
  const Record record = control_record(control_options(), {1.0, 1.2, 1.0});
  expect_golden(screen(RunSummary(record), "Details: linkgain report x", {.columns = 80}),
                "screen_control.txt");
  EXPECT_TRUE(parse_record(to_json(record), "it").settings.variants[2].is_control);
}

}  // namespace
}  // namespace linkgain::test
