#include "linkgain/runtime/fault.hpp"

#include <gtest/gtest.h>

#include "linkgain/base/errors.hpp"
#include "support/scoped_environment.hpp"

namespace linkgain::test {
namespace {

void expect_fault(std::string_view text, Fault::Kind kind, int rank, std::int64_t batch) {
  const std::optional<Fault> fault = parse_fault(text);
  ASSERT_TRUE(fault) << text;
  EXPECT_EQ(fault->kind, kind) << text;
  EXPECT_EQ(fault->rank, rank) << text;
  EXPECT_EQ(fault->batch, batch) << text;
}

TEST(Fault, HasKindRankAndBatch) {
  expect_fault("corrupt@1", Fault::Kind::corrupt, 1, 1);
  expect_fault("stale@2", Fault::Kind::stale, 2, 1);
  expect_fault("die@0:5", Fault::Kind::die, 0, 5);
  expect_fault("hang@12:100", Fault::Kind::hang, 12, 100);
  expect_fault("drop@0", Fault::Kind::drop, 0, 1);
  expect_fault("own-window@1", Fault::Kind::own_window, 1, 1);
}

TEST(Fault, HasAPlace) {
  EXPECT_EQ(parse_fault("die@1")->place, Fault::Place::batch);
  expect_fault("hang@1:3/operation", Fault::Kind::hang, 1, 3);
  EXPECT_EQ(parse_fault("hang@1:3/operation")->place, Fault::Place::operation);
  EXPECT_EQ(parse_fault("die@0/start")->place, Fault::Place::start);
  EXPECT_EQ(parse_fault("late@0/connect")->place, Fault::Place::connect);
  EXPECT_EQ(parse_fault("garbage@0:2/reply")->place, Fault::Place::reply);
}

TEST(Fault, HasARungOfTheProofInstead) {
  EXPECT_FALSE(parse_fault("hang@1")->rung);
  EXPECT_EQ(parse_fault("hang@1/flags")->rung, ProofRung::flags);
  EXPECT_EQ(parse_fault("stale@0/copy-engine")->rung, ProofRung::copy_engine);
  EXPECT_FALSE(parse_fault("die@0/start")->rung);
  EXPECT_EQ(spoil_of(parse_fault("stale@0/control"), 0), Spoil::nothing) << "no run's";
}

TEST(Fault, IsAbsentForAnEmptyText) { EXPECT_FALSE(parse_fault("")); }

TEST(Fault, RefusesEverythingElse) {
  for (const std::string_view text :
       {"melt@1", "die", "die@", "die@x", "die@-1", "die@1:", "die@1:x", "die@1:-2", "die@1:2:3",
        "die:1@2", "@1", " die@1", "die@1/", "die@1/lunch", "die/start", "die@1/start:2", "die@1 ",
        "die@99999999999", "die@1:99999999999999999999"}) {
    EXPECT_THROW(parse_fault(text), UsageError) << text;
  }
}

TEST(Fault, SpoilsTheVerificationOfItsRankAlone) {
  EXPECT_EQ(spoil_of(parse_fault("corrupt@1"), 1), Spoil::bit);
  EXPECT_EQ(spoil_of(parse_fault("stale@1"), 1), Spoil::stale);
  EXPECT_EQ(spoil_of(parse_fault("element@1"), 1), Spoil::element);
  EXPECT_EQ(spoil_of(parse_fault("last@1"), 1), Spoil::last);
  EXPECT_EQ(spoil_of(parse_fault("wrong-rank@1"), 1), Spoil::wrong_rank);
  EXPECT_EQ(spoil_of(parse_fault("swapped@1"), 1), Spoil::swapped);
  EXPECT_EQ(spoil_of(parse_fault("stale@1"), 0), Spoil::nothing);
  EXPECT_EQ(spoil_of(parse_fault("die@1"), 1), Spoil::nothing);
  EXPECT_EQ(spoil_of(std::nullopt, 0), Spoil::nothing);
}

TEST(Fault, ComesFromTheEnvironment) {
  const ScopedEnvironment set("LINKGAIN_TEST_FAULT", "hang@3:2");
  EXPECT_EQ(fault_from_environment()->rank, 3);
}

}  // namespace
}  // namespace linkgain::test
