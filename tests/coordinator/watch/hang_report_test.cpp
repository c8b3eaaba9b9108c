#include "linkgain/watch/hang_report.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/process_entry.hpp"
#include "linkgain/process/process.hpp"
#include "support/golden.hpp"
#include "support/process_support.hpp"
#include "support/program.hpp"
#include "support/scoped_environment.hpp"

namespace linkgain::test {
namespace {

class HungProgram : public testing::Test {
 protected:
  ProcessRequest request(std::vector<std::string> arguments) {
    ProcessRequest result;
    result.arguments = std::move(arguments);
    result.environment = current_environment();
    result.error_file = folder_.path() / "errors";
    return result;
  }

  TemporaryFolder folder_;
  ScopedEnvironment library_{"LINKGAIN_NVML_LIBRARY", NVML_DOUBLE};
  ScopedEnvironment scenario_{"LINKGAIN_NVML_SCENARIO", "h200x2"};
  ScopedEnvironment use_{"LINKGAIN_NVML_USE", (folder_.path() / "use").string()};
};

std::vector<ProcessEntry> trees_of(const std::vector<Process*>& processes) {
  std::vector<ProcessEntry> all;
  for (Process* process : processes) {
    std::ranges::copy(process->remember_tree(), std::back_inserter(all));
  }
  return all;
}

TEST_F(HungProgram, IsDescribedByItsProcessesAndTheirGpus) {
  Process process(request({"sh", "-c", "sleep 61 & while :; do :; done"}));
  ASSERT_TRUE(comes_true(
      [&] {
        return !read_process_file(fmt::format("/proc/{0}/task/{0}/children", process.id())).empty();
      },
      60.0));
  std::ofstream(folder_.path() / "use") << fmt::format("1 100 {}:64:sh\n", process.id());
  const HangReport report = look_at_hang(process.remember_tree());
  ASSERT_EQ(report.processes.size(), 2);
  const bool first = report.processes[0].id == process.id();
  const HungProcess& busy = report.processes[first ? 0 : 1];
  const HungProcess& asleep = report.processes[first ? 1 : 0];
  EXPECT_THAT(busy.command, testing::HasSubstr("while"));
  EXPECT_GT(busy.processors, 0.0);
  EXPECT_EQ(busy.gpus, std::vector<int>{1});
  EXPECT_LT(asleep.processors, busy.processors);
  EXPECT_TRUE(asleep.gpus.empty());
  ASSERT_EQ(report.gpus.size(), 1);
  EXPECT_EQ(report.gpus[0].gpu, 1);
  EXPECT_EQ(report.gpus[0].busy_percent, 100.0);
  EXPECT_GE(describe(report).size(), 4);
}

TEST_F(HungProgram, MayBeSeveralTrees) {
  Process client(request({"sleep", "61"}));
  Process server(request({"sleep", "62"}));
  std::ofstream(folder_.path() / "use") << fmt::format("1 100 {}:64:sleep\n", server.id());
  const HangReport report = look_at_hang(trees_of({&client, &server}));
  ASSERT_EQ(report.processes.size(), 2);
  EXPECT_EQ(report.processes[0].id, client.id());
  EXPECT_EQ(report.processes[1].id, server.id());
  EXPECT_EQ(report.processes[1].gpus, std::vector<int>{1});
  ASSERT_EQ(report.gpus.size(), 1);
  EXPECT_EQ(report.gpus[0].gpu, 1);
}

// As programs that write their title over it.
TEST_F(HungProgram, IsNamedWithoutItsEnvironment) {
  Process process(request({"env", "-i", "sh", "-c", "sleep 61; :"}));
  ASSERT_TRUE(comes_true([&] { return process.remember_tree().size() == 2; }, 60.0));
  EXPECT_EQ(look_at_hang(process.remember_tree()).processes.size(), 2);
}

TEST(HangReport, SaysInWhatStateEachProcessWas) {
  HangReport report;
  for (const char state : std::string("RSDTtZI")) {
    report.processes.push_back({.id = 7,
                                .command = "train",
                                .state = state,
                                .waits_in = state == 'S' || state == 'D' ? "futex_wait" : "",
                                .processors = 0.25,
                                .gpus = {}});
  }
  report.processes.front().gpus = {0, 3};
  report.no_gpus = "there is no NVML";
  report.gpus = {{.gpu = 0, .busy_percent = 99.6}, {.gpu = 1, .busy_percent = {}}};
  std::string text;
  for (const std::string& line : describe(report)) text += line + '\n';
  expect_golden(text, "hang_report.txt");
  report.processes.front().gpus.clear();
  EXPECT_THAT(describe(report), testing::Each(testing::Not(testing::HasSubstr("ncclras"))))
      << "no program that uses a GPU";
}

}  // namespace
}  // namespace linkgain::test
