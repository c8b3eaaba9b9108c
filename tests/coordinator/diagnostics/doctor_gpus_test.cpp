#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "doctor_support.hpp"

namespace linkgain::test {
namespace {

using enum CheckVerdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Reading<bool> unknown_flag() { return Missing{"Not Supported"}; }

TEST(Doctor, FindsNothingWrongWithAHealthyMachine) {
  const std::vector<Finding> findings = check_machine(healthy_survey());
  EXPECT_GT(findings.size(), 25U);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.verdict, ok)
        << finding.id << " " << finding.subject << ": " << finding.value.text();
    EXPECT_FALSE(finding.value.text().empty()) << finding.id;
    EXPECT_EQ(finding.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"),
              std::string::npos);
  }
}

TEST(Doctor, ChecksWhatItCanOfAnEmptySurvey) {
  const std::vector<Finding> findings = check_machine(Survey{});
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.value.text().empty()) << finding.id << ": a reason is due";
  }
  EXPECT_TRUE(std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.verdict == not_checkable; }));
}

TEST(DoctorGpus, Driver) {
  expect_finding(healthy_survey(), "gpu-driver", "host", ok, "2 GPUs, driver 580.159.04");
  Survey none = no_gpu_survey();
  expect_finding(none, "gpu-driver", "host", not_checkable, "libnvidia-ml.so.1");
  none.host.nvidia_devices = std::vector<std::string>{"0000:01:00.0"};
  expect_finding(none, "gpu-driver", "host", problem, "1 NVIDIA GPU on PCIe, none usable");
}

TEST(DoctorGpus, Present) {
  Survey survey = healthy_survey();
  expect_finding(survey, "gpus-present", "host", ok, "all 2");
  survey.host.nvidia_devices = std::vector<std::string>(8, "0000:01:00.0");
  expect_finding(survey, "gpus-present", "host", warning, "2 of 8");
  survey.host.nvidia_devices = std::vector<std::string>{};
  expect_finding(survey, "gpus-present", "host", not_checkable,
                 "the kernel shows 0 of the 2 that the driver knows");
  survey.host.nvidia_devices = Missing{"there is no /sys"};
  expect_finding(survey, "gpus-present", "host", not_checkable, "no /sys");
}

TEST(DoctorGpus, OneThatFellOffTheBusIsAProblemAndAskedNothingElse) {
  Survey survey = healthy_survey();
  survey.gpus[1] = GpuSurvey{};
  survey.gpus[1].index = 1;
  survey.gpus[1].lost = "GPU is lost";
  expect_finding(survey, "gpu-responds", "GPU0", ok, "NVIDIA H200");
  expect_finding(survey, "gpu-responds", "GPU1", problem, "GPU is lost");
  for (const Finding& finding : check_machine(survey)) {
    if (finding.subject != "GPU1") continue;
    EXPECT_EQ(finding.id, "gpu-responds");
  }
}

TEST(DoctorGpus, OneThatTheDriverTellsNothingOfIsNotTakenToRespond) {
  Survey survey = healthy_survey();
  survey.gpus[0].name.clear();
  expect_finding(survey, "gpu-responds", "GPU0", ok, "does not say its model");
  survey.gpus[0].temperature_c = Missing{"this driver's NVML has no such function"};
  expect_finding(survey, "gpu-responds", "GPU0", not_checkable, "has no such function");
}

TEST(DoctorGpus, MemoryRows) {
  Survey survey = healthy_survey();
  survey.gpus[0].memory_remap_pending = true;
  survey.gpus[1].memory_remap_pending = unknown_flag();
  expect_finding(survey, "memory-rows", "GPU0", problem, "wait to be replaced");
  expect_finding(survey, "memory-rows", "GPU1", not_checkable, "Not Supported");
  expect_finding(healthy_survey(), "memory-rows", "GPU1", ok, "none");
}

