#include <csignal>

#include "programs.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// `linkgain run --tune` on the mpi backend, for which NCCL's variables mean nothing.
class RunTune : public MpiTest {
 protected:
  static inline const Words kTuned{"--tune", "--sizes", "8", "--launches", "2"};

  ScratchFolder folder_;
};

TEST_F(RunTune, EndsWithAnAnswerThatTheReportFindsAgain) {
  const Outcome outcome = with_status(0, run_program(run_request(folder_, kTuned)));
  const Json record = read_record(folder_);
  EXPECT_EQ(record.at("status"), "complete");
  EXPECT_EQ(record.at("settings").at("race").at("confirming"), 2);
  const Json& variants = record.at("settings").at("variants");
  EXPECT_EQ(variants.front().at("name"), "default");
  EXPECT_GT(variants.size(), 10U);
  const Outcome again = with_status(0, run_linkgain(folder_, {"report", "out", "--json"}));
  EXPECT_EQ(Json::parse(again.output).at("answer"), record.at("answer"));
  EXPECT_THAT(read_text(folder_ / "out" / "report.md"), HasSubstr("## Tuning"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out" / "nccl_tuner.conf"))
      << "MPI has no algorithm of NCCL's";
}

TEST_F(RunTune, IsNotResumed) {
  {
    Program program(run_request(folder_, kTuned));
    ASSERT_TRUE(comes_to_say(program, "[  1/"));
    program.signal(SIGINT);
    const Outcome ended = program.finish(20.0);
    EXPECT_EQ(ended.status, 128 + SIGINT);
    EXPECT_THAT(ended.error, AllOf(HasSubstr("kept"), Not(HasSubstr("--resume"))));
  }
  EXPECT_THAT(run_linkgain(folder_, {"report", "out", "--format", "screen"}).output,
              HasSubstr("not finished"));
  const Outcome refused = with_status(2, run_linkgain(folder_, {"run", "--resume", "out"}));
  EXPECT_THAT(refused.error, HasSubstr("--tune"));
}

}  // namespace
}  // namespace linkgain::test
