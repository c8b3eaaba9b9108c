#include "linkgain/run/run.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <map>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/run/run_directory.hpp"
#include "run_support.hpp"
#include "support/full_record.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

using Kind = FakeFailure::Kind;

constexpr const char* kSecond = "all_reduce/float32/sum/64KiB/np2";

/// Expects the journal to hold the record, except for what only the end of a run decides.
void expect_journal_equals_record(const RunBench& bench) {
  Record journal = read_record(bench.journal_path());
  summarise(journal);
  EXPECT_EQ(journal.status, RunStatus::unfinished);
  EXPECT_TRUE(same(journal.machine, bench.record.machine));
  EXPECT_TRUE(same(journal.settings, bench.record.settings));
  EXPECT_TRUE(same_but_for_order(journal.cases, bench.record.cases));
  EXPECT_TRUE(same(journal.warnings, bench.record.warnings));
}

TEST(Run, MeasuresEveryCaseInEveryVariant) {
  RunBench bench({taking(1e-4), taking(3e-4)});
  bench.path_of = [](int variant, int) { return variant == 0 ? Path::nvlink : Path::network; };
  bench.execute();
  EXPECT_EQ(bench.record.status, RunStatus::complete);
  EXPECT_EQ(bench.record.machine.host, "node1");
  ASSERT_EQ(bench.record.cases.size(), 2U);
  for (const CaseResult& result : bench.record.cases) {
    EXPECT_EQ(result.stopped, StopReason::launches_differ) << "one launch cannot tell";
    EXPECT_NEAR(result.ratios.at(0).ratio.value, 3.0, 1e-12);
    EXPECT_EQ(result.variants[0].path, Path::nvlink);
    EXPECT_EQ(result.variants[1].path, Path::network);
    EXPECT_TRUE(result.variants[1].verification);
  }
  EXPECT_EQ(count_samples(bench.record), 2 * 2 * 4);
  EXPECT_THAT(
      bench.record.settings.environment_in_force,
      ElementsAre(Environment{{"OMPI_MCA_btl", "of v0"}}, Environment{{"OMPI_MCA_btl", "of v1"}}));
  for (const FakeTrace& trace : bench.traces) EXPECT_TRUE(trace.finished && trace.gone);
  expect_journal_equals_record(bench);
}

TEST(Run, LaunchesAreReplicates) {
  RunBench bench({taking(1e-4), taking(2e-4)});
  bench.plan.launches = 3;
  bench.script_of_launch[{0, 1}] = taking(1.001e-4);
  bench.script_of_launch[{1, 1}] = taking(2e-4 * std::exp(0.3));
  bench.script_of_launch[{1, 2}] = taking(2e-4 * std::exp(0.6));
  bench.execute();
  EXPECT_EQ(bench.started.size(), 6U);
  const Estimate& ratio = bench.record.cases[0].ratios.at(0).ratio;
  EXPECT_NEAR(ratio.value, 2.0 * std::exp(0.3), 1e-3);
  EXPECT_EQ(ratio.replicates, 3);
  EXPECT_GT(ratio.interval->high, 2.0 * std::exp(0.6));
  EXPECT_EQ(bench.record.cases.back().samples.back().launch, 2);
  expect_journal_equals_record(bench);
}

TEST(Run, SkipsWhatNoBudgetIsLeftFor) {
  FakeScript slow = taking(1e-4);
  slow.open_time = Seconds{2.0};
  RunBench bench({slow, slow});
  bench.set_cases({1024, 2048, 4096});
  bench.plan.budget = Seconds{5.0};
  bench.plan.launches = 4;
  bench.execute();
  EXPECT_EQ(bench.record.cases[2].ratios.at(0).ratio.replicates, 1) << "the second was cut";
  EXPECT_EQ(bench.record.cases[2].stopped, StopReason::out_of_time);
  const CaseResult& last = bench.record.cases[1];
  EXPECT_EQ(last.stopped, StopReason::out_of_time);
  EXPECT_FALSE(last.variants[0].time);
  EXPECT_EQ(last.variants[0].skipped, Skip{SkipReason::out_of_time});
  EXPECT_EQ(last.variants[1].skipped, Skip{SkipReason::out_of_time});
  EXPECT_LT(bench.clock.now().value, 7.0) << "it was being opened in one variant";
  expect_journal_equals_record(bench);
}

