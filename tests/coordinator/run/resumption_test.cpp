#include "linkgain/run/resumption.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <tuple>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/process/signals.hpp"
#include "run_support.hpp"
#include "support/program.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

/// Two cases, two variants and three launches.
class ThreeLaunches : public RunBench {
 public:
  explicit ThreeLaunches(Schedule schedule) : RunBench({FakeScript{}, FakeScript{}}) {
    plan.schedule = schedule;
    plan.launches = 3;
    plan.launches_at_once = 1;
    plan.ci_width = 0.5;
  }
};

/// Counts the samples of each case, launch and variant.
std::map<std::tuple<std::size_t, int, int>, int> counts(const Record& record) {
  std::map<std::tuple<std::size_t, int, int>, int> counts;
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    for (const Sample& sample : record.cases[i].samples) {
      ++counts[{i, sample.launch, sample.variant}];
    }
  }
  return counts;
}

void expect_whole(const Record& record) {
  EXPECT_EQ(record.status, RunStatus::complete);
  for (const auto& [place, count] : counts(record)) EXPECT_EQ(count, kRoundsPerLaunch);
  EXPECT_EQ(counts(record).size(), 2U * 3U * 2U);
  std::set<int> numbers;
  for (const CaseResult& result : record.cases) {
    for (const Sample& sample : result.samples) numbers.insert(sample.sequence);
  }
  EXPECT_EQ(static_cast<int>(numbers.size()), count_samples(record)) << "each has its own number";
  EXPECT_EQ(*numbers.rbegin(), count_samples(record) - 1);
}

std::string refusal(const std::function<void()>& action) {
  return refusal_of([&] { action(); });
}

/// Returns a record as a run leaves it that was cut in the last launch of the second case.
Record cut_record(Schedule schedule) {
  ThreeLaunches bench(schedule);
  bench.execute();
  Record record = bench.record;
  record.status = RunStatus::interrupted;
  record.exit_code = kSignalExitBase + SIGTERM;
  std::vector<Sample>& samples = record.cases[1].samples;
  const auto last = std::find_if(samples.rbegin(), samples.rend(), [](const Sample& sample) {
    return sample.launch == 2 && sample.variant == 1;
  });
  samples.erase(std::next(last).base());
  return record;
}

/// Expects nothing that was kept to have been measured in no time.
void expect_time_of_both(const RunBench& first, double earlier, const RunBench& second) {
  const Record& record = second.record;
  double kept = 0.0;
  for (const CaseResult& result : record.cases) {
    for (const Sample& sample : result.samples) {
      kept += sample.time().value * static_cast<double>(sample.operations);
    }
  }
  constexpr double kRounding = 1e-9;
  const TimeSpent& spent = record.time_spent.value();
  EXPECT_GE(spent.sampling_s, kept - kRounding);
  EXPECT_LE(spent.sampling_s, record.wall_seconds.value() + kRounding);
  EXPECT_LE(earlier, first.clock.now().value + kRounding);
  EXPECT_LE(record.wall_seconds.value(), earlier + second.clock.now().value + kRounding);
}

TEST(Resumption, MeasuresOnlyWhatIsMissing) {
  for (const Schedule schedule : kValues<Schedule>) {
    ThreeLaunches bench(schedule);
    bench.record = cut_record(schedule);
    const std::vector<CaseResult> earlier = bench.record.cases;
    bench.execute();
    expect_whole(bench.record);
    if (schedule == Schedule::paired) {
      EXPECT_THAT(bench.started, UnorderedElementsAre("v0 in 2", "v1 in 2"));
    } else {
      EXPECT_THAT(bench.started, ElementsAre("v1 in 2"));
    }
    EXPECT_TRUE(same_but_for_order({earlier[0]}, {bench.record.cases[0]}));
  }
}

