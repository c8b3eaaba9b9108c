#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "linkgain/runtime/watchdog.hpp"
#include "nccl/api.hpp"
#include "support/program.hpp"
#include "worker/runtime/steady_backend.hpp"

/// NCCL finds out, while ranks wait, that an operation cannot end: by the double of NCCL, as this
/// needs no GPU. The test is also the program that mpirun starts for it.
namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kRecord = "LINKGAIN_NCCL_DOUBLE_RECORD";

class FailingBackend : public SteadyBackend {
 public:
  explicit FailingBackend(const Session& session) : SteadyBackend(session) {
    watched_.watch(reinterpret_cast<ncclComm_t>(this));
  }

 private:
  std::optional<std::string> do_failure() const override { return watched_.failure(); }
  void do_abort() noexcept override { watched_.abort(); }

  WatchedCommunicator watched_;
};

void leave_a_line(int) {
  constexpr std::string_view kLine = "SIGTERM\n";
  const int file = ::open(std::getenv(kRecord), O_WRONLY | O_APPEND);
  [[maybe_unused]] const ssize_t written = ::write(file, kLine.data(), kLine.size());
  ::_exit(0);
}

/// Lets rank 1 wait for its operation, and rank 0 for rank 1.
int be_a_rank(int argc, char** argv) {
  Session session(argc, argv);
  std::signal(SIGTERM, leave_a_line);
  Watchdog watchdog(session, {});
  const Watchdog::Command command(watchdog, "an operation");
  FailingBackend backend(session);
  std::optional<Watchdog::Guard> guard;
  while (session.rank() == 1) {
    if (!guard) guard.emplace(watchdog, backend);
    ::pause();
  }
  session.barrier();
  return 0;
}

ProgramRequest two_ranks(const std::filesystem::path& record) {
  ProgramRequest request;
  request.arguments = {"mpirun", "-np", "2", "--bind-to", "none", "--oversubscribe"};
  if (::geteuid() == 0) request.arguments.emplace_back("--allow-run-as-root");
  request.arguments.push_back(std::filesystem::canonical("/proc/self/exe"));
  request.arguments.emplace_back("--rank");
  request.environment = {{"LINKGAIN_NCCL", NCCL_DOUBLE},
                         {"LINKGAIN_NCCL_DOUBLE_FAILS_AFTER", "0.5"},
                         {kRecord, record.string()}};
  return request;
}

/// Waits for the ranks alone, as mpirun may hang when a rank left without MPI_Finalize.
TEST(NcclFailure, WhileARankWaitsIsToldAndAbortedBeforeOthersAreEnded) {
  if (!is_on_path("mpirun")) GTEST_SKIP() << "no mpirun on PATH";
  const ScratchFolder folder;
  const std::filesystem::path record = folder / "record";
  std::ofstream(record).flush();
  const Program program(two_ranks(record));
  const auto told = [&] { return program.error().find("Exit code:    6") != std::string::npos; };
  EXPECT_TRUE(comes_true(told, 60.0)) << program.error();
  const auto ended = [&] { return read_text(record).ends_with("SIGTERM\n"); };
  EXPECT_TRUE(comes_true(ended, 60.0)) << "rank 0";
  EXPECT_THAT(program.error(), HasSubstr("linkgain-bench: rank 1: NCCL: ncclRemoteError"));
  EXPECT_THAT(lines_of(read_text(record)), ElementsAre("ncclCommAbort", "SIGTERM"));
}

}  // namespace
}  // namespace linkgain::test

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--rank") {
    return linkgain::test::be_a_rank(argc, argv);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
