#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "exec_program.hpp"

/// Commands that are not what `linkgain exec` can measure.
namespace linkgain::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ExecCommand : public ExecProgram {};

TEST_F(ExecCommand, SaysThatTheCommandDoesNotGetItsInput) {
  std::ofstream(folder_.path() / "list") << "one\n";
  ProgramRequest made = request({"--variant", "p2p", "--rounds", "1"}, {"wc", "-l"});
  made.arguments.insert(made.arguments.begin(), {"sh", "-c", "\"$0\" \"$@\" < list"});
  const Outcome outcome = run_program(made);
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(log("p2p-1"), "0\n");
  EXPECT_THAT(warning_codes(), Contains("exec-input"));
  run({"--variant", "p2p", "--rounds", "1"}, {"true"});
  EXPECT_THAT(warning_codes(), Not(Contains("exec-input")));
}

TEST_F(ExecCommand, NamesTheInterpreterThatAScriptLacks) {
  const auto said_of = [&](const std::string& first_line) {
    write_script("train.py", first_line + "\n");
    const Outcome outcome = run({}, {"./train.py"});
    EXPECT_EQ(outcome.status, 2);
    return outcome.error;
  };
  EXPECT_THAT(said_of("#! /usr/bin/pythonX -u"), HasSubstr("'/usr/bin/pythonX'"));
  EXPECT_THAT(said_of("#!/bin/sh\r"), HasSubstr("Windows"));
  EXPECT_FALSE(exists(folder_.path() / "out"));
}

TEST_F(ExecCommand, EndsWhatAProgramLeavesBehind) {
  write_script("daemon",
               "#!/bin/sh\n(setsid sleep 1000 &)\n"
               "setsid env -i sleep 1000 &\necho $! > unmarked\nsleep 0.3\n");
  Program program(request({"--variant", "p2p", "--rounds", "1"}, {"./daemon"}));
  const Outcome outcome = program.finish(60.0);
  EXPECT_EQ(outcome.status, 6) << outcome.error;
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
  EXPECT_NE(::kill(std::stoi(read_text(folder_.path() / "unmarked")), SIGKILL), 0) << "left behind";
  EXPECT_THAT(outcome.output, HasSubstr("2 processes"));
}

// It would be three times as fast as one that waits for its work.
TEST_F(ExecCommand, ComparesNoVariantThatPutsItsWorkIntoTheBackground) {
  const Outcome outcome =
      run({"--rounds", "3", "--variant", "a:IN=fore", "--variant", "b:IN=back"},
          {"sh", "-c", "[ $IN = back ] && sleep 0.3 & [ $IN = back ] || sleep 0.1"});
  EXPECT_EQ(outcome.status, 6) << outcome.error;
  EXPECT_THAT(outcome.output, HasSubstr("left 1 process"));
  EXPECT_TRUE(case_named("exec/time").at("variants")[1].at("time_s").is_null());
  EXPECT_THAT(outcome.output, Not(HasSubstr("slower")));
  EXPECT_THAT(outcome.output, Not(HasSubstr("less time")));
}

}  // namespace
}  // namespace linkgain::test