TEST(Run, ALaterLaunchOutOfBudgetLeavesEarlierResultsAlone) {
  FakeScript slow = taking(1e-4);
  slow.open_time = Seconds{1.0};
  FakeScript refusing = slow;
  refusing.failures = {{.command = "open", .kind = Kind::refuse, .case_name = kSecond}};
  RunBench bench({slow, slow, refusing});
  FakeScript slower = slow;
  slower.open_time = Seconds{10.0};
  bench.script_of_launch[{0, 1}] = slower;
  bench.set_cases({1024, 65536, 131072});
  bench.plan.launches = 2;
  bench.plan.budget = Seconds{25.0};
  bench.execute();
  const CaseResult& second = bench.record.cases[1];
  EXPECT_TRUE(second.variants[0].time);
  EXPECT_FALSE(second.variants[0].skipped);
  EXPECT_EQ(second.variants[2].skipped, Skip{.refusal = "the fake refuses"});
  EXPECT_EQ(second.stopped, StopReason::out_of_time);
}

TEST(Run, InterruptedKeepsWhatWasMeasured) {
  RunBench bench(
      {taking(1e-4),
       failing(
           {.command = "run", .kind = Kind::interrupt, .case_name = kSecond, .occurrence = 4})});
  bench.path_of = [](int, int) { return Path::host_memory; };
  EXPECT_THROW(bench.execute(), Interrupted);
  EXPECT_EQ(bench.record.status, RunStatus::incomplete) << "the caller knows better";
  EXPECT_EQ(bench.record.cases[0].stopped, StopReason::launches_differ);
  const CaseResult& cut = bench.record.cases[1];
  EXPECT_EQ(cut.stopped, StopReason::interrupted);
  EXPECT_EQ(cut.ratios.at(0).ratio.replicates, 1);
  EXPECT_EQ(cut.variants[1].time, Seconds{1e-4});
  EXPECT_EQ(cut.variants[1].path, Path::host_memory);
  for (const FakeTrace& trace : bench.traces) EXPECT_TRUE(trace.gone);
  expect_journal_equals_record(bench);
}

class RunDirectoryTest : public ::testing::Test {
 protected:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("linkgain-directory-" + std::to_string(::getpid()));
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static RunDirectory open(const std::filesystem::path& path) {
    RunDirectory directory = RunDirectory::begin(path, RunDirectory::kJobs);
    directory.make_logs();
    return directory;
  }

  /// Leaves the folder of a run of one job that ended in order, with all its files.
  void leave_a_run(std::string_view logs = RunDirectory::kJobs, const std::string& text = "") {
    RunDirectory directory = RunDirectory::begin(folder_, logs);
    directory.make_logs();
    std::ofstream(directory.log()) << "log " << text;
    for (const auto name : {RunDirectory::kRecord, RunDirectory::kReport, RunDirectory::kPage}) {
      directory.write(name, std::string(name) + text);
    }
    std::ofstream(logs == RunDirectory::kJobs ? directory.job_log("p2p", 0)
                                              : directory.run_log("p2p-1.log"))
        << text;
  }

  /// Reads every file below the folder.
  std::map<std::string, std::string> content() const {
    std::map<std::string, std::string> found;
    for (const auto& each : std::filesystem::recursive_directory_iterator(folder_)) {
      if (each.is_directory() && !each.is_symlink()) continue;
      found[each.path().lexically_relative(folder_)] =
          read_regular_file(each.path()).value_or("no file");
    }
    return found;
  }
};

TEST_F(RunDirectoryTest, MakesTheDirectoryAskedFor) {
  EXPECT_EQ(open(folder_ / "a" / "b").path(), folder_ / "a" / "b");
  EXPECT_TRUE(std::filesystem::is_directory(folder_ / "a" / "b"));
}

TEST_F(RunDirectoryTest, RemovesNcclsLogsOfThePartThatIsResumedAndNothingElse) {
  {
    RunDirectory directory = open(folder_);
    std::ofstream(directory.job_log("p2p", 0)) << "old";
    const std::filesystem::path jobs = directory.nccl_logs("p2p-1").folder;
    for (const char* name : {"nccl-p2p-1.node.17.log", "nccl-p2p-1.node.17.log.now"}) {
      std::ofstream(jobs / name) << "old";
    }
  }
  RunDirectory directory = RunDirectory::go_on(folder_);
  directory.make_logs();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "jobs" / "nccl-p2p-1.node.17.log"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "jobs" / "nccl-p2p-1.node.17.log.now"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "jobs" / "p2p-1.log"));
}

