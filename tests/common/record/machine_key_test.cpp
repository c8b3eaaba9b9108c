#include "linkgain/record/machine_key.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/launch_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Record gpus() { return run_of({{sized(8), "p2p", {1e-3}}}); }

template <typename Change>
std::vector<std::string> differences_after(Change change) {
  return differences(key_of(gpus()), key_of(changed(gpus(), change)));
}

Record mpi() {
  Record record = gpus();
  record.settings.backend = BackendKind::mpi;
  record.machine.processor = "a processor";
  record.machine.software.mpi = "Open MPI v4.1.4";
  return record;
}

TEST(MachineKey, OfLikeRunsIsTheSame) {
  EXPECT_THAT(differences_after([](Record& r) {
                r.started = "later";
                r.machine.host = "node2";
                r.machine.ranks[0].pid = 77;
                r.machine.processor = "another";
                r.machine.software.driver = "600";
                r.machine.software.nccl_library = "2.28.9";
              }),
              IsEmpty());
}

TEST(MachineKey, NamesWhatDiffers) {
  EXPECT_THAT(differences_after([](Record& r) { r.machine.software.nccl_library = "2.27.3"; }),
              ElementsAre("NCCL: 2.28 there, 2.27 here"));
  EXPECT_THAT(differences_after([](Record& r) { r.machine.ranks[1].gpu->name = "NVIDIA L4"; }),
              ElementsAre("GPUs: 2 x NVIDIA H200 there, NVIDIA H200 + NVIDIA L4 here"));
  EXPECT_THAT(
      differences_after([](Record& r) { r.machine.ranks[1].gpu->nvlink_links_active = 17; }),
      ElementsAre("active NVLinks of rank 1: 18 there, 17 here"));
  EXPECT_THAT(differences_after([](Record& r) { r.machine.links[0].nvlink = false; }),
              ElementsAre("NVLink between ranks 0 and 1: yes there, no here"));
  EXPECT_THAT(differences_after([](Record& r) { r.machine.links[0].p2p = false; }),
              ElementsAre("P2P between ranks 0 and 1: yes there, no here"));
  EXPECT_THAT(differences_after([](Record& r) { r.machine.ranks[1].host = "node9"; }),
              ElementsAre("hosts: 1 there, 2 here"));
  EXPECT_THAT(
      differences_after([](Record& r) { r.machine.ranks.push_back(gpu_rank(2)); }),
      ElementsAre("ranks: 2 there, 3 here", "GPUs: 2 x NVIDIA H200 there, 3 x NVIDIA H200 here"));
}

TEST(MachineKey, DoesNotCompareWhatIsNotKnown) {
  EXPECT_THAT(differences_after([](Record& r) {
                r.machine.links[0].p2p.reset();
                r.machine.links[0].ancestor = Ancestor::phb;
                r.machine.ranks[0].gpu->nvlink_links_active.reset();
                r.machine.software.nccl_library.reset();
              }),
              IsEmpty());
}

/// Four ranks whose pairs are joined by as many links, but for the first one's.
Record four_ranks(std::optional<int> first) {
  Record record = gpus();
  record.machine.links.clear();
  record.machine.ranks = {gpu_rank(0), gpu_rank(1), gpu_rank(2), gpu_rank(3)};
  for (int from = 0; from < 4; ++from) {
    for (int to = from + 1; to < 4; ++to) {
      record.machine.links.push_back(
          {.from = from, .to = to, .p2p = true, .nvlink = true, .nvlinks = 6});
    }
  }
  record.machine.links[0].nvlinks = first;
  return record;
}

TEST(MachineKey, CountsTheLinksOfEveryPair) {
  const auto after = [](std::optional<int> first) {
    return differences(key_of(four_ranks(6)), key_of(four_ranks(first)));
  };
  EXPECT_THAT(after(6), IsEmpty());
  EXPECT_THAT(after(3), ElementsAre("NVLinks between ranks 0 and 1: 6 there, 3 here"));
  EXPECT_THAT(after({}), IsEmpty()) << "not counted";
  Record none = four_ranks(0);
  none.machine.links[0].nvlink = false;
  EXPECT_THAT(differences(key_of(four_ranks(6)), key_of(none)),
              ElementsAre("NVLink between ranks 0 and 1: yes there, no here"));
}

TEST(MachineKey, LearnsWhatItDoesNotKnow) {
  Record bare = four_ranks(6);
  bare.machine.links.resize(2);
  bare.machine.links[1] = {.from = 0, .to = 2, .p2p = {}, .nvlink = {}};
  bare.machine.ranks[3].gpu->nvlink_links_active.reset();
  bare.machine.software.nccl_library.reset();
  MachineKey key = key_of(bare);
  fill_in(key, key_of(four_ranks({})));
  EXPECT_EQ(key.links[0].nvlinks, 6) << "what is known stays";
  EXPECT_EQ(key, key_of(four_ranks(6)));
  key = key_of(mpi());
  key.mpi.clear();
  key.processor.clear();
  fill_in(key, key_of(mpi()));
  EXPECT_EQ(key, key_of(mpi()));
}

TEST(MachineKey, OfMpiIsProcessorAndMpi) {
  const auto after = [](auto change) {
    return differences(key_of(mpi()), key_of(changed(mpi(), change)));
  };
  EXPECT_THAT(after([](Record& r) { r.machine.processor = "another"; }),
              ElementsAre("processor: a processor there, another here"));
  EXPECT_THAT(after([](Record& r) { r.machine.software.mpi = "Open MPI v5.0.0"; }),
              ElementsAre("MPI: Open MPI v4.1.4 there, Open MPI v5.0.0 here"));
  EXPECT_THAT(after([](Record& r) { r.machine.software.nccl_library = "2.1.0"; }), IsEmpty());
  EXPECT_THAT(differences(key_of(gpus()), key_of(mpi())).front(), "backend: nccl there, mpi here");
}

TEST(MachineKey, IsDescribed) {
  EXPECT_EQ(describe(key_of(gpus())), "2 x NVIDIA H200, NVLink, NCCL 2.28");
  EXPECT_EQ(describe(key_of(mpi())), "2 ranks on a processor, Open MPI v4.1.4");
}

}  // namespace
}  // namespace linkgain::test