TEST(DoctorGpus, ComputeMode) {
  Survey survey = healthy_survey();
  expect_finding(survey, "compute-mode", "GPU0", ok, "default");
  survey.gpus[0].compute_mode = ComputeModeName::exclusive_process;
  survey.gpus[1].compute_mode = ComputeModeName::exclusive_thread;
  expect_finding(survey, "compute-mode", "GPU0", warning, "one process");
  expect_finding(survey, "compute-mode", "GPU1", warning, "one thread");
  survey.gpus[0].compute_mode = ComputeModeName::prohibited;
  survey.gpus[1].compute_mode = Missing{"Unknown Error"};
  expect_finding(survey, "compute-mode", "GPU0", problem, "prohibited");
  expect_finding(survey, "compute-mode", "GPU1", not_checkable, "Unknown Error");
}

TEST(DoctorGpus, NamesNeighbours) {
  Survey survey = healthy_survey();
  expect_finding(survey, "neighbours", "GPU0", ok, "0 % busy");
  survey.gpus[0].busy_percent = 97.0;
  survey.gpus[0].processes = std::vector<GpuProcess>{{4711, "python3", {}}};
  expect_finding(survey, "neighbours", "GPU0", warning, "97 % busy (pid 4711 python3)");
  expect_finding(survey, "neighbours", "GPU1", ok, "0 % busy");
  survey.gpus[0].busy_percent = 0.0;
  expect_finding(survey, "neighbours", "GPU0", warning, "0 % busy (pid 4711 python3)");
  survey.gpus[0].processes = Missing{"Not Supported"};
  expect_finding(survey, "neighbours", "GPU0", ok, "0 % busy");
  survey.gpus[0].busy_percent = 40.0;
  expect_finding(survey, "neighbours", "GPU0", warning, "not shown here");
  survey.gpus[0].busy_percent = Missing{"Not Supported"};
  expect_finding(survey, "neighbours", "GPU0", not_checkable, "Not Supported");
}

TEST(DoctorGpus, Persistence) {
  Survey survey = healthy_survey();
  expect_finding(survey, "persistence", "GPU0", ok, "on");
  survey.gpus[0].persistence_mode = false;
  survey.gpus[1].persistence_mode = unknown_flag();
  expect_finding(survey, "persistence", "GPU0", warning, "off");
  expect_finding(survey, "persistence", "GPU1", not_checkable, "Not Supported");
}

TEST(DoctorGpus, Visible) {
  Survey survey = healthy_survey();
  expect_finding(survey, "cuda-visible", "host", ok, "2 of 2");
  const auto hidden = hidden_from_cuda();
  survey.visible_devices = "0";
  survey.topology.gpus[1].cuda_index = hidden;
  expect_finding(survey, "cuda-visible", "host", warning,
                 "1 of 2 GPUs with CUDA_VISIBLE_DEVICES=0");
  survey.visible_devices = "";
  survey.topology.gpus[0].cuda_index = hidden;
  expect_finding(survey, "cuda-visible", "host", problem, "0 of 2");
  survey.visible_devices = "0,0";
  for (TopologyGpu& gpu : survey.topology.gpus) {
    gpu.cuda_index = Missing{"it names a GPU twice", WhyMissing::hidden};
  }
  expect_finding(survey, "cuda-visible", "host", problem,
                 "0 of 2 GPUs with CUDA_VISIBLE_DEVICES=0,0; it names a GPU twice");
  survey.visible_devices.reset();
  survey.topology.gpus[0].cuda_index = Missing{"the order is not known"};
  expect_finding(survey, "cuda-visible", "host", not_checkable, "not known");
}

TEST(DoctorGpus, WhatCudaSeesIsNotGuessed) {
  const auto hidden = hidden_from_cuda();
  const auto unknown = Missing{"the models differ"};
  Survey survey = healthy_survey();
  survey.visible_devices = "0,1";
  for (TopologyGpu& gpu : survey.topology.gpus) gpu.cuda_index = unknown;
  expect_finding(survey, "cuda-visible", "host", not_checkable, "the models differ");
  survey.topology.gpus[0].cuda_index = hidden;
  expect_finding(survey, "cuda-visible", "host", not_checkable, "the models differ");
  survey.topology.gpus[1].cuda_index = Missing{"GPU is lost"};
  survey.topology.gpus[1].no_answer = "GPU is lost";
  expect_finding(survey, "cuda-visible", "host", problem, "0 of 2");
  survey.topology.gpus[0].no_answer = "GPU is lost";
  expect_finding(survey, "cuda-visible", "host", not_checkable, "GPU is lost");
}

