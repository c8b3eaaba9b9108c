#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "linkgain/report/answer.hpp"
#include "linkgain/report/report.hpp"
#include "support/golden.hpp"
#include "support/sample_records.hpp"
#include "training_records.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Describes two RTX 3090 whose bytes went through host memory in both variants: an all-reduce of
/// 256 MiB at 13.7 GB/s, and a training that waits 6 ms of 50 for its communication.
Record without_bridge() {
  Record record = two_gpus();
  for (RankInfo& rank : record.machine.ranks) {
    rank.gpu->name = "NVIDIA GeForce RTX 3090";
    rank.gpu->nvlink_version.reset();
    rank.gpu->nvlink_links = 4;
    rank.gpu->nvlink_links_active = 0;
    rank.gpu->nvlink_rate_gb_per_s.reset();
    rank.gpu->nvlink_total_gb_per_s.reset();
  }
  record.machine.links = {{.from = 0, .to = 1, .p2p = false, .nvlink = false}};
  record.settings.training = TrainingPlan{};
  const int ddp =
      add_training(record, "gpt2_step/bf16/gpt2/np2",
                   {on_path("p2p", Path::host_memory), on_path("host", Path::host_memory)});
  const int none =
      add_training(record, "gpt2_step/bf16/gpt2/np2/none",
                   {on_path("p2p", Path::unknown), skipped("host", "uses no link between ranks")});
  add_blocks(record, ddp, 0, 0.050, 10.98);
  add_blocks(record, ddp, 1, 0.050, 10.98);
  add_blocks(record, none, 0, 0.044, 10.98);
  finish(record);
  note_exposed_communication(record);
  Case definition = all_reduce(1 << 28);
  record.cases.push_back(converged(definition,
                                   {measured(definition, "p2p", 19.6e-3, Path::host_memory),
                                    measured(definition, "host", 19.6e-3, Path::host_memory)},
                                   {ratio("host", 1.0, 0.99, 1.01)}));
  return record;
}

std::string text_of_bound(const Record& record) {
  const RunSummary summary(record);
  return to_markdown(nvlink_bound(summary));
}

TEST(NvlinkBound, IsTheExposedCommunicationAndTheLinksRate) {
  const std::string text = text_of_bound(without_bridge());
  // 2^28 B / 56.25 GB/s; 50 ms less 6, at the interval's upper end.
  for (const char* figure : {"56.25 GB/s", "4.77 ms", "4.11x", "43.99 ms", "1.14x"}) {
    EXPECT_THAT(text, HasSubstr(figure));
  }
}

TEST(NvlinkBound, LeavesOutWhatNoLinkBetweenGpusCarries) {
  Record record = without_bridge();
  Case definition = all_reduce(1 << 28);
  definition.operation = OperationKind::host_to_device;
  record.cases.push_back(converged(
      definition, {measured(definition, "p2p", 12.0e-3, Path::host_memory), skipped("host", "")},
      {}));
  EXPECT_THAT(text_of_bound(record), Not(HasSubstr("host_to_device")));
}

TEST(NvlinkBound, ClaimsNothingOfGpusOfWhichNothingIsKnown) {
  Record record = without_bridge();
  for (RankInfo& rank : record.machine.ranks) {
    rank.gpu->nvlink_links.reset();
    rank.gpu->nvlink_links_active.reset();
  }
  EXPECT_NE(text_of_bound(record), "");
  record.machine.links.front().nvlink.reset();
  EXPECT_EQ(text_of_bound(record), "");
}

TEST(NvlinkBound, SaysWhichLinkAndWhatIsKnownOfIt) {
  const auto each_gpu = [](const std::function<void(GpuInfo&)>& change) {
    return [change](Record& record) {
      for (RankInfo& rank : record.machine.ranks) change(*rank.gpu);
    };
  };
  struct Situation {
    std::string what;
    std::function<void(Record&)> change;
  };
  const std::vector<Situation> situations{
      {"no bridge", [](Record&) {}},
      {"a model not known here", each_gpu([](GpuInfo& gpu) { gpu.name = "NVIDIA RTX 9090"; })},
      {"no NVLink at all", each_gpu([](GpuInfo& gpu) {
         gpu.name = "NVIDIA L4";
         gpu.nvlink_links.reset();
         gpu.nvlink_links_active.reset();
       })},
      {"P2P off over NVLink", each_gpu([](GpuInfo& gpu) {
         gpu.name = "NVIDIA H200";
         gpu.nvlink_links_active = 18;
         gpu.nvlink_total_gb_per_s = 478.125;
       })},
      {"NVLink carried it",
       [](Record& record) { record.cases.back().variants.front().path = Path::nvlink; }},
      {"NVLink carried it in the second variant",
       [](Record& record) { record.cases.back().variants.back().path = Path::nvlink; }},
      {"what carried it is not known, and NVLink is there",
       [&](Record& record) {
         each_gpu([](GpuInfo& gpu) { gpu.nvlink_links_active = 18; })(record);
         record.cases.back().variants.front().path = Path::unknown;
       }},
      {"MPI in CPU memory", [](Record& record) { record.settings.backend = BackendKind::mpi; }},
      {"two hosts", [](Record& record) { record.machine.ranks[1].host = "node2"; }},
  };
  std::string text;
  for (const Situation& each : situations) {
    Record record = without_bridge();
    each.change(record);
    const RunSummary summary(record);
    text += fmt::format("{}\n\n{}\n{}\n", each.what, answer_sentence(summary, answer_of(summary)),
                        to_markdown(nvlink_bound(summary)));
  }
  expect_golden(text, "nvlink_bound.txt");
}

}  // namespace
}  // namespace linkgain::test
