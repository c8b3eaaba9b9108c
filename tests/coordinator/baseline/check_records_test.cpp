#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/base/json.hpp"
#include "linkgain/baseline/check_report.hpp"
#include "linkgain/baseline/regression.hpp"
#include "linkgain/record/warning.hpp"
#include "support/golden.hpp"
#include "support/launch_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Record before() { return run_of({{sized(8), "p2p", kEight}, {sized(1 << 20), "p2p", kEight}}); }
Record after() {
  return run_of({{sized(8), "p2p", kEight}, {sized(1 << 20), "p2p", kEight}}, "later");
}

Baseline made_from(const Record& record) {
  const NamedRecord named{"before", record};
  return make_baseline({&named, 1}, {}, "2026-01-02");
}

CheckResult check(const std::vector<Record>& records, const Baseline& baseline) {
  std::vector<NamedRecord> named;
  for (const Record& record : records) named.push_back({"after", record});
  return check_records(named, baseline);
}

std::vector<std::string> warning_codes(const CheckResult& result) {
  std::vector<std::string> codes;
  for (const Warning& warning : result.warnings) codes.push_back(warning.code);
  return codes;
}

TEST(CheckRecords, OfALikeRunIsQuiet) {
  const CheckResult result = check({after()}, made_from(before()));
  EXPECT_EQ(exit_code_of(result), ExitCode::success);
  EXPECT_THAT(result.warnings, IsEmpty());
  EXPECT_EQ(result.made, "2026-01-02");
  EXPECT_THAT(result.sources, ElementsAre(BaselineSource{"node1", "later", 8}));
}

TEST(CheckRecords, PoolsTheLaunchesOfSeveral) {
  const Record last = changed(after(), [](Record& r) { r.started = "last"; });
  EXPECT_EQ(check({after(), last}, made_from(before())).cases[0].launches, 16);
}

TEST(CheckRecords, SeesAPathThatOneRecordDoesNotKnow) {
  const Record blind = changed(after(), [](Record& r) {
    r.started = "last";
    r.cases[0].variants[0].path = Path::unknown;
  });
  const CheckResult result = check({after(), blind}, made_from(before()));
  EXPECT_EQ(result.cases[0].verdict, Verdict::unknown_path);
  EXPECT_EQ(result.cases[1].verdict, Verdict::same);
}

TEST(CheckRecords, RefusesAnotherKindOfMachine) {
  const Record other = changed(after(), [](Record& r) {
    r.machine.software.nccl_library = "2.27.1";
    r.machine.ranks[1].gpu->nvlink_links_active = 17;
  });
  const auto refusal = [](const std::vector<Record>& records) {
    return thrown_by([&] { check(records, made_from(before())); }) + "\n";
  };
  const Record unstarted = changed(run_of({}), [](Record& r) {
    r.machine = {};
    r.machine.host = "node1";
  });
  expect_golden(refusal({other}) + refusal({after(), after()}) + refusal({unstarted}),
                "refused_checks.txt");
}

/// Covers programs on hosts without GPUs, and a run that was ended in its first case.
TEST(CheckRecords, TakesARecordOfNoRanksAndOneOfNoSamples) {
  const auto without_ranks = [](Record record) {
    record.machine.ranks.clear();
    record.machine.links.clear();
    return record;
  };
  EXPECT_EQ(exit_code_of(check({without_ranks(after())}, made_from(without_ranks(before())))),
            ExitCode::success);
  const Record unmeasured =
      changed(run_of({}, "later"), [](Record& r) { r.status = RunStatus::interrupted; });
  for (const CaseCheck& each : check({unmeasured}, made_from(before())).cases) {
    EXPECT_EQ(each.verdict, Verdict::missing);
  }
}

TEST(CheckRecords, WarnsOfWhatMayExplainADifference) {
  const Record other = changed(after(), [](Record& r) {
    r.settings.variants[0].environment["NCCL_ALGO"] = "Ring";
    r.status = RunStatus::interrupted;
  });
  const CheckResult result = check({other}, made_from(before()));
  ASSERT_THAT(warning_codes(result), ElementsAre("incomplete-record", "other-variables"));
  EXPECT_THAT(warning_codes(check({before()}, made_from(before()))), ElementsAre("own-baseline"));
  const auto with_digest = [](const char* digest) {
    return changed(before(), [&](Record& r) { r.digest = digest; });
  };
  EXPECT_THAT(warning_codes(check({with_digest("mix64:1")}, made_from(before()))),
              ElementsAre("own-baseline"));
  EXPECT_THAT(warning_codes(check({with_digest("mix64:1")}, made_from(with_digest("mix64:2")))),
              IsEmpty())
      << "another run that began in the same second";
}

