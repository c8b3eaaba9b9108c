#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "exec_records.hpp"
#include "linkgain/exec/received_variables.hpp"
#include "support/scoped_environment.hpp"
#include "support/scratch_folder.hpp"

namespace linkgain::test {
namespace {

/// Takes a value that arrived once for one that arrives: a later run's helpers may lack it.
TEST(VariablesOfPrograms, AreThoseThatProcessesHad) {
  const auto record_of = [](const std::function<Environment(const RunPlace&)>& received) {
    ExecOptions options;
    options.command = {"sh"};
    const ExecPlan plan = make_exec_plan(options, {{"PATH", "/usr/bin:/bin"}});
    return execute_double(options, plan,
                          [&](const RunPlace& place) {
                            RunReport report = report_of(place, {{"time", one_value(10.0)}});
                            report.received = received(place);
                            return report;
                          })
        .record;
  };
  const auto is_of_container = [](const Record& record) {
    return std::ranges::count(record.warnings, "exec-container", &Warning::code) == 1;
  };
  const auto of_host = [](const Record& record) {
    return record.settings.environment_in_force.at(1).at("NCCL_P2P_DISABLE");
  };
  const Record lost = record_of([](const RunPlace&) {
    return Environment{{"NCCL_P2P_DISABLE", ""}};
  });
  EXPECT_EQ(of_host(lost), "");
  EXPECT_TRUE(is_of_container(lost));
  const Record once = record_of([](const RunPlace& place) {
    const bool has_it = place.variant == 1 && place.round == 1;
    return Environment{{"NCCL_P2P_DISABLE", has_it ? "1" : ""}};
  });
  EXPECT_EQ(of_host(once), "1");
  EXPECT_FALSE(is_of_container(once));
}

/// Leaves P2P as it was with lost variables only where nothing else is known to switch it.
TEST(VariablesOfPrograms, AreNotAllThatSwitchesP2p) {
  ExecOptions options;
  options.command = {"sh"};
  options.variants = {"p2p", "p2p-sys", "host"};
  ExecPlan plan = make_exec_plan(options, {{"PATH", "/usr/bin:/bin"}});
  plan.command = {"docker", "run", "image", "train"};
  const auto text = [&](const Record& record) {
    const std::optional<Warning> warning = container_warning(plan, all_received(plan), record);
    return warning ? warning->text : "";
  };
  EXPECT_THAT(text({}), testing::EndsWith("P2P is not switched"));
  Record seen;
  for (const auto& [variant, transport] :
       {std::pair("p2p", "P2P/CUMEM"), std::pair("host", "SHM/direct")}) {
    ProgramRun& run = seen.runs.emplace_back();
    run.variant = variant;
    run.evidence.connections = {{transport, 0, 1}};
  }
  EXPECT_THAT(text(seen), testing::EndsWith("reach the program")) << "paths differ";
  plan.command = {"docker", "run", "image", "{variant}"};
  EXPECT_THAT(text({}), testing::EndsWith("reach the program")) << "commands differ";
  plan.command = {"docker", "run", "-e", "NCCL_P2P_DISABLE", "image"};
  EXPECT_THAT(text({}), testing::HasSubstr("NCCL_P2P_LEVEL"));
  EXPECT_THAT(text({}), testing::EndsWith("reach the program")) << "the one of host does";
}

TEST(LogsOfPrograms, AreMissedOnce) {
  ExecOptions options;
  options.command = {"sh"};
  const ExecPlan plan = make_exec_plan(options, {{"PATH", "/usr/bin:/bin"}});
  const Record record = execute_double(options, plan, [](const RunPlace& place) {
                          RunReport report = report_of(place, {{"time", one_value(10.0)}});
                          report.missing_logs = {"none came"};
                          return report;
                        }).record;
  EXPECT_EQ(std::ranges::count(record.warnings, "run-noted", &Warning::code), 1);
}

/// Names at once all that a container is to be given.
TEST(LogsOfPrograms, AreNamedWhereAContainerGetsNoVariable) {
  ExecOptions options;
  options.command = {"sh"};
  ExecPlan plan = make_exec_plan(options, {{"PATH", "/usr/bin:/bin"}});
  const auto advice = [&](const std::vector<std::string>& command) {
    plan.command = command;
    const std::optional<Warning> warning = container_warning(plan, all_received(plan));
    return warning ? warning->advice : "";
  };
  EXPECT_THAT(advice({"docker", "run", "image"}),
              testing::HasSubstr(" -e NCCL_DEBUG -e NCCL_DEBUG_FILE -e NCCL_DEBUG_SUBSYS"));
  EXPECT_THAT(advice({"docker", "run", "-e", "NCCL_DEBUG", "-e", "NCCL_DEBUG_FILE", "image"}),
              testing::HasSubstr(" path, -e NCCL_DEBUG_SUBSYS, "));
  EXPECT_THAT(advice({"docker", "run", "-e", "NCCL_DEBUG=WARN", "image"}),
              testing::EndsWith(" -e NCCL_WIN_ENABLE"))
      << "the log is the user's";
}

TEST(LogsOfPrograms, AreMissedBeforeAContainerThatGetsTheVariantsAlone) {
  ExecOptions options;
  options.command = {"sh"};
  const ScratchFolder scratch;
  const std::string folder = scratch.path().string();
  std::ofstream(scratch / "liblinkgain_no_p2p.so") << "\n";
  options.variants = {"p2p", "off:LD_PRELOAD=" + folder + "/liblinkgain_no_p2p.so"};
  ExecPlan plan = make_exec_plan(options, {{"PATH", "/usr/bin:/bin"}});
  const auto said = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"docker", "run", "-e", "LD_PRELOAD"});
    words.emplace_back("image");
    plan.command = words;
    const std::optional<Warning> warning = lost_logs_warning(plan);
    return warning ? warning->text + " -> " + warning->advice : "nothing";
  };
  const std::string mount = folder + ":" + folder + ":ro";
  const std::vector<std::string> all{"-e", "NCCL_DEBUG",
                                     "-e", "NCCL_DEBUG_FILE",
                                     "-e", "NCCL_DEBUG_SUBSYS",
                                     "-e", "LINKGAIN_NO_P2P_LOG",
                                     "-v", mount};
  EXPECT_EQ(said(all), "nothing");
  EXPECT_THAT(said({"-v", mount, "-e", "LINKGAIN_NO_P2P_LOG"}),
              testing::AllOf(testing::HasSubstr(" NCCL_DEBUG, NCCL_DEBUG_FILE, "),
                             testing::Not(testing::HasSubstr("library of"))));
  std::vector<std::string> elsewhere = all;
  elsewhere.back() = folder + ":/opt/linkgain";
  EXPECT_THAT(said(elsewhere), testing::AllOf(testing::StartsWith("the library of no-p2p"),
                                              testing::EndsWith("-v " + mount)));
  plan.variants.pop_back();
  elsewhere.back() = "/data:/data";
  EXPECT_EQ(said(elsewhere), "nothing") << "no variant preloads it";
}

