#include <gmock/gmock.h>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/runtime/engine.hpp"
#include "linkgain/runtime/fault.hpp"
#include "linkgain/runtime/session.hpp"
#include "linkgain/telemetry/host.hpp"
#include "support/golden.hpp"
#include "support/scoped_environment.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::IsEmpty;

TEST(LocalStart, ARanksWordsHaveItsNumber) {
  testing::internal::CaptureStderr();
  const int status = start_local_ranks(
      2, {"/bin/sh", "-c",
          "case $LINKGAIN_RANK in 1*) sleep 0.2; echo oops >&2; echo 'linkgain-bench: mine' >&2; "
          "printf 'no end' >&2; exit 5;; *) exec sleep 30;; esac"});
  EXPECT_THAT(split(testing::internal::GetCapturedStderr(), '\n'),
              testing::ElementsAre("rank 1: oops", "linkgain-bench: mine", "rank 1: no end", ""));
  EXPECT_EQ(status, 5);
}

TEST(LocalStart, WhatCannotBeStartedIsSaid) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(start_local_ranks(2, {"/no/such/program"}), 126);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("'/no/such/program'"));
}

/// Ranks 0 and 1, both of this process.
class RankBoards : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(own_.address(), "");
    own_.open_others({own_.address(), other_.address()}, 0);
  }

  /// Returns what rank 0 says of rank 1 while they are in these states.
  std::string missing(RankState own, RankState other) {
    own_.set(own);
    other_.set(other);
    return own_.who_is_missing() + "\n";
  }

  RankBoard own_;
  RankBoard other_;
};

TEST_F(RankBoards, TellWhoIsMissing) {
  using enum RankState;
  EXPECT_THAT(own_.who_is_missing(), IsEmpty());
  EXPECT_EQ(missing(with_ranks, with_ranks), "\n");
  EXPECT_EQ(missing(at_work, at_work), "\n") << "neither waits for the other";
  std::string text = missing(with_ranks, at_work) + missing(in_operation, at_work) +
                     missing(with_ranks, in_operation);
  own_.begins_command();
  text += missing(with_ranks, idle);
  other_.begins_command();
  other_.begins_command();
  EXPECT_EQ(missing(with_ranks, at_work), "\n") << "it is ahead";
  expect_golden(text, "missing_ranks.txt");
}

TEST_F(RankBoards, TellOfSignsOfLife) {
  EXPECT_EQ(own_.beats_of(1), 0U);
  other_.beats();
  other_.beats();
  EXPECT_EQ(own_.beats_of(1), 2U);
  EXPECT_EQ(own_.beats_of(0), std::nullopt) << "its own";
  EXPECT_EQ(own_.beats_of(2), std::nullopt) << "there is none";
}

TEST_F(RankBoards, LeaveOutWhatIsNotTheirs) {
  own_.begins_command();
  RankBoard third;
  third.begins_command();
  third.open_others({"", other_.address() + "-of-another-host", "/proc/1/fd/99999 linkgain-rank-1"},
                    0);
  EXPECT_THAT(third.who_is_missing(), IsEmpty());
}

TEST_F(RankBoards, StatesAreSetBack) {
  own_.set(RankState::at_work);
  {
    const InState state(own_, RankState::with_ranks);
    EXPECT_EQ(own_.own(), RankState::with_ranks);
  }
  EXPECT_EQ(own_.own(), RankState::at_work);
}

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
  expect_fault("unmapped@1", Fault::Kind::unmapped, 1, 1);
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

/// Ranks on the GPUs of two hosts that are built alike, two on each.
std::vector<RankInfo> ranks_on_two_hosts(const Nvml& nvml) {
  std::vector<RankInfo> ranks;
  for (const std::string& host : {host_name(), std::string("another")}) {
    for (int i = 0; i < 2; ++i) {
      RankInfo& rank = ranks.emplace_back();
      rank.rank = static_cast<int>(ranks.size()) - 1;
      rank.host = host;
      rank.gpu.emplace();
      rank.gpu->pci_bus_id = nvml.device_by_index(i)->pci_bus_id().value_or("");
    }
  }
  return ranks;
}

