// Run by mpirun: every rank runs the same tests in the same order, each on a GPU of its own.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <nccl.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/all_reduce/all_reduce.hpp"
#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"
#include "nccl/api.hpp"
#include "peer/memory.hpp"
#include "support/rank_test.hpp"

namespace linkgain::test {
namespace {

using ::testing::Each;

constexpr Bytes kData{8 << 20};
constexpr Bytes kScratch{4 << 20};

class PeerMemoryTest : public RankTest {
 protected:
  void SetUp() override {
    communicator_ = make_communicator(*session);
    context_.communicator = communicator_.get();
    context_.rank = session->rank();
    context_.stream = &stream_;
  }

  /// Destroys the communicator after the test's memory, as windows go before it.
  void TearDown() override {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    session->barrier();
    EXPECT_EQ(nccl().comm_destroy(communicator_.release()), ncclSuccess);
  }

  PeerMemory make(PeerTransport path) const {
    PeerMemory memory(*session, context_, kData, kScratch, std::move(path));
    memory.join();
    return memory;
  }

  static inline const std::string kForbidden = "forbidden";

  /// Forbids windows to `rank` alone, which must keep all ranks from them.
  static PeerTransport by_ipc(int rank) {
    if (session->rank() != rank) return {};
    return {false, kForbidden};
  }
  static PeerTransport by_windows() { return {false, device_api_problem()}; }

  /// Writes every rank's number into a place of its own in everybody's memory, and expects all to
  /// arrive. Spoils scratch for kernels.
  void expect_reach(const PeerMemory& memory) const {
    const kernels::PeerRegions& regions = memory.regions();
    for (void* const* each : {regions.data, regions.scratch}) {
      write_number(each);
      session->barrier();
      std::vector<std::uint8_t> arrived(kShare);
      for (int peer = 0; peer < session->ranks(); ++peer) {
        gpu::check(cudaMemcpy(arrived.data(), share(each[session->rank()], peer), kShare,
                              cudaMemcpyDeviceToHost));
        EXPECT_THAT(arrived, Each(peer + 1)) << "from rank " << peer;
      }
      session->barrier();
    }
  }

  /// Expects the sum of one all-reduce of ones on every rank.
  void expect_right_sum(const PeerMemory& memory) const {
    constexpr std::int64_t kElements = 1 << 16;
    const std::vector<float> ones(kElements, 1.0f);
    std::vector<float> sums(kElements);
    const std::size_t bytes = kElements * sizeof(float);
    gpu::check(cudaMemcpy(memory.data(), ones.data(), bytes, cudaMemcpyHostToDevice));
    gpu::check(cudaDeviceSynchronize());
    session->barrier();
    constexpr auto kMethod = kernels::AllReduceMethod::two_shot;
    ASSERT_LE(
        kernels::all_reduce_scratch(kMethod, static_cast<std::int64_t>(bytes), session->ranks()),
        kScratch.value);
    const kernels::DataOffsets offsets{0, static_cast<std::int64_t>(bytes)};
    gpu::check(kernels::all_reduce(kMethod, memory.regions(), offsets,
                                   kernels::ElementType::float32, kElements, kElements, 8,
                                   stream_.get()));
    stream_.synchronize();
    gpu::check(cudaMemcpy(sums.data(), static_cast<char*>(memory.data()) + bytes, bytes,
                          cudaMemcpyDeviceToHost));
    EXPECT_THAT(sums, Each(static_cast<float>(session->ranks())));
    session->barrier();
  }

  NcclContext context_;

 private:
  static constexpr std::size_t kShare = 4096;

  static char* share(void* memory, int rank) {
    return static_cast<char*>(memory) + static_cast<std::size_t>(rank) * kShare;
  }

  void write_number(void* const* everybody) const {
    const gpu::DeviceBuffer number(Bytes{kShare});
    gpu::check(cudaMemsetAsync(number.data(), session->rank() + 1, kShare, stream_.get()));
    for (int peer = 0; peer < session->ranks(); ++peer) {
      gpu::check(cudaMemcpyAsync(share(everybody[peer], session->rank()), number.data(), kShare,
                                 cudaMemcpyDeviceToDevice, stream_.get()));
    }
    stream_.synchronize();
  }

