#include "harmed_run.hpp"

/// What a rank does wrong, at every place of a job's life: how the run ends, and what it says.
namespace linkgain::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct Planted {
  const char* fault;  ///< of LINKGAIN_TEST_FAULT
  int status;
  const char* said;  ///< in the warning, beside the variant's name; empty: there is none
  const char* said_locally = said;  ///< the same where linkgain-bench starts the ranks
};

/// Only who cannot say so himself is not named by his rank.
constexpr Planted kPlanted[] = {
    {"hang@1/launch", 6, "before its first case: rank 1 has not come: it has not begun"},
    {"stop@1/launch", 6, "before its first case: rank 1 has not come: a signal"},
    {"die@1/start", 6, "signal 9", "rank 1 was ended by SIGKILL"},
    {"hang@1/start", 6, "rank 1 has not come"},
    {"die@0/connect", 6, "signal 9", "rank 0 was ended by SIGKILL"},
    {"stop@1/connect", 6, "rank 1 has not come: a signal has stopped it"},
    {"die@1/open", 6, "'open'"},
    {"hang@1/open", 6, "opening all_reduce/float32/sum/1KiB/np2"},
    {"hang@1/warm-up", 6, "opening all_reduce/float32/sum/1KiB/np2"},
    {"die@1:2/operation", 6, "'run'"},
    {"hang@1:2/operation", 6, "batch 2 of all_reduce/float32/sum/1KiB/np2"},
    {"stop@1:2", 6, "rank 1 has not come: a signal has stopped it"},
    {"garbage@0:2/reply", 6, "rank 0's reply to 'run' is not understood"},
    {"die@0:2/reply", 6, "'run'"},
    {"die@0/verify", 6, "'verify'"},
    {"stop@1/verify", 6, "rank 1 has not come: a signal has stopped it"},
    {"die@1/close", 6, "'close'"},
    {"hang@1/close", 6, "closing all_reduce/float32/sum/1KiB/np2"},
    {"late@1:2", 0, ""},
    {"late@1/end", 0, ""},
    // What was measured is complete then.
    {"die@1/end", 0, "last command", "rank 1 was ended by SIGKILL"},
    {"hang@1/end", 0, "ranks 0, 1"},
    {"stop@1/end", 0, "ranks 0, 1"},
};

class RunFault : public HarmedRun, public testing::WithParamInterface<std::tuple<By, Planted>> {
 protected:
  RunFault() : HarmedRun(std::get<By>(GetParam())) {}
};

TEST_P(RunFault, EndsInTimeAndKeepsTheOtherVariant) {
  const Planted& planted = std::get<Planted>(GetParam());
  Words arguments{"--only", "all_reduce", "--sizes",     "1K",        "--launches",
                  "1",      "--variant",  variant("ok"), "--variant", with_fault(planted.fault)};
  constexpr double kTimeout = 3.0;  // more than the 2 s of who is late
  const double slower = slowdown();
  Program program(request(joined(arguments, timeout_of(kTimeout, slower))));
  const double start = now();
  const Outcome outcome = program.finish(60.0);
  EXPECT_LT(now() - start, (kTimeout + 5.0 + 3.0) * std::max(slower, slowdown())) << "3 s of work";
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
  ASSERT_EQ(outcome.status, planted.status) << outcome.error;
  const Json record = read_record(folder_);
  EXPECT_GE(samples_of(record, 0), 4U) << "the other variant goes on";
  std::string warnings;
  for (const Json& warning : record.at("warnings")) {
    const std::string code = warning.at("code");
    if (!code.starts_with("job-")) continue;
    EXPECT_EQ(code, planted.status == 0 ? "job-ended-badly" : "job-lost");
    warnings += warning.at("text");
  }
  const std::string said = by_ == By::local ? planted.said_locally : planted.said;
  if (said.empty()) {
    EXPECT_THAT(warnings, IsEmpty());
    return;
  }
  EXPECT_THAT(warnings, HasSubstr("'faulty'"));
  EXPECT_THAT(warnings, HasSubstr(said));
  const std::string fault = planted.fault;
  if (planted.status == 0) {
    EXPECT_EQ(samples_of(record, 0), samples_of(record, 1)) << "all is measured";
    return;
  }
  const bool in_a_case =
      !fault.ends_with("/launch") && !fault.ends_with("/start") && !fault.ends_with("/connect");
  EXPECT_EQ(warnings.find("all-reduce of 1 KiB") != std::string::npos, in_a_case);
}

INSTANTIATE_TEST_SUITE_P(Planted, RunFault,
                         testing::Combine(testing::Values(By::mpirun, By::local),
                                          testing::ValuesIn(kPlanted)));

}  // namespace
}  // namespace linkgain::test
