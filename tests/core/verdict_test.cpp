#include "linkgain/core/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace linkgain {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

VariantResult measured(std::string name, Path path) {
  VariantResult result;
  result.variant = std::move(name);
  result.time = Seconds{1e-3};
  result.path = path;
  result.verification = Verification{100, 0, 0.0, 0.0, ""};
  return result;
}

CaseResult case_of(std::int64_t size, Path first, Path other) {
  CaseResult result;
  result.definition.size = Bytes{size};
  result.variants = {measured("p2p", first), measured("host", other)};
  result.ratios = {{"host", {.estimate = 2.0, .low = 1.99, .high = 2.01, .rounds = 20}}};
  result.converged = true;
  result.stopped = "converged";
  return result;
}

/// Two GPUs joined by NVLink, p2p against host, all in order.
Record good_record() {
  Record record;
  record.status = "complete";
  record.machine.links = {{0, 1, true, true}};
  const Environment host{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_NVLS_ENABLE", "0"}};
  record.settings.variants = {{"p2p", {}}, {"host", host}};
  record.settings.environment_in_force = {{}, host};
  record.cases = {case_of(8, Path::nvlink, Path::host_memory),
                  case_of(1024, Path::nvlink, Path::host_memory)};
  return record;
}

std::vector<std::string> codes(const Record& record) {
  std::vector<std::string> found;
  for (const Warning& warning : record.warnings) found.push_back(warning.code);
  return found;
}

void set_wrong(Record& record) {
  record.cases[1].variants[1].verification =
      Verification{100, 3, 2.0, 0.0, "rank 1, element 17: 3 instead of 5"};
}

void set_path(Record& record, std::size_t variant, Path path) {
  for (CaseResult& result : record.cases) result.variants[variant].path = path;
}

TEST(Judge, FindsNothingWrongWithAGoodRecord) {
  Record record = good_record();
  EXPECT_EQ(judge(record), ExitCode::success);
  EXPECT_THAT(record.warnings, IsEmpty());
}

TEST(Judge, WrongDataNamesCaseVariantAndFirstElement) {
  Record record = good_record();
  set_wrong(record);
  EXPECT_EQ(judge(record), ExitCode::wrong_data);
  ASSERT_THAT(codes(record), testing::ElementsAre("wrong-data"));
  EXPECT_THAT(record.warnings[0].text,
              AllOf(HasSubstr("all_reduce/float32/sum/1KiB/np2 with host"),
                    HasSubstr("3 of 100 elements"), HasSubstr("rank 1, element 17")));
}

TEST(Judge, AVariantWithoutP2pThatUsedItIsOnTheWrongPath) {
  for (const Path path : {Path::nvlink, Path::pcie_p2p, Path::mixed}) {
    Record record = good_record();
    set_path(record, 1, path);
    EXPECT_EQ(judge(record), ExitCode::wrong_path) << name_of(path);
    EXPECT_EQ(std::count_if(record.warnings.begin(), record.warnings.end(),
                            [](const Warning& w) { return w.code == "wrong-path"; }),
              1)
        << "once, not for every case";
    EXPECT_THAT(record.warnings[0].text, HasSubstr("variant host: NCCL_P2P_DISABLE=1 is set"));
  }
  for (const Path path : {Path::host_memory, Path::network, Path::unknown}) {
    Record record = good_record();
    set_path(record, 1, path);
    EXPECT_EQ(judge(record), ExitCode::success) << name_of(path);
  }
}

TEST(Judge, AFreeVariantThatLeftNvlinkAloneIsOnTheWrongPath) {
  for (const Path path : {Path::host_memory, Path::network}) {
    Record record = good_record();
    set_path(record, 0, path);
    EXPECT_EQ(judge(record), ExitCode::wrong_path) << name_of(path);
    EXPECT_THAT(record.warnings[0].text, HasSubstr("variant p2p: NVLink joins every pair"));
  }
}

TEST(Judge, AFreeVariantWithoutP2pIsNoErrorWhereTheMachineOffersNone) {
  const auto with_links = [](std::optional<bool> p2p, std::optional<bool> nvlink) {
    Record record = good_record();
    record.machine.links = {{0, 1, p2p, nvlink}};
    set_path(record, 0, Path::host_memory);
    return judge(record);
  };
  EXPECT_EQ(with_links(true, true), ExitCode::wrong_path);
  EXPECT_EQ(with_links(false, true), ExitCode::success);
  EXPECT_EQ(with_links(true, false), ExitCode::success);
  EXPECT_EQ(with_links(std::nullopt, true), ExitCode::success);
  EXPECT_EQ(with_links(true, std::nullopt), ExitCode::success);
}

TEST(Judge, AFreeVariantMayBeKeptOffByTheCallersEnvironment) {
  for (const auto& [name, value] :
       Environment{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_P2P_LEVEL", "LOC"}}) {
    Record record = good_record();
    record.settings.environment_in_force[0] = {{name, value}};
    set_path(record, 0, Path::host_memory);
    EXPECT_EQ(judge(record), ExitCode::success) << name;
    EXPECT_THAT(codes(record), testing::Contains("inherited-variable"));
  }
}

TEST(Judge, AForcedVariantPromisesNothing) {
  Record record = good_record();
  record.settings.variants[0].environment = {{"NCCL_ALGO", "Tree"}};
  set_path(record, 0, Path::network);
  EXPECT_EQ(judge(record), ExitCode::success);
}

TEST(Judge, WarnsOfVariablesThatTheCallerSet) {
  Record record = good_record();
  record.settings.environment_in_force[0]["NCCL_ALGO"] = "Ring";
  record.settings.environment_in_force[1]["NCCL_ALGO"] = "Ring";
  record.settings.environment_in_force[1]["NCCL_DEBUG"] = "INFO";
  EXPECT_EQ(judge(record), ExitCode::success);
  ASSERT_THAT(codes(record), testing::ElementsAre("inherited-variable", "inherited-variable"));
  EXPECT_THAT(record.warnings[0].text, AllOf(HasSubstr("NCCL_ALGO=Ring"), HasSubstr("p2p")));
  EXPECT_THAT(record.warnings[1].text, HasSubstr("host"));
  record = good_record();
  record.settings.variants[0].environment = {{"NCCL_ALGO", "Ring"}};
  record.settings.environment_in_force[0] = {{"NCCL_ALGO", "Ring"}};
  judge(record);
  EXPECT_THAT(record.warnings, IsEmpty()) << "the variant itself set it";
}

TEST(Judge, WarnsOfVariantsOnOneRoad) {
  Record record = good_record();
  record.machine.links = {{0, 1, false, false}};
  set_path(record, 0, Path::host_memory);
  EXPECT_EQ(judge(record), ExitCode::success);
  ASSERT_THAT(codes(record), testing::ElementsAre("same-road")) << "once, not for every case";
  EXPECT_THAT(record.warnings[0].text, HasSubstr("p2p and host took the same road: host-memory"));
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
  ASSERT_THAT(codes(record), testing::ElementsAre("not-converged"));
  EXPECT_THAT(record.warnings[0].text,
              AllOf(HasSubstr("2 %"), HasSubstr("/8B/"), HasSubstr("and 2 more")));
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
  record.samples.emplace_back();
  EXPECT_EQ(judge(record), ExitCode::success);
  EXPECT_THAT(record.warnings, IsEmpty()) << "all cases, the one launch";
  record.settings.launches = 3;
  record.cases[1].stopped = "out of time";
  for (VariantResult& variant : record.cases[1].variants) variant.time.reset();
  record.cases[1].ratios.clear();
  EXPECT_EQ(judge(record), ExitCode::success);
  ASSERT_THAT(codes(record), testing::ElementsAre("budget-used-up"));
  EXPECT_THAT(record.warnings[0].text,
              AllOf(HasSubstr("1 of 2 cases"), HasSubstr("1 of 3 launches")));
}

TEST(Judge, NamesAnInheritedSwitchOfNvls) {
  Record record = good_record();
  record.settings.environment_in_force[0]["NCCL_NVLS_ENABLE"] = "0";
  judge(record);
  ASSERT_THAT(codes(record), testing::ElementsAre("inherited-variable"));
  EXPECT_THAT(record.warnings[0].text, HasSubstr("NCCL_NVLS_ENABLE=0"));
}

TEST(Judge, IncompleteComesBeforeWrongDataBeforeWrongPath) {
  Record record = good_record();
  set_path(record, 1, Path::nvlink);
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
  set_wrong(record);
  EXPECT_EQ(judge(record), ExitCode::wrong_data);
  for (const char* status : {"job lost", "incomplete"}) {
    record.status = status;
    EXPECT_EQ(judge(record), ExitCode::incomplete) << status;
  }
  EXPECT_THAT(codes(record),
              AllOf(testing::Contains("wrong-path"), testing::Contains("wrong-data")))
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
}  // namespace linkgain
