#include "linkgain/report/health_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/report/markdown.hpp"
#include "support/counted_records.hpp"

namespace linkgain {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace linkgain::testing;

TEST(HealthLine, HasRangesOverAllSamples) {
  Record record = complete(h200_record());
  EXPECT_EQ(health_line(record), "Health: 34–48 °C, 80–310 W, SM 1980 MHz, no sample held back\n");
  record.cases[1].variants[1].health.lowest_sm_clock_mhz = 1755;
  record.cases[0].variants[0].health.highest_temperature_c = 61;
  EXPECT_EQ(health_line(record),
            "Health: 34–61 °C, 80–310 W, SM 1755–1980 MHz, no sample held back\n");
}

TEST(HealthLine, CountsHeldBackAndCappedSamples) {
  Record record = complete(h200_record());
  HealthSummary& health = record.cases[1].variants[1].health;
  health.clock_event_reasons = 0x4C;
  health.unhealthy_samples = 3;
  health.power_capped_samples = 5;
  EXPECT_EQ(health_line(record),
            "Health: 34–48 °C, 80–310 W, SM 1980 MHz, 3 of 160 samples HELD BACK by hardware "
            "slowdown, thermal slowdown (hardware), 5 of 160 samples at the power limit\n");
}

TEST(HealthLine, ReadsTheSamplesOfOlderRecords) {
  Record record = h200_record();
  Sample sample;
  sample.health = {{31, 99.6, 1980, 0x1}, {35, 120.0, 1980, 0x0}};
  record.samples = {sample};
  EXPECT_EQ(health_line(record), "Health: 31–35 °C, 100–120 W, SM 1980 MHz, no sample held back\n");
}

TEST(HealthLine, SaysWhatWasNotMeasured) {
  EXPECT_EQ(health_line(h200_record()), "Health: not measured\n");
  Record record = h200_record();
  record.cases[0].variants[0].health.lowest_temperature_c = 40;
  record.cases[0].variants[0].health.highest_temperature_c = 40;
  EXPECT_EQ(health_line(record), "Health: 40 °C, clock events not measured\n");
}

TEST(HealthLine, IsNotThereWithoutGpusOrTimes) {
  EXPECT_EQ(health_line(mpi_record()), "");
  EXPECT_EQ(health_line(two_gpus()), "");
  EXPECT_EQ(health_line(Record{}), "");
}

TEST(HealthSection, TellsVariantsApart) {
  Record record = complete(h200_record());
  for (CaseResult& result : record.cases) result.variants[1].health.lowest_sm_clock_mhz = 1755;
  const std::string text = markdown_report(record);
  EXPECT_THAT(text, HasSubstr("## Health\n\nHealth: 34–48 °C, 80–310 W, SM 1755–1980 MHz,"));
  EXPECT_THAT(text, HasSubstr("- p2p: SM 1980 MHz, no sample held back\n"));
  EXPECT_THAT(text, HasSubstr("- host: SM 1755–1980 MHz, no sample held back\n"));
  EXPECT_THAT(markdown_report(mpi_record()), Not(HasSubstr("## Health")));
}

}  // namespace
}  // namespace linkgain
