#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "linkgain/jobs/job.hpp"
#include "linkgain/protocol/protocol.hpp"
#include "support/program.hpp"
#include "support/scoped_environment.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string hello_line() {
  protocol::HelloReply reply;
  reply.backend = BackendKind::mpi;
  reply.machine.software.linkgain = "0.2.0";
  reply.machine.software.nccl_library = "2.28.9";
  return protocol::encode(protocol::Reply{reply});
}

TEST(ProgramInquiry, ReadsTheSoftwareOfADescription) {
  const Reading<Software> software = software_in(hello_line());
  ASSERT_TRUE(software.measured()) << software.reason();
  EXPECT_EQ(software.value().linkgain, "0.2.0");
  EXPECT_EQ(software.value().nccl_library, "2.28.9");
  EXPECT_FALSE(software.value().cuda_runtime);
}

TEST(ProgramInquiry, SaysWhyThereIsNoDescription) {
  EXPECT_EQ(software_in(Missing{"it is gone"}).reason(), "it is gone");
  EXPECT_THAT(software_in(std::string("Usage: linkgain-bench")).reason(),
              HasSubstr("of another version"));
  EXPECT_THAT(software_in(protocol::encode(protocol::Reply{protocol::DoneReply{}})).reason(),
              HasSubstr("something else"));
}

/// A folder on PATH whose linkgain-bench is this script.
class WorkerScript : public ::testing::Test {
 protected:
  void write(const std::string& text) const {
    const auto worker = folder_ / "linkgain-bench";
    std::ofstream(worker) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(worker, std::filesystem::perms::owner_all);
  }

  Environment environment() const { return {{"PATH", "/bin:/usr/bin"}}; }

  const SignalWatch watch_;

 private:
  ScratchFolder folder_;
  ScopedEnvironment path_{"PATH", folder_.path().string()};
};

TEST_F(WorkerScript, ItsFirstLineIsTheAnswer) {
  write("echo \"asked: $1 $2\"; echo more");
  ProgramInquiry worker(worker_program(), {"--load", "5"}, environment());
  EXPECT_EQ(worker.line(Seconds{10.0}, watch_), Reading<std::string>("asked: --load 5"));
  EXPECT_EQ(worker.ended_well(Seconds{10.0}, watch_), Reading<bool>(true));
}

constexpr const char* kNoCuda = "no CUDA (exit status 3)";

TEST_F(WorkerScript, ItsLastWordsAreTheReason) {
  write("echo first >&2; echo 'no CUDA' >&2; exit 3");
  ProgramInquiry worker(worker_program(), {"--load", "5"}, environment());
  EXPECT_EQ(worker.ended_well(Seconds{10.0}, watch_).reason(), kNoCuda);
  EXPECT_EQ(worker.line(Seconds{10.0}, watch_).reason(), kNoCuda);
}

TEST_F(WorkerScript, ItsOwnErrorGoesBeforeItsAdvice) {
  write("printf 'linkgain-bench: no CUDA\\n                install it\\n' >&2; exit 3");
  ProgramInquiry worker(worker_program(), {"--load", "5"}, environment());
  EXPECT_EQ(worker.ended_well(Seconds{10.0}, watch_).reason(), kNoCuda);
}

TEST_F(WorkerScript, WithoutWordsHowItEndedIs) {
  write("kill -9 $$");
  ProgramInquiry worker(worker_program(), {"--describe"}, environment());
  EXPECT_EQ(worker.line(Seconds{10.0}, watch_).reason(), "linkgain-bench: SIGKILL");
}

TEST_F(WorkerScript, OneThatIsSilentIsLeft) {
  write("exec sleep 60");
  ProgramInquiry worker(worker_program(), {"--describe"}, environment());
  EXPECT_THAT(worker.line(Seconds{0.1}, watch_).reason(), HasSubstr("0.1 s"));
  const Reading<bool> end = worker.ended_well(Seconds{0.0}, watch_);
  EXPECT_FALSE(end.measured());
  EXPECT_EQ(end.reason(), "") << "it still runs";
}

TEST_F(WorkerScript, AllOfItsOutput) {
  write("echo first; echo second >&2; printf third; exit 3");
  ProgramInquiry worker(worker_program(), {"--version"}, environment());
  EXPECT_EQ(worker.output(Seconds{10.0}, watch_), Reading<std::string>("first\nthird"));
}

TEST_F(WorkerScript, OutputThatDoesNotEndIsNotWaitedFor) {
  write("echo first; exec sleep 60");
  ProgramInquiry worker(worker_program(), {"--version"}, environment());
  EXPECT_THAT(worker.output(Seconds{0.2}, watch_).reason(),
              AllOf(HasSubstr("linkgain-bench"), HasSubstr("0.2 s")));
}

TEST_F(WorkerScript, OutputWithoutEndIsNotReadForEver) {
  write("exec yes");
  ProgramInquiry worker(worker_program(), {"--version"}, environment());
  EXPECT_FALSE(worker.output(Seconds{0.0}, watch_).measured());
}

TEST_F(WorkerScript, OutputThatWaitsIsReadWhenTimeIsOver) {
  write("echo first; echo second");
  ProgramInquiry worker(worker_program(), {"--version"}, environment());
  EXPECT_TRUE(worker.ended_well(Seconds{10.0}, watch_).measured());
  EXPECT_EQ(worker.output(Seconds{0.0}, watch_), Reading<std::string>("first\nsecond\n"));
}

TEST_F(WorkerScript, SilenceWithoutTimeHasNoNumber) {
  write("exec sleep 60");
  ProgramInquiry worker(worker_program(), {"--version"}, environment());
  EXPECT_THAT(worker.output(Seconds{0.0}, watch_).reason(),
              AllOf(HasSubstr("linkgain-bench"), Not(ContainsRegex("[0-9]"))));
}

TEST_F(WorkerScript, NoOutputSaysWhy) {
  write("echo 'refused' >&2; exit 1");
  ProgramInquiry worker(worker_program(), {"--version"}, environment());
  EXPECT_EQ(worker.output(Seconds{10.0}, watch_).reason(), "refused (exit status 1)");
}

TEST_F(WorkerScript, OneThatIsNotThereIsNotStarted) {
  ProgramInquiry worker(worker_program(), {"--describe"}, environment());
  const std::string reason = worker.line(Seconds{1.0}, watch_).reason();
  EXPECT_THAT(reason, HasSubstr("linkgain-bench"));
  EXPECT_EQ(worker.output(Seconds{1.0}, watch_).reason(), reason);
  EXPECT_EQ(worker.ended_well(Seconds{1.0}, watch_).reason(), reason);
}

}  // namespace
}  // namespace linkgain::test
