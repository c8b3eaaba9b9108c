#include "cpu_set.hpp"

#include <gtest/gtest.h>

#include <string>

namespace linkgain {
namespace {

std::string normalised(const std::string& text) {
  const auto set = CpuSet::from_list(text);
  return set.has_value() ? set->list() : "none";
}

TEST(CpuSet, ReadsTheKernelsLists) {
  EXPECT_EQ(normalised("0-15\n"), "0-15");
  EXPECT_EQ(normalised("0-1,32-47,2"), "0-2,32-47");
  EXPECT_EQ(normalised("2047"), "2047");
}

TEST(CpuSet, RefusesWhatIsNoList) {
  for (const char* text : {"", "\n", "all", "0xff", "3-", "-1-x"}) {
    EXPECT_EQ(normalised(text), "none") << text;
  }
}

TEST(CpuSet, Intersects) {
  const CpuSet a = CpuSet::from_list("0-15").value();
  const CpuSet b = CpuSet::from_list("8-31").value();
  EXPECT_EQ(a.intersected_with(b).list(), "8-15");
  EXPECT_TRUE(a.intersected_with(CpuSet::from_list("16-31").value()).empty());
}

TEST(CpuSet, PicksOneCpuModuloTheirCount) {
  const CpuSet set = CpuSet::from_list("3,8-9").value();
  EXPECT_EQ(set.only(0).list(), "3");
  EXPECT_EQ(set.only(2).list(), "9");
  EXPECT_EQ(set.only(4).list(), "8");
  EXPECT_EQ(set.only(-1).list(), "9");
}

/// Puts the binding back that the test began with.
class CpuBinding : public ::testing::Test {
 protected:
  ~CpuBinding() override { before_.bind_process(); }
  const CpuSet before_ = CpuSet::of_this_thread();
};

TEST_F(CpuBinding, RefusedBindingChangesNothing) {
  EXPECT_FALSE(CpuSet::from_list("100000").value().bind_process());
  EXPECT_EQ(CpuSet::of_this_thread().list(), before_.list());
}

TEST_F(CpuBinding, NarrowsToTheOverlap) {
  const std::string last = before_.only(-1).list();
  const CpuSet wanted = CpuSet::from_list(last + ",100000").value();
  EXPECT_EQ(bind_within_allowed(wanted), last);
  EXPECT_EQ(CpuSet::of_this_thread().list(), last);
}

TEST_F(CpuBinding, StaysWhereNothingOverlaps) {
  EXPECT_EQ(bind_within_allowed(CpuSet::from_list("100000").value()), before_.list());
  EXPECT_EQ(CpuSet::of_this_thread().list(), before_.list());
}

}  // namespace
}  // namespace linkgain
