#include "linkgain/jobs/job.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;

constexpr Seconds kDeadline{3.0};

/// Answers every line with the same text and keeps what it was sent.
class CannedJob : public Job {
 public:
  explicit CannedJob(std::string reply) : reply_(std::move(reply)) {}
  explicit CannedJob(const protocol::Reply& reply, std::optional<int> ranks = std::nullopt)
      : Job(ranks), reply_(protocol::encode(reply)) {}

  const std::vector<std::string>& sent() const { return sent_; }
  Seconds last_deadline() const { return deadline_; }
  std::optional<Seconds> finish_deadline() const { return finish_deadline_; }

 private:
  std::string do_exchange(const std::string& line, Seconds deadline) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    sent_.push_back(line);
    deadline_ = deadline;
    return reply_;
  }
  void do_finish(Seconds deadline) override { finish_deadline_ = deadline; }

  std::string reply_;
  std::vector<std::string> sent_;
  Seconds deadline_{};
  std::optional<Seconds> finish_deadline_;
};

protocol::Command last_command(const CannedJob& job) {
  return protocol::decode_command(job.sent().back());
}

TEST(Job, HelloTellsTheBackend) {
  protocol::HelloReply reply;
  reply.backend = BackendKind::mpi;
  CannedJob job(reply);
  EXPECT_EQ(job.hello(kDeadline).backend, BackendKind::mpi);
  EXPECT_TRUE(std::holds_alternative<protocol::Hello>(last_command(job)));
  EXPECT_EQ(job.last_deadline(), kDeadline);
}

TEST(Job, AnotherProtocolVersionIsNoPartner) {
  protocol::HelloReply reply;
  reply.version = protocol::kVersion + 1;
  reply.backend = BackendKind::mpi;
  CannedJob job(reply);
  EXPECT_THROW(job.hello(kDeadline), JobLost);
}

TEST(Job, OpenSendsTheCaseByName) {
  CannedJob job(protocol::OpenReply{.handle = 7,
                                    .execution = {.operations_per_sample = 12},
                                    .per_operation = Seconds{0.25},
                                    .plan = std::nullopt,
                                    .plan_cost = {}});
  Case c;
  c.size = Bytes{1024};
  const protocol::OpenReply reply = job.open({case_name(c), Seconds{0.01}, true}, kDeadline);
  EXPECT_EQ(reply.handle, 7);
  EXPECT_EQ(reply.execution.operations_per_sample, 12);
  EXPECT_EQ(reply.per_operation, Seconds{0.25});
  const auto sent = std::get<protocol::Open>(last_command(job));
  EXPECT_EQ(sent.case_name, case_name(c));
  EXPECT_EQ(sent.sample_target, Seconds{0.01});
  EXPECT_TRUE(sent.ask_plan);
}

TEST(Job, RunGivesEveryRanksTime) {
  CannedJob job(
      protocol::RunReply{.times = {Seconds{0.5}, std::nullopt, Seconds{0.25}}, .health = {}});
  EXPECT_THAT(job.run({7, 100}, kDeadline).times,
              testing::ElementsAre(Seconds{0.5}, std::nullopt, Seconds{0.25}));
  const auto sent = std::get<protocol::Run>(last_command(job));
  EXPECT_EQ(sent.handle, 7);
  EXPECT_EQ(sent.operations, 100);
}

TEST(Job, VerifyGivesTheFindings) {
  protocol::VerifyReply reply;
  reply.verification.checked = 10;
  reply.verification.wrong = 2;
  CannedJob job(reply);
  EXPECT_EQ(job.verify(3, kDeadline).wrong, 2);
  EXPECT_EQ(std::get<protocol::Verify>(last_command(job)).handle, 3);
}

TEST(Job, CloseNamesTheHandle) {
  CannedJob job(protocol::DoneReply{});
  job.close(3, kDeadline);
  EXPECT_EQ(std::get<protocol::Close>(last_command(job)).handle, 3);
  EXPECT_FALSE(job.finish_deadline());
}

TEST(Job, ShutdownFinishesWithinWhatIsLeftOfTheDeadline) {
  CannedJob job(protocol::DoneReply{});
  job.shut_down(kDeadline);
  EXPECT_TRUE(std::holds_alternative<protocol::Shutdown>(last_command(job)));
  ASSERT_TRUE(job.finish_deadline());
  EXPECT_LT(job.finish_deadline()->value, kDeadline.value - 0.01);
  EXPECT_GT(job.finish_deadline()->value, 0.0);
}

TEST(Job, ARefusalCarriesTextAdviceAndExitCode) {
  CannedJob job(protocol::ErrorReply{"no such case", "try another", 3});
  try {
    job.open({.case_name = case_name(Case{})}, kDeadline);
    FAIL() << "not refused";
  } catch (const JobRefused& refused) {
    EXPECT_STREQ(refused.what(), "no such case");
    EXPECT_EQ(refused.advice(), "try another");
    EXPECT_EQ(refused.exit_code(), ExitCode::machine_cannot);
  }
}