TEST_F(RunDirectoryTest, FollowsNoLinkInThePlaceOfItsJobs) {
  const std::filesystem::path others = folder_ / "others";
  std::filesystem::create_directory(others);
  std::ofstream(others / "nccl-notes.txt") << "precious";
  std::filesystem::create_directory_symlink(others, folder_ / "jobs");
  EXPECT_THROW(open(folder_), UsageError);
  EXPECT_TRUE(std::filesystem::exists(others / "nccl-notes.txt"));
}

TEST_F(RunDirectoryTest, NamesNcclsLogs) {
  RunDirectory directory = open(folder_);
  const NcclLogFiles files = directory.nccl_logs("host-2");
  EXPECT_EQ(files.pattern, (folder_ / "jobs" / "nccl-host-2.%h.%p.log").string());
  EXPECT_TRUE(std::filesystem::equivalent(files.folder, folder_ / "jobs"));
  EXPECT_EQ(files.prefix, "nccl-host-2.");
}

// Escapes %h and %p, which NCCL takes for the host and the process.
TEST_F(RunDirectoryTest, NcclTakesNoPartOfTheFoldersNameForItsOwn) {
  RunDirectory directory = open(folder_ / "50%p2p");
  EXPECT_THAT(directory.nccl_logs("host-2").pattern,
              testing::EndsWith("50%%p2p/jobs/nccl-host-2.%h.%p.log"));
}

TEST_F(RunDirectoryTest, RefusesAFileInItsPlace) {
  std::ofstream(folder_ / "file") << "here";
  EXPECT_THROW(open(folder_ / "file"), UsageError);
}

TEST_F(RunDirectoryTest, SaysThatTheCurrentFolderIsGone) {
  const std::filesystem::path before = std::filesystem::current_path();
  const std::filesystem::path gone = folder_ / "gone";
  std::filesystem::create_directory(gone);
  std::filesystem::current_path(gone);
  std::filesystem::remove(gone);
  std::string said;
  try {
    open("out");
  } catch (const UsageError& error) {
    said = error.what();
  }
  EXPECT_EQ(open(folder_ / "from-the-root").path(), folder_ / "from-the-root");
  std::filesystem::current_path(before);
  EXPECT_THAT(said, HasSubstr("current folder"));
}

/// Returns the name of the folder that a run without --out makes.
std::string default_name(const RunPlan& plan, const Site& site) {
  return new_run_folder(plan, site).filename();
}

TEST_F(RunDirectoryTest, IsNamedByTimeHostAndGpus) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  RunPlan plan;
  plan.ranks = 2;
  Site site;
  site.host = "node7";
  site.gpu_name = "NVIDIA GeForce RTX 3090";
  EXPECT_THAT(default_name(plan, site), EndsWith("Z_node7_2xGeForce-RTX-3090"));
  site.gpu_name = "Quadro/5.2";
  EXPECT_THAT(default_name(plan, site), EndsWith("_2xQuadro-5.2")) << "a name of one folder";
  plan.backend = BackendKind::mpi;
  EXPECT_THAT(default_name(plan, site), EndsWith("Z_node7_mpi-np2"));
  EXPECT_TRUE(std::filesystem::is_directory(folder_ / "results"));
  std::filesystem::current_path(before);
}

TEST_F(RunDirectoryTest, IsNumberedWhereItIsThereAlready) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  std::vector<std::string> names;
  for (int i = 0; i < 3; ++i) names.push_back(new_run_folder("host", "2xH200"));
  std::filesystem::current_path(before);
  // Not where a second began between them.
  if (names[2].starts_with(names[0])) {
    EXPECT_EQ(names[1], names[0] + "-2");
    EXPECT_EQ(names[2], names[0] + "-3");
  }
}

TEST_F(RunDirectoryTest, IsAnotherOneForEachOfSeveralRunsThatBeginAtOnce) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  constexpr std::size_t kRuns = 8;
  std::vector<std::filesystem::path> paths(kRuns);
  {
    std::latch ready(kRuns);
    std::vector<std::jthread> runs;
    for (std::filesystem::path& path : paths) {
      runs.emplace_back([&] {
        ready.arrive_and_wait();
        path = new_run_folder("host", "2xH200");
      });
    }
  }
  std::filesystem::current_path(before);
  EXPECT_EQ(std::set(paths.begin(), paths.end()).size(), kRuns);
  for (const std::filesystem::path& path : paths) {
    EXPECT_TRUE(std::filesystem::is_directory(path)) << path;
  }
}

