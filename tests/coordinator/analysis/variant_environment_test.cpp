#include "linkgain/analysis/variant_environment.hpp"

#include <gtest/gtest.h>

#include "verdict_records.hpp"

namespace linkgain::test {
namespace {

TEST(IsP2pOff, WhoeverSetIt) {
  Record record = good_record();
  EXPECT_FALSE(is_p2p_off(record, "p2p"));
  EXPECT_TRUE(is_p2p_off(record, "host"));
  EXPECT_FALSE(is_p2p_off(record, "no such variant"));
  record.settings.environment_in_force[0] = {{"NCCL_P2P_DISABLE", "1"}};
  EXPECT_TRUE(is_p2p_off(record, "p2p"));
}

TEST(IsP2pOff, AsBothVariablesForbidIt) {
  Record record = good_record();
  for (const char* level : {"LOC", "0"}) {
    record.settings.environment_in_force[0] = {{"NCCL_P2P_LEVEL", level}};
    EXPECT_TRUE(is_p2p_off(record, "p2p")) << level;
    EXPECT_EQ(p2p_forbidden_by(record, "p2p"), std::string("NCCL_P2P_LEVEL=") + level);
    EXPECT_EQ(forbidden_by_caller(record, 0), p2p_forbidden_by(record, "p2p"));
  }
  record.settings.environment_in_force[0] = {{"NCCL_P2P_LEVEL", "SYS"}};
  EXPECT_FALSE(is_p2p_off(record, "p2p"));
  EXPECT_EQ(p2p_forbidden_by(record, "host"), "NCCL_P2P_DISABLE=1");
}

TEST(VariableOf, IsWhatTheWorkerSawElseWhatTheVariantSets) {
  Record record = good_record();
  record.settings.environment_in_force.clear();
  EXPECT_EQ(variable_of(record, "host", "NCCL_P2P_DISABLE"), "1");
  EXPECT_EQ(variable_of(record, "p2p", "NCCL_P2P_DISABLE"), "");
  record.settings.environment_in_force = {{{"NCCL_P2P_DISABLE", "0"}}, {}};
  EXPECT_EQ(variable_of(record, "p2p", "NCCL_P2P_DISABLE"), "0");
}

TEST(ForbiddenByCaller, IsNotWhatTheVariantSets) {
  Record record = good_record();
  record.settings.environment_in_force = {{{"NCCL_P2P_DISABLE", "1"}}, {{"NCCL_P2P_DISABLE", "1"}}};
  EXPECT_EQ(forbidden_by_caller(record, 0), "NCCL_P2P_DISABLE=1");
  EXPECT_EQ(inherited(record, 0, "NCCL_P2P_DISABLE"), "1");
  EXPECT_EQ(forbidden_by_caller(record, 1), "");
  EXPECT_EQ(inherited(record, 1, "NCCL_P2P_DISABLE"), "");
}

TEST(ChoosePath, NeedsASwitchThatOpensOrClosesOne) {
  Record record = good_record();
  const auto choose = [&record] {
    const CaseResult& result = record.cases[0];
    return choose_path(record, result.variants[0], result.variants[1]);
  };
  EXPECT_TRUE(choose());
  record.settings.variants[1].environment = {{"NCCL_ALGO", "Ring"}};
  record.settings.environment_in_force.clear();
  EXPECT_FALSE(choose()) << "algorithms go down whatever path there is";
  record.settings.variants[1].environment = {{"NCCL_P2P_DISABLE", "0"}};
  EXPECT_FALSE(choose()) << "a 0 disables nothing";
  record.settings.variants[1].environment = {{"NCCL_P2P_LEVEL", "0"}};
  EXPECT_TRUE(choose()) << "a level of 0 is one";
  for (const char* name : {"NCCL_NVLS_ENABLE", "NCCL_WIN_ENABLE", "NCCL_P2P_DIRECT_DISABLE"}) {
    record.settings.variants[1].environment = {{name, "1"}};
    record.settings.variants[0].environment = {{name, "0"}};
    EXPECT_FALSE(choose()) << name << " leaves the bytes on NVLink";
  }
}

}  // namespace
}  // namespace linkgain::test
