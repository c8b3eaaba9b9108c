#include "linkgain/analysis/run_validity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "linkgain/hardware/nccl_environment.hpp"
#include "verdict_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Judge, FindsNothingWrongWithAGoodRecord) {
  Record record = good_record();
  EXPECT_EQ(judge(record), ExitCode::success);
  EXPECT_THAT(record.warnings, IsEmpty());
}

TEST(Judge, WrongDataNamesCaseVariantAndFirstElement) {
  Record record = good_record();
  set_wrong(record);
  EXPECT_EQ(judge(record), ExitCode::wrong_data);
  ASSERT_THAT(codes(record), ::testing::ElementsAre("wrong-data"));
  EXPECT_THAT(record.warnings[0].text,
              AllOf(HasSubstr("all_reduce/float32/sum/1KiB/np2 with host"),
                    HasSubstr("3 of 100 elements"), HasSubstr("rank 1, element 17")));
}

TEST(Judge, WarnsOfVariablesThatTheCallerSet) {
  Record record = good_record();
  record.settings.environment_in_force[0]["NCCL_ALGO"] = "Ring";
  record.settings.environment_in_force[1]["NCCL_ALGO"] = "Ring";
  record.settings.environment_in_force[1]["NCCL_DEBUG"] = "INFO";
  EXPECT_EQ(judge(record), ExitCode::success);
  ASSERT_THAT(codes(record), ::testing::ElementsAre("inherited-variable", "inherited-variable"));
  EXPECT_THAT(record.warnings[0].text, AllOf(HasSubstr("NCCL_ALGO=Ring"), HasSubstr("p2p")));
  EXPECT_THAT(record.warnings[1].text, HasSubstr("host"));
  record = good_record();
  record.settings.variants[0].environment = {{"NCCL_ALGO", "Ring"}};
  record.settings.environment_in_force[0] = {{"NCCL_ALGO", "Ring"}};
  judge(record);
  EXPECT_THAT(record.warnings, IsEmpty()) << "the variant itself set it";
}