/// Explains a case that a caller's NCCL_ALGO slows down on an unchanged machine.
TEST(CheckRecords, WarnsOfVariablesThatWereInherited) {
  using Environments = std::vector<Environment>;
  const auto in_force = [](const Record& record, const Environments& environments) {
    return changed(record, [&](Record& r) { r.settings.environment_in_force = environments; });
  };
  const Environment host{{"NCCL_P2P_DISABLE", "1"}};
  const Baseline baseline = made_from(in_force(before(), {{}, host}));
  std::string text;
  const auto add = [&](const char* what, const Record& record, const Baseline& against) {
    text += std::string(what) + "\n";
    for (const Warning& each : check({record}, against).warnings) text += each.text + "\n";
  };
  add("as before", in_force(after(), {{}, host}), baseline);
  add("names of files", in_force(after(), {{{"NCCL_DEBUG_FILE", "/tmp/x"}}, host}), baseline);
  Environment host_by_ring = host;
  host_by_ring["NCCL_ALGO"] = "Ring";
  const Record ring = in_force(after(), {{{"NCCL_ALGO", "Ring"}}, host_by_ring});
  add("inherited by all", ring, baseline);
  add("no longer", in_force(after(), {{}, host}),
      made_from(in_force(before(), {{}, host_by_ring})));
  add("an older baseline", ring, made_from(before()));
  add("set by a variant",
      changed(after(), [](Record& r) { r.settings.variants[0].environment["NCCL_ALGO"] = "Ring"; }),
      baseline);
  add("set, and not recorded by allow-list",
      changed(in_force(after(), {{}, host}),
              [](Record& r) { r.settings.variants[0].environment["OMP_NUM_THREADS"] = "4"; }),
      baseline);
  const auto with_threads = [&](Record record) {
    record.settings.environment_in_force = {{}, host};
    record.settings.variants[0].environment["OMP_NUM_THREADS"] = "4";
    return record;
  };
  add("set alike, and not recorded by allow-list", with_threads(after()),
      made_from(with_threads(before())));
  add("not recorded of the second variant", in_force(after(), {{}}),
      made_from(in_force(before(), {{}, host_by_ring})));
  expect_golden(text, "other_variables.txt");
}

TEST(CheckRecords, OfABaselineOfRecordsWithOtherVariablesMeansTheFirst) {
  std::vector<NamedRecord> records{{"before", before()}, {"after", after()}};
  records[0].record.settings.environment_in_force = {{{"NCCL_ALGO", "Ring"}}};
  records[1].record.settings.environment_in_force = {{{"NCCL_ALGO", "Tree"}}};
  const Baseline baseline = make_baseline(records, {}, "2026-01-02");
  ASSERT_THAT(baseline.warnings, testing::SizeIs(1));
  EXPECT_EQ(baseline.warnings[0].code, "other-variables");
  EXPECT_THAT(baseline.warnings[0].text, HasSubstr("NCCL_ALGO: Ring there"));
  EXPECT_EQ(baseline.variants[0].in_force->at("NCCL_ALGO"), "Ring");
}

TEST(CheckRecords, TakesNoMeanOfSeveralNodes) {
  const auto on_node = [](const Record& record, const std::string& host, const std::string& uuid) {
    return changed(record, [&](Record& r) {
      r.machine.host = host;
      for (RankInfo& rank : r.machine.ranks) rank.gpu->uuid = uuid;
    });
  };
  const Baseline baseline = made_from(on_node(before(), "node0", "GPU-0"));
  const auto check_both = [&](const Record& second) {
    return check({on_node(after(), "node1", "GPU-1"),
                  changed(second, [](Record& r) { r.started = "last"; })},
                 baseline);
  };
  EXPECT_THROW(check_both(on_node(after(), "node2", "GPU-2")), UsageError);
  EXPECT_NO_THROW(check_both(on_node(after(), "in-another-container", "GPU-1")));
  EXPECT_NO_THROW(check_both(on_node(after(), "node1", "GPU-2"))) << "other GPUs of the node";
}

