#include <gtest/gtest.h>

#include "doctor_support.hpp"

namespace linkgain {
namespace {

using namespace linkgain::testing;
using enum CheckVerdict;

Reading<std::uint64_t> events(std::uint64_t bits) { return bits; }

/// A healthy machine whose GPU0 shows these clock events.
Survey with_events(std::uint64_t bits) {
  Survey survey = healthy_survey();
  survey.gpus[0].clock_events = events(bits);
  return survey;
}

TEST(DoctorPower, Limit) {
  Survey survey = healthy_survey();
  expect_finding(survey, "power-limit", "GPU0", ok, "700 W of 700 W default");
  survey.gpus[0].power = power_of(300.0, 700.0, 700.0);
  survey.gpus[1].power = power_of(250.0, {}, 350.0);
  expect_finding(survey, "power-limit", "GPU0", warning, "300 W of 700 W default");
  EXPECT_THAT(finding_of(survey, "power-limit", "GPU0").advice,
              ::testing::HasSubstr("nvidia-smi -i 0 -pl 700"));
  expect_finding(survey, "power-limit", "GPU1", warning, "250 W of 350 W at most");
  survey.gpus[0].power = power_of({}, 700.0, 700.0);
  survey.gpus[1].power = Reading<PowerState>::missing("Not Supported");
  expect_finding(survey, "power-limit", "GPU0", not_checkable, "limit");
  expect_finding(survey, "power-limit", "GPU1", not_checkable, "Not Supported");
  survey.gpus[0].power = power_of(300.0, {}, {});
  expect_finding(survey, "power-limit", "GPU0", not_checkable, "default");
}

TEST(DoctorPower, Brake) {
  expect_finding(with_events(0x1), "power-brake", "GPU0", ok, "none now");
  expect_finding(with_events(0x80), "power-brake", "GPU0", problem, "power brake now");
  EXPECT_THAT(finding_of(with_events(0x88), "power-brake", "GPU0").advice,
              ::testing::HasSubstr("cable of its own"));
  expect_finding(with_events(0x8), "power-brake", "GPU0", problem, "by the hardware");
  expect_finding(with_events(0x48), "power-brake", "GPU0", ok,
                 "none");  // the heat's
  Survey survey = healthy_survey();
  survey.gpus[0].clock_events = Reading<std::uint64_t>::missing("Not Supported");
  expect_finding(survey, "power-brake", "GPU0", not_checkable, "Not Supported");
}

TEST(DoctorPower, BrakeUnderLoadCounts) {
  Survey survey = healthy_survey();
  survey.gpus[0].load = healthy_load();
  expect_finding(survey, "power-brake", "GPU0", ok, "none while host copies ran");
  GpuLoad load = healthy_load();
  load.clock_events = std::uint64_t{0x80};
  survey.gpus[0].load = load;
  expect_finding(survey, "power-brake", "GPU0", problem, "while host copies ran");
  load.clock_events = Reading<std::uint64_t>::missing("Unknown Error");
  survey.gpus[0].load = load;
  expect_finding(survey, "power-brake", "GPU0", ok, "none now");
}

TEST(DoctorPower, CapUnderLoadTellsTheLoadsDraw) {
  Survey survey = healthy_survey();
  GpuLoad load = healthy_load();
  survey.gpus[0].load = load;
  expect_finding(survey, "power-cap", "GPU0", ok,
                 "not reached while host copies ran, 150 W drawn at most");
  load.clock_events = std::uint64_t{0x4};
  survey.gpus[0].load = load;
  expect_finding(survey, "power-cap", "GPU0", ok,
                 "reached while host copies ran, 150 W drawn at most");
}

/// Copies leave the SMs idle: only the PCIe link was under load.
TEST(DoctorPower, HostCopiesAreNotCalledALoadOfTheGpu) {
  Survey survey = healthy_survey();
  GpuLoad load = healthy_load();
  for (const std::uint64_t bits : {0x0U, 0x4U, 0x80U, 0x48U}) {
    load.clock_events = bits;
    survey.gpus[0].load = load;
    for (const Finding& finding : check_machine(survey)) {
      if (finding.group != CheckGroup::power && finding.group != CheckGroup::cooling) continue;
      EXPECT_EQ(finding.value.find("under load"), std::string::npos) << finding.value;
      EXPECT_EQ(finding.value.find("heavy work"), std::string::npos) << finding.value;
    }
  }
}

TEST(DoctorPower, CapIsExpectedOfABusyGpuOnly) {
  expect_finding(with_events(0x1), "power-cap", "GPU0", ok, "not reached");
  expect_finding(with_events(0x4), "power-cap", "GPU0", ok, "expected under heavy work");
  expect_finding(with_events(0x5), "power-cap", "GPU0", warning, "while idle, 82 W drawn");
  Survey survey = healthy_survey();
  survey.gpus[0].clock_events = Reading<std::uint64_t>::missing("Not Supported");
  expect_finding(survey, "power-cap", "GPU0", not_checkable, "Not Supported");
}

TEST(DoctorPower, ADrawFarAboveTheLimitIsAWarning) {
  Survey survey = healthy_survey();
  survey.gpus[0].power = power_of(72.0, 72.0, 72.0);  // 82 W drawn: a short peak
  expect_finding(survey, "power-cap", "GPU0", ok, "not reached now, 82 W drawn");
  survey.gpus[0].power = power_of(60.0, 72.0, 72.0);
  expect_finding(survey, "power-cap", "GPU0", warning, "82 W drawn of 60 W allowed");
  survey.gpus[1].load = healthy_load();  // 150 W
  survey.gpus[1].power = power_of(100.0, 100.0, 100.0);
  expect_finding(survey, "power-cap", "GPU1", warning, "150 W drawn at most of 100 W allowed");
}

/// A healthy machine whose GPU0 is this hot.
Survey at(int celsius) {
  Survey survey = healthy_survey();
  survey.gpus[0].temperature_c = celsius;
  return survey;
}

TEST(DoctorCooling, TemperatureAgainstThePagesLimitsAndTheGpusOwn) {
  expect_finding(at(45), "temperature", "GPU0", ok, "45 °C idle, 44 below slowdown at 89 °C");
  expect_finding(at(75), "temperature", "GPU0", ok, "75 °C idle, 14 below");
  expect_finding(at(79), "temperature", "GPU0", ok, "up to 75 °C is better");
  expect_finding(at(80), "temperature", "GPU0", warning, "80 °C");
  expect_finding(at(88), "temperature", "GPU0", warning, "1 below slowdown");
  expect_finding(at(89), "temperature", "GPU0", problem, "slowdown starts at 89 °C");
}

TEST(DoctorCooling, WithoutAThresholdThePagesRangeHolds) {
  Survey survey = at(89);
  survey.gpus[0].slowdown_temperature_c = Reading<int>::missing("Not Supported");
  expect_finding(survey, "temperature", "GPU0", warning, "89 °C");
  survey.gpus[0].temperature_c = 90;
  expect_finding(survey, "temperature", "GPU0", problem, "90 °C");
  survey.gpus[0].temperature_c = Reading<int>::missing("Not Supported");
  expect_finding(survey, "temperature", "GPU0", not_checkable, "Not Supported");
}

TEST(DoctorCooling, ALowThresholdWarnsEarly) {
  Survey survey = at(73);
  survey.gpus[0].slowdown_temperature_c = 77;
  expect_finding(survey, "temperature", "GPU0", warning, "4 below slowdown at 77 °C");
}

TEST(DoctorCooling, TheLoadsTemperatureCounts) {
  Survey survey = healthy_survey();
  GpuLoad load = healthy_load();
  load.highest_temperature_c = 83;
  survey.gpus[0].load = load;
  expect_finding(survey, "temperature", "GPU0", warning, "83 °C while host copies ran");
}

TEST(DoctorCooling, Slowdown) {
  expect_finding(with_events(0x4), "thermal-slowdown", "GPU0", ok, "none now");
  expect_finding(with_events(0x48), "thermal-slowdown", "GPU0", problem, "by the hardware now");
  expect_finding(with_events(0x20), "thermal-slowdown", "GPU0", problem, "by the driver now");
  Survey survey = healthy_survey();
  survey.gpus[0].clock_events = Reading<std::uint64_t>::missing("Not Supported");
  expect_finding(survey, "thermal-slowdown", "GPU0", not_checkable, "Not Supported");
}

}  // namespace
}  // namespace linkgain