TEST(Resumption, GoesOnWithTheTimeOfEarlierParts) {
  ThreeLaunches first(Schedule::paired);
  first.record = cut_record(Schedule::paired);
  const double earlier = first.record.wall_seconds.value();
  const TimeSpent spent = first.record.time_spent.value();
  ASSERT_GT(spent.sampling_s, 0.0);
  write_file_atomically(first.journal_path().parent_path() / "record.json", to_json(first.record),
                        Existing::replaced);
  first.before_start = [](int, int) { throw Interrupted(SIGTERM); };
  EXPECT_THROW(first.execute(), Interrupted);
  ThreeLaunches second(Schedule::paired);
  second.record = read_unfinished(first.journal_path().parent_path());
  EXPECT_EQ(second.record.wall_seconds, earlier);
  EXPECT_EQ(second.record.time_spent, spent);
  second.clock.advance(Seconds{1000.0});  // in which no part ran
  const double start = second.clock.now().value;
  second.execute();
  EXPECT_NEAR(second.record.wall_seconds.value(), earlier + second.clock.now().value - start, 1e-9)
      << "until its end";
  EXPECT_GT(second.record.time_spent.value().sampling_s, spent.sampling_s);
}

TEST(Resumption, OfAllThatIsThereStartsNothing) {
  ThreeLaunches whole(Schedule::paired);
  whole.execute();
  ThreeLaunches bench(Schedule::paired);
  bench.record = whole.record;
  bench.record.status = RunStatus::interrupted;
  bench.execute();
  expect_whole(bench.record);
  EXPECT_THAT(bench.started, IsEmpty());
}

TEST(Resumption, GoesOnFromTheJournalOfEveryMoment) {
  for (const Schedule schedule : kValues<Schedule>) {
    for (int moment = 0;; ++moment) {
      ThreeLaunches first(schedule);
      int readings = 0;
      first.host_load = [&](double, const std::vector<std::int64_t>&) {
        if (readings++ == moment) throw Interrupted(SIGTERM);
        return HostLoad{};
      };
      try {
        first.execute();
        EXPECT_GT(moment, 3) << "it was hardly ever interrupted";
        break;
      } catch (const Interrupted&) {
      }
      if (std::filesystem::file_size(first.journal_path()) == 0) continue;  // no job was up
      ThreeLaunches second(schedule);
      second.record = read_unfinished(first.journal_path().parent_path());
      const std::optional<double> earlier = second.record.wall_seconds;
      second.execute();
      expect_whole(second.record);
      expect_time_of_both(first, earlier.value_or(0.0), second);
      const Record reread = parse_journal(read_text(second.journal_path()), "journal");
      EXPECT_EQ(counts(reread), counts(second.record));
    }
  }
}

/// Keeps what nothing else has where the part is killed.
TEST(Resumption, HasInItsJournalWhatALaterPartMeasured) {
  ThreeLaunches first(Schedule::paired);
  first.script_of_launch[{0, 1}] =
      failing({.command = "run", .kind = FakeFailure::Kind::interrupt, .case_name = kFirst});
  EXPECT_THROW(first.execute(), Interrupted);
  ThreeLaunches second(Schedule::paired);
  second.record = read_unfinished(first.journal_path().parent_path());
  const auto earlier = counts(second.record);
  second.script_of_launch[{0, 2}] =
      failing({.command = "run", .kind = FakeFailure::Kind::interrupt, .case_name = kFirst});
  EXPECT_THROW(second.execute(), Interrupted);
  const auto kept = counts(parse_journal(read_text(second.journal_path()), "journal"));
  EXPECT_EQ(earlier.size(), 2U * 1U * 2U);
  EXPECT_EQ(kept.size(), 2U * 2U * 2U) << "two cases, launches and variants";
}

