#include "linkgain/plan/case_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> ordered(std::initializer_list<const char*> names, bool limited) {
  std::vector<Case> cases;
  for (const char* name : names) cases.push_back(parse_case_name(name));
  std::vector<std::string> result;
  for (const int index : order_within(cases, limited)) {
    result.push_back(case_name(cases[static_cast<std::size_t>(index)]));
  }
  return result;
}

TEST(CaseOrder, IsTheirOwnWhereTimeIsNotLimited) {
  EXPECT_THAT(ordered({"latency/16B/np2/pair=0-1", "latency/8B/np2/pair=0-1"}, false),
              ElementsAre("latency/16B/np2/pair=0-1", "latency/8B/np2/pair=0-1"));
}

TEST(CaseOrder, BeginsWithTheLargestOfEachOperationThenTheSmallestThenThoseBetween) {
  EXPECT_THAT(
      ordered({"gpt2_step/fp32/gpt2/np2", "all_reduce/float32/sum/16B/np2/graph",
               "all_reduce/float32/sum/1KiB/np2/graph", "all_reduce/float32/sum/64KiB/np2/graph",
               "all_reduce/float32/sum/4MiB/np2", "all_reduce/float16/sum/64KiB/np2",
               "all_reduce/float16/sum/4MiB/np2", "send_recv/float32/16B/np2",
               "send_recv/float32/1MiB/np2"},
              true),
      ElementsAre("gpt2_step/fp32/gpt2/np2", "all_reduce/float32/sum/4MiB/np2",
                  "send_recv/float32/1MiB/np2", "all_reduce/float16/sum/4MiB/np2",
                  "all_reduce/float32/sum/16B/np2/graph", "all_reduce/float16/sum/64KiB/np2",
                  "send_recv/float32/16B/np2", "all_reduce/float32/sum/64KiB/np2/graph",
                  "all_reduce/float32/sum/1KiB/np2/graph"));
}

TEST(CaseOrder, LargestOfAnOperationIsThatOfAllItsCurves) {
  EXPECT_THAT(
      ordered({"all_reduce/float16/sum/64KiB/np2", "all_reduce/float32/sum/4MiB/np2"}, true),
      ElementsAre("all_reduce/float32/sum/4MiB/np2", "all_reduce/float16/sum/64KiB/np2"));
}

}  // namespace
}  // namespace linkgain::test