TEST(Job, ARefusalForAnOldDriverSaysToUpdateIt) {
  CannedJob job(
      protocol::ErrorReply{"rank 0 has no GPU: 0 are there (CUDA driver version is "
                           "insufficient for CUDA runtime version)",
                           "start no more ranks (-g) than there are GPUs", 3});
  try {
    job.hello(kDeadline);
    FAIL() << "not refused";
  } catch (const JobRefused& refused) {
    EXPECT_THAT(refused.advice(), testing::StartsWith("update the driver"));
  }
}

TEST(Job, ARefusalWithAnUnknownExitCodeIsStillAProblem) {
  for (const int status : {-1, 0, 1, 9, 137}) {
    CannedJob job(protocol::ErrorReply{"no", "", status});
    try {
      job.close(1, kDeadline);
      FAIL() << "not refused";
    } catch (const JobRefused& refused) {
      EXPECT_EQ(refused.exit_code(), ExitCode::problem_found) << status;
    }
  }
}

TEST(Job, AReplyToAnotherCommandLosesTheJob) {
  CannedJob job(protocol::DoneReply{});
  try {
    job.run({1, 1}, kDeadline);
    FAIL() << "accepted";
  } catch (const JobLost& lost) {
    EXPECT_THAT(lost.what(), HasSubstr("'run'"));
    EXPECT_EQ(lost.exit_code(), ExitCode::incomplete);
  }
}

TEST(Job, RefusesOrIsLostWhateverIsAsked) {
  using Ask = void (*)(Job & job);
  const std::vector<Ask> for_values{
      [](Job& job) { job.hello(kDeadline); },
      [](Job& job) { job.open({.case_name = case_name(Case{})}, kDeadline); },
      [](Job& job) {
        job.run({1, 1}, kDeadline);
      },
      [](Job& job) { job.verify(1, kDeadline); },
      [](Job& job) { job.counters(kDeadline); },
      [](Job& job) { job.host_copy(kDeadline); }};
  const std::vector<Ask> for_an_end{[](Job& job) { job.close(1, kDeadline); },
                                    [](Job& job) { job.ask_to_end(kDeadline); }};
  for (const std::vector<Ask>& asks : {for_values, for_an_end}) {
    for (const Ask ask : asks) {
      CannedJob refusing(protocol::ErrorReply{"no", "", 3});
      EXPECT_THROW(ask(refusing), JobRefused) << refusing.sent().back();
      CannedJob garbled{std::string("{")};
      EXPECT_THROW(ask(garbled), JobLost) << garbled.sent().back();
    }
  }
  for (const Ask ask : for_values) {
    CannedJob done(protocol::DoneReply{});
    EXPECT_THROW(ask(done), JobLost) << done.sent().back();
  }
  for (const Ask ask : for_an_end) {
    CannedJob other(protocol::VerifyReply{});
    EXPECT_THROW(ask(other), JobLost) << other.sent().back();
  }
}

TEST(Job, AReplyThatTellsOfOtherRanksLosesTheJob) {
  protocol::HelloReply hello;
  hello.machine.ranks.resize(2);
  hello.machine.ranks[1].rank = 1;
  EXPECT_EQ(CannedJob(hello, 2).hello(kDeadline).machine.ranks.size(), 2U);
  EXPECT_THROW(CannedJob(hello, 3).hello(kDeadline), JobLost);
  const protocol::RunReply run{.times = {Seconds{0.5}, Seconds{0.25}}, .health = {{}, {}}};
  EXPECT_EQ(CannedJob(run, 2).run({1, 1}, kDeadline).times.size(), 2U);
  EXPECT_THROW(CannedJob(run, 1).run({1, 1}, kDeadline), JobLost);
}

TEST(Job, AReplyThatCannotBeLosesTheJob) {
  protocol::VerifyReply reply;
  reply.verification.checked = 10;
  reply.verification.wrong = -7;
  CannedJob job(reply);
  const std::string said = refusal_of<JobLost>([&] { job.verify(1, kDeadline); });
  EXPECT_THAT(said, HasSubstr("'verify'"));
  EXPECT_THAT(said, HasSubstr("[wrong]: -7 is less than 0"));
}

TEST(Job, GarbageLosesTheJob) {
  for (const char* text : {"", "hello", "{", "[]", "{\"reply\":\"unheard of\"}", "null"}) {
    CannedJob job{std::string(text)};
    EXPECT_THROW(job.verify(1, kDeadline), JobLost) << text;
    EXPECT_THROW(job.shut_down(kDeadline), JobLost) << text;
    EXPECT_FALSE(job.finish_deadline());
  }
}

}  // namespace
}  // namespace linkgain::test