/// Measures again all that the earlier part had of the case, and keeps nothing of it.
TEST(Resumption, GoesOnTwiceWhereACaseHadOnlyACutLaunch) {
  for (const Schedule schedule : kValues<Schedule>) {
    ThreeLaunches first(schedule);
    for (const int variant : {0, 1}) {
      first.script_of_launch[{variant, 0}] =
          failing({.command = "verify", .kind = FakeFailure::Kind::interrupt, .case_name = kFirst});
    }
    EXPECT_THROW(first.execute(), Interrupted);
    EXPECT_GT(count_samples(first.record), 0);
    ThreeLaunches second(schedule);
    second.record = first.record;
    second.before_start = [](int, int) { throw Interrupted(SIGTERM); };
    EXPECT_THROW(second.execute(), Interrupted);
    second.record.exit_code = kSignalExitBase + SIGTERM;
    parse_record(to_json(second.record), "record");
    ThreeLaunches third(schedule);
    JournalWriter(second.journal_path(), second.record).take_place();
    third.record = parse_journal(read_text(second.journal_path()), "journal");
    third.execute();
    expect_whole(third.record);
  }
}

TEST(Resumption, OfALostJobMeasuresItsLaunchAgain) {
  ThreeLaunches bench(Schedule::paired);
  bench.record = cut_record(Schedule::paired);
  bench.record.status = RunStatus::job_lost;
  for (CaseResult& result : bench.record.cases) {
    std::erase_if(result.samples, [](const Sample& sample) { return sample.variant == 1; });
    result.variants[1].skipped = Skip{SkipReason::job_lost};
    result.variants[1].time.reset();
  }
  bench.execute();
  expect_whole(bench.record);
  EXPECT_FALSE(bench.record.cases[0].variants[1].skipped);
}

/// Ignores an earlier launch's verification.
TEST(Resumption, MeasuresAgainWhatWasNotVerified) {
  for (const Schedule schedule : kValues<Schedule>) {
    for (const FakeFailure::Kind kind :
         {FakeFailure::Kind::interrupt, FakeFailure::Kind::lost, FakeFailure::Kind::refuse}) {
      ThreeLaunches first(schedule);
      first.script_of_launch[{1, 2}] =
          failing({.command = "verify", .kind = kind, .case_name = kFirst});
      try {
        first.execute();
        EXPECT_EQ(first.record.status, RunStatus::job_lost);
      } catch (const Interrupted&) {
        EXPECT_EQ(kind, FakeFailure::Kind::interrupt);
      }
      ThreeLaunches second(schedule);
      second.script_of_launch[{1, 2}] = failing(
          {.command = "verify", .kind = FakeFailure::Kind::wrong_data, .case_name = kFirst});
      second.record = read_unfinished(first.journal_path().parent_path());
      second.execute();
      expect_whole(second.record);
      for (const CaseResult& result : second.record.cases) {
        EXPECT_TRUE(std::ranges::none_of(result.samples, &Sample::unverified));
      }
      EXPECT_EQ(judge(second.record), ExitCode::wrong_data);
    }
  }
}

TEST(Resumption, MeasuresAgainWhatAnOlderRecordHasNoVerificationOf) {
  ThreeLaunches bench(Schedule::paired);
  bench.record = cut_record(Schedule::paired);
  bench.record.cases[0].variants[1].verification.reset();
  bench.execute();
  expect_whole(bench.record);
  EXPECT_EQ(bench.started.size(), 3U * 2U);
  EXPECT_EQ(judge(bench.record), ExitCode::success);
}

TEST(Resumption, LeavesWhatWasRefusedRefused) {
  ThreeLaunches bench(Schedule::paired);
  bench.record = cut_record(Schedule::paired);
  for (CaseResult& result : bench.record.cases) {
    std::erase_if(result.samples, [](const Sample& sample) { return sample.variant == 1; });
    result.variants[1].skipped = Skip{.refusal = "no such reduction"};
    result.variants[1].time.reset();
  }
  bench.execute();
  EXPECT_THAT(bench.started, IsEmpty());
  EXPECT_EQ(bench.record.cases[0].variants[1].skipped, Skip{.refusal = "no such reduction"});
}

