#include <csignal>

#include "programs.hpp"

/// Signals on real GPUs, where NVIDIA's library has started threads.
namespace linkgain::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class SignalOnGpus : public MpiTest, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    if (IsSkipped()) return;
    ProgramRequest list;
    list.arguments = {"nvidia-smi", "-L"};
    if (!is_on_path("nvidia-smi")) GTEST_SKIP() << "no nvidia-smi on PATH";
    const Outcome gpus = run_program(list);
    if (gpus.status != 0 || lines_of(gpus.output).size() < 2) GTEST_SKIP() << "needs two GPUs";
    ProgramRequest version;
    version.arguments = {LINKGAIN, "--version"};
    if (run_program(version).output.find("nccl+mpi") == std::string::npos) {
      GTEST_SKIP() << "built without the nccl backend";
    }
  }

  ScratchFolder folder_;
};

TEST_P(SignalOnGpus, KeepsRecordAndReport) {
  Program program(linkgain(
      folder_, {"run", "--backend", "nccl", "--np", "2", "--out", "out", "--only", "all_reduce",
                "--sizes", "1M,2M,4M,8M,16M", "--ci-width", "0.0001", "--budget", "60"}));
  ASSERT_TRUE(comes_true([&] { return program.error().find("[  1/") != std::string::npos; }, 120.0))
      << program.error();
  program.signal(GetParam());
  const Outcome outcome = with_status(128 + GetParam(), program.finish(30.0));
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
  const auto report = folder_ / "out" / "report.md";
  ASSERT_TRUE(std::filesystem::exists(report)) << outcome.error;
  EXPECT_THAT(read_text(report), HasSubstr("1 MiB"));
  const Json record = read_record(folder_);
  EXPECT_EQ(record.at("status"), "interrupted");
  EXPECT_EQ(record.at("exit_code"), 128 + GetParam());
  EXPECT_GT(record.at("cases").back().at("variants")[0].at("busbw_gb_per_s"), 0.0);
}

INSTANTIATE_TEST_SUITE_P(Signals, SignalOnGpus, testing::Values(SIGINT, SIGTERM, SIGHUP));

}  // namespace
}  // namespace linkgain::test
