#include "linkgain/nccl_tests/nccl_tests_cases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

NcclTestsOptions options_of(const std::vector<const char*>& arguments) {
  std::vector<const char*> argv{"linkgain-bench"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return parse_nccl_tests_options(static_cast<int>(argv.size()), argv.data());
}

const NcclTestsProgram& program(std::string_view name) {
  for (const NcclTestsProgram& each : kNcclTestsPrograms) {
    if (each.name == name) return each;
  }
  throw std::logic_error("no such program");
}

std::vector<std::string> names(const std::vector<NcclTestsCurve>& curves) {
  std::vector<std::string> names;
  for (const NcclTestsCurve& curve : curves) {
    names.push_back(std::string(nccl_tests_name(curve.definition.type)) + " " + curve.reduction);
  }
  return names;
}

TEST(NcclTestsCases, AllGoesThroughWhatTheMachineHas) {
  const NcclTestsProgram all_reduce = program("all_reduce_perf");
  EXPECT_THAT(
      names(nccl_tests_curves(options_of({"-d", "all"}), all_reduce, {BackendKind::mpi, 2})),
      ElementsAre("int8 sum", "uint8 sum", "int32 sum", "uint32 sum", "int64 sum", "uint64 sum",
                  "float sum", "double sum"));
  EXPECT_THAT(
      names(nccl_tests_curves(options_of({"-o", "all"}), all_reduce, {BackendKind::nccl, 2})),
      ElementsAre("float sum", "float prod", "float max", "float min", "float avg",
                  "float mulsum"));
  EXPECT_THAT(
      nccl_tests_curves(options_of({"-d", "all"}), all_reduce, {BackendKind::nccl, 2, true}),
      SizeIs(12));
  EXPECT_THAT(
      nccl_tests_curves(options_of({"-d", "all"}), all_reduce, {BackendKind::nccl, 2, false}),
      SizeIs(10));
}

TEST(NcclTestsCases, WhatAllLeavesOutIsNamed) {
  const NcclTestsProgram all_reduce = program("all_reduce_perf");
  const NcclTestsProgram broadcast = program("broadcast_perf");
  const NcclTestsMachine mpi{BackendKind::mpi, 2, false};
  const NcclTestsOptions all = options_of({"-d", "all", "-o", "all"});
  const NcclTestsProgram send_recv = program("sendrecv_perf");
  const NcclTestsOptions usual = options_of({});
  EXPECT_THAT(nccl_tests_left_out(usual, all_reduce, mpi), IsEmpty());
  EXPECT_THAT(nccl_tests_left_out(usual, send_recv, {BackendKind::nccl, 2, true}), IsEmpty());
  EXPECT_THAT(nccl_tests_left_out(all, all_reduce, {BackendKind::nccl, 2, true}), IsEmpty());
  Situations answers;
  const auto add = [&](const std::string& question, const std::vector<std::string>& left_out) {
    std::string lines;
    for (const std::string& line : left_out) lines += (lines.empty() ? "" : "\n") + line;
    answers.add(question, lines);
  };
  add("all_reduce_perf -d all -o all, mpi", nccl_tests_left_out(all, all_reduce, mpi));
  add("broadcast_perf -d all -o all, mpi", nccl_tests_left_out(all, broadcast, mpi));
  add("sendrecv_perf, mpi", nccl_tests_left_out(usual, send_recv, mpi));
  add("all_reduce_perf -d all -o all, nccl without 8-bit floats",
      nccl_tests_left_out(all, all_reduce, {BackendKind::nccl, 2, false}));
  answers.expect_golden("left_out.txt");
}

TEST(NcclTestsCases, BuffersAreOfTheKindThatNcclTestsAllocates) {
  const NcclTestsProgram all_reduce = program("all_reduce_perf");
  const auto buffers = [&](const char* registration, BackendKind backend) {
    return nccl_tests_curves(options_of({"-R", registration}), all_reduce, {backend, 2})
        .at(0)
        .definition.buffers;
  };
  // Under graph capture NCCL registers memory of its own by itself, and refuses that of cudaMalloc.
  EXPECT_EQ(buffers("0", BackendKind::nccl), Buffers::allocated);
  EXPECT_EQ(buffers("1", BackendKind::nccl), Buffers::registered);
  EXPECT_EQ(buffers("2", BackendKind::nccl), Buffers::symmetric);
  EXPECT_EQ(buffers("0", BackendKind::mpi), Buffers::plain);
}

TEST(NcclTestsCases, WhatTheBackendLacksIsRefused) {
  const NcclTestsProgram all_reduce = program("all_reduce_perf");
  for (const auto& arguments : std::vector<std::vector<const char*>>{{"-d", "half"},
                                                                     {"-o", "avg"},
                                                                     {"-o", "mulsum"},
                                                                     {"-G", "1"},
                                                                     {"-R", "1"},
                                                                     {"-R", "2"}}) {
    EXPECT_THROW(nccl_tests_curves(options_of(arguments), all_reduce, {BackendKind::mpi, 2}),
                 UsageError)
        << arguments[0];
  }
}

TEST(NcclTestsCases, SizesAreWholeElementsOrSharesOf16Bytes) {
  Case c;
  c.ranks = 3;
  const auto size = [&](std::string_view name, std::int64_t bytes) {
    const NcclTestsSize exact = nccl_tests_size(program(name), c, Bytes{bytes});
    return std::pair(exact.elements, exact.size.value);
  };
  EXPECT_EQ(size("all_reduce_perf", 11), std::pair(2L, 8L));
  EXPECT_EQ(size("all_gather_perf", 1000), std::pair(80L, 960L)) << "83 elements, 4 to a share";
  EXPECT_EQ(size("alltoall_perf", 47), std::pair(0L, 0L));
  c.type = DataType::int8;
  EXPECT_EQ(size("reduce_scatter_perf", 48), std::pair(16L, 48L));
}

std::vector<std::int64_t> sizes(const NcclTestsOptions& options) {
  std::vector<std::int64_t> all;
  for (Bytes size = options.smallest; size.value > 0; size = next_nccl_tests_size(options, size)) {
    all.push_back(size.value);
  }
  return all;
}

TEST(NcclTestsCases, SizesGrowByFactorOrStepAsFarAsTheEnd) {
  EXPECT_THAT(sizes(options_of({"-b", "8", "-e", "100", "-f", "3"})), ElementsAre(8, 24, 72));
  EXPECT_THAT(sizes(options_of({"-b", "8", "-e", "64", "-f", "2"})), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(sizes(options_of({"-b", "8", "-e", "20", "-i", "5"})), ElementsAre(8, 13, 18));
  EXPECT_THAT(sizes(options_of({"-b", "8", "-e", "2M", "-f", "1"})), ElementsAre(8, 1048584));
  EXPECT_THAT(sizes(options_of({})), ElementsAre(33554432));
}

}  // namespace
}  // namespace linkgain::test
