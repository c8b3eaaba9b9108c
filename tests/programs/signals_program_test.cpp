#include <sys/stat.h>

#include <csignal>
#include <fstream>

#include "programs.hpp"

/// Signals that come while a library has threads of its own, as NVIDIA's and its double have.
namespace linkgain::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGUSR1};

/// Tells whether it is in a system call that waits, as for a program or a reader.
bool is_asleep(pid_t id) {
  const std::string stat = read_text("/proc/" + std::to_string(id) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.compare(name_end + 2, 1, "S") == 0;
}

/// Lets it wait for something.
void expect_asleep(const Program& program) {
  ASSERT_TRUE(comes_true([&] { return !program.processes_named("linkgain").empty(); }, 10.0));
  pause_for(0.3);
  ASSERT_TRUE(comes_true([&] { return is_asleep(program.id()); }, 10.0));
}

class RunBesideNvml : public MpiTest, public testing::WithParamInterface<int> {};

TEST_P(RunBesideNvml, KeepsRecordAndReport) {
  const ScratchFolder folder;
  Program program(on_machine(
      "h200x2", run_request(folder, {"--only", "all_reduce", "--sizes", "64K,128K,256K,512K,1M",
                                     "--ci-width", "0.0001", "--budget", "60"})));
  ASSERT_TRUE(comes_to_say(program, "[  1/")) << program.error();
  program.signal(GetParam());
  const Outcome outcome = with_status(128 + GetParam(), program.finish(20.0));
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
  const auto report = folder / "out" / "report.md";
  ASSERT_TRUE(std::filesystem::exists(report)) << outcome.error;
  EXPECT_THAT(read_text(report), HasSubstr("64 KiB"));
  const Json record = read_record(folder);
  EXPECT_EQ(record.at("status"), "interrupted");
  EXPECT_EQ(record.at("exit_code"), 128 + GetParam());
  EXPECT_GT(record.at("cases").back().at("variants")[0].at("busbw_gb_per_s"), 0.0);
}

TEST_P(RunBesideNvml, IsReadyForThemBeforeTheLibraryIs) {
  const ScratchFolder folder;
  const auto gate = folder / "gate";
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  ProgramRequest request =
      on_machine("h200x2", run_request(folder, {"--only", "all_reduce", "--sizes", "1K"}));
  request.environment["LINKGAIN_NVML_GATE"] = gate;
  Program program(request);
  expect_asleep(program);
  program.signal(GetParam());
  std::ofstream(gate).put('x');
  const Outcome outcome = with_status(128 + GetParam(), program.finish(20.0));
  EXPECT_THAT(outcome.error, HasSubstr("nothing was measured"));
}

INSTANTIATE_TEST_SUITE_P(Signals, RunBesideNvml, testing::ValuesIn(kSignals));

class WaitingCommand : public testing::TestWithParam<int> {
 protected:
  /// Sends the signal once the command waits.
  void expect_end(const ProgramRequest& request) {
    Program program(request);
    expect_asleep(program);
    program.signal(GetParam());
    const Outcome outcome = program.finish(10.0);
    EXPECT_EQ(outcome.status, 128 + GetParam()) << request.arguments.at(1) << outcome.error;
    EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
  }

  ScratchFolder folder_;
};

TEST_P(WaitingCommand, ThatAsksProgramsEnds) {
  write_executable(folder_ / "mpirun", "#!/bin/sh\nexec sleep 100\n");
  ProgramRequest request = on_machine("h200x2", linkgain(folder_, {"doctor"}));
  request.environment["PATH"] = folder_.path().string() + ":/usr/bin:/bin";
  expect_end(request);
}

INSTANTIATE_TEST_SUITE_P(Signals, WaitingCommand, testing::ValuesIn(kSignals));

}  // namespace
}  // namespace linkgain::test
