#include "linkgain/watch/program_evidence.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "linkgain/analysis/program_validity.hpp"
#include "linkgain/base/environment.hpp"
#include "linkgain/process/process.hpp"
#include "linkgain/telemetry/program_traffic.hpp"
#include "support/process_support.hpp"
#include "support/program.hpp"
#include "support/scoped_environment.hpp"

namespace linkgain::test {
namespace {

/// A machine of two H200, on which programs say what they moved and who uses what.
class ProgramWatched : public testing::Test {
 protected:
  std::string traffic_file() const { return (folder_.path() / "traffic").string(); }
  std::string use_file() const { return (folder_.path() / "use").string(); }

  Process start(const std::string& script, const Environment& changes = {}) const {
    Environment environment = current_environment();
    for (const auto& [name, value] : changes) environment[name] = value;
    ProcessRequest request;
    request.arguments = {"sh", "-c", script};
    request.environment = environment;
    request.error_file = folder_.path() / "errors";
    return Process(request);
  }

  /// Runs to its end.
  RunEvidence run(ProgramWatch& watch, const std::string& script, const Environment& changes = {},
                  std::size_t variant = 0) const {
    watch.begin(variant);
    Process process = start(script, changes);
    watch.follow(process);
    process.wait(Seconds{60.0});
    process.end_tree(Seconds{1.0});
    return watch.end();
  }

