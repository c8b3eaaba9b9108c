#include <filesystem>

#include "nccl_tests_table.hpp"
#include "programs.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

/// linkgain-bench with nccl-tests' flags, under mpirun.
class NcclTestsProgramTest : public MpiTest {
 protected:
  /// Asks for few operations, unless `arguments` change that.
  static ProgramRequest request(int ranks, const Words& arguments) {
    return bench(ranks, joined({"-n", "3"}, arguments));
  }

  /// Calls linkgain-bench by the name of a link to it.
  static ProgramRequest link_request(const ScratchFolder& folder, const std::string& name,
                                     const Words& arguments) {
    std::filesystem::create_symlink(LINKGAIN_BENCH, folder / name);
    ProgramRequest linked = bench(2, arguments);
    for (std::string& argument : linked.arguments) {
      if (argument == LINKGAIN_BENCH) argument = folder / name;
    }
    return linked;
  }

  static NcclTestsTable table(const ProgramRequest& asked, int status = 0) {
    const Outcome outcome = run_program(asked);
    EXPECT_EQ(outcome.status, status) << outcome.error;
    return parse_nccl_tests_table(outcome.output);
  }

  /// Expects bandwidths to follow from times, as far as their rounding lets one see it.
  static void expect_consistent(Bytes size, const NcclTestsResult& result, double factor) {
    ASSERT_GT(result.time.value, 0.0);
    const double algbw = static_cast<double>(size.value) / result.time.value / 1e9;
    EXPECT_NEAR(result.algorithm_bandwidth_gb_per_s, algbw, 0.0051 + 0.02 * algbw);
    EXPECT_NEAR(result.bus_bandwidth_gb_per_s, factor * algbw, 0.0051 + 0.02 * factor * algbw);
  }

  static void expect_consistent(const NcclTestsRow& row, double factor) {
    expect_consistent(row.size, row.out_of_place, factor);
    expect_consistent(row.size, row.in_place, factor);
  }
};

TEST_F(NcclTestsProgramTest, PrintsTheTableOfNcclTests) {
  const NcclTestsTable peer = parse_nccl_tests_table(read_text(RECORDED_NCCL_TESTS));
  const NcclTestsTable own = table(request(4, {"-b", "8", "-e", "64K", "-f", "8"}));
  ASSERT_THAT(own.rows, SizeIs(5));
  ASSERT_EQ(own.head.size(), peer.head.size() + 2) << "two ranks more";
  EXPECT_THAT(own.head[0], StartsWith("# linkgain-bench version "));
  EXPECT_EQ(own.head[1], peer.head[1]);
  test::expect_golden(own.head[2] + "\n", "nccl_tests_settings.txt");
  for (std::size_t i = 1; i <= 4; ++i) {
    EXPECT_EQ(own.head[own.head.size() - i], peer.head[peer.head.size() - i]);
  }
  for (std::size_t i = 0; i < own.rows.size(); ++i) {
    EXPECT_EQ(nccl_tests_line(own.rows[i]), own.lines[i] + "\n");
    EXPECT_EQ(own.lines[i].size(), peer.lines[0].size());
    EXPECT_EQ(own.rows[i].elements, own.rows[i].size.value / 4);
    EXPECT_EQ(own.rows[i].out_of_place.wrong, 0);
    EXPECT_EQ(own.rows[i].in_place.wrong, 0);
    expect_consistent(own.rows[i], 2.0 * 3 / 4);
  }
  ASSERT_EQ(own.foot.size(), peer.foot.size());
  for (const std::size_t line : {0, 2, 3, 4, 5}) EXPECT_EQ(own.foot[line], peer.foot[line]);
}

TEST_F(NcclTestsProgramTest, WithTheDefaultsIsOneSizeOf32MiB) {
  const NcclTestsTable own = table(bench(2, {"--format", "nccl-tests"}));
  ASSERT_THAT(own.rows, SizeIs(1));
  EXPECT_EQ(own.rows[0].size.value, 32 << 20);
  EXPECT_EQ(own.rows[0].type, "float");
  EXPECT_EQ(own.rows[0].reduction, "sum");
  EXPECT_EQ(own.rows[0].root, -1);
  EXPECT_THAT(own.head[2],
              AllOf(HasSubstr("step: 1048576(bytes)"), HasSubstr("iters: 1 iters: 20 ")));
}

