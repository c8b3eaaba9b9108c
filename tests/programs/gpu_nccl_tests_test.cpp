#include <string>

#include "gpu_programs.hpp"
#include "nccl_tests_table.hpp"

/// nccl-tests' flags on two real GPUs.
namespace linkgain::test {
namespace {

using ::testing::HasSubstr;

class GpuNcclTests : public ::testing::Test {
 protected:
  void SetUp() override { require_gpus(2); }

  static test::NcclTestsTable table(const std::string& options) {
    const Outcome outcome = run_shell(
        std::string("mpirun -np 2 --allow-run-as-root --bind-to none -x NCCL_NVLS_ENABLE=0 ") +
        LINKGAIN_BENCH + " --backend nccl " + options);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    return test::parse_nccl_tests_table(outcome.output);
  }

  static void expect_right(const test::NcclTestsTable& table, bool in_place = true) {
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      EXPECT_EQ(nccl_tests_line(table.rows[i]), table.lines[i] + "\n");
      EXPECT_EQ(table.rows[i].out_of_place.wrong, 0) << table.lines[i];
      EXPECT_EQ(table.rows[i].in_place.wrong.has_value(), in_place) << table.lines[i];
      EXPECT_EQ(table.rows[i].in_place.wrong.value_or(0), 0) << table.lines[i];
    }
  }
};

TEST_F(GpuNcclTests, AllReduceIsRightOnStreamAndAsGraph) {
  for (const std::string graph : {"0", "3"}) {
    // At the largest sizes the operations of a graph share their buffers.
    const auto table = this->table("-b 8 -e 64M -f 8 -G " + graph);
    EXPECT_EQ(table.rows.size(), 8U);
    expect_right(table);
    EXPECT_THAT(table.head[0], HasSubstr(" nccl-headers="));
    EXPECT_THAT(table.head[5], HasSubstr(" device  0 [0000:"));
    EXPECT_GT(table.rows.back().in_place.bus_bandwidth_gb_per_s,
              table.rows.front().in_place.bus_bandwidth_gb_per_s);
  }
}

/// NCCL says which settings of a communicator are not its own.
TEST_F(GpuNcclTests, TheCommunicatorHasTheSettingsOfNcclTests) {
  const Outcome outcome =
      run_shell(std::string("mpirun -np 2 --allow-run-as-root --bind-to none -x NCCL_DEBUG=INFO ") +
                LINKGAIN_BENCH + " --backend nccl -b 64K -e 64K");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  if (outcome.output.find("nccl-headers=228") == std::string::npos) {
    GTEST_SKIP() << "asked of NCCL 2.28 only";
  }
  EXPECT_THAT(outcome.output, HasSubstr("nvlinkCentricSched set to 1"));
}

TEST_F(GpuNcclTests, AllTypesAndReductionsAreRight) {
  const auto table = this->table("-b 64K -e 64K -d all -o all");
  EXPECT_GE(table.rows.size(), 10U * 6U);
  expect_right(table);
}

TEST_F(GpuNcclTests, SendReceiveIsRightOutOfPlace) {
  const auto table = this->table("--only send_recv -b 8 -e 64M -f 8 -G 1");
  EXPECT_EQ(table.rows.size(), 8U);
  expect_right(table, false);
}

}  // namespace
}  // namespace linkgain::test
