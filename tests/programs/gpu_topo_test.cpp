#include <algorithm>
#include <array>
#include <regex>

#include "programs/programs.hpp"

/// `linkgain topo` on this machine's GPUs beside what NVIDIA's own tools say.
namespace linkgain::test {
namespace {

using testing::IsEmpty;
using testing::Not;

/// Rows "GPU0" and "NIC0" of a matrix by device, the header under "".
using Matrix = std::map<std::string, std::vector<std::string>>;

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  const std::size_t end = text.find_last_not_of(" \t");
  return begin == std::string::npos ? std::string() : text.substr(begin, end - begin + 1);
}

/// Splits lines at the separators up to the first line after the matrix. Cells that are empty at a
/// row's end are left out.
Matrix matrix_of(const std::string& text, const std::regex& separator) {
  const std::regex escape("\033\\[[0-9;]*m");
  Matrix matrix;
  for (const std::string& line : lines_of(std::regex_replace(text, escape, ""))) {
    std::vector<std::string> cells;
    for (std::sregex_token_iterator each(line.begin(), line.end(), separator, -1), end; each != end;
         ++each) {
      cells.push_back(trimmed(*each));
    }
    while (!cells.empty() && cells.back().empty()) cells.pop_back();
    if (cells.size() < 2) {
      if (!matrix.empty()) break;
      continue;
    }
    const bool header = cells.front().empty() && cells[1].starts_with("GPU");
    if (!header && matrix.empty()) continue;
    const std::string name = cells.front();
    cells.erase(cells.begin());
    matrix.emplace(header ? "" : name, cells);
  }
  return matrix;
}

/// The columns that both have: devices, CPU and NUMA affinity.
Matrix without_later_columns(Matrix matrix) {
  const std::vector<std::string>& header = matrix.at("");
  const auto last = std::find(header.begin(), header.end(), "NUMA Affinity");
  const auto columns = static_cast<std::size_t>(last - header.begin()) + 1;
  for (auto& [name, cells] : matrix) {
    if (cells.size() > columns) cells.resize(columns);
  }
  return matrix;
}

ProgramRequest nvidia_smi(const std::vector<std::string>& arguments) {
  ProgramRequest request;
  request.arguments = {"nvidia-smi"};
  request.arguments.insert(request.arguments.end(), arguments.begin(), arguments.end());
  return request;
}

class TopoOnGpus : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_on_path("nvidia-smi")) GTEST_SKIP() << "no nvidia-smi on PATH";
    const Outcome list = run_program(nvidia_smi({"-L"}));
    if (list.status != 0 || !list.output.starts_with("GPU ")) GTEST_SKIP() << "no GPU";
  }

  Outcome topo(const std::optional<std::string>& visible,
               const std::vector<std::string>& options = {}) const {
    std::vector<std::string> arguments{"topo"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    ProgramRequest request = linkgain(folder_, arguments);
    request.environment["CUDA_VISIBLE_DEVICES"] = visible;
    return run_program(request);
  }

  ScratchFolder folder_;
};

TEST_F(TopoOnGpus, TheMatrixIsNvidiaSmisCellByCell) {
  const Outcome theirs = run_program(nvidia_smi({"topo", "-m"}));
  const Matrix expected = without_later_columns(matrix_of(theirs.output, std::regex("\t")));
  ASSERT_THAT(expected, Not(IsEmpty())) << theirs.output;
  const std::array<std::optional<std::string>, 2> settings{std::nullopt, "1,0"};
  for (const std::optional<std::string>& visible : settings) {
    const Outcome ours = topo(visible);
    EXPECT_EQ(ours.status, 0) << ours.error;
    const std::string unindented =
        std::regex_replace(ours.output, std::regex("\n  "), std::string("\n"));
    EXPECT_EQ(matrix_of(unindented, std::regex("  +")), expected) << ours.output << theirs.output;
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