TEST_F(NcclTestsProgramTest, ALinkIsTheProgramOfThatName) {
  const ScratchFolder folder;
  const NcclTestsTable own = table(
      link_request(folder, "sendrecv_perf", {"-b", "1K", "-e", "1K", "-n", "3", "-o", "max"}));
  EXPECT_EQ(own.head[1], "# Collective test starting: sendrecv_perf");
  EXPECT_THAT(own.foot, Contains("# Collective test concluded: sendrecv_perf"));
  ASSERT_THAT(own.rows, SizeIs(1));
  EXPECT_EQ(own.rows[0].reduction, "max") << "named, though nothing is reduced";
  EXPECT_EQ(own.rows[0].out_of_place.wrong, 0);
  EXPECT_EQ(own.rows[0].in_place.time.value, 0.0) << "MPI has no such form";
  EXPECT_EQ(own.rows[0].in_place.wrong, std::nullopt);
  EXPECT_THAT(own.head, Contains(StartsWith("# Leaving out in-place: ")));
  expect_consistent(own.rows[0].size, own.rows[0].out_of_place, 1.0);
}

TEST_F(NcclTestsProgramTest, ALinkOfAProgramThatIsNotThereIsRefused) {
  const ScratchFolder folder;
  const Outcome outcome = with_status(2, run_program(link_request(folder, "alltoallv_perf", {})));
  EXPECT_THAT(outcome.output, IsEmpty()) << "no other operation instead";
  EXPECT_THAT(own_lines(outcome.error), Contains(HasSubstr("'all")));
}

TEST_F(NcclTestsProgramTest, EveryOperationHasATableOfItsOwn) {
  const Outcome outcome = with_status(
      0, run_program(
             request(2, {"--only", "all_reduce,send_recv", "-b", "64", "-e", "64", "-a", "0"})));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("starting: all_reduce_perf\n"),
                                    HasSubstr("concluded: all_reduce_perf\n#\n\n# linkgain-bench"),
                                    HasSubstr("concluded: sendrecv_perf\n#\n\n")));
}

TEST_F(NcclTestsProgramTest, EveryTimeOfTheRanksCanBeAskedFor) {
  for (const std::string time : {"0", "1", "2", "3"}) {
    const NcclTestsTable own = table(request(3, {"-b", "1M", "-e", "1M", "-a", time}));
    ASSERT_THAT(own.rows, SizeIs(1)) << time;
    expect_consistent(own.rows[0], 2.0 * 2 / 3);
  }
}

TEST_F(NcclTestsProgramTest, AllTypesAndReductionsInTurn) {
  const NcclTestsTable own = table(request(2, {"-b64", "-e64", "-d", "all", "-o", "all", "-c2"}));
  EXPECT_THAT(own.rows, SizeIs(8 * 4));
  EXPECT_THAT(own.head, Contains(StartsWith("# Leaving out -o avg, mulsum: ")));
  for (const NcclTestsRow& row : own.rows) {
    EXPECT_EQ(row.out_of_place.wrong, 0) << row.type << " " << row.reduction;
    EXPECT_EQ(row.in_place.wrong, 0) << row.type << " " << row.reduction;
  }
}

TEST_F(NcclTestsProgramTest, UncheckedDataIsNotCalledRight) {
  const NcclTestsTable own = table(request(2, {"-b", "64", "-e", "64", "-c", "0"}));
  ASSERT_THAT(own.rows, SizeIs(1));
  EXPECT_EQ(own.rows[0].out_of_place.wrong, std::nullopt);
  EXPECT_EQ(own.rows[0].in_place.wrong, std::nullopt);
  EXPECT_THAT(own.foot[0], AllOf(StartsWith("# Out of bounds"), HasSubstr(" : 0 OK")));
}

TEST_F(NcclTestsProgramTest, WrongDataIsCountedAndEndsWithStatus4) {
  ProgramRequest asked = request(3, {"-b", "64", "-e", "128", "-f", "2", "-c", "5"});
  asked.environment["LINKGAIN_TEST_FAULT"] = "corrupt@1";
  const NcclTestsTable own = table(asked, 4);
  ASSERT_THAT(own.rows, SizeIs(2));
  for (const NcclTestsRow& row : own.rows) {
    EXPECT_EQ(row.out_of_place.wrong, 1);
    EXPECT_EQ(row.in_place.wrong, 1);
  }
  EXPECT_THAT(own.foot[0], testing::EndsWith(" values : 4 FAILED"));
}

