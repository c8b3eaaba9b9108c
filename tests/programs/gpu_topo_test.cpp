#include <algorithm>
#include <array>

#include "programs.hpp"
#include "support/topo_matrix.hpp"

/// `linkgain topo` on this machine's GPUs beside what NVIDIA's own tools say.
namespace linkgain::test {
namespace {

using testing::IsEmpty;
using testing::Not;

ProgramRequest nvidia_smi(const Words& arguments) {
  return {.arguments = joined({"nvidia-smi"}, arguments)};
}

class TopoOnGpus : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_on_path("nvidia-smi")) GTEST_SKIP() << "no nvidia-smi on PATH";
    const Outcome list = run_program(nvidia_smi({"-L"}));
    if (list.status != 0 || !list.output.starts_with("GPU ")) GTEST_SKIP() << "no GPU";
  }

  Outcome topo(const std::optional<std::string>& visible, const Words& options = {}) const {
    ProgramRequest request = linkgain(folder_, joined({"topo"}, options));
    request.environment["CUDA_VISIBLE_DEVICES"] = visible;
    return run_program(request);
  }

  ScratchFolder folder_;
};

TEST_F(TopoOnGpus, TheMatrixIsNvidiaSmisCellByCell) {
  const Outcome theirs = run_program(nvidia_smi({"topo", "-m"}));
  const Matrix expected = their_matrix(theirs.output);
  ASSERT_THAT(expected, Not(IsEmpty())) << theirs.output;
  const std::array<std::optional<std::string>, 2> settings{std::nullopt, "1,0"};
  for (const std::optional<std::string>& visible : settings) {
    const Outcome ours = topo(visible);
    EXPECT_EQ(ours.status, 0) << ours.error;
    EXPECT_EQ(our_matrix(ours.output), expected) << ours.output << theirs.output;
  }
}

TEST_F(TopoOnGpus, IsFast) { EXPECT_LT(topo(std::nullopt).seconds, 0.3); }

TEST_F(TopoOnGpus, CudaIndexesAreThoseOfTheWorker) {
  for (const std::string visible : {"0", "1,0", "0,1", "1"}) {
    ProgramRequest request = linkgain(folder_, {});
    request.arguments = {LINKGAIN_BENCH, "--describe"};
    request.environment["CUDA_VISIBLE_DEVICES"] = visible;
    const Outcome described = run_program(request);
    ASSERT_EQ(described.status, 0) << described.error;
    const Json machine = Json::parse(described.output).at("machine");
    if (machine.at("ranks").empty()) GTEST_SKIP() << "the worker sees no GPU";
    const Json topology = Json::parse(topo(visible, {"--json"}).output);
    for (const Json& rank : machine.at("ranks")) {
      const Json& seen = rank.at("gpu");
      const auto same =
          std::find_if(topology.at("gpus").begin(), topology.at("gpus").end(),
                       [&](const Json& gpu) { return gpu.at("uuid") == seen.at("uuid"); });
      ASSERT_NE(same, topology.at("gpus").end());
      EXPECT_EQ(same->at("cuda_index"), seen.at("cuda_index")) << visible;
    }
  }
}

}  // namespace
}  // namespace linkgain::test
