#include "linkgain/hardware/health.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ClockEvents, AreThoseOfNvmlsBits) {
  EXPECT_THAT(clock_events(0), IsEmpty());
  // Idle, application clocks, sync boost and display clocks hold nothing back.
  EXPECT_THAT(clock_events(0x1 | 0x2 | 0x10 | 0x100), IsEmpty());
  EXPECT_THAT(clock_events(0xFF),
              ElementsAre(ClockEvent::power_cap, ClockEvent::hw_slowdown, ClockEvent::sw_thermal,
                          ClockEvent::hw_thermal, ClockEvent::power_brake));
  EXPECT_THAT(clock_events(0x48), ElementsAre(ClockEvent::hw_slowdown, ClockEvent::hw_thermal));
}

TEST(ClockEvents, HaveNamesForPeople) {
  EXPECT_EQ(name_of(ClockEvent::power_cap), "power cap");
  EXPECT_EQ(name_of(ClockEvent::hw_slowdown), "hardware slowdown");
  EXPECT_EQ(name_of(ClockEvent::sw_thermal), "thermal slowdown (software)");
  EXPECT_EQ(name_of(ClockEvent::hw_thermal), "thermal slowdown (hardware)");
  EXPECT_EQ(name_of(ClockEvent::power_brake), "power brake");
}

TEST(Unhealthy, IsEveryEventButThePowerCap) {
  for (const std::uint64_t reasons : {0x8, 0x20, 0x40, 0x80, 0x84}) EXPECT_TRUE(unhealthy(reasons));
  for (const std::uint64_t reasons : {0x0, 0x1, 0x2, 0x4, 0x5, 0x100}) {
    EXPECT_FALSE(unhealthy(reasons)) << reasons;
  }
}

TEST(HealthSummary, TakesEveryRankOfEverySample) {
  HealthSummary summary;
  add_sample(summary, {{40, 300.0, 1980, 0x4}, {45, 250.0, 1900, 0x0}});
  add_sample(summary, {{38, 410.5, 1755, 0x24}, {46, {}, 1980, 0x40}});
  add_sample(summary, {{41, 299.0, 1980, 0x1}, {}});
  EXPECT_EQ(summary, (HealthSummary{.lowest_temperature_c = 38,
                                    .highest_temperature_c = 46,
                                    .lowest_power_w = 250.0,
                                    .highest_power_w = 410.5,
                                    .lowest_sm_clock_mhz = 1755,
                                    .highest_sm_clock_mhz = 1980,
                                    .clock_event_reasons = 0x65,
                                    .samples = 3,
                                    .unhealthy_samples = 1,
                                    .power_capped_samples = 2}));
}

TEST(HealthSummary, OfUnmeasuredSamplesIsEmpty) {
  HealthSummary summary;
  add_sample(summary, {});
  add_sample(summary, {{}, {}});
  EXPECT_EQ(summary, HealthSummary{});
  add_sample(summary, {{50, {}, {}, {}}});
  EXPECT_EQ(summary.highest_temperature_c, 50);
  EXPECT_EQ(summary.samples, 0) << "a temperature does not tell whether the GPU was throttled";
}

TEST(HealthSummary, AddsUpLikeItsSamples) {
  const std::vector<std::vector<Health>> samples{
      {{40, 300.0, 1980, 0x4}}, {{45, 250.0, 1900, 0x80}}, {{}}, {{39, {}, 2000, {}}}};
  HealthSummary all;
  HealthSummary first;
  HealthSummary rest;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    add_sample(all, samples[i]);
    add_sample(i < 1 ? first : rest, samples[i]);
  }
  add_summary(first, rest);
  EXPECT_EQ(first, all);
}

}  // namespace
}  // namespace linkgain::test