TEST(Judge, DefaultsThatTheCallerSetChangeNothing) {
  Record record = good_record();
  record.settings.environment_in_force[0] = {{"CUDA_DEVICE_MAX_CONNECTIONS", "8"},
                                             {"CUDA_LAUNCH_BLOCKING", "0"},
                                             {"NCCL_P2P_DISABLE", "0"}};
  judge(record);
  EXPECT_THAT(record.warnings, IsEmpty());
  record.settings.environment_in_force[0]["CUDA_DEVICE_MAX_CONNECTIONS"] = "1";
  judge(record);
  ASSERT_THAT(codes(record), ::testing::ElementsAre("inherited-variable"));
  EXPECT_THAT(record.warnings[0].text, HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS=1"));
}

TEST(Judge, VariablesOfMatrixProductsMatterToTrainings) {
  Record record = good_record();
  record.settings.environment_in_force[0]["NVIDIA_TF32_OVERRIDE"] = "1";
  judge(record);
  EXPECT_THAT(record.warnings, IsEmpty()) << "nothing multiplies matrices";
  record.cases[0].definition = parse_case_name("gpt2_step/fp32/gpt2/np2");
  judge(record);
  ASSERT_THAT(codes(record), ::testing::Contains("inherited-variable"));
  EXPECT_THAT(record.warnings, ::testing::Contains(::testing::Field(
                                   &Warning::text, HasSubstr("NVIDIA_TF32_OVERRIDE=1"))));
}

TEST(Judge, OpenMpisVariablesMatterWhereItCarriesTheMessages) {
  Record record = good_record();
  record.settings.environment_in_force[0]["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none";
  judge(record);
  EXPECT_THAT(record.warnings, IsEmpty()) << "NCCL does";
  record.settings.backend = BackendKind::mpi;
  judge(record);
  EXPECT_THAT(codes(record), ::testing::ElementsAre("inherited-variable"));
}

TEST(Judge, MissesNoEvidenceWhereMpiCarriesTheMessages) {
  Record record = good_record();
  record.cases.push_back(case_of(64 << 20, Path::nvlink, Path::host_memory));
  judge(record);
  EXPECT_THAT(codes(record), ElementsAre("evidence-missing"));
  record.warnings.clear();
  record.settings.backend = BackendKind::mpi;
  judge(record);
  EXPECT_THAT(codes(record), IsEmpty());
}

TEST(Judge, WarnsOfVariantsOnOneRoad) {
  Record record = good_record();
  record.machine.links = {{0, 1, false, false}};
  set_path(record, 0, Path::host_memory);
  EXPECT_EQ(judge(record), ExitCode::success);
  ASSERT_THAT(codes(record), ::testing::ElementsAre("same-road")) << "once, not for every case";
  EXPECT_THAT(record.warnings[0].text, HasSubstr("p2p and host took the same road: host-memory"));
}

TEST(Judge, AdviceForOneRoadSuitsTheMachine) {
  const auto advice = [](const PairLink& link, const Environment& caller) {
    Record record = good_record();
    record.machine.links = {link};
    record.settings.environment_in_force[0] = caller;
    set_path(record, 0, Path::host_memory);
    judge(record);
    return warning(record, "same-road").advice;
  };
  EXPECT_THAT(advice({0, 1, true, false}, {}), HasSubstr("--variant p2p-sys"));
  EXPECT_THAT(advice({0, 1, false, true}, {}),
              AllOf(HasSubstr("linkgain doctor"), HasSubstr("the driver refuses P2P"),
                    ::testing::Not(HasSubstr("p2p-sys"))));
  EXPECT_THAT(advice({0, 1, true, true}, {{"NCCL_P2P_DISABLE", "0x1"}}),
              AllOf(HasSubstr("unset NCCL_P2P_DISABLE=0x1"), ::testing::Not(HasSubstr("p2p-sys"))));
  EXPECT_THAT(advice({0, 1, true, true}, {}), HasSubstr("wrong path"));
}

TEST(ForbidsP2p, ReadsValuesAsNcclDoes) {
  for (const char* value : {"1", "01", "0x1", "+1", " 1", "1x"}) {
    EXPECT_TRUE(forbids_p2p("NCCL_P2P_DISABLE", value)) << value;
  }
  for (const char* value : {"", "0", "2", "-1", "11", "yes", "true"}) {
    EXPECT_FALSE(forbids_p2p("NCCL_P2P_DISABLE", value)) << value;
  }
  for (const char* value : {"LOC", "0", "00", "0x0", "0a"}) {
    EXPECT_TRUE(forbids_p2p("NCCL_P2P_LEVEL", value)) << value;
  }
  for (const char* value : {"", "loc", "NVL", "SYS", "1", "0x1", "-0", "LOCAL"}) {
    EXPECT_FALSE(forbids_p2p("NCCL_P2P_LEVEL", value)) << value;
  }
  EXPECT_FALSE(forbids_p2p("NCCL_SHM_DISABLE", "1"));
}

TEST(Judge, VariantsThatChooseNoRoadMayTakeTheSameOne) {
  Record record = good_record();
  record.settings.variants[1] = {"ring", {{"NCCL_ALGO", "Ring"}}};
  record.settings.environment_in_force[1] = record.settings.variants[1].environment;
  for (CaseResult& result : record.cases) result.variants[1] = measured("ring", Path::nvlink);
  judge(record);
  EXPECT_THAT(record.warnings, IsEmpty());
}

TEST(Judge, WarnsOfCasesThatDidNotConvergeAndNamesThree) {
  Record record = good_record();
  for (int i = 0; i < 3; ++i) record.cases.push_back(record.cases[1]);
  for (CaseResult& result : record.cases) result.converged = false;
  record.settings.precision = 0.02;
  EXPECT_EQ(judge(record), ExitCode::success);
  ASSERT_THAT(codes(record), ::testing::ElementsAre("not-converged"));
  EXPECT_THAT(record.warnings[0].text,
              AllOf(HasSubstr("2 %"), HasSubstr("/8B/"), HasSubstr("and 2 more")));
}

TEST(Judge, AdvisesMoreLaunchesWhereTheyDifferAndNotMoreTime) {
  Record record = good_record();
  for (CaseResult& result : record.cases) result.converged = false;
  record.cases[0].stopped = StopReason::launches_differ;
  record.cases[1].stopped = StopReason::out_of_time;
  judge(record);
  ASSERT_THAT(codes(record), ElementsAre("not-converged", "not-converged"));
  EXPECT_THAT(record.warnings[0].text, AllOf(HasSubstr("/1KiB/"), Not(HasSubstr("/8B/"))));
  EXPECT_THAT(record.warnings[0].advice,
              AllOf(HasSubstr("--budget"), Not(HasSubstr("--launches"))));
  EXPECT_THAT(record.warnings[1].text, AllOf(HasSubstr("launches differ"), HasSubstr("1 %"),
                                             HasSubstr("/8B/"), Not(HasSubstr("/1KiB/"))));
  EXPECT_THAT(record.warnings[1].advice,
              AllOf(HasSubstr("--launches"), Not(HasSubstr("--budget"))));
}

TEST(RemedyFor, IsWhatEndedTheSampling) {
  CaseResult result = good_record().cases[0];
  EXPECT_EQ(remedy_for(result), std::nullopt) << "it converged";
  result.converged = false;
  result.stopped = StopReason::out_of_rounds;
  EXPECT_EQ(remedy_for(result), Remedy::time);
  result.definition = parse_case_name("gpt2_step/fp32/gpt2/np2");
  EXPECT_EQ(remedy_for(result), Remedy::steps);
  result.stopped = StopReason::out_of_time;
  EXPECT_EQ(remedy_for(result), Remedy::time) << "it did not run all its steps";
  result.stopped = StopReason::launches_differ;
  EXPECT_EQ(remedy_for(result), Remedy::launches);
  for (const StopReason early : {StopReason::job_lost, StopReason::interrupted}) {
    result.stopped = early;
    EXPECT_EQ(remedy_for(result), std::nullopt);
  }
  result.stopped = StopReason::out_of_rounds;
  result.ratios.clear();
  EXPECT_EQ(remedy_for(result), std::nullopt);
}

TEST(Judge, ACaseWithoutARatioCannotConverge) {
  Record record = good_record();
  record.cases[0].ratios.clear();
  record.cases[0].converged = false;
  judge(record);
  EXPECT_THAT(record.warnings, IsEmpty());
}

TEST(Judge, WarnsOfABudgetThatLeftWorkUndone) {
  Record record = good_record();
  record.settings.budget = Seconds{10.0};
  record.cases[0].samples.emplace_back();
  EXPECT_EQ(judge(record), ExitCode::success);
  EXPECT_THAT(record.warnings, IsEmpty()) << "all cases, the one launch";
  record.settings.launches = 3;
  record.cases[1].stopped = StopReason::out_of_time;
  for (VariantResult& variant : record.cases[1].variants) variant.time.reset();
  record.cases[1].ratios.clear();
  EXPECT_EQ(judge(record), ExitCode::success);
  ASSERT_THAT(codes(record), ::testing::ElementsAre("budget-used-up"));
  EXPECT_THAT(record.warnings[0].text,
              AllOf(HasSubstr("1 of 2 cases"), HasSubstr("1 of 3 launches")));
}

TEST(Judge, NamesAnInheritedSwitchOfNvls) {
  Record record = good_record();
  record.settings.environment_in_force[0]["NCCL_NVLS_ENABLE"] = "0";
  judge(record);
  ASSERT_THAT(codes(record), ::testing::ElementsAre("inherited-variable"));
  EXPECT_THAT(record.warnings[0].text, HasSubstr("NCCL_NVLS_ENABLE=0"));
}

TEST(Judge, IncompleteComesBeforeWrongDataBeforeWrongPath) {
  Record record = good_record();
  set_path(record, 1, Path::nvlink);
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
  set_wrong(record);
  EXPECT_EQ(judge(record), ExitCode::wrong_data);
  for (const RunStatus status : {RunStatus::job_lost, RunStatus::incomplete}) {
    record.status = status;
    EXPECT_EQ(judge(record), ExitCode::incomplete) << name_of(status);
  }
  EXPECT_THAT(codes(record),
              AllOf(::testing::Contains("wrong-path"), ::testing::Contains("wrong-data")))
      << "the warnings are there all the same";
}

TEST(Judge, SaysNothingTwice) {
  Record record = good_record();
  set_wrong(record);
  set_path(record, 1, Path::nvlink);
  judge(record);
  const std::vector<Warning> once = record.warnings;
  judge(record);
  EXPECT_EQ(record.warnings, once);
}

TEST(IsP2pOff, WhoeverSetIt) {
  Record record = good_record();
  EXPECT_FALSE(is_p2p_off(record, "p2p"));
  EXPECT_TRUE(is_p2p_off(record, "host"));
  EXPECT_FALSE(is_p2p_off(record, "no such variant"));
  record.settings.environment_in_force[0] = {{"NCCL_P2P_DISABLE", "1"}};
  EXPECT_TRUE(is_p2p_off(record, "p2p"));
}

TEST(SameRoad, IsOnlyWhatIsKnown) {
  const VariantResult host = measured("a", Path::host_memory);
  EXPECT_TRUE(same_road(host, measured("b", Path::host_memory)));
  EXPECT_FALSE(same_road(host, measured("b", Path::nvlink)));
  EXPECT_FALSE(same_road(measured("a", Path::unknown), measured("b", Path::unknown)));
  EXPECT_FALSE(same_road(measured("a", Path::mixed), measured("b", Path::mixed)));
  VariantResult skipped = host;
  skipped.time.reset();
  EXPECT_FALSE(same_road(host, skipped));
}

}  // namespace
}  // namespace linkgain::test
