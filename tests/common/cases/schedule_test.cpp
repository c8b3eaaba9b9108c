#include "linkgain/cases/schedule.hpp"

#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

TEST(Schedule, IsReadBackFromItsName) {
  for (const Schedule schedule : kSchedules) {
    EXPECT_EQ(parse_schedule(name_of(schedule)), schedule);
  }
  EXPECT_EQ(name_of(Schedule::paired), "paired");
}

}  // namespace
}  // namespace linkgain::test