TEST(DoctorGpus, SomeHiddenOfMany) {
  Survey survey = healthy_survey();
  survey.topology.gpus.push_back(healthy_links(2));
  survey.gpus.push_back(healthy_gpu(2));
  survey.topology.gpus[2].cuda_index = hidden_from_cuda();
  survey.visible_devices = "0,1";
  expect_finding(survey, "cuda-visible", "host", warning, "2 of 3");
}

TEST(DoctorGpus, Order) {
  Survey survey = healthy_survey();
  expect_finding(survey, "cuda-order", "host", ok, "as nvidia-smi does");
  survey.topology.gpus[0].cuda_index = 1;
  survey.topology.gpus[1].cuda_index = 0;
  expect_finding(survey, "cuda-order", "host", warning, "CUDA's device 0 is GPU1");
  for (TopologyGpu& gpu : survey.topology.gpus) gpu.cuda_index = Missing{"hidden"};
  expect_finding(survey, "cuda-order", "host", not_checkable, "not known");
}

TEST(DoctorGpus, ALoadThatFailedIsSaid) {
  Survey survey = healthy_survey();
  for (const Finding& finding : check_machine(survey)) EXPECT_NE(finding.id, "load");
  survey.load_failure = "this build has no CUDA (exit status 3)";
  expect_finding(survey, "load", "host", not_checkable,
                 "nothing was loaded: this build has no CUDA");
}

XidEvent xid(const std::string& place, int code, const std::string& text = {}) {
  XidEvent event;
  event.pci_bus_id = place;
  event.code = code;
  event.text = text;
  event.seconds_after_boot = 12.3;
  return event;
}

TEST(DoctorGpus, Xid) {
  Survey survey = healthy_survey();
  expect_finding(survey, "xid", "host", ok, "no Xid");
  survey.host.xid_events = std::vector<XidEvent>{xid("0000:07:00", 79), xid("0000:06:00", 31),
                                                 xid("0000:06:00", 31), xid("0000:99:00", 63)};
  expect_finding(survey, "xid", "GPU1", problem, "Xid 79: the GPU fell off the bus; once");
  expect_finding(survey, "xid", "GPU0", warning, "2 times, last 12 s");
  expect_finding(survey, "xid", "PCI 0000:99:00", warning, "Xid 63");
  survey.host.xid_events = Missing{"root only"};
  expect_finding(survey, "xid", "host", not_checkable, "root only");
}

std::vector<std::string> xid_values(const Survey& survey, CheckVerdict verdict) {
  std::vector<std::string> values;
  for (const Finding& finding : check_machine(survey)) {
    if (finding.id == "xid" && finding.verdict == verdict) values.push_back(finding.value.text());
  }
  return values;
}

TEST(DoctorGpus, XidErrorsThatMeanDifferentThingsAreFindingsOfTheirOwn) {
  Survey survey = healthy_survey();
  survey.host.xid_events =
      std::vector<XidEvent>{xid("0000:07:00", 145, "RLW_RXPIPE Fatal XC0 i0 Link 13 (0x1)"),
                            xid("0000:07:00", 145, "RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x1)"),
                            xid("0000:07:00", 145, "RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x2)")};
  EXPECT_THAT(xid_values(survey, problem), ElementsAre(HasSubstr("on link 13; once")));
  EXPECT_THAT(xid_values(survey, warning), ElementsAre(HasSubstr("13, not fatal; 2 times")));
}