  gpu::Stream stream_;
  Communicator communicator_;
};

TEST_F(PeerMemoryTest, TakesWindowsWhereNcclHasADeviceApi) {
  const PeerMemory memory = make(by_windows());
  if (const auto problem = device_api_problem()) {
    EXPECT_EQ(memory.transport(), "CUDA IPC (" + *problem + ")");
  } else {
    EXPECT_EQ(memory.transport(), "LSA pointers");
  }
  expect_right_sum(memory);
}

TEST_F(PeerMemoryTest, ReachesEveryRankThroughWindows) { expect_reach(make(by_windows())); }

TEST_F(PeerMemoryTest, OneRankWithoutWindowsTakesAllToCudaIpc) {
  for (int rank = 0; rank < session->ranks(); ++rank) {
    const PeerMemory memory = make(by_ipc(rank));
    EXPECT_EQ(memory.transport(), "CUDA IPC (" + kForbidden + ")");
    expect_right_sum(memory);
    expect_reach(memory);
  }
}

TEST_F(PeerMemoryTest, ThroughTheHostSharesNoDeviceMemory) {
  const PeerMemory memory = make({true, {}});
  EXPECT_EQ(memory.transport(), "host memory");
  for (int peer = 0; peer < session->ranks(); ++peer) {
    EXPECT_EQ(memory.regions().data[peer] != nullptr, peer == session->rank());
    cudaPointerAttributes attributes{};
    gpu::check(cudaPointerGetAttributes(&attributes, memory.regions().scratch[peer]));
    EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  }
}

TEST_F(PeerMemoryTest, ScratchBeginsWithZerosWhateverTheMemoryHeldBefore) {
  const auto bytes = static_cast<std::size_t>(kScratch.value);
  for (const PeerTransport& path : {by_windows(), by_windows(), by_ipc(0), by_ipc(0)}) {
    const PeerMemory memory = make(path);
    std::vector<std::uint8_t> found(bytes, 1);
    void* const own = memory.regions().scratch[session->rank()];
    gpu::check(cudaMemcpy(found.data(), own, bytes, cudaMemcpyDeviceToHost));
    EXPECT_EQ(std::count(found.begin(), found.end(), 0), kScratch.value) << memory.transport();
    gpu::check(cudaMemset(own, 0xff, bytes));
    gpu::check(cudaDeviceSynchronize());
    session->barrier();
  }
}

TEST_F(PeerMemoryTest, OutlivesOthersMadeBeforeAndAfter) {
  std::optional<PeerMemory> first(make(by_windows()));
  const PeerMemory second = make(by_windows());
  const PeerMemory third = make(by_ipc(0));
  expect_reach(*first);
  first.reset();
  expect_right_sum(second);
  const PeerMemory fourth = make(by_windows());
  expect_reach(second);
  expect_right_sum(third);
  expect_right_sum(fourth);
}

TEST_F(PeerMemoryTest, GivesItsMemoryBack) {
  const auto free_bytes = [] {
    std::size_t free = 0;
    std::size_t total = 0;
    gpu::check(cudaMemGetInfo(&free, &total));
    return static_cast<double>(free);
  };
  constexpr int kTurns = 60;
  for (const PeerTransport& path : {by_windows(), by_ipc(0)}) {
    make(path);
    session->barrier();
    const double before = free_bytes();
    for (int i = 0; i < kTurns; ++i) {
      make(path);
      session->barrier();
    }
    // Half of what would be lost; others may be at work on the GPU.
    const double lost = kTurns * static_cast<double>(kData.value + kScratch.value);
    EXPECT_GT(free_bytes(), before - lost / 2);
  }
}

}  // namespace
}  // namespace linkgain::test

namespace {

/// Says why these ranks cannot run the tests; absent if they can. Collective.
std::optional<std::string> obstacle(linkgain::Session& session) {
  std::optional<std::string> own;
  const int gpus = linkgain::gpu::device_count();
  if (gpus < session.ranks()) own = "fewer GPUs than ranks";
  if (const auto first = session.first_text(own)) return first;
  linkgain::gpu::check(cudaSetDevice(session.rank()));
  for (const std::string& gpu :
       session.share(linkgain::gpu::device_info(session.rank()).pci_bus_id)) {
    if (!linkgain::gpu::can_reach(gpu)) own = "no P2P between the GPUs";
  }
  return session.first_text(own);
}

}  // namespace

int main(int argc, char** argv) { return linkgain::test::run_rank_tests(argc, argv, obstacle); }
