#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec_program.hpp"

/// `linkgain exec --prepare` and `--cleanup`.
namespace linkgain::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class ExecShell : public ExecProgram, public testing::WithParamInterface<std::string> {};

TEST_P(ExecShell, IsEndedWithAllItStartedWhereItTakesTooLong) {
  Program program(request({GetParam(), "echo begun >> begun; setsid sleep 1000 & sleep 1000",
                           "--timeout", "1", "--variant", "p2p", "--rounds", "1"},
                          {"true"}));
  const Outcome outcome = program.finish(120.0);
  EXPECT_EQ(outcome.status, 6) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr(GetParam() + " had not"));
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
  EXPECT_EQ(read_text(folder_.path() / "begun"), "begun\n");
  EXPECT_THAT(warning_codes(), Contains("run-failed"));
}

INSTANTIATE_TEST_SUITE_P(Options, ExecShell, testing::Values("--prepare", "--cleanup"));

}  // namespace
}  // namespace linkgain::test