TEST(DeviceMonitor, TellsLinksOfThisHostOnly) {
  const ScopedEnvironment library("LINKGAIN_NVML_LIBRARY", NVML_DOUBLE);
  const ScopedEnvironment scenario("LINKGAIN_NVML_SCENARIO", "h200x2");
  const auto nvml = Nvml::open();
  ASSERT_TRUE(nvml);
  const std::vector<RankInfo> ranks = ranks_on_two_hosts(*nvml);
  const std::vector<PairLink> links = DeviceMonitor(ranks[0].gpu).links(ranks);
  ASSERT_EQ(links.size(), 6U);
  for (const PairLink& link : links) {
    const bool here = link.from == 0 && link.to == 1;
    EXPECT_EQ(link.nvlink, here ? std::optional(true) : std::nullopt) << link.from << link.to;
    EXPECT_EQ(link.p2p, here ? std::optional(true) : std::nullopt) << link.from << link.to;
    EXPECT_EQ(link.nvlinks.has_value(), here) << link.from << link.to;
  }
}

GpuInfo gpu_at(const std::string& pci_bus_id) {
  GpuInfo gpu;
  gpu.pci_bus_id = pci_bus_id;
  return gpu;
}

TEST(DeviceMonitor, ReadsTheCountersOfItsOwnGpu) {
  const ScopedEnvironment library("LINKGAIN_NVML_LIBRARY", NVML_DOUBLE);
  const ScopedEnvironment scenario("LINKGAIN_NVML_SCENARIO", "h200x2");
  const ScopedEnvironment step("LINKGAIN_NVML_COUNTER_STEP", "1073741824");
  const ScopedEnvironment pcie_step("LINKGAIN_NVML_PCIE_STEP", "1048576");
  const DeviceMonitor monitor(gpu_at("00000000:00:07.0"));
  AbsentCounters why;
  const LinkCounters before = monitor.link_counters(why);
  EXPECT_EQ(before.nvlink_sent, std::int64_t{72} << 20) << "the second GPU's start";
  const LinkCounters moved = growth(before, monitor.link_counters(why));
  EXPECT_EQ(moved.nvlink_sent, std::int64_t{1} << 30);
  EXPECT_EQ(moved.nvlink_received, std::int64_t{1} << 30);
  EXPECT_EQ(moved.pcie_sent, std::int64_t{1} << 20) << "although they wrapped";
  EXPECT_EQ(moved.pcie_received, std::int64_t{1} << 20);
  EXPECT_EQ(why.nvlink + why.pcie, "");
}

/// Returns why counters are absent, alike for NVLink and PCIe.
std::string absent_counters(const std::optional<GpuInfo>& gpu) {
  AbsentCounters why;
  EXPECT_EQ(DeviceMonitor(gpu).link_counters(why), LinkCounters{});
  EXPECT_EQ(why.nvlink, why.pcie);
  return why.nvlink;
}

TEST(DeviceMonitor, SaysWhyThereAreNoCounters) {
  Situations answers;
  const ScopedEnvironment library("LINKGAIN_NVML_LIBRARY", NVML_DOUBLE);
  {
    const ScopedEnvironment scenario("LINKGAIN_NVML_SCENARIO", "failing-fields");
    answers.add("the driver fails", absent_counters(gpu_at("00000000:00:07.0")));
    answers.add("a GPU that is not there", absent_counters(gpu_at("00000000:99:00.0")));
    answers.add("a rank without a GPU", absent_counters(std::nullopt));
  }
  const ScopedEnvironment no_driver("LINKGAIN_NVML_SCENARIO", "no-driver");
  answers.add("no driver", absent_counters(gpu_at("00000000:00:07.0")));
  answers.expect_golden("absent_counters.txt");
}

TEST(DeviceMonitor, CompletesAGpu) {
  const ScopedEnvironment library("LINKGAIN_NVML_LIBRARY", NVML_DOUBLE);
  const ScopedEnvironment scenario("LINKGAIN_NVML_SCENARIO", "clock-limits");
  GpuInfo gpu;
  gpu.pci_bus_id = "00000000:00:07.0";
  DeviceMonitor(gpu).complete(gpu);
  EXPECT_EQ(gpu.nvlink_links, 18);
  EXPECT_EQ(gpu.pcie_width, 16);
  EXPECT_EQ(gpu.most_sm_clock_mhz, 1980);
  EXPECT_EQ(gpu.application_clock_mhz, 1410);
  EXPECT_EQ(gpu.power_limit_w, 700.0);
}

}  // namespace
}  // namespace linkgain::test
