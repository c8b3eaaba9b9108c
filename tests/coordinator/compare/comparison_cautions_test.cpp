#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "compared_runs.hpp"
#include "linkgain/compare/run_comparison.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// The texts of cautions with that code where these cases stand against each other.
std::vector<std::string> cautions(const std::string& code, const CaseFigures& before,
                                  const CaseFigures& after) {
  RunFigures first = two_titans("a", true);
  RunFigures second = two_titans("b", true);
  first.cases = {before};
  second.cases = {after};
  std::vector<std::string> texts;
  for (const Warning& each : compare_runs(first, second, {}).cautions) {
    if (each.code == code) texts.push_back(each.text);
  }
  return texts;
}

CaseFigures around(const std::string& name, double seconds) {
  return timed(name, "p2p", launches_around(seconds, 0.01, 8));
}

TEST(ComparisonCautions, SayThatBytesTookAnotherRoad) {
  CaseFigures fast = around(kLarge, 1.0);
  CaseFigures slow = around(kLarge, 9.0);
  fast.path = Path::nvlink;
  slow.path = Path::host_memory;
  EXPECT_THAT(cautions("other-path", fast, slow),
              ElementsAre("p2p took nvlink before and host-memory after (1 case)"));
  EXPECT_THAT(cautions("other-path", fast, fast), IsEmpty());
}

TEST(ComparisonCautions, SayThatACallWasAGroupOfCalls) {
  CaseFigures grouped = around("alltoall/float32/1MiB/np2", 1.0);
  CaseFigures native = grouped;
  CaseFigures unknown = grouped;
  grouped.grouped = true;
  native.grouped = false;
  EXPECT_THAT(cautions("other-form", grouped, native),
              ElementsAre("alltoall was sends and receives in one group before and one call of the "
                          "library after (1 case)"));
  EXPECT_THAT(cautions("other-form", native, native), IsEmpty());
  EXPECT_THAT(cautions("other-form", grouped, unknown), IsEmpty());
}

TEST(ComparisonCautions, SayWhoseBuffersNcclAllocated) {
  const auto codes = [](RunSource source, const std::string& name) {
    RunFigures tests = two_titans("perf.json", true);
    RunFigures own = two_titans("record.json", true);
    tests.source = source;
    tests.cases = {around(name, 1.0)};
    own.cases = tests.cases;
    std::vector<std::string> texts;
    for (const Warning& each : compare_runs(tests, own, {}).cautions) {
      if (each.code == "other-buffers") texts.push_back(each.text);
    }
    return texts;
  };
  EXPECT_THAT(
      codes(RunSource::nccl_tests, kLarge),
      ElementsAre("NCCL allocated the buffers of perf.json (from 2.19 on), and CUDA those of "
                  "record.json: NCCL may take another way with them"));
  EXPECT_THAT(codes(RunSource::nccl_tests, kLarge + std::string("/symmetric")), IsEmpty());
  EXPECT_THAT(codes(RunSource::record, kLarge), IsEmpty());
}

}  // namespace
}  // namespace linkgain::test
