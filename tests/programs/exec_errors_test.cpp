#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "exec_program.hpp"

/// What `linkgain exec` says of errors on links and of GPUs that fail, on those of the NVML double.
namespace linkgain::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class ExecWithErrors : public ExecProgram {
 protected:
  Outcome run_on(const std::string& scenario, const std::string& script) {
    ProgramRequest made = request({"--variant", "p2p"}, {"sh", "-c", script});
    made.environment["LINKGAIN_NVML_LIBRARY"] = NVML_DOUBLE;
    made.environment["LINKGAIN_NVML_SCENARIO"] = scenario;
    made.environment["LINKGAIN_NVML_ERRORS"] = (folder_.path() / "errors").string();
    return run_program(made);
  }
  std::string report() const { return read_text(folder_.path() / "out" / "report.md"); }
};

TEST_F(ExecWithErrors, NamesLinkAndCounter) {
  const Outcome outcome =
      run_on("h200x2", "[ {round} = 1 ] || echo 0 3 crc_errors 12 > errors; true");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr("12 CRC errors"));
  EXPECT_THAT(warning_codes(), Contains("link-errors"));
  const Json errors = record().at("link_errors");
  EXPECT_EQ(errors.at("readings"), 3);
  ASSERT_THAT(errors.at("grown"), SizeIs(1));
  EXPECT_EQ(errors.at("grown")[0].at("gpu"), 0);
  EXPECT_EQ(errors.at("grown")[0].at("link"), 3);
  EXPECT_EQ(errors.at("grown")[0].at("growth"), 12);
  EXPECT_THAT(report(), HasSubstr("Link errors: 12 CRC"));
}

TEST_F(ExecWithErrors, OfLinksWithoutAnyAreNone) {
  const Outcome outcome = run_on("h200x2", "true");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(record().at("link_errors").at("counters"), Not(IsEmpty()));
  EXPECT_THAT(record().at("link_errors").at("grown"), IsEmpty());
  EXPECT_THAT(warning_codes(), Not(Contains("link-errors")));
  EXPECT_THAT(report(), HasSubstr("Link errors: none"));
}

TEST_F(ExecWithErrors, SaysOfAFailureWhatTheDriverSays) {
  const Outcome outcome = run_on("lost-gpu", "echo 'CUDA error: unknown error'; exit 3");
  EXPECT_EQ(outcome.status, 6) << outcome.error;
  const Json failed = warning("run-failed");
  ASSERT_TRUE(failed.is_object());
  EXPECT_THAT(failed.at("text"), HasSubstr("\nGPU 1 does"));
  EXPECT_THAT(failed.at("advice"), HasSubstr("999"));
  EXPECT_THAT(report(), HasSubstr("GPU 1 does"));
}

}  // namespace
}  // namespace linkgain::test
