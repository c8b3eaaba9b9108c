// Run by mpirun: every rank runs the same tests, each on a GPU of its own or, with fewer, all on
// the first.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"
#include "peer/memory.hpp"
#include "support/rank_test.hpp"

namespace linkgain::test {
namespace {

constexpr Bytes kSize{2 << 20};

class PeerTeardown : public RankTest {
 protected:
  static std::size_t free_memory() {
    std::size_t free = 0;
    std::size_t total = 0;
    gpu::check(cudaMemGetInfo(&free, &total));
    return free;
  }

  /// Delays one rank before it closes, another one before it frees.
  static void be_late(int turn) {
    if (turn % session->ranks() != session->rank()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  /// Writes into every rank's memory, so that it is in use until just before it goes.
  void open_and_close(int turn) const {
    PeerMemory memory(*session, context_, kSize, kSize, {false, "a test of CUDA IPC"});
    memory.join();
    for (int peer = 0; peer < session->ranks(); ++peer) {
      gpu::check(cudaMemsetAsync(memory.regions().data[peer], turn, 4096, stream_.get()));
    }
    stream_.synchronize();
    session->barrier();
    be_late(turn);
    memory.release();
    be_late(turn + 1);
  }

  gpu::Stream stream_;
  NcclContext context_{.communicator = nullptr, .rank = session->rank(), .stream = &stream_};
};

TEST_F(PeerTeardown, OfAThousandMemoriesLeavesNothingBehind) {
  open_and_close(0);
  session->barrier();
  const std::size_t before = free_memory();
  session->barrier();
  for (int turn = 0; turn < 1000; ++turn) open_and_close(turn);
  session->barrier();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_NEAR(static_cast<double>(free_memory()), static_cast<double>(before), 2.0 * kSize.value);
  session->barrier();
}

/// Gives each rank a device, or says why there is no test.
std::optional<std::string> take_devices(Session& session) {
  const int devices = gpu::device_count();
  if (devices == 0) return "no GPU";
  gpu::check(cudaSetDevice(devices < session.ranks() ? 0 : session.rank()));
  return std::nullopt;
}

}  // namespace
}  // namespace linkgain::test

int main(int argc, char** argv) {
  return linkgain::test::run_rank_tests(argc, argv, linkgain::test::take_devices);
}