/// Uses one pair of buffers for all operations.
TEST_F(NcclTestsProgramTest, WhatAnEarlierOperationLeftIsWrong) {
  ProgramRequest asked = request(2, {"-b", "64K", "-e", "64K", "-n", "1", "-w", "1"});
  asked.environment["LINKGAIN_TEST_FAULT"] = "stale@1";
  const NcclTestsTable own = table(asked, 4);
  ASSERT_THAT(own.rows, SizeIs(1));
  EXPECT_THAT(own.rows[0].out_of_place.wrong, testing::Optional(testing::Gt(10'000)));
  EXPECT_THAT(own.rows[0].in_place.wrong, testing::Optional(testing::Gt(10'000)));
}

TEST_F(NcclTestsProgramTest, TooLittleBandwidthEndsWithStatus1) {
  ProgramRequest asked = request(2, {"-b", "64", "-e", "64"});
  asked.environment["NCCL_TESTS_MIN_BW"] = "1e6";
  EXPECT_THAT(table(asked, 1).foot[1], testing::EndsWith(" FAILED"));
  asked.environment["NCCL_TESTS_MIN_BW"] = "1e-9";
  EXPECT_THAT(table(asked).foot[1], testing::EndsWith(" OK"));
}

TEST_F(NcclTestsProgramTest, JsonHoldsWhatTheTableDoes) {
  const ScratchFolder folder;
  const std::string file = folder / "out.json";
  const NcclTestsTable own = table(request(2, {"-b", "64", "-e", "4K", "-f", "8", "-J", file}));
  EXPECT_THAT(own.head[0], AllOf(HasSubstr("JSON output"), testing::EndsWith(" " + file)));
  const Json document = Json::parse(read_text(file));
  EXPECT_EQ(document.at("config").at("step_factor"), 8);
  EXPECT_THAT(document.at("config").at("devices"), SizeIs(2));
  ASSERT_EQ(document.at("results").size(), own.rows.size());
  for (std::size_t i = 0; i < own.rows.size(); ++i) {
    const Json& result = document.at("results").at(i);
    EXPECT_EQ(result.at("size"), own.rows[i].size.value);
    // The table has fewer decimals of a longer time, as on a host that is busy otherwise.
    const double shown = own.rows[i].in_place.time.value * 1e6;
    EXPECT_NEAR(result.at("in_place").at("time"), shown, 0.0051 + 1e-5 * shown);
    EXPECT_EQ(result.at("out_of_place").at("nwrong"), 0.0);
  }
  EXPECT_EQ(document.at("out_of_bounds").at("okay"), "true");
}

TEST_F(NcclTestsProgramTest, SizesWithoutAnElementAreLeftOutAndThatIsSaid) {
  const NcclTestsTable own = table(request(2, {"-b", "1", "-e", "8", "-f", "2"}));
  EXPECT_THAT(own.rows, SizeIs(2));
  EXPECT_THAT(own.head, Contains(StartsWith("# Leaving out sizes")));
}

/// Accepts 0, below linkgain's own least of 0.5 s.
TEST_F(NcclTestsProgramTest, TimeoutIsReadAsNcclTestsDoes) {
  with_status(0, run_program(request(2, {"-b", "8", "-e", "8", "--timeout", "0"})));
}

TEST_F(NcclTestsProgramTest, OwnOptionsAreRefusedBesideTheFlags) {
  const Outcome outcome = with_status(2, run_program(bench(2, {"-b", "8", "--sizes", "8"})));
  EXPECT_THAT(own_lines(outcome.error), ElementsAre(HasSubstr("--sizes"))) << outcome.error;
}

TEST_F(NcclTestsProgramTest, RefusalsAreSaidOnceForAllRanks) {
  const std::vector<Words> all{{"-b", "8", "-g", "0"},
                               {"-G", "1"},
                               {"-d", "half"},
                               {"-o", "avg"},
                               {"-R", "1"},
                               {"-R", "2"},

                               {"-b", "1", "-e", "3", "-f", "2"},
                               {"-J", "/nowhere/x.json", "-o", "avg"},
                               {"-J", "/nowhere/x.json"},
                               {"--format", "nvbandwidth"}};
  Situations refusals;
  for (const Words& arguments : all) {
    const Outcome outcome = run_program(bench(2, arguments));
    const std::string command = line_of("linkgain-bench", arguments);
    EXPECT_EQ(outcome.status, 2) << command << outcome.error;
    EXPECT_THAT(outcome.output, IsEmpty()) << command;
    const Words lines = own_lines(outcome.error);
    ASSERT_THAT(lines, SizeIs(1)) << command << outcome.error;
    refusals.add(command, lines[0]);
  }
  expect_golden(refusals.text(), "nccl_tests_refusals.txt");
}

}  // namespace
}  // namespace linkgain::test