/// Goes on with a run that was cut before the machine's driver was updated.
void go_on_after_an_update(ThreeLaunches& bench) {
  bench.record = cut_record(Schedule::paired);
  bench.record.machine.ranks.resize(2);
  bench.record.machine.ranks[1].rank = 1;
  bench.machine = bench.record.machine;
  bench.machine.software.driver = "590.1";
  bench.record.machine.software.driver = "580.95";
}

TEST(Resumption, RefusesAnotherMachine) {
  ThreeLaunches bench(Schedule::paired);
  go_on_after_an_update(bench);
  EXPECT_THAT(refusal([&] { bench.execute(); }),
              HasSubstr("software/driver was \"580.95\" and is \"590.1\""));
}

/// Keeps what warns of a part to the record that the part has samples in.
TEST(Resumption, OfAnotherMachineWritesNothingAndWarnsOfNothing) {
  ThreeLaunches bench(Schedule::paired);
  go_on_after_an_update(bench);
  bench.plan.warnings = {{"resumed", "it went on", {}}};
  const std::vector<Warning> before = bench.record.warnings;
  const std::filesystem::path folder = bench.journal_path().parent_path();
  EXPECT_NE(refusal([&] { bench.execute(); }), "accepted");
  EXPECT_EQ(bench.record.warnings, before);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  go_on_after_an_update(bench);
  bench.machine = bench.record.machine;
  EXPECT_EQ(refusal([&] { bench.execute(); }), "accepted");
  EXPECT_EQ(std::ranges::count(bench.record.warnings, "resumed", &Warning::code), 1);
  EXPECT_THAT(read_text(bench.journal_path()), HasSubstr("\"resumed\""));
}

/// Sends a signal while the second job starts, before the first one is refused.
TEST(Resumption, ThatIsEndedInItsStartKeepsTheVariablesOfTheEarlierPart) {
  ThreeLaunches bench(Schedule::paired);
  bench.record = cut_record(Schedule::paired);
  bench.plan.warnings = {{"resumed", "it went on", {}}};
  const Environment earlier{{"OMPI_MCA_btl", "self"}};
  bench.record.settings.environment_in_force[0] = earlier;
  bench.script_of_launch[{1, 2}] =
      failing({.command = "hello", .kind = FakeFailure::Kind::interrupt});
  EXPECT_THROW(bench.execute(), Interrupted);
  EXPECT_EQ(bench.record.settings.environment_in_force[0], earlier);
  EXPECT_EQ(std::ranges::count(bench.record.warnings, "resumed", &Warning::code), 0);
}

TEST(Resumption, TakesInForceWhatTheEarlierPartDoesNotHave) {
  protocol::HelloReply now;
  now.environment = {{"NCCL_ALGO", "Ring"}};
  now.machine.software.driver = "590.1";
  Settings settings;
  settings.environment_in_force = {{{"NCCL_ALGO", "Tree"}}, {}};
  settings.software_in_force.resize(2);
  settings.software_in_force[0].driver = "580.95";
  for (const std::size_t variant : {0U, 1U}) take_in_force(settings, variant, now, true);
  EXPECT_EQ(settings.environment_in_force[0].at("NCCL_ALGO"), "Tree");
  EXPECT_EQ(settings.software_in_force[0].driver, "580.95");
  EXPECT_EQ(settings.environment_in_force[1], now.environment) << "its job was never up";
  EXPECT_EQ(settings.software_in_force[1], now.machine.software);
  take_in_force(settings, 0, now, false);
  EXPECT_EQ(settings.environment_in_force[0], now.environment);
  EXPECT_EQ(settings.software_in_force[0], now.machine.software);
}