TEST_F(RunDirectoryTest, GoesOnInThatOfTheRunThatIsResumed) {
  leave_a_run();
  RunDirectory directory = RunDirectory::go_on(folder_);
  EXPECT_EQ(directory.path(), folder_);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "record.json"));
  EXPECT_EQ(path_of_held(directory.job_log("host", 0)), folder_ / "jobs" / "host-1.log");
}

TEST_F(RunDirectoryTest, GoesOnFromACopyOfTheJournalAlone) {
  std::ofstream(folder_ / "journal.jsonl") << "copied";
  {
    RunDirectory directory = RunDirectory::go_on(folder_);
    EXPECT_EQ(path_of_held(directory.journal()), folder_ / "journal.jsonl");
    EXPECT_EQ(read_text(folder_ / "journal.jsonl"), "copied") << "until another takes its place";
  }
  std::ofstream(folder_ / "report.md") << "mine";
  const std::string refused = refusal_of([&] { RunDirectory::go_on(folder_); });
  EXPECT_THAT(refused,
              AllOf(HasSubstr("in the way"), HasSubstr("move it away"), Not(HasSubstr("--out"))));
}

TEST_F(RunDirectoryTest, SetsAsideWhatAnEarlierRunLeft) {
  std::ofstream(folder_ / "notes.md") << "mine";
  std::map<std::string, std::string> expected{{"notes.md", "mine"}};
  for (const char* text : {"first", "second", "third"}) leave_a_run(RunDirectory::kJobs, text);
  for (const auto& [ending, text] : {std::pair{"", "third"}, {".old", "second"}}) {
    for (const std::string name : {"record.json", "report.md", "report.html"}) {
      expected[name + ending] = name + text;
    }
    expected[std::string("run.log") + ending] = std::string("log ") + text;
    expected[std::string("jobs") + ending + "/p2p-1.log"] = text;
  }
  auto found = content();
  found.erase(".linkgain");
  EXPECT_EQ(found, expected);
}

TEST_F(RunDirectoryTest, SaysWhatItSetAside) {
  leave_a_run();
  const std::string names =
      "record.json.old, report.md.old, report.html.old, run.log.old, jobs.old";
  {
    const RunDirectory second = RunDirectory::begin(folder_, RunDirectory::kJobs);
    EXPECT_THAT(second.set_aside(), AllOf(HasSubstr(folder_.string()), EndsWith(names)));
  }
  leave_a_run();
  EXPECT_THAT(RunDirectory::begin(folder_, RunDirectory::kJobs).set_aside(),
              AllOf(HasSubstr(names), EndsWith("was removed")));
}

/// Covers each of both commands' names as the user's: a file, a folder with something in it, a
/// link, also where an earlier run is to be set aside.
TEST_F(RunDirectoryTest, RefusesNamesThatAreTheUsersBeforeItTouchesAnything) {
  namespace fs = std::filesystem;
  const std::vector<std::string> names{"record.json",   "report.md", "report.html", "run.log",
                                       "journal.jsonl", "jobs",      "runs"};
  const std::vector<std::function<void(const fs::path&)>> makers{
      [](const fs::path& path) { std::ofstream(path) << "mine"; },
      [](const fs::path& path) {
        fs::create_directory(path);
        std::ofstream(path / "p2p-1.log") << "mine";
      },
      [](const fs::path& path) { fs::create_symlink("elsewhere", path); }};
  for (const std::string_view logs : {RunDirectory::kJobs, RunDirectory::kRuns}) {
    for (const std::string& name : names) {
      for (const std::string ending : {"", ".old"}) {
        for (const auto& make : makers) {
          fs::remove_all(folder_);
          fs::create_directory(folder_);
          if (ending == ".old") leave_a_run(logs);
          make(folder_ / (name + ending));
          const auto before = content();
          const bool is_needed = name == logs || (name != "jobs" && name != "runs");
          const bool is_in_the_way =
              is_needed && (ending.empty() || name != RunDirectory::kJournal);  // none was left
          if (is_in_the_way) {
            EXPECT_THROW(RunDirectory::begin(folder_, logs), UsageError) << name << ending;
            EXPECT_EQ(content(), before) << name << ending;
          } else {
            EXPECT_NO_THROW(RunDirectory::begin(folder_, logs)) << name << ending;
          }
        }
      }
    }
  }
}

