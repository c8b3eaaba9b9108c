#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "linkgain/analysis/path_validity.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/cases/option_parsers.hpp"
#include "linkgain/cases/profiles.hpp"
#include "linkgain/cases/selection.hpp"
#include "support/evidence_cases.hpp"
#include "support/golden.hpp"

/// Copies, latencies and host copies: names, forms, buffers, bytes and paths.
namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::IsSupersetOf;

std::string refusal(const std::string& name) {
  try {
    parse_case_name(name);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(MemoryOperations, HaveNamesWithoutAType) {
  for (const char* name :
       {"copy_push/256MiB/np2/pair=0-1", "copy_pull/256MiB/np2/kernel/pair=1-0/both",
        "copy_push/1MiB/np8/kernel", "all_to_one/256MiB/np4/root=3", "one_to_all/16MiB/np8/kernel",
        "latency/8B/np2/pair=0-1", "load_latency/2MiB/np4/pair=2-3", "host_to_device/64MiB/np2",
        "device_to_host/64MiB/np2/kernel"}) {
    EXPECT_EQ(case_name(parse_case_name(name)), name);
  }
  Case c = parse_case_name("copy_push/256MiB/np2/pair=0-1");
  EXPECT_EQ(c.operation, OperationKind::copy_push);
  EXPECT_EQ(c.pair, (Pair{0, 1, false}));
  EXPECT_EQ(curve_name(c), "copy_push/np2/pair=0-1");
}

TEST(MemoryOperations, RefuseWhatTheyHaveNot) {
  std::string text;
  for (const char* name :
       {"copy_push/float32/256MiB/np2", "copy_push/24B/np2", "latency/12B/np2/pair=0-1",
        "load_latency/64B/np2/pair=0-1", "copy_push/1MiB/np2/graph", "copy_push/1MiB/np2/symmetric",
        "copy_push/1MiB/np2/inplace", "copy_push/1MiB/np9", "latency/8B/np2",
        "latency/8B/np2/pair=0-1/both", "latency/8B/np2/kernel/pair=0-1",
        "host_to_device/1MiB/np2/pair=0-1", "copy_push/1MiB/np2/root=1"}) {
    text += std::string(name) + "\n    " + refusal(name) + "\n";
  }
  expect_golden(text, "refused_memory_operations.txt");
}

TEST(MemoryOperations, CopiesMoveWhatTheirMessagesHold) {
  const auto expected = [](const char* name) {
    return expected_bytes(parse_case_name(name), kSimpleMessage).value_or(-1) / kMiB;
  };
  EXPECT_EQ(expected("copy_push/256MiB/np4/pair=0-1"), 256);
  EXPECT_EQ(expected("copy_pull/256MiB/np4/pair=0-1/both"), 512);
  EXPECT_EQ(expected("copy_push/256MiB/np4"), 1024);
  EXPECT_EQ(expected("all_to_one/256MiB/np4"), 768);
  EXPECT_EQ(expected("one_to_all/256MiB/np4/root=2"), 768);
  EXPECT_EQ(expected("host_to_device/256MiB/np4"), -1.0 / kMiB);
  EXPECT_EQ(expected("load_latency/64MiB/np4/pair=0-1"), -1.0 / kMiB);
  EXPECT_EQ(expected_bytes(parse_case_name("latency/8B/np2/pair=0-1"), {"PUSH", "LL"}), 16);
}

std::string reason(const char* name) {
  const Case c = parse_case_name(name);
  const std::vector<LinkCounters> ranks(static_cast<std::size_t>(c.ranks), counters(0));
  return assess(c, kSimpleMessage, 2, ranks, false).reason;
}

TEST(MemoryOperations, OnlyLargeCopiesBetweenGpusAreJudged) {
  EXPECT_EQ(reason("copy_push/16MiB/np2/pair=0-1"), "");
  EXPECT_EQ(reason("all_to_one/16MiB/np4/kernel"), "");
  std::string reasons;
  for (const char* name : {"copy_push/8MiB/np2/pair=0-1", "host_to_device/1GiB/np2",
                           "load_latency/64MiB/np2/pair=0-1"}) {
    reasons += std::string(name) + ": " + reason(name) + "\n";
  }
  expect_golden(reasons, "not_judged_memory.txt");
}

TEST(MemoryOperations, HaveBuffersAlikeOnAllRanks) {
  for (const char* name :
       {"all_to_one/1MiB/np4/root=1", "one_to_all/1MiB/np4", "copy_push/1MiB/np4"}) {
    const Case c = parse_case_name(name);
    for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(slot_bytes(c, rank), slot_bytes(c, 0)) << name;
  }
  const Case gathers = parse_case_name("all_to_one/1MiB/np4/root=1");
  EXPECT_EQ(rank_buffers(gathers, 1).output, Bytes{4 * kMiB});
  EXPECT_EQ(rank_buffers(gathers, 0), (RankBuffers{.input = Bytes{kMiB}}));
}

TEST(MemoryOperations, ALaunchOfALatencyIsManyOperations) {
  const BufferPlan plan =
      plan_buffers(parse_case_name("latency/8B/np2/pair=0-1"), Bytes{50 * kMiB});
  EXPECT_EQ(plan.slots, 1);
  EXPECT_EQ(plan.granularity(), plan.operations_per_slot);
  EXPECT_GE(plan.operations_per_slot, 512) << "a launch takes as long as some messages";
}

Machine gpus_joined_by(const std::map<std::pair<int, int>, std::optional<bool>>& nvlink) {
  Machine machine;
  for (const auto& [pair, joined] : nvlink) {
    machine.links.push_back({pair.first, pair.second, true, joined, {}});
  }
  return machine;
}

TEST(OwnPath, IsThatOfTheLinksThatACaseUses) {
  const Machine machine = gpus_joined_by({{{0, 1}, true}, {{0, 2}, false}, {{1, 2}, std::nullopt}});
  Execution direct;
  direct.through_host = false;
  const auto path = [&](const char* name) {
    return own_path(machine, parse_case_name(name), direct);
  };
  EXPECT_EQ(path("copy_push/1MiB/np3/pair=0-1"), Path::nvlink);
  EXPECT_EQ(path("copy_push/1MiB/np3/pair=1-0"), Path::nvlink);
  EXPECT_EQ(path("copy_push/1MiB/np3/pair=2-0/both"), Path::pcie_p2p);
  EXPECT_EQ(path("copy_push/1MiB/np3/pair=1-2"), Path::unknown);
  EXPECT_EQ(path("all_reduce/float32/sum/1MiB/np3/kernel"), Path::unknown);
  const Machine uneven = gpus_joined_by({{{0, 1}, true}, {{0, 2}, false}});
  EXPECT_EQ(own_path(uneven, parse_case_name("copy_push/1MiB/np3"), direct), Path::mixed);
  EXPECT_EQ(own_path({}, parse_case_name("copy_push/1MiB/np3"), direct), Path::unknown);
  for (const char* alone :
       {"product_norm/bfloat16/8KiB/np3/graph/hidden=4096", "gpt2_step/bf16/gpt2/np3/none"}) {
    EXPECT_EQ(own_path(machine, parse_case_name(alone), {}), Path::unknown) << "nothing is sent";
  }
  EXPECT_EQ(own_path(machine, parse_case_name("all_reduce/float32/sum/1MiB/np3"), {}),
            std::nullopt);
  direct.through_host = true;
  EXPECT_EQ(path("copy_push/1MiB/np3/pair=0-1"), Path::host_memory);
  direct.through_host.reset();
  EXPECT_EQ(path("copy_push/1MiB/np3/pair=0-1"), std::nullopt) << "the library chose";
}

std::set<std::string> names_of(Profile profile, int ranks) {
  std::set<std::string> names;
  const ProfilePlan plan = plan_of(profile, BackendKind::nccl);
  for (const Case& c : expand(plan.selections, ranks, BackendKind::nccl)) {
    names.insert(case_name(c));
  }
  return names;
}

TEST(Profiles, HaveCopiesAndLatencies) {
  EXPECT_THAT(names_of(Profile::quick, 2), IsSupersetOf({"copy_push/256MiB/np2/pair=0-1",
                                                         "copy_push/256MiB/np2/pair=0-1/both"}));
  EXPECT_THAT(names_of(Profile::standard, 8),
              IsSupersetOf({"copy_push/256MiB/np8/pair=0-1", "latency/8B/np8/pair=0-1"}));
  EXPECT_THAT(names_of(Profile::full, 4),
              IsSupersetOf({"copy_pull/256MiB/np4/kernel/pair=3-1",
                            "copy_push/256MiB/np4/pair=2-3/both", "latency/8B/np4/pair=3-0",
                            "load_latency/2MiB/np4/pair=3-0", "all_to_one/256MiB/np4/kernel",
                            "one_to_all/256MiB/np4", "host_to_device/256MiB/np4",
                            "device_to_host/256MiB/np4/kernel", "copy_push/1GiB/np4/pair=0-1"}));
}

TEST(Profiles, EveryPairOfALatencyIsOneWay) {
  Selection selection;
  selection.operations = {OperationKind::latency};
  selection.sizes = parse_sizes("8");
  selection.patterns = {Pattern::one_way};
  std::vector<std::string> names;
  for (const Case& c : expand({selection}, 3, BackendKind::nccl)) names.push_back(case_name(c));
  EXPECT_THAT(names, ElementsAre("latency/8B/np3/pair=0-1", "latency/8B/np3/pair=0-2",
                                 "latency/8B/np3/pair=1-0", "latency/8B/np3/pair=1-2",
                                 "latency/8B/np3/pair=2-0", "latency/8B/np3/pair=2-1"));
}

}  // namespace
}  // namespace linkgain::test