TEST(DoctorGpus, XidErrorsOfBeforeTheDriverWasLoadedCountNoMore) {
  Survey survey = healthy_survey();
  XidEvent past = xid("0000:07:00", 79);
  past.is_past = true;
  survey.host.xid_events = std::vector<XidEvent>{past};
  expect_finding(survey, "xid", "host", ok, "no Xid error since the driver was loaded, 1 before");
  survey.host.xid_events = std::vector<XidEvent>{past, xid("0000:06:00", 31)};
  expect_finding(survey, "xid", "GPU0", warning, "Xid 31");
  EXPECT_THAT(xid_values(survey, ok), IsEmpty());
}

TEST(DoctorGpus, SwitchErrorsHaveTheirOwnSubject) {
  Survey survey = healthy_survey();
  XidEvent event = xid("0000:05:00", 20034, "Fatal, Link 30 LTSSM Fault Up");
  event.from_switch = true;
  survey.host.xid_events = std::vector<XidEvent>{event};
  expect_finding(survey, "xid", "NVSwitch 0000:05:00", problem, "SXid 20034: NVSwitch error");
}

Reading<std::uint64_t> events(std::uint64_t bits) { return bits; }

/// Returns a healthy machine whose GPU0 shows these clock events.
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
  survey.gpus[1].power = Missing{"Not Supported"};
  expect_finding(survey, "power-limit", "GPU0", not_checkable, "limit");
  expect_finding(survey, "power-limit", "GPU1", not_checkable, "Not Supported");
  survey.gpus[0].power = power_of(300.0, {}, {});
  expect_finding(survey, "power-limit", "GPU0", not_checkable, "default");
}

TEST(DoctorPower, Brake) {
  expect_finding(with_events(0x1), "power-brake", "GPU0", ok, "none now");
  expect_finding(with_events(0x80), "power-brake", "GPU0", problem, "power brake now");
  EXPECT_THAT(finding_of(with_events(0x88), "power-brake", "GPU0").advice,
              ::testing::HasSubstr("8-pin"));
  expect_finding(with_events(0x8), "power-brake", "GPU0", problem, "by the hardware");
  expect_finding(with_events(0x48), "power-brake", "GPU0", ok,
                 "none");  // the heat's
  Survey survey = healthy_survey();
  survey.gpus[0].clock_events = Missing{"Not Supported"};
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
  load.clock_events = Missing{"Unknown Error"};
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

/// Finds the SMs idle: only the PCIe link was under load.
TEST(DoctorPower, HostCopiesAreNotCalledALoadOfTheGpu) {
  Survey survey = healthy_survey();
  GpuLoad load = healthy_load();
  for (const std::uint64_t bits : {0x0U, 0x4U, 0x80U, 0x48U}) {
    load.clock_events = bits;
    survey.gpus[0].load = load;
    for (const Finding& finding : check_machine(survey)) {
      if (finding.group != CheckGroup::power && finding.group != CheckGroup::cooling) continue;
      EXPECT_EQ(finding.value.text().find("under load"), std::string::npos) << finding.value.text();
      EXPECT_EQ(finding.value.text().find("heavy work"), std::string::npos) << finding.value.text();
    }
  }
}

TEST(DoctorPower, CapIsExpectedOfABusyGpuOnly) {
  expect_finding(with_events(0x1), "power-cap", "GPU0", ok, "not reached");
  expect_finding(with_events(0x4), "power-cap", "GPU0", ok, "expected under heavy work");
  expect_finding(with_events(0x5), "power-cap", "GPU0", warning, "while idle, 82 W drawn");
  Survey survey = healthy_survey();
  survey.gpus[0].clock_events = Missing{"Not Supported"};
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

/// Returns a healthy machine whose GPU0 is this hot.
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
  survey.gpus[0].slowdown_temperature_c = Missing{"Not Supported"};
  expect_finding(survey, "temperature", "GPU0", warning, "89 °C");
  survey.gpus[0].temperature_c = 90;
  expect_finding(survey, "temperature", "GPU0", problem, "90 °C");
  survey.gpus[0].temperature_c = Missing{"Not Supported"};
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
  survey.gpus[0].clock_events = Missing{"Not Supported"};
  expect_finding(survey, "thermal-slowdown", "GPU0", not_checkable, "Not Supported");
}

}  // namespace

}  // namespace linkgain::test