TEST(CheckRecords, WarnsOfAnotherProgram) {
  const auto with_program = [](const Record& record, const std::string& name) {
    return changed(record, [&](Record& r) { r.settings.program.emplace().command = {name}; });
  };
  const Baseline baseline = made_from(with_program(before(), "./train"));
  const CheckResult same = check({with_program(after(), "./train")}, baseline);
  EXPECT_THAT(warning_codes(same), IsEmpty());
  EXPECT_EQ(exit_code_of(same), ExitCode::success);
  const CheckResult result = check({with_program(after(), "./other")}, baseline);
  ASSERT_THAT(warning_codes(result), ElementsAre("other-program"));
  EXPECT_THAT(result.warnings[0].text, AllOf(HasSubstr("./other"), HasSubstr("./train")));
  EXPECT_EQ(exit_code_of(result), ExitCode::inconclusive);
}

TEST(CheckRecords, RefusesAMetricThatIsReadOtherwiseOrHasAnotherUnit) {
  const auto read_as = [](const Record& record, const std::string& how, const std::string& unit) {
    return changed(record, [&](Record& r) {
      ProgramPlan& program = r.settings.program.emplace();
      program.metrics = {"lat: " + how};
      if (!unit.empty()) program.units = {{"lat", unit}};
    });
  };
  const Baseline baseline = made_from(read_as(before(), "last of 'l'", "ms"));
  EXPECT_NO_THROW(check({read_as(after(), "last of 'l'", "ms")}, baseline));
  for (const auto& [how, unit] : {std::pair{"last of 'l'", "s"},
                                  {"last of 'l'", ""},
                                  {"sum of 'l'", "ms"},
                                  {"last of 'm'", "ms"}}) {
    const Record other = read_as(after(), how, unit);
    EXPECT_THAT(thrown_by([&] { check({other}, baseline); }), HasSubstr("'l' in ms"))
        << how << unit;
    const std::vector<NamedRecord> both{{"a", read_as(before(), "last of 'l'", "ms")},
                                        {"b", other}};
    EXPECT_THROW(make_baseline(both, {}, "2026-01-02"), UsageError);
  }
  EXPECT_EQ(parse_baseline(to_json(baseline), "b").sources, baseline.sources);
}

TEST(CheckRecords, RefusesAMetricThatIsARateOnOneSideAlone) {
  const auto with_metric = [](const Record& record, bool is_rate) {
    return changed(record, [&](Record& r) {
      for (CaseResult& each : r.cases) {
        each.definition = program_case({.name = "speed", .higher_is_better = is_rate});
      }
      r.cases.resize(1);
    });
  };
  const Baseline baseline = made_from(with_metric(before(), true));
  EXPECT_NO_THROW(check({with_metric(after(), true)}, baseline));
  EXPECT_THAT(thrown_by([&] { check({with_metric(after(), false)}, baseline); }),
              HasSubstr("less-is-better in after"));
  EXPECT_THAT(thrown_by([&] {
                check({with_metric(after(), true)}, made_from(with_metric(before(), false)));
              }),
              HasSubstr("a rate in after"));
}

/// Warns where cases are the same, too, and so have no line of their own.
TEST(CheckRecords, WarnsOfGpusThatWereThrottled) {
  const Record hot = changed(after(), [](Record& r) {
    HealthSummary& health = r.cases[0].variants[0].health;
    health.clock_event_reasons = 0x44;
    health.samples = 20;
    health.unhealthy_samples = 3;
    r.cases[1].variants[0].health = health;
  });
  const CheckResult result = check({hot}, made_from(before()));
  EXPECT_EQ(count_of(result, Verdict::same), 2);
  ASSERT_THAT(warning_codes(result), ElementsAre("throttled"));
  EXPECT_THAT(result.warnings[0].text,
              AllOf(HasSubstr("6 of 40 samples"), HasSubstr("thermal slowdown (hardware)")));
}

