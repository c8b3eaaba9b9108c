#include "linkgain/analysis/run_validity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/record/warning.hpp"
#include "support/golden.hpp"
#include "verdict_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Judge, SaysOfCasesWhatIsWrongWithThem) {
  std::string text;
  const auto add = [&](const std::string& situation, const auto& change) {
    text += judged(situation, good_record(), change);
  };
  add("nothing is wrong", [](Record&) {});
  add("wrong data", set_wrong);
  add("wrong data of the mpi backend", [](Record& record) {
    set_wrong(record);
    record.settings.backend = BackendKind::mpi;
  });
  add("no case was measured", [](Record& record) {
    for (CaseResult& result : record.cases) take_times(result, "out of memory");
  });
  add("4 of 5 cases did not converge to 2 %", [](Record& record) {
    for (int i = 0; i < 3; ++i) record.cases.push_back(record.cases[1]);
    for (CaseResult& result : record.cases) result.converged = false;
    record.cases[2].converged = true;
    record.settings.precision = 0.02;
  });
  add("launches of one case differ, time was short for the other", [](Record& record) {
    for (CaseResult& result : record.cases) result.converged = false;
    record.cases[0].stopped = StopReason::launches_differ;
    record.cases[1].stopped = StopReason::out_of_time;
  });
  add("a case without a ratio cannot converge", [](Record& record) {
    record.cases[0].ratios.clear();
    record.cases[0].converged = false;
  });
  add("the budget was enough for all cases and the one launch", [](Record& record) {
    record.settings.budget = Seconds{10.0};
    record.cases[0].samples.emplace_back();
  });
  add("launches beyond those asked for are no matter of the budget", [](Record& record) {
    record.settings.budget = Seconds{10.0};
    for (int launch = 0; launch < 2; ++launch) {
      record.cases[0].samples.push_back({.launch = launch, .times = {}, .health = {}});
    }
  });
  add("the budget was used up after one launch of three", [](Record& record) {
    record.settings.budget = Seconds{10.0};
    record.settings.launches = 3;
    record.cases[0].samples.emplace_back();
    record.cases[1].stopped = StopReason::out_of_time;
    for (VariantResult& variant : record.cases[1].variants) variant.time.reset();
    record.cases[1].ratios.clear();
  });
  add("the budget was used up after one launch of three of each case", [](Record& record) {
    record.settings.budget = Seconds{10.0};
    record.settings.launches = 3;
    record.cases[0].samples.emplace_back();
    record.cases[1].stopped = StopReason::out_of_time;
  });
  expect_golden(text, "warnings_of_cases.txt");
}

/// Covers a warning of older versions' records.
TEST(Summarise, TakesFromOldWarningsThatAHypervisorTookLittle) {
  Record record = good_record();
  record.machine.ranks.resize(2);
  for (RankInfo& rank : record.machine.ranks) rank.host = record.machine.host;
  const auto stolen = [](const char* processors) {
    return Warning{name_of(WarningCode::host_load),
                   std::string("while measuring a hypervisor took ") + processors +
                       " processors' time for others",
                   ""};
  };
  record.warnings = {stolen("0.27"), stolen("0.50")};
  drop_derived(record);
  EXPECT_THAT(record.warnings, ElementsAre(stolen("0.50"))) << "0.27 of two processors is little";
  record.machine.ranks.emplace_back().host = "another";
  drop_derived(record);
  EXPECT_THAT(record.warnings, SizeIs(1)) << "another host's ranks lost nothing of it";
}

/// Sets a variable in the caller's environment, which p2p inherits.
template <typename Change>
std::string with_variable(const std::string& assignment, Change change) {
  const std::size_t equals = assignment.find('=');
  return judged(assignment, good_record(), [&](Record& record) {
    record.settings.environment_in_force[0] = {
        {assignment.substr(0, equals), assignment.substr(equals + 1)}};
    change(record);
  });
}