/// Two launches of a training and of the step without communication. In the second one everything
/// takes longer, as after a drift.
struct TrainingBench {
  explicit TrainingBench(Schedule schedule) : bench({taking(0.1), taking(0.3)}) {
    bench.plan.cases = {parse_case_name("gpt2_step/fp64/tiny/np2"),
                        parse_case_name("gpt2_step/fp64/tiny/np2/none")};
    bench.plan.training = TrainingPlan{.steps = 100, .tokens = {}};
    bench.plan.launches = 2;
    bench.plan.schedule = schedule;
    bench.script_of_launch[{0, 1}] = taking(0.2);
    bench.script_of_launch[{1, 1}] = taking(0.5);
    bench.execute();
  }

  /// Returns the launches that a case was sampled in.
  std::set<int> launches_of(int place) const {
    std::set<int> launches;
    for (const Sample& sample : bench.record.cases.at(static_cast<std::size_t>(place)).samples) {
      launches.insert(sample.launch);
    }
    return launches;
  }

  RunBench bench;
};

// Gives every launch its own step without communication: the first variant's takes as long as a
// step with, the second's 0.2 s less in the first launch and 0.3 s in the second one.
TEST(RunOfTrainings, ExposedCommunicationIsOfOneLaunch) {
  for (const Schedule schedule : kValues<Schedule>) {
    const TrainingBench trained(schedule);
    const Record& record = trained.bench.record;
    EXPECT_EQ(trained.launches_of(0), (std::set<int>{0, 1}));
    EXPECT_EQ(trained.launches_of(1), (std::set<int>{0, 1})) << "in every launch";
    const auto exposed = [&](std::size_t variant) {
      return exposed_communication(record, record.cases[0], variant).value().value;
    };
    EXPECT_NEAR(exposed(0), 0.0, 1e-12) << name_of(schedule);
    EXPECT_NEAR(exposed(1), 0.25, 1e-12) << name_of(schedule);
  }
}

/// Keeps a difference between variants, or to the step without communication, from being that of
/// two algorithms.
TEST(RunOfTrainings, AllMultiplyAsTheFirstJobOfAll) {
  for (const Schedule schedule : kValues<Schedule>) {
    RunBench bench({taking(0.1), taking(0.3)});
    bench.plan.cases = {parse_case_name("gpt2_step/fp64/tiny/np2"),
                        parse_case_name("gpt2_step/fp64/tiny/np2/none")};
    bench.plan.training = TrainingPlan{.steps = 100, .tokens = {}};
    bench.plan.launches = 2;
    bench.plan.schedule = schedule;
    int job = 0;
    for (const int variant : {0, 1}) {
      for (const int launch : {0, 1}) {
        FakeScript& script = bench.script_of_launch[{variant, launch}] = taking(0.1);
        script.products = {"algo " + std::to_string(++job)};
      }
    }
    bench.execute();
    std::set<std::vector<std::string>> products;
    for (const CaseResult& result : bench.record.cases) {
      for (const VariantResult& variant : result.variants) {
        if (variant.time) products.insert(variant.execution.products);
      }
    }
    ASSERT_EQ(products.size(), 1U) << name_of(schedule);
    EXPECT_EQ(products.begin()->size(), 1U);
  }
}

TEST(RunOfTrainings, AllStepsAreTakenInFewerLaunchesToo) {
  for (const Schedule schedule : kValues<Schedule>) {
    FakeScript script = taking(0.1);
    script.open_time = Seconds{5.0};
    RunBench bench({script, script});
    bench.plan.cases = {parse_case_name("gpt2_step/fp64/tiny/np2")};
    bench.plan.training = TrainingPlan{.steps = 200, .tokens = {}};
    bench.plan.launches = 6;
    bench.plan.schedule = schedule;
    bench.plan.budget = Seconds{36.0};
    bench.execute();
    const CaseResult& training = bench.record.cases[0];
    EXPECT_EQ(training.ratios.at(0).ratio.replicates, 3) << name_of(schedule);
    EXPECT_EQ(training.samples.size(), 2U * 20U);
  }
}

}  // namespace
}  // namespace linkgain::test