TEST(Resumption, TakesOtherProcessesOfTheSameMachine) {
  ThreeLaunches bench(Schedule::paired);
  bench.record = cut_record(Schedule::paired);
  bench.record.machine.ranks.resize(2);
  bench.record.machine.ranks[1].rank = 1;
  bench.machine = bench.record.machine;
  bench.machine.ranks[0].pid = 4711;
  EXPECT_EQ(refusal([&] { bench.execute(); }), "accepted");
}

TEST(Resumption, RefusesOtherVariablesInForce) {
  ThreeLaunches bench(Schedule::paired);
  bench.record = cut_record(Schedule::paired);
  bench.record.machine.ranks.resize(2);
  bench.record.machine.ranks[1].rank = 1;
  bench.machine = bench.record.machine;
  bench.record.settings.environment_in_force[1] = {{"OMPI_MCA_btl", "self"}};
  EXPECT_THAT(refusal([&] { bench.execute(); }),
              HasSubstr("OMPI_MCA_btl was \"self\" and is \"of v1\""));
}

TEST(Resumption, RefusesOtherSettingsButTheCommandsWords) {
  Settings earlier;
  earlier.argv = {"linkgain", "run", "--label", "x"};
  earlier.label = "x";
  Settings now = earlier;
  now.argv = {"./linkgain", "run", "--label=x"};
  EXPECT_NO_THROW(require_same_settings(earlier, now));
  now.launches = earlier.launches + 1;
  EXPECT_THAT(refusal([&] { require_same_settings(earlier, now); }), HasSubstr("launches was 1"));
}

TEST(Resumption, RefusesOtherTokensInTheSameFile) {
  Settings earlier;
  earlier.training = TrainingPlan{.steps = 100, .tokens = "/a.bin", .tokens_digest = "mix64:1"};
  Settings now = earlier;
  EXPECT_NO_THROW(require_same_settings(earlier, now));
  now.training->tokens_digest = "mix64:2";
  EXPECT_THAT(refusal([&] { require_same_settings(earlier, now); }), HasSubstr("tokens_digest"));
  earlier.training->tokens_digest.clear();
  EXPECT_NO_THROW(require_same_settings(earlier, now)) << "an older record has none";
}

TEST(Resumption, RefusesToLoseACase) {
  for (const auto& [sizes, reason] : std::map<std::vector<std::int64_t>, std::string>{
           {{65536, 131072}, "/1KiB/.* none now"},
           {{1024}, "/64KiB/.* none now"},
           {{65536, 1024}, "/64KiB/.* another place"}}) {
    ThreeLaunches bench(Schedule::paired);
    bench.record = cut_record(Schedule::paired);
    const int samples = count_samples(bench.record);
    bench.set_cases(sizes);
    EXPECT_THAT(refusal([&] { bench.execute(); }), ContainsRegex(reason));
    EXPECT_EQ(count_samples(bench.record), samples);
    EXPECT_THAT(bench.started, IsEmpty());
  }
}

TEST(Resumption, RefusesOtherCasesThanItBeganWith) {
  ThreeLaunches bench(Schedule::paired);
  bench.record = cut_record(Schedule::paired);
  bench.record.settings.cases_digest = digest_of_cases(bench.plan);
  EXPECT_EQ(refusal([&] { require_same_cases(bench.plan, bench.record); }), "accepted");
  bench.set_cases({1024, 65536, 131072});
  EXPECT_THAT(refusal([&] { bench.execute(); }), HasSubstr("others now"));
  EXPECT_THAT(bench.started, IsEmpty());
  bench.record.cases.clear();
  EXPECT_THAT(refusal([&] { bench.execute(); }), HasSubstr("others now")) << "measured or not";
  bench.record = cut_record(Schedule::paired);
  EXPECT_EQ(refusal([&] { bench.execute(); }), "accepted") << "an older record tells none";
}