TEST(Judge, SaysWhichVariablesOfTheCallerMatter) {
  const auto nothing_else = [](Record&) {};
  const auto by_mpi = [](Record& record) { record.settings.backend = BackendKind::mpi; };
  const auto of_a_training = [](Record& record) {
    record.cases[0].definition = parse_case_name("gpt2_step/fp32/gpt2/np2");
  };
  const std::string single_copy = "OMPI_MCA_btl_vader_single_copy_mechanism=none";
  const std::string text =
      with_variable("NCCL_ALGO=Ring", nothing_else) +
      "And of the other variant, where a log is asked for too: " +
      with_variable("NCCL_ALGO=Ring",
                    [](Record& record) {
                      record.settings.environment_in_force[1]["NCCL_ALGO"] = "Ring";
                      record.settings.environment_in_force[1]["NCCL_DEBUG"] = "INFO";
                    }) +
      "Set by the variant itself: " +
      with_variable("NCCL_ALGO=Ring",
                    [](Record& record) {
                      record.settings.variants[0].environment = {{"NCCL_ALGO", "Ring"}};
                    }) +
      with_variable("NCCL_NVLS_ENABLE=0", nothing_else) +
      with_variable("CUDA_DEVICE_MAX_CONNECTIONS=1", nothing_else) +
      "A default: " + with_variable("CUDA_DEVICE_MAX_CONNECTIONS=8", nothing_else) +
      "A default: " + with_variable("CUDA_LAUNCH_BLOCKING=0", nothing_else) +
      "A default: " + with_variable("NCCL_P2P_DISABLE=0", nothing_else) +
      "Nothing multiplies matrices: " + with_variable("NVIDIA_TF32_OVERRIDE=1", nothing_else) +
      "A training does: " + with_variable("NVIDIA_TF32_OVERRIDE=1", of_a_training) +
      "NCCL carries the messages: " + with_variable(single_copy, nothing_else) +
      "Open MPI carries them: " + with_variable(single_copy, by_mpi);
  expect_golden(text, "warnings_of_variables.txt");
}

TEST(Judge, SaysWhatMakesVariantsOnOnePathPart) {
  std::string text;
  const auto add = [&](const std::string& situation, const PairLink& link,
                       const Environment& caller) {
    text += judged(situation, good_record(), [&](Record& record) {
      record.machine.links = {link};
      record.settings.environment_in_force[0] = caller;
      set_path(record, 0, Path::host_memory);
    });
  };
  add("neither P2P nor NVLink", {0, 1, false, false}, {});
  add("P2P, no NVLink", {0, 1, true, false}, {});
  add("NVLink, P2P refused", {0, 1, false, true}, {});
  add("NVLink and P2P", {0, 1, true, true}, {});
  add("NVLink and P2P, forbidden by the caller", {0, 1, true, true}, {{"NCCL_P2P_DISABLE", "0x1"}});
  text += judged("variants that choose no path", good_record(), [](Record& record) {
    record.settings.variants[1] = {"ring", {{"NCCL_ALGO", "Ring"}}};
    record.settings.environment_in_force[1] = record.settings.variants[1].environment;
    for (CaseResult& result : record.cases) {
      result.variants[1] = measured("ring", Path::nvlink);
      result.ratios[0].variant = "ring";
    }
  });
  expect_golden(text, "warnings_of_one_path.txt");
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
  EXPECT_TRUE(forbids_p2p("LD_PRELOAD", "/usr/lib/linkgain/liblinkgain_no_p2p.so:libother.so"));
  EXPECT_FALSE(forbids_p2p("LD_PRELOAD", "libother.so"));
}

TEST(RemedyFor, IsWhatEndedTheSampling) {
  Record record = good_record();
  record.settings.launches = 6;
  CaseResult result = record.cases[0];
  EXPECT_EQ(remedy_for(record, result), std::nullopt) << "it converged";
  result.converged = false;
  result.stopped = StopReason::out_of_rounds;
  EXPECT_EQ(remedy_for(record, result), Remedy::launches);
  result.stopped = StopReason::out_of_time;
  EXPECT_EQ(remedy_for(record, result), Remedy::time);
  record.settings.launches = 1;
  result.ratios.front().ratio.interval.reset();
  EXPECT_EQ(remedy_for(record, result), Remedy::launches) << "one has no interval";
  record.settings.launches = 6;
  result.stopped = StopReason::launches_differ;
  EXPECT_EQ(remedy_for(record, result), Remedy::launches);
  for (const StopReason early : {StopReason::job_lost, StopReason::interrupted}) {
    result.stopped = early;
    EXPECT_EQ(remedy_for(record, result), std::nullopt);
  }
  result.stopped = StopReason::out_of_rounds;
  record.warnings = {warning_of(WarningCode::fewer_launches, "3 launches instead of 6")};
  EXPECT_EQ(remedy_for(record, result), Remedy::time) << "the budget held no more of them";
  result.ratios.clear();
  EXPECT_EQ(remedy_for(record, result), std::nullopt);
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

}  // namespace
}  // namespace linkgain::test
