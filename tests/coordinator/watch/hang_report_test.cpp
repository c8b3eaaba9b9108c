#include "linkgain/watch/hang_report.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
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

/// A stand-in for NCCL's RAS: one connection, then a long sleep. It writes its port into a file.
constexpr const char* kServer = R"(
import socket, sys, time
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
open(sys.argv[2], "w").write("%d\n" % listener.getsockname()[1])
connection, _ = listener.accept()
lines = connection.makefile("rw")
mode = sys.argv[3]
assert lines.readline() == "CLIENT PROTOCOL 2\n"
if mode == "silent": time.sleep(60)
lines.write("SERVER PROTOCOL 3\n" if mode != "foreign" else "HTTP/1.1 400 Bad Request\n"); lines.flush()
assert lines.readline().startswith("TIMEOUT ")
if mode == "closing": sys.exit()
lines.write("OK\n" if mode != "unwilling" else "ERROR\n"); lines.flush()
assert lines.readline() == "VERBOSE STATUS\n"
lines.write("""NCCL version 2.30.7 compiled with CUDA 12.8

Communicators... (0.00s)
=============

Warnings
========

#0-0 (78db921d1c117b4a) MISMATCH
  Communicator ranks have different AllReduce operation counts
  1 ranks have launched up to operation 64
  Rank 1 has launched up to operation 60 -- GPU 1 managed by process 1650386 on node node1
""")
lines.flush()
lines.close(); connection.close()
time.sleep(60)
)";

class HungProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_on_path("python3")) GTEST_SKIP() << "python3 is not installed";
    std::ofstream(folder_.path() / "server.py") << kServer;
  }

  ProcessRequest request(std::vector<std::string> arguments, const std::string& address = {}) {
    ProcessRequest result;
    result.arguments = std::move(arguments);
    result.environment = current_environment();
    if (!address.empty()) result.environment["NCCL_RAS_ADDR"] = address;
    result.error_file = folder_.path() / "errors";
    return result;
  }

  ProcessRequest server(const std::string& port, const std::string& mode,
                        const std::string& address = {}) {
    return request({"python3", (folder_.path() / "server.py").string(), port, port_file(), mode},
                   address);
  }

  std::string port_file() const { return (folder_.path() / "port").string(); }

  std::string port_of_server() const {
    std::string port;
    comes_true(
        [&] {
          std::getline(std::ifstream(port_file()), port);
          return !port.empty();
        },
        60.0);
    return port;
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
  EXPECT_NE(report.ras.reason, "");
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

TEST_F(HungProgram, RasSaysWhichRankIsBehind) {
  Process process(server("0", "answers"));
  const RasAnswer answer = ask_ras("127.0.0.1:" + port_of_server(), Seconds{30.0});
  EXPECT_EQ(answer.reason, "");
  ASSERT_EQ(answer.behind.size(), 1);
  EXPECT_EQ(answer.behind[0].rank, 1);
  EXPECT_EQ(answer.behind[0].most, 64);
}

TEST_F(HungProgram, ARasThatDoesNotAnswerCostsTheLimit) {
  Process process(server("0", "silent"));
  const RasAnswer answer = ask_ras("127.0.0.1:" + port_of_server(), Seconds{0.3});
  EXPECT_NE(answer.reason, "");
  EXPECT_TRUE(answer.lines.empty());
}

TEST_F(HungProgram, WhatIsNoRasSaysSoAtOnce) {
  using testing::HasSubstr;
  for (const auto& [mode, reason] :
       {std::pair{"foreign", "not NCCL's RAS"}, {"closing", "answer"}, {"unwilling", "answer"}}) {
    Process process(server("0", mode));
    const Deadline deadline(Seconds{20.0});
    EXPECT_THAT(ask_ras("127.0.0.1:" + port_of_server(), Seconds{30.0}).reason, HasSubstr(reason))
        << mode;
    EXPECT_FALSE(deadline.passed()) << mode;
    std::filesystem::remove(port_file());
  }
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
  report.ras.lines = {"Communicators... (0.00s)"};
  report.ras.behind = {{2, "AllReduce", 60, 64, "GPU 2 on node1"}};
  std::string text;
  for (const std::string& line : describe(report)) text += line + '\n';
  expect_golden(text, "hang_report.txt");
}

TEST_F(HungProgram, OnlyTheRasOfTheProgramItselfIsAsked) {
  std::string port;
  {
    Process first(server("0", "answers"));
    port = port_of_server();
  }
  const std::string address = "127.0.0.1:" + port;
  std::filesystem::remove(port_file());
  Process listening(server(port, "answers", address));
  ASSERT_EQ(port_of_server(), port);
  Process other(request({"sleep", "60"}, address));
  EXPECT_NE(look_at_hang(other.remember_tree()).ras.reason, "");
  ASSERT_EQ(::kill(listening.id(), SIGSTOP), 0);
  ASSERT_TRUE(comes_true([&] { return read_process(listening.id())->state == 'T'; }, 10.0));
  const HangReport stopped = look_at_hang(listening.remember_tree());
  EXPECT_THAT(stopped.ras.reason, testing::HasSubstr(fmt::format("pid {}", listening.id())));
  ASSERT_EQ(::kill(listening.id(), SIGCONT), 0);
  const HangReport report = look_at_hang(trees_of({&other, &listening}));
  EXPECT_EQ(report.ras.reason, "");
  EXPECT_EQ(report.ras.behind.size(), 1);
}

}  // namespace
}  // namespace linkgain::test
