#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baseline_members.hpp"
#include "support/launch_records.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

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

TEST(MachineKey, DoesNotCompareWhatIsNotKnown) {
  EXPECT_THAT(differences_after([](Record& r) {
                r.machine.links[0].p2p.reset();
                r.machine.links[0].ancestor = Ancestor::phb;
                r.machine.ranks[0].gpu->nvlink_links_active.reset();
                r.machine.software.nccl_library.reset();
              }),
              IsEmpty());
}

/// Joins four ranks in pairs by as many links, except for the first pair.
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
  EXPECT_THAT(after(3), SizeIs(1));
  EXPECT_THAT(after({}), IsEmpty()) << "not counted";
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
  EXPECT_EQ(json::write(key), json::write(key_of(four_ranks(6))));
  key = key_of(mpi());
  key.mpi.reset();
  key.processor.reset();
  fill_in(key, key_of(mpi()));
  EXPECT_EQ(json::write(key), json::write(key_of(mpi())));
}

TEST(MachineKey, OfMpiHasNoNccl) {
  const Record other = changed(mpi(), [](Record& r) { r.machine.software.nccl_library = "2.1.0"; });
  EXPECT_THAT(differences(key_of(mpi()), key_of(other)), IsEmpty());
}

TEST(MachineKey, NamesWhatDiffers) {
  Situations answers;
  const auto ask = [&](const char* what, const Record& there, const Record& here) {
    answers.add(what, fmt::to_string(fmt::join(differences(key_of(there), key_of(here)), "\n")));
  };
  const auto ask_after = [&](const char* what, const Record& there, auto change) {
    ask(what, there, changed(there, change));
  };
  answers.about(key_text(key_of(gpus())));
  ask_after("an older NCCL", gpus(), [](Record& r) { r.machine.software.nccl_library = "2.27.3"; });
  ask_after("another GPU", gpus(), [](Record& r) { r.machine.ranks[1].gpu->name = "NVIDIA L4"; });
  ask_after("a link that is down", gpus(),
            [](Record& r) { r.machine.ranks[1].gpu->nvlink_links_active = 17; });
  ask_after("no NVLink", gpus(), [](Record& r) { r.machine.links[0].nvlink = false; });
  ask_after("no P2P", gpus(), [](Record& r) { r.machine.links[0].p2p = false; });
  ask_after("two hosts", gpus(), [](Record& r) { r.machine.ranks[1].host = "node9"; });
  ask_after("a third rank", gpus(), [](Record& r) { r.machine.ranks.push_back(gpu_rank(2)); });
  answers.about(key_text(key_of(four_ranks(6))));
  ask("fewer links of a pair", four_ranks(6), four_ranks(3));
  Record none = four_ranks(0);
  none.machine.links[0].nvlink = false;
  ask("none of a pair", four_ranks(6), none);
  answers.about(key_text(key_of(mpi())));
  ask_after("another processor", mpi(), [](Record& r) { r.machine.processor = "another"; });
  ask_after("another MPI", mpi(), [](Record& r) { r.machine.software.mpi = "Open MPI v5.0.0"; });
  ask("GPUs there", gpus(), mpi());
  answers.expect_golden("machine_differences.txt");
}

}  // namespace
}  // namespace linkgain::test