/// Shows what linkgain itself sets, but for what the caller chooses.
TEST(LogsOfPrograms, AreAmongTheVariablesInForce) {
  ExecOptions options;
  options.command = {"sh"};
  const Environment path{{"PATH", "/usr/bin:/bin"}};
  const ExecPlan plan = make_exec_plan(options, path);
  for (const Environment& each : settings_of(options, plan, path).environment_in_force) {
    EXPECT_TRUE(each.contains("NCCL_DEBUG_FILE"));
    EXPECT_EQ(each.at("NCCL_DEBUG"), "INFO");
  }
  EXPECT_THAT(dry_run_text(plan, path), testing::HasSubstr("NCCL_DEBUG_FILE="));
  const Environment own{{"PATH", "/usr/bin:/bin"}, {"NCCL_DEBUG", "WARN"}};
  for (const Environment& each : settings_of(options, plan, own).environment_in_force) {
    EXPECT_FALSE(each.contains("NCCL_DEBUG_FILE"));
    EXPECT_EQ(each.at("NCCL_DEBUG"), "WARN");
  }
}

TEST(MachineOfPrograms, IsWhatTheDriverSays) {
  const ScopedEnvironment library("LINKGAIN_NVML_LIBRARY", NVML_DOUBLE);
  const ScopedEnvironment scenario("LINKGAIN_NVML_SCENARIO", "rtx3090-nv4");
  const Machine machine = survey_machine();
  EXPECT_TRUE(machine.software.driver);
  ASSERT_THAT(machine.ranks, testing::SizeIs(2));
  for (const RankInfo& rank : machine.ranks) {
    EXPECT_EQ(rank.gpu->cuda_index, rank.rank);
    EXPECT_THAT(rank.gpu->name, testing::HasSubstr("RTX 3090"));
    EXPECT_FALSE(rank.gpu->uuid.empty());
  }
  EXPECT_NE(machine.ranks[0].gpu->uuid, machine.ranks[1].gpu->uuid);
  EXPECT_FALSE(machine.links.empty());
}

TEST(MachineOfPrograms, HasNoGpusWithoutADriver) {
  const ScopedEnvironment library("LINKGAIN_NVML_LIBRARY", "/nowhere/libnvidia-ml.so.1");
  EXPECT_THAT(survey_machine().ranks, testing::SizeIs(0));
}

}  // namespace
}  // namespace linkgain::test