/// Warns: disturbed cases are slow, and a node that loses an NVLink may be as fast.
TEST(CheckRecords, WarnsOfOthersWorkAndOfErrors) {
  const auto disturb = [](Record& r) {
    r.neighbours.emplace().seen = {{.gpu = 1, .busy_percent = 97.0}};
    r.cases[0].variants[0].disturbed_samples = 3;
    r.cases[1].variants[0].level_shift = LevelShift{.launch = 1, .round = 2, .ratio = 1.3};
    r.link_errors = LinkErrors{2, {{{2, ErrorKind::xid, {}, {}}, 0, 1}}, {}};
    r.warnings = {warning_of(WarningCode::busy_gpu, "GPU 1 was busy"),
                  warning_of(WarningCode::busy_processors, "all 8 processors were busy"),
                  warning_of(WarningCode::sequential, "one job at a time")};
  };
  const CheckResult result = check({changed(after(), disturb)}, made_from(before()));
  EXPECT_EQ(count_of(result, Verdict::same), 2);
  EXPECT_THAT(warning_codes(result), ElementsAre("neighbours", "busy-processors", "disturbed",
                                                 "level-change", "link-errors"));
  EXPECT_THAT(result.warnings[1].text, HasSubstr("in after all 8"));
  EXPECT_THAT(to_terminal(check_table(result)), HasSubstr("; disturbed by"));
  EXPECT_THAT(check_csv(result), HasSubstr(",busy-processors disturbed\n"));
  EXPECT_THAT(check_prometheus(result), HasSubstr("linkgain_check_disturbed 1\n"));
  EXPECT_THAT(result.warnings.back().text, HasSubstr("1 Xid error"));
  EXPECT_EQ(result.cases[0].disturbance.samples, 3);
  EXPECT_EQ(result.cases[1].disturbance.level_change, 1.3);
  std::vector<std::string> codes;
  for (const Warning& each : made_from(changed(before(), disturb)).warnings) {
    codes.push_back(each.code);
  }
  EXPECT_THAT(codes, ElementsAre("neighbours", "busy-processors", "disturbed", "level-change",
                                 "link-errors"))
      << "nor a baseline";
}

TEST(CheckRecords, FailNoCaseOfAnotherProfile) {
  Record other = run_of({{sized(16), "p2p", {1e-3, 1.01e-3}}}, "later");
  other.settings.profile = "quick";
  const CheckResult result = check({other}, made_from(before()));
  EXPECT_THAT(warning_codes(result), testing::Contains("other-selection"));
  EXPECT_EQ(exit_code_of(result), ExitCode::inconclusive);
  other.status = RunStatus::interrupted;
  EXPECT_EQ(exit_code_of(check({other}, made_from(before()))), ExitCode::problem_found);
}

TEST(CheckRecords, OfOneLaunchIsNoOtherSelection) {
  const Record one = run_of({{sized(8), "p2p", {1e-3}}, {sized(1 << 20), "p2p", {1e-3}}}, "later");
  const CheckResult result = check({one}, made_from(before()));
  EXPECT_EQ(count_of(result, Verdict::inconclusive), 2);
  EXPECT_TRUE(result.cases[0].time);
  EXPECT_THAT(warning_codes(result), Not(testing::Contains("other-selection")));
}

TEST(CheckRecords, RepeatsThatABaselineIsWeak) {
  const Record weak = run_of({{sized(8), "p2p", {1e-3, 1.01e-3}}});
  EXPECT_THAT(warning_codes(check({after()}, made_from(weak))), ElementsAre("weak-baseline"));
}

TEST(CheckRecords, WarnsOfOverridesThatFitNothing) {
  Baseline baseline = made_from(before());
  baseline.overrides = {{"8B", "*", {}, std::optional<double>(0.2)},
                        {"*", "*", {}, std::optional<double>(0.2)}};
  const CheckResult result = check({after()}, baseline);
  ASSERT_THAT(warning_codes(result), ElementsAre("idle-override"));
  EXPECT_EQ(result.cases[0].tolerance.upper, 0.2);
}

TEST(CheckJson, HoldsEveryFigure) {
  const Record slow =
      run_of({{sized(8), "p2p", {1.2e-3, 1.21e-3}}, {sized(16), "p2p", {1e-3, 1e-3}}}, "later");
  const auto json = nlohmann::json::parse(to_json(check({slow}, made_from(before()))));
  EXPECT_EQ(json["schema"], "linkgain.check/1");
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["counts"]["slower"], 1);
  EXPECT_EQ(json["counts"]["inconclusive"], 1);
  EXPECT_EQ(json["counts"]["added"], 1);
  const auto& first = json["cases"][0];
  EXPECT_EQ(first["case"], "all_reduce/float32/sum/8B/np2");
  EXPECT_EQ(first["verdict"], "slower");
  EXPECT_TRUE(first["fails"]);
  EXPECT_NEAR(first["shift"].get<double>(), 0.205, 0.001);
  EXPECT_LT(first["shift_low"], first["shift"]);
  EXPECT_EQ(first["upper"], 0.05);
  EXPECT_TRUE(json["cases"][1]["time_s"].is_null());
  EXPECT_TRUE(json["cases"][2]["reference_s"].is_null());
}

}  // namespace
}  // namespace linkgain::test
