#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/record/warning.hpp"
#include "verdict_records.hpp"

// What is promised where NVLink joins some of the GPUs.
namespace linkgain::test {
namespace {

using ::testing::HasSubstr;

/// Has four GPUs with bridges between 0 and 1 and between 2 and 3.
Record bridged_record(const std::string& case_name, Path path) {
  Record record = good_record();
  record.machine.ranks.resize(4);
  record.machine.links = {{0, 1, true, true},  {0, 2, true, false}, {0, 3, true, false},
                          {1, 2, true, false}, {1, 3, true, false}, {2, 3, true, true}};
  record.cases = {case_of(64 << 20, path, Path::host_memory)};
  record.cases[0].definition = parse_case_name(case_name);
  return record;
}

/// Has NVLink exactly where `is_joined(from, to)`.
template <typename IsJoined>
void set_nvlink(Record& record, IsJoined is_joined) {
  for (PairLink& link : record.machine.links) link.nvlink = is_joined(link.from, link.to);
}

TEST(Bridges, ArePromisedToThePairThatTheyJoin) {
  const std::string joined = "send_recv/float32/64MiB/np4/pair=0-1";
  Record record = bridged_record(joined, Path::host_memory);
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
  EXPECT_THAT(warning(record, "wrong-path").text,
              HasSubstr(spoken_case(record, record.cases[0].definition)));

  // NCCL's lines are those of all ranks, the counters are the pair's own.
  record = bridged_record(joined, Path::mixed);
  EXPECT_EQ(judge(record), ExitCode::success);
  record.cases[0].variants[0].evidence = traffic_evidence(0.3);
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
  record = bridged_record(joined, Path::mixed);
  record.cases[0].variants[0].evidence = traffic_evidence(1.0);
  EXPECT_EQ(judge(record), ExitCode::success);
}

TEST(Bridges, ArePromisedToNoOthers) {
  for (const char* apart :
       {"send_recv/float32/64MiB/np4/pair=1-2", "send_recv/float32/64MiB/np4",
        "gather/float32/64MiB/np4/root=1", "all_reduce/float32/sum/64MiB/np4"}) {
    Record record = bridged_record(apart, Path::host_memory);
    EXPECT_EQ(judge(record), ExitCode::success) << apart;
  }
}

TEST(Bridges, OfTheRootAreAllThatAScatterNeeds) {
  Record record = bridged_record("scatter/float32/64MiB/np4", Path::host_memory);
  set_nvlink(record, [](int from, int) { return from == 0; });
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
  record = bridged_record("scatter/float32/64MiB/np4/root=1", Path::host_memory);
  set_nvlink(record, [](int from, int) { return from == 0; });
  EXPECT_EQ(judge(record), ExitCode::success);
}

TEST(Bridges, OfNeighboursAreAllThatARingNeeds) {
  Record record = bridged_record("copy_push/64MiB/np4", Path::host_memory);
  set_nvlink(record, [](int from, int to) { return to - from != 2; });
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
}

}  // namespace
}  // namespace linkgain::test
