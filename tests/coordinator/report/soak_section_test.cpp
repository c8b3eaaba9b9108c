#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/report/answer.hpp"
#include "linkgain/report/report.hpp"
#include "support/golden.hpp"
#include "support/profile_record.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int kLaunches = 60;
constexpr double kBetweenLaunches = 120.0;

Record soak_record() {
  Record record = profile_record(Profile::soak, 2, kLaunches, 4);
  for (int launch = 0; launch < kLaunches; ++launch) {
    record.launch_begins_s.push_back(1.5 + kBetweenLaunches * launch);
  }
  record.link_errors = {.readings = kLaunches + 1,
                        .counters = {{{0, ErrorKind::nvlink_crc_errors, 3, 1}, 40, 0}},
                        .grown = {}};
  return record;
}

/// Makes the pair's copies take longer from this launch on.
void slow_down(Record& record, int launch) {
  for (CaseResult& result : record.cases) {
    if (result.definition.operation != OperationKind::copy_push) continue;
    for (Sample& sample : result.samples) {
      if (sample.launch < launch || sample.variant != 0) continue;
      for (std::optional<Seconds>& time : sample.times) time->value *= 1.25;
    }
    summarise(result);
  }
}

TEST(SoakSection, HasRowsOverTimeAndNamesWhatDegraded) {
  Record record = soak_record();
  Situations texts;
  const auto add = [&](const std::string& situation) {
    const RunSummary summary(record);
    texts.add(situation,
              answer_sentence(summary, {}) + "\n\n" + to_markdown(soak_section(summary)));
  };
  add("nothing degraded");
  record.link_errors->counters[0].growth = 12;
  record.link_errors->grown = {{3000.0, record.link_errors->counters[0].counter, 12}};
  slow_down(record, 40);
  add("errors of a link, and a pair that drifts");
  record.link_errors.reset();
  add("without counters of errors");
  expect_golden(texts.text(), "soak.md");
  EXPECT_THAT(to_markdown(run_report(RunSummary(record))), HasSubstr("## Over time"));
}

TEST(SoakSection, IsNotThereOfOtherRuns) {
  Record record = soak_record();
  record.launch_begins_s.clear();
  const RunSummary summary(record);
  EXPECT_THAT(to_markdown(soak_section(summary)), IsEmpty());
  EXPECT_THAT(to_markdown(run_report(summary)), Not(HasSubstr("## Over time")));
}

}  // namespace
}  // namespace linkgain::test
