#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/report/report.hpp"
#include "support/golden.hpp"
#include "support/pair_records.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

int count_of(const std::string& text, std::string_view what) {
  int count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

/// Has two ranks without GPUs, and a case for each direction.
Record cpu_pairs_record() {
  Record record = mpi_record();
  record.cases.clear();
  for (const Pair& pair : {Pair{0, 1}, Pair{1, 0}}) {
    const Case definition = message(1 << 20, 2, pair);
    record.cases.push_back(
        converged(definition,
                  {measured(definition, "shared-memory", 1e-3, Path::host_memory),
                   measured(definition, "tcp", 2e-3, Path::network)},
                  {ratio("tcp", 2.0, 1.99, 2.01)}));
  }
  return record;
}

TEST(PairGroups, GatherCasesThatDifferInTheirRanksOnly) {
  const Record record = four_gpus_record();
  const RunSummary summary(record);
  const std::vector<const PairsSummary*> pairs = summary.pairs();
  ASSERT_THAT(pairs, SizeIs(2));
  EXPECT_THAT(pairs[0]->cases.cases, SizeIs(12));
  EXPECT_FALSE(pairs[0]->is_symmetric);
  EXPECT_THAT(pairs[1]->cases.cases, SizeIs(6));
  EXPECT_TRUE(pairs[1]->is_symmetric);
}

TEST(PairGroups, KeepEveryParameterButTheSizeApart) {
  std::vector<Case> cases(8, message(1 << 20, 4, {0, 1}));
  cases[1].type = DataType::float16;
  cases[2].size = Bytes{2 << 20};
  cases[3].launch = LaunchMode::graph;
  cases[4].buffers = Buffers::registered;
  cases[5].kernel = true;
  cases[6].pair->both = true;
  cases[7].operation = OperationKind::ping_pong;
  Record record = four_gpus();
  for (const Case& each : cases) record.cases.push_back(bridged_case(each));
  const RunSummary summary(record);
  EXPECT_THAT(summary.groups, SizeIs(7));
  EXPECT_THAT(summary.pairs(), IsEmpty());
}

TEST(PairGroups, AreSortedByRanksAndLeaveOutWhatHasNoPair) {
  Record record = four_gpus();
  Case ring = message(1 << 20, 4, {});
  ring.pair.reset();
  record.cases = {bridged_case(message(1 << 20, 4, {2, 1})),
                  bridged_case(message(1 << 20, 4, {0, 3})),
                  nvlink_case(all_reduce(1 << 20), 1e-3, 2e-3, 1.9, 2.1),
                  nvlink_case(ring, 1e-3, 2e-3, 1.9, 2.1)};
  const RunSummary summary(record);
  ASSERT_THAT(summary.pairs(), SizeIs(1));
  const Curve& pairs = summary.pairs().front()->cases;
  ASSERT_THAT(pairs.cases, SizeIs(2));
  EXPECT_EQ(pairs.cases[0]->result, &record.cases[1]);
  EXPECT_EQ(pairs.cases[1]->result, &record.cases[0]);
}

TEST(PairTables, OfFourGpus) {
  expect_golden(to_markdown(pair_tables(RunSummary(four_gpus_record()))), "pairs_four.md");
}

TEST(PairTables, OfTwoGpus) {
  expect_golden(to_markdown(pair_tables(RunSummary(complete(two_gpus_pairs_record())))),
                "pairs_two.md");
}

TEST(PairTables, SayWhatIsAbsentAndWhy) {
  expect_golden(to_markdown(pair_tables(RunSummary(troubled_pairs_record()))), "pairs_troubled.md");
}

TEST(PairTables, NameTheWeakestPairAndThoseThatAreWeakForTheirKind) {
  Situations lines;
  const auto add = [&](const std::string& situation, const Record& record) {
    lines.add(situation, without_tables(to_markdown(pair_tables(RunSummary(record)))));
  };
  add("four GPUs", four_gpus_record());
  Record record = two_gpus_pairs_record();
  add("two pairs that hardly differ", record);
  record.settings.precision = 0.005;
  add("the same with a finer precision", record);
  record = cpu_pairs_record();
  add("CPU memory", record);
  slow_down(record.cases[1].variants[1], record.cases[1].definition, 1.25);
  add("CPU memory, one pair slower", record);
  record = four_gpus();
  for (const std::int64_t bytes : {1 << 10, 1 << 20, 1 << 28}) add_pairs(record, bytes, false);
  add("curves of several sizes: the smallest and the largest", record);
  expect_golden(lines.text(), "pairs_lines.md");
}

TEST(PairTables, ReplaceTheTablesBySize) {
  EXPECT_THAT(to_markdown(size_tables(RunSummary(four_gpus_record()))), IsEmpty());
  const std::string sizes = to_markdown(size_tables(RunSummary(two_gpus_pairs_record())));
  EXPECT_THAT(sizes, StartsWith("### send_recv/float32/np2/pair=0-1/both\n"));
  EXPECT_EQ(count_of(sizes, "###"), 1);
}

TEST(PairTables, LeaveCurvesOfSeveralSizesToTheTablesBySize) {
  Record record = four_gpus();
  for (const std::int64_t bytes : {1 << 10, 1 << 20, 1 << 28}) add_pairs(record, bytes, false);
  const std::string text = to_markdown(pair_tables(RunSummary(record)));
  EXPECT_EQ(count_of(text, "### "), 2);
  EXPECT_THAT(text, Not(HasSubstr("Speed-up")));
  EXPECT_EQ(count_of(to_markdown(size_tables(RunSummary(record))), "### "), 12);
}

TEST(PairTables, AreNotThereForOnePairOrNone) {
  EXPECT_THAT(to_markdown(pair_tables(RunSummary(h200_record()))), IsEmpty());
  EXPECT_THAT(to_markdown(pair_tables(RunSummary(one_case(3.0e-3, 36.0e-3, 11.9, 12.1)))),
              IsEmpty());
}

TEST(PairTables, NumberRanksWhereGpusHaveOtherNumbers) {
  Record hidden = two_gpus_pairs_record();
  hidden.settings.environment_in_force[0]["CUDA_VISIBLE_DEVICES"] = "4,5";
  Record chosen = two_gpus_pairs_record();
  for (RankInfo& rank : chosen.machine.ranks) rank.gpu->cuda_index += 2;
  Record shuffled = two_gpus_pairs_record();
  std::swap(shuffled.machine.ranks[0].gpu->pci_bus_id, shuffled.machine.ranks[1].gpu->pci_bus_id);
  Record hosts = two_gpus_pairs_record();
  hosts.machine.ranks[1].host = "node2";
  for (const Record& record : {hidden, chosen, shuffled, hosts}) {
    EXPECT_THAT(to_markdown(pair_tables(RunSummary(record))), HasSubstr("| 0 → 1 NV18 |"));
    EXPECT_THAT(to_markdown(pair_tables(RunSummary(record))), HasSubstr("| rank 0    |"));
    EXPECT_THAT(to_markdown(pair_tables(RunSummary(record))), Not(HasSubstr("GPU0")));
  }
}

TEST(PairTables, HaveNoLabelsInCpuMemory) {
  const std::string text = to_markdown(pair_tables(RunSummary(cpu_pairs_record())));
  EXPECT_THAT(text, HasSubstr("| rank 0    |      – |   1.05 |\n"));
  EXPECT_THAT(text, Not(HasSubstr("What joins")));
}

TEST(PairTables, StayNarrowOnEightGpus) {
  Record record = two_gpus();
  record.machine.ranks.clear();
  record.machine.links.clear();
  for (int from = 0; from < 8; ++from) {
    record.machine.ranks.push_back(h200(from));
    for (int to = from + 1; to < 8; ++to) {
      record.machine.links.push_back({from, to, true, true, Ancestor::node, 18});
      const Case definition = message(2 * kLargePair, 8, {from, to, true});
      record.cases.push_back(nvlink_case(definition, 1.46e-3, 24.2e-3, 16.3, 16.6));
    }
  }
  const std::string text = to_markdown(pair_tables(RunSummary(complete(record))));
  EXPECT_EQ(count_of(text, "\n| "), 2 * 10 + 2 + 28);
  EXPECT_EQ(count_of(text, "367.7 NV18"), 56);
  EXPECT_LE(text.find('\n', text.find("| Pair ")) - text.find("| Pair "), 120U);
  EXPECT_LE(text.find('\n', text.find("| from ")) - text.find("| from "), 120U);
}

TEST(PairTables, HaveARowForEachOfManyVariants) {
  Record record = four_gpus();
  add_pairs(record, kLargePair, true);
  for (CaseResult& result : record.cases) {
    result.variants.push_back(measured(result.definition, "net", 0.2, Path::network));
    result.ratios.push_back(ratio("net", 39.0, 38.5, 39.5));
  }
  const std::string text = to_markdown(pair_tables(RunSummary(record)));
  EXPECT_EQ(count_of(text, "busbw in GB/s with"), 3);
  EXPECT_THAT(text, HasSubstr("| 0 ↔ 1 NV4 | p2p "));
  EXPECT_EQ(count_of(text, "| net "), 6);
}

}  // namespace
}  // namespace linkgain::test
