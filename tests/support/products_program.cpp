#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "linkgain/runtime/mpi_library.hpp"
#include "linkgain/runtime/ranks.hpp"
#include "linkgain/statistics/statistics.hpp"

/// A decoder's step in CPU memory: so many products of matrices, an all-reduce of so many floats
/// behind each. Prints the median of the steps' times, each the slowest rank's.
namespace {

void multiply(const std::vector<float>& a, const std::vector<float>& b, std::vector<float>& c,
              std::size_t rows) {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < rows; ++k) {
      for (std::size_t j = 0; j < rows; ++j) c[i * rows + j] += a[i * rows + k] * b[k * rows + j];
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace linkgain;
  const auto ranks = join_by_mpi(argc, argv);
  const int calls = std::atoi(argv[1]);
  const int floats = std::atoi(argv[2]);
  constexpr std::size_t kRows = 32;
  constexpr int kWarmUp = 3;
  constexpr int kSteps = 30;
  const std::vector<float> a(kRows * kRows, 0.5F);
  std::vector<float> c(kRows * kRows);
  const std::vector<float> input(static_cast<std::size_t>(floats), 1.0F);
  std::vector<float> output(input.size());
  std::vector<double> times;
  for (int step = 0; step < kWarmUp + kSteps; ++step) {
    ranks->barrier();
    const double begin = mpi().wtime();
    for (int call = 0; call < calls; ++call) {
      multiply(a, a, c, kRows);
      mpi().allreduce(input.data(), output.data(), floats, mpi().float32, mpi().sum,
                      mpi().comm_world);
    }
    const double slowest = ranks->max(mpi().wtime() - begin);
    if (step >= kWarmUp) times.push_back(slowest);
  }
  if (ranks->place().rank == 0) fmt::print("step_ms: {:.6f}\n", 1e3 * median(times));
  return output.front() > 0.0F && c.front() > 0.0F ? 0 : 1;
}