  ScratchFolder folder_;
  ScopedEnvironment library_{"LINKGAIN_NVML_LIBRARY", NVML_DOUBLE};
  ScopedEnvironment scenario_{"LINKGAIN_NVML_SCENARIO", "h200x2"};
  ScopedEnvironment traffic_{"LINKGAIN_NVML_TRAFFIC", traffic_file()};
  ScopedEnvironment use_{"LINKGAIN_NVML_USE", use_file()};
};

TEST_F(ProgramWatched, CountersThatGrowInOneArmOnlyShowThatTheVariantWorks) {
  const std::string script =
      fmt::format("[ \"$NCCL_P2P_DISABLE\" = 1 ] || printf '0 1073741824\\n1 1073741824\\n' >> {}",
                  traffic_file());
  ProgramWatch watch({cuda_settings()});
  ArmEvidence p2p{.variant = "p2p"};
  ArmEvidence host{.variant = "host", .forbidding = "NCCL_P2P_DISABLE=1"};
  for (int round = 0; round < 2; ++round) {
    p2p.runs.push_back(run(watch, script));
    host.runs.push_back(run(watch, script, {{"NCCL_P2P_DISABLE", "1"}}));
  }
  EXPECT_EQ(nvlink_bytes_in_a_run(p2p.runs), 2.0 * 1073741824);
  EXPECT_EQ(nvlink_bytes_in_a_run(host.runs), 0.0);
  const auto is_wrong_path = testing::Contains(testing::Field(&Warning::code, "exec-path"));
  EXPECT_THAT(judge_exec({p2p, host}, {}), testing::Not(is_wrong_path));
  const GpuEvidence& gpu = p2p.runs[1].gpus.at(1);
  EXPECT_EQ(gpu.gpu, 1);
  EXPECT_EQ(gpu.traffic.nvlink_received, 1073741824);
  EXPECT_EQ(gpu.nvlink_reason, "");
  EXPECT_FALSE(gpu.traffic.pcie_sent);
  EXPECT_NE(gpu.pcie_reason, "");
  // The same program as both arms, P2P off in one: the variable does not reach it.
  host.runs = p2p.runs;
  EXPECT_THAT(judge_exec({p2p, host}, {}), is_wrong_path);
}

TEST_F(ProgramWatched, CountersThatGoBackwardsAreNotMeasured) {
  std::ofstream(traffic_file()) << "0 1073741824\n";
  ProgramWatch watch({cuda_settings()});
  const RunEvidence evidence = run(watch, fmt::format(": > {}", traffic_file()));
  EXPECT_FALSE(evidence.gpus.at(0).traffic.nvlink_sent);
  EXPECT_NE(evidence.gpus.at(0).nvlink_reason, "");
  EXPECT_EQ(evidence.gpus.at(1).traffic.nvlink_sent, 0);
  EXPECT_EQ(nvlink_bytes_in_a_run(std::vector{evidence}), 0.0) << "of the other GPU";
}

TEST_F(ProgramWatched, OnlyVisibleGpusAreWatched) {
  const ScopedEnvironment visible("CUDA_VISIBLE_DEVICES", "1");
  ProgramWatch watch({cuda_settings()});
  const RunEvidence evidence = run(watch, "true");
  ASSERT_EQ(evidence.gpus.size(), 1);
  EXPECT_EQ(evidence.gpus[0].gpu, 1);
}

std::vector<int> numbers_of(const RunEvidence& evidence) {
  std::vector<int> numbers;
  for (const GpuEvidence& gpu : evidence.gpus) numbers.push_back(gpu.gpu);
  return numbers;
}

TEST_F(ProgramWatched, EachVariantIsWatchedOnTheGpusThatItSees) {
  const ScopedEnvironment four("LINKGAIN_NVML_SCENARIO", "h200x4");
  const ScopedEnvironment exported("CUDA_VISIBLE_DEVICES", "0");
  std::ofstream(use_file()) << "0 80\n1 80\n2 80\n3 80\n";
  ProgramWatch watch({{"3,1", {}}, cuda_settings(), {"", {}}});
  const std::vector<GpuNeighbour> idle = watch.watch_idle(Seconds{0.0});
  ASSERT_EQ(idle.size(), 3) << "the GPUs of any variant";
  EXPECT_EQ(idle[1].gpu, 1);
  const std::string script = fmt::format("printf '0 1024\\n3 2048\\n' >> {}", traffic_file());
  const RunEvidence own = run(watch, script);
  EXPECT_THAT(numbers_of(own), testing::ElementsAre(1, 3));
  EXPECT_EQ(own.gpus[1].traffic.nvlink_sent, 2048);
  const RunEvidence inherited = run(watch, script, {}, 1);
  EXPECT_THAT(numbers_of(inherited), testing::ElementsAre(0));
  EXPECT_EQ(inherited.gpus[0].traffic.nvlink_sent, 1024);
  EXPECT_NE(run(watch, "true", {}, 2).no_gpus, "");
  EXPECT_EQ(run(watch, "true").no_gpus, "");
}

TEST_F(ProgramWatched, WithoutADriverEverythingIsAbsentWithTheReason) {
  const ScopedEnvironment none("LINKGAIN_NVML_SCENARIO", "no-driver");
  ProgramWatch watch({cuda_settings()});
  EXPECT_TRUE(watch.watch_idle(Seconds{0.0}).empty());
  EXPECT_TRUE(watch.error_counts().empty());
  EXPECT_TRUE(watch.faults().empty());
  const RunEvidence evidence = run(watch, "true");
  EXPECT_TRUE(evidence.gpus.empty());
  EXPECT_NE(evidence.no_gpus, "");
  EXPECT_EQ(evidence.neighbours.not_looked, evidence.no_gpus);
}

TEST_F(ProgramWatched, ALostGpuHasAReason) {
  const ScopedEnvironment lost("LINKGAIN_NVML_SCENARIO", "lost-gpu-at-start");
  ProgramWatch watch({cuda_settings()});
  const RunEvidence evidence = run(watch, "true");
  ASSERT_EQ(evidence.gpus.size(), 2);
  EXPECT_FALSE(evidence.gpus[1].traffic.nvlink_sent);
  EXPECT_THAT(evidence.gpus[1].nvlink_reason, testing::HasSubstr("lost"));
}

TEST_F(ProgramWatched, ErrorsAreCountedOnTheGpusOfAnyVariant) {
  const auto file = folder_.path() / "errors";
  const ScopedEnvironment errors("LINKGAIN_NVML_ERRORS", file);
  ProgramWatch watch({CudaSettings{"1", {}}});
  std::optional<LinkErrors> counted;
  ErrorReadings readings;
  readings.add(counted, watch.error_counts(), 0.0);
  std::ofstream(file) << "0 3 replays 4\n1 3 crc_errors 12\n1 0 pcie_replays 1\n";
  EXPECT_THAT(readings.add(counted, watch.error_counts(), 1.0), testing::SizeIs(2));
  ASSERT_EQ(counted->grown.size(), 2);
  EXPECT_EQ(counted->grown[0].counter.gpu, 1);
  EXPECT_EQ(counted->grown[0].counter.link, 3);
  EXPECT_EQ(counted->grown[0].growth, 12);
}

TEST_F(ProgramWatched, FaultsAreThoseOfTheGpusThatVariantsSee) {
  const ScopedEnvironment lost("LINKGAIN_NVML_SCENARIO", "lost-gpu");
  const auto names_a_gpu = [](const ProgramWatch& watch) {
    return std::ranges::count_if(
        watch.faults(), [](const GpuFault& each) { return each.text.starts_with("GPU 1 does"); });
  };
  EXPECT_EQ(names_a_gpu(ProgramWatch({cuda_settings()})), 1);
  EXPECT_EQ(names_a_gpu(ProgramWatch({CudaSettings{"0", {}}})), 0);
}

TEST_F(ProgramWatched, OthersWorkBeforeTheFirstRunIsSeen) {
  std::ofstream(use_file()) << "1 80 4711:1024:python3\n";
  const ProgramWatch watch({cuda_settings()});
  const std::vector<GpuNeighbour> seen = watch.watch_idle(Seconds{0.1});
  ASSERT_EQ(seen.size(), 1);
  EXPECT_EQ(seen[0].gpu, 1);
  EXPECT_TRUE(is_busy(seen[0]));
  EXPECT_EQ(seen[0].processes.at(0).pid, 4711);
}

TEST_F(ProgramWatched, WhoComesDuringARunIsAnotherUnlessItIsOfTheTree) {
  ProgramWatch watch({cuda_settings()});
  watch.begin(0);
  // Another's process, and one of ours with a child of its own; both stay until they are ended.
  Process other = start("exec sleep 60");
  Process own =
      start(fmt::format("sleep 60 & echo $! > {}; wait", (folder_.path() / "id").string()));
  watch.follow(own);
  std::string child;
  ASSERT_TRUE(comes_true(
      [&] {
        std::ifstream(folder_.path() / "id") >> child;
        return !child.empty();
      },
      30.0));
  // 0 is no process: whose it is cannot be seen.
  std::ofstream(use_file()) << fmt::format("0 0 {0}:64:? {1}:64:? 0:64:?\n1 0 {1}:64:?\n", child,
                                           other.id());
  pause_for(0.6);  // the tree is looked at 0.25 s after its start
  const RunEvidence evidence = watch.end();
  own.end_tree(Seconds{1.0});
  EXPECT_TRUE(evidence.gpus.at(0).used);
  EXPECT_FALSE(evidence.gpus.at(1).used) << "another's";
  ASSERT_EQ(evidence.neighbours.seen.size(), 2) << "on each GPU once";
  const GpuNeighbour& seen = evidence.neighbours.seen[0];
  ASSERT_EQ(seen.processes.size(), 1);
  EXPECT_EQ(seen.processes[0].pid, other.id());
  EXPECT_TRUE(seen.after_s);
  EXPECT_EQ(evidence.neighbours.not_looked, "");
  EXPECT_GE(evidence.neighbours.looks, 2);
}

// Covers programs that write their title over it.
TEST_F(ProgramWatched, AProgramWithoutItsEnvironmentIsTheRuns) {
  ProgramWatch watch({cuda_settings()});
  watch.begin(0);
  Process own = start("exec env -i sleep 60");
  watch.follow(own);
  std::ofstream(use_file()) << fmt::format("0 0 {}:64:?\n", own.id());
  pause_for(0.6);
  const RunEvidence evidence = watch.end();
  EXPECT_TRUE(evidence.gpus.at(0).used);
  EXPECT_TRUE(evidence.neighbours.seen.empty());
}

TEST_F(ProgramWatched, IdsOfAnotherNamespaceTellNothing) {
  ProgramWatch watch({cuda_settings()});
  const RunEvidence evidence =
      run(watch, fmt::format("echo '0 90 4000000:64:python3' > {}", use_file()));
  EXPECT_TRUE(evidence.neighbours.seen.empty());
  EXPECT_FALSE(evidence.gpus.at(0).used);
  EXPECT_NE(evidence.neighbours.not_looked, "");
}

TEST_F(ProgramWatched, HealthIsSampledWhileTheRunLasts) {
  const ScopedEnvironment throttling("LINKGAIN_NVML_SCENARIO", "throttling");
  ProgramWatch watch({cuda_settings()});
  const RunEvidence evidence = run(watch, "sleep 3");
  EXPECT_GE(evidence.gpus.at(0).health.unhealthy_samples, 1);
  EXPECT_GT(evidence.cost_s, 0.0);
}

TEST(ParseEnvironment, TakesNoTitleForVariables) {
  const auto parse = [](std::string_view text) { return parse_environment(text); };
  EXPECT_EQ(parse({"A=1\0B=\0C=x=y\0", 13}), (Environment{{"A", "1"}, {"B", ""}, {"C", "x=y"}}));
  EXPECT_EQ(parse(""), std::nullopt);
  EXPECT_EQ(parse({"\0\0\0", 3}), std::nullopt);
  EXPECT_EQ(parse({"title\0\0B=1\0", 11}), std::nullopt);
}

TEST_F(ProgramWatched, SeesTheVariablesOfProcessesOnGpus) {
  ProgramWatch watch({cuda_settings()});
  run(watch, fmt::format("echo \"0 0 $$:64:?\" > {}; A=2 sleep 1.5", use_file()), {{"A", "1"}});
  const std::vector<SeenProcess> all = watch.processes();
  ASSERT_EQ(all.size(), 2U);
  for (const SeenProcess& each : all) {
    ASSERT_TRUE(each.environment);
    EXPECT_EQ(each.environment->at("A"), each.entry.name == "sh" ? "1" : "2");
    EXPECT_EQ(each.may_use_p2p, each.entry.name == "sh");
  }
}

TEST_F(ProgramWatched, TheNcclThatAChildMapsIsNamedWithItsVersion) {
  if (!is_on_path("python3")) GTEST_SKIP() << "python3 is not installed";
  const auto library = folder_.path() / "libnccl.so.2";
  std::ofstream(library) << std::string(9000, 'x') << "NCCL version 2.28.9+cuda13.0";
  const auto mapped = folder_.path() / "mapped";
  const std::string script = fmt::format(
      "python3 -c \"import mmap,time;f=open('{}','rb');m=mmap.mmap(f.fileno(),0,prot=1);"
      "open('{}','w').close();time.sleep(60)\" & wait",
      library.string(), mapped.string());
  ProgramWatch watch({cuda_settings()});
  watch.begin(0);
  Process process = start(script);
  watch.follow(process);
  ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(mapped); }, 60.0));
  pause_for(4.0);  // at most two seconds between looks
  process.end_tree(Seconds{1.0});
  const RunEvidence evidence = watch.end();
  ASSERT_EQ(evidence.nccl.size(), 1);
  EXPECT_EQ(evidence.nccl[0],
            (MappedNccl{.path = library.string(), .version = "2.28.9+cuda13.0", .processes = 1}));
  EXPECT_GE(evidence.processes_looked, 2);
  // Nothing of it is left for a run of another program.
  EXPECT_TRUE(run(watch, "sleep 0.5").nccl.empty());
}

}  // namespace
}  // namespace linkgain::test
