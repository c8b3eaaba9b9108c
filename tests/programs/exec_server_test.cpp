#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "exec_program.hpp"

/// `linkgain exec --server`.
namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class ExecServer : public ExecProgram {};

TEST_F(ExecServer, StartsAServerForEachRun) {
  write_script("server",
               "#!/bin/sh\n"
               "trap 'echo ended >> ended; exit 0' TERM\n"
               "echo ...; sleep 0.1; echo \"$1\" > port; printf 'ready at %s' \"$1\"\n"
               "while :; do sleep 0.05; done\n");
  write_script("client", "#!/bin/sh\necho \"answer: $(cat port)\"; rm port\n");
  Program program(request({"--server", "./server '1{round} {variant}'", "--ready", "ready at",
                           "--metric", "answer: ([0-9]+)"},
                          {"./client"}));
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(log("host-2"), "answer: 12 host\n");
  EXPECT_EQ(log("host-2.server"), "...\nready at 12 host");
  const Json runs = record().at("samples").at("case");
  EXPECT_EQ(static_cast<std::ptrdiff_t>(lines_of(read_text(folder_.path() / "ended")).size()),
            std::ranges::count(runs, Json(0)));
  EXPECT_GE(case_named("exec/start-up").at("variants")[0].at("time_s"), 0.1);
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
}

TEST_F(ExecServer, SaysWhatIsWrongWithAServer) {
  const auto fails = [&](const std::vector<std::string>& options, const std::string& why) {
    std::vector<std::string> all{"--ready", "up", "--variant", "p2p", "--rounds", "1"};
    all.insert(all.end(), options.begin(), options.end());
    Program program(request(all, {"sleep", "0.5"}));
    const Outcome outcome = program.finish(60.0);
    EXPECT_EQ(outcome.status, 6) << why;
    EXPECT_THAT(outcome.error, HasSubstr(why));
    EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
  };
  fails({"--server", "false"}, "exit status 1 before it was ready");
  fails({"--server", "sleep 1000", "--ready-timeout", "0.2"}, "not ready within 0.2 s");
  fails({"--server", "sh -c 'echo up; exit 4'"}, "exit status 4");
}

TEST_F(ExecServer, ThatFailsIsToldByItsLastLineAndItsLog) {
  for (const std::string said : {"loading", "ready"}) {
    const std::string server = "sh -c 'echo " + said + "; echo out of memory >&2; exit 1'";
    for (const std::string rounds : {"1", "2"}) {
      const Outcome outcome =
          run({"--variant", "p2p", "--rounds", rounds, "--server", server, "--ready", "ready"},
              {"sh", "-c", "echo answer; sleep 0.5"});
      EXPECT_EQ(outcome.status, 6);
      EXPECT_THAT(outcome.error, AllOf(HasSubstr("p2p-1.server.log"), HasSubstr("out of memory")));
      const Json failed = warning("run-failed");
      ASSERT_TRUE(failed.is_object());
      EXPECT_THAT(failed.at("text"), HasSubstr("out of memory"));
      EXPECT_THAT(failed.at("advice"), HasSubstr("runs/p2p-1.server.log"));
      EXPECT_EQ(log("p2p-1.server"), said + "\nout of memory\n");
    }
  }
}

TEST_F(ExecServer, ThatEndsUnderItsClientEndsTheRun) {
  const double start = now();
  Program program(request({"--variant", "p2p", "--rounds", "1", "--server",
                           "sh -c 'echo ready; sleep 0.2; exit 4'", "--ready", "ready"},
                          {"sleep", "1000"}));
  const Outcome outcome = program.finish(60.0);
  EXPECT_LT(now() - start, 10.0 * slowdown());
  EXPECT_EQ(outcome.status, 6);
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("exit status 4"), HasSubstr("before the client")));
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
}

TEST_F(ExecServer, ThatEndedIsToldOfWhereItsClientFailsAtOnce) {
  const Outcome outcome =
      run({"--server", "sh -c 'echo ready; echo no memory; touch gone; exit 4'", "--ready", "ready",
           "--variant", "p2p", "--rounds", "1"},
          {"sh", "-c", "while [ ! -e gone ]; do sleep 0.02; done; sleep 0.3; exit 7"});
  EXPECT_EQ(outcome.status, 6);
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("exit status 4"), HasSubstr("exit status 7"),
                                   HasSubstr("no memory")));
  EXPECT_THAT(outcome.error, HasSubstr("p2p-1.server.log"));
}

TEST_F(ExecServer, HasNoStartUpThatIsKnownWhereLinkgainWasStopped) {
  write_script("serve", "#!/bin/sh\ntouch begun; sleep 0.5; echo ready; sleep 1000\n");
  Program program(request(
      {"--server", "./serve", "--ready", "ready", "--variant", "p2p", "--rounds", "1"}, {"true"}));
  const Outcome outcome = finish_stopped(program, 2.5);
  EXPECT_EQ(outcome.status, 6);
  EXPECT_THAT(outcome.error, HasSubstr("linkgain itself"));
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
}

TEST_F(ExecServer, TellsOfAServerThatHangsAsOfItsClient) {
  const std::string server = "sh -c 'echo ready; sleep 1001; :'";
  const auto both = AllOf(HasSubstr("(sleep 1000)"), HasSubstr("(sleep 1001)"));
  const Outcome outcome = run({"--timeout", "0.5", "--variant", "p2p", "--rounds", "1", "--server",
                               server, "--ready", "ready"},
                              {"sleep", "1000"});
  EXPECT_EQ(outcome.status, 6);
  EXPECT_THAT(outcome.error, both);
  EXPECT_THAT(log("p2p-1"), both);
}

TEST_F(ExecServer, TellsWhatAServerDoesThatIsNotReadyInTime) {
  const Outcome outcome = run({"--ready-timeout", "0.5", "--variant", "p2p", "--rounds", "1",
                               "--server", "sleep 1001", "--ready", "up"},
                              {"true"});
  EXPECT_EQ(outcome.status, 6);
  EXPECT_THAT(outcome.error, HasSubstr("(sleep 1001)"));
  EXPECT_THAT(log("p2p-1.server"), HasSubstr("(sleep 1001)"));
}

}  // namespace
}  // namespace linkgain::test
