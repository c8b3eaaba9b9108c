#include <gtest/gtest.h>

#include "linkgain/diagnostics/topology_table.hpp"
#include "linkgain/telemetry/topology_reader.hpp"
#include "support/fake_sys.hpp"
#include "support/scoped_environment.hpp"
#include "support/topo_matrix.hpp"

/// The matrix of the doubles of machines of which `nvidia-smi topo -m` was recorded.
namespace linkgain::test {
namespace {

struct Recording {
  const char* scenario;
  const char* file;
  int gpus;
  const char* cpus;
};

class TopologyRecording : public ::testing::TestWithParam<Recording> {};

TEST_P(TopologyRecording, IsTheMatrixCellByCell) {
  const auto& [scenario, file, gpus, cpus] = GetParam();
  const FakeSys sys;
  for (int i = 0; i < gpus; ++i) {
    sys.add_device("pci0000:00/0000:00:0" + std::to_string(6 + i) + ".0", 0, cpus);
  }
  const ScopedEnvironment library("LINKGAIN_NVML_LIBRARY", NVML_DOUBLE);
  const ScopedEnvironment name("LINKGAIN_NVML_SCENARIO", scenario);
  const std::string ours =
      to_terminal(topology_matrix(survey_topology(sys.root(), sys.root() / "proc")));
  const std::string theirs = read_text(std::filesystem::path(TEST_DATA) / file);
  const Matrix expected = their_matrix(theirs);
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(gpus) + 1) << theirs;
  EXPECT_EQ(our_matrix(ours), expected) << ours << theirs;
}

INSTANTIATE_TEST_SUITE_P(NvidiaSmi, TopologyRecording,
                         ::testing::Values(Recording{"h200x2", "topo-h200x2.txt", 2, "0-31"},
                                           Recording{"h200x4", "topo-h200x4.txt", 4, "0-63"}),
                         [](const auto& test) { return std::string(test.param.scenario); });

}  // namespace
}  // namespace linkgain::test