/// Covers a budget, which has the largest case measured first: the journal of a run that is killed
/// then has that one alone.
TEST(Resumption, WritesEachCaseAtItsPlaceInTheJournal) {
  ThreeLaunches whole(Schedule::paired);
  whole.execute();
  ThreeLaunches bench(Schedule::paired);
  bench.record = whole.record;
  bench.record.status = RunStatus::incomplete;
  bench.record.cases.erase(bench.record.cases.begin());
  bench.execute();
  expect_whole(bench.record);
  const Record reread = parse_journal(read_text(bench.journal_path()), "journal");
  EXPECT_EQ(counts(reread), counts(bench.record));
  EXPECT_EQ(case_name(reread.cases[0].definition), kFirst);
}

class UnfinishedRun : public testing::Test {
 protected:
  std::string refusal_of(const Record& record) {
    std::filesystem::create_directories(folder_.path());
    write_file_atomically(folder_ / "record.json", to_json(record), Existing::replaced);
    return refusal([&] { read_unfinished(folder_.path()); });
  }
  ScratchFolder folder_;
};

TEST_F(UnfinishedRun, IsNeitherCompleteNorOfAProgramNorWithASecret) {
  Record record = cut_record(Schedule::paired);
  EXPECT_EQ(refusal_of(record), "accepted");
  Record complete = record;
  complete.status = RunStatus::complete;
  complete.exit_code = 0;
  EXPECT_THAT(refusal_of(complete), HasSubstr("is complete"));
  Record secret = record;
  secret.settings.argv = {"linkgain", "run", "--variant", "a:API_KEY=***"};
  EXPECT_THAT(refusal_of(secret), HasSubstr("a secret"));
  secret.settings.argv.back() = "a:ODD=\uFFFD";  // what stands for bytes that are no UTF-8
  EXPECT_THAT(refusal_of(secret), HasSubstr("no text"));
  Record program = record;
  program.settings.program.emplace().command = {"true"};
  program.cases.clear();
  EXPECT_THAT(refusal_of(program), HasSubstr("linkgain exec"));
  EXPECT_THAT(refusal([&] { read_unfinished(folder_ / "none"); }), HasSubstr("cannot read"));
}

/// Refuses a command line that would be carried out with this user's rights.
TEST_F(UnfinishedRun, IsNotAnotherUsers) {
  constexpr uid_t kOther = 65534;
  if (geteuid() != 0) GTEST_SKIP() << "files are given away by root only";
  const Record record = cut_record(Schedule::paired);
  ASSERT_EQ(refusal_of(record), "accepted");
  const std::filesystem::path file = folder_ / "record.json";
  ASSERT_EQ(chown(file.c_str(), kOther, kOther), 0);
  EXPECT_THAT(refusal([&] { read_unfinished(folder_.path()); }), HasSubstr("another user's"));
}

TEST_F(UnfinishedRun, LosesTheWarningsThatAreFoundAnew) {
  Record record = cut_record(Schedule::paired);
  judge(record);
  const std::size_t found = record.warnings.size();
  record.warnings.push_back({"job-lost", "the job was lost", ""});
  EXPECT_EQ(refusal_of(record), "accepted");
  const Record earlier = read_unfinished(folder_.path());
  EXPECT_GT(found, 0U);
  ASSERT_EQ(earlier.warnings.size(), 1U);
  EXPECT_EQ(earlier.warnings[0].code, "job-lost");
}

TEST_F(UnfinishedRun, SaysOnceOfWhichPartTheHostWasBusy) {
  Record record = cut_record(Schedule::paired);
  record.warnings = {{"host-load", "while measuring it was busy", "end it"}};
  for (int part = 1; part <= 2; ++part) {
    EXPECT_EQ(refusal_of(record), "accepted");
    record = read_unfinished(folder_.path());
    ASSERT_EQ(record.warnings.size(), 1U);
    EXPECT_EQ(record.warnings[0].text.rfind("before "), 0U) << record.warnings[0].text;
  }
}

}  // namespace
}  // namespace linkgain::test
