#include <utility>

#include "programs.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

/// The worker's protocol, spoken without the coordinator.
class Serve : public MpiTest {
 protected:
  static ProgramRequest request(int ranks) {
    ProgramRequest serve = bench(ranks, {"--serve"});
    serve.has_input = true;
    return serve;
  }

  static Json ask(Program& job, const std::string& line) {
    job.send(line);
    return Json::parse(job.read_line());
  }

  static Json open(Program& job, const std::string& name) {
    return ask(job, Json{{"command", "open"}, {"case", name}, {"sample_target_s", 0.001}}.dump());
  }
};

TEST_F(Serve, AnswersEveryCommandInOrder) {
  Program job(request(4));
  const Json hello = ask(job, R"({"command":"hello"})");
  EXPECT_EQ(hello.at("reply"), "hello");
  EXPECT_EQ(hello.at("version"), 1);
  EXPECT_THAT(hello.at("machine").at("ranks"), SizeIs(4));

  const Json opened = open(job, "send_recv/int32/4KiB/np4/pair=2-3");
  ASSERT_EQ(opened.at("reply"), "open") << opened;
  const int handle = opened.at("handle");
  EXPECT_GE(opened.at("execution").at("operations_per_sample").get<int>(), 1);

  const Json run = ask(job, Json{{"command", "run"}, {"handle", handle}, {"operations", 5}}.dump());
  ASSERT_THAT(run.at("seconds"), SizeIs(4));
  EXPECT_TRUE(run.at("seconds")[0].is_null()) << "takes no part";
  EXPECT_GT(run.at("seconds")[2].get<double>(), 0.0);
  EXPECT_GT(run.at("seconds")[3].get<double>(), 0.0);

  const Json verify = ask(job, Json{{"command", "verify"}, {"handle", handle}}.dump());
  EXPECT_EQ(verify.at("verification").at("checked"), 8 * 1024)
      << "one rank receives 4 KiB in each of eight operations";
  EXPECT_EQ(verify.at("verification").at("wrong"), 0);

  EXPECT_EQ(ask(job, Json{{"command", "close"}, {"handle", handle}}.dump()).at("reply"), "done");
  EXPECT_EQ(ask(job, R"({"command":"shutdown"})").at("reply"), "done");
  const Outcome outcome = with_status(0, job.finish(30.0));
  EXPECT_THAT(lines_of(outcome.output), SizeIs(6));
}

TEST_F(Serve, RanksWithoutGpusHaveNoLinksToRead) {
  Program job(request(2));
  const Json counters = ask(job, R"({"command":"counters"})");
  ASSERT_THAT(counters.at("ranks"), SizeIs(2)) << counters;
  EXPECT_TRUE(counters.at("ranks")[1].at("nvlink_sent").is_null()) << counters;
  const Json copies = ask(job, R"({"command":"host_copy"})");
  EXPECT_EQ(copies.at("ranks"), Json::parse("[null,null]")) << copies;
}

TEST_F(Serve, LivesOnAfterWhatItCannotDo) {
  Program job(request(2));
  const Words cannot{
      "garbage",
      "",
      "\xff\xfe",
      "[1,2]",
      R"({"command":"dance"})",
      R"({"command":"run","handle":1})",
      R"({"command":"run","handle":7,"operations":3})",
      R"({"command":"verify","handle":7})",
      R"({"command":"close","handle":7})",
      R"({"command":"open","case":"collect/float32/64B/np2","sample_target_s":1})",
      R"({"command":"open","case":"gather/float32/4B/np2","sample_target_s":1})",
      R"({"command":"open","case":"all_reduce/float32/sum/64B/np2/kernel","sample_target_s":1})",
      R"({"command":"open","case":"all_reduce/float32/sum/64B/np3","sample_target_s":1})",
      R"({"command":"open","case":"all_reduce/float16/sum/64B/np2","sample_target_s":1})",
      R"({"command":"open","sample_target_s":1,"case":")" + std::string(3000, 'x') + "\"}"};
  Situations replies;
  for (const std::string& line : cannot) {
    const Json reply = ask(job, line);
    EXPECT_EQ(reply.at("reply"), "error") << line;
    EXPECT_GT(reply.at("exit_code"), 0) << line;
    const bool printable = std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; });
    const std::string shown = printable ? line.substr(0, 90) : "bytes that are no text";
    replies.add("'" + shown + "'", reply.at("text"));
  }
  expect_golden(replies.text(), "serve_errors.txt");
  EXPECT_EQ(ask(job, R"({"command":"hello"})").at("reply"), "hello");
  EXPECT_EQ(job.finish(30.0).status, 0);
}

TEST_F(Serve, RefusesABatchThatIsNone) {
  Program job(request(2));
  const int handle = open(job, "all_reduce/float32/sum/64B/np2").at("handle");
  for (const auto& [operations, why] :
       {std::pair{0, "no multiple"}, std::pair{-3, "-3 is less than 0"}}) {
    const Json reply =
        ask(job, Json{{"command", "run"}, {"handle", handle}, {"operations", operations}}.dump());
    EXPECT_THAT(reply.at("text"), HasSubstr(why)) << reply;
  }
  EXPECT_EQ(
      ask(job, Json{{"command", "run"}, {"handle", handle}, {"operations", 1}}.dump()).at("reply"),
      "run");
}

TEST_F(Serve, EndOfInputEndsAllRanksInPeace) {
  for (const std::string before : {"", R"({"command":"hello"})"}) {
    Program job(request(2));
    if (!before.empty()) ask(job, before);
    const Outcome outcome = job.finish();
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_TRUE(comes_true([&] { return job.processes().empty(); }, 20.0));
  }
}

TEST_F(Serve, OneRankIsRefusedInTheProtocol) {
  Program job(request(1));
  const Json reply = ask(job, R"({"command":"hello"})");
  EXPECT_EQ(reply.at("reply"), "error");
  EXPECT_EQ(reply.at("exit_code"), 2);
  EXPECT_EQ(job.finish(30.0).status, 0);
}

TEST_F(Serve, KeepsLibrariesOutOfTheProtocol) {
  ProgramRequest talkative = request(2);
  talkative.environment["OMPI_MCA_btl_base_verbose"] = "100";
  talkative.environment["OMPI_MCA_mca_base_verbose"] = "stdout";
  Program job(talkative);
  EXPECT_EQ(ask(job, R"({"command":"hello"})").at("reply"), "hello");
  const Outcome outcome = job.finish(30.0);
  EXPECT_THAT(lines_of(outcome.output), SizeIs(1));
  EXPECT_THAT(outcome.error, HasSubstr("mca: base: components_register")) << "nothing was said";
}

TEST_F(Serve, IdleRanksUseNextToNoProcessorTime) {
  Program job(request(4));
  ask(job, R"({"command":"hello"})");
  const auto ticks = [&] {
    double sum = 0.0;
    for (const pid_t id : job.processes()) sum += processor_seconds(id);
    return sum;
  };
  const double before = ticks();
  pause_for(2.0);
  EXPECT_LT((ticks() - before) / 2.0, 0.05) << "of one core";
}

}  // namespace
}  // namespace linkgain::test
