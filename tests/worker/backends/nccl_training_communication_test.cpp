// Run by mpirun, each rank on a GPU of its own.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/timing/warm_up.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/stream.hpp"
#include "support/nccl_rank_backend.hpp"
#include "support/rank_test.hpp"
#include "training_world.hpp"

namespace linkgain::test {
namespace {

std::vector<std::uint8_t> bytes_of(DataType type, const std::vector<double>& values) {
  std::vector<std::uint8_t> bytes(values.size() * static_cast<std::size_t>(size_of(type)));
  const std::vector<float> singles(values.begin(), values.end());
  const void* source = type == DataType::float32 ? static_cast<const void*>(singles.data())
                                                 : static_cast<const void*>(values.data());
  std::memcpy(bytes.data(), source, bytes.size());
  return bytes;
}

std::vector<double> values_of(DataType type, const std::vector<std::uint8_t>& bytes) {
  if (type == DataType::float32) {
    std::vector<float> singles(bytes.size() / sizeof(float));
    std::memcpy(singles.data(), bytes.data(), bytes.size());
    return {singles.begin(), singles.end()};
  }
  std::vector<double> values(bytes.size() / sizeof(double));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Memory of this rank's GPU, and a stream as a model has one.
class GpuWorld : public TrainingWorld {
 public:
  GpuWorld(DataType type, std::int64_t count)
      : type_(type),
        count_(count),
        memory_(Bytes{count * size_of(type)}),
        communication_(nccl_backend()->open_training_communication(stream_.get())) {}

  TrainingCommunication& communication() override { return *communication_; }
  FlatMemory memory() override { return {memory_.data(), type_, count_}; }

  void write(const std::vector<double>& values) override {
    const std::vector<std::uint8_t> bytes = bytes_of(type_, values);
    gpu::check(cudaMemcpyAsync(memory_.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice,
                               stream_.get()));
    stream_.synchronize();
  }

  std::vector<double> read() override { return read(memory_); }

  /// Returns all of a buffer as large as the memory, in the order of the model's work.
  std::vector<double> read(const gpu::DeviceBuffer& buffer) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(buffer.size().value));
    gpu::check(cudaMemcpyAsync(bytes.data(), buffer.data(), bytes.size(), cudaMemcpyDeviceToHost,
                               stream_.get()));
    stream_.synchronize();
    return values_of(type_, bytes);
  }

  /// Enqueues a copy as the model enqueues its kernels.
  void copy(const gpu::DeviceBuffer& from, const gpu::DeviceBuffer& to) {
    gpu::check(cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(to.size().value),
                               cudaMemcpyDeviceToDevice, stream_.get()));
  }

  /// Keeps the model's stream busy for so long.
  void compute(double microseconds) {
    gpu::check(kernels::warm_up(stream_.get(), microseconds, 1));
  }

  const gpu::Stream& stream() const { return stream_; }
  const gpu::DeviceBuffer& buffer() const { return memory_; }

 private:
  DataType type_;
  std::int64_t count_;
  gpu::Stream stream_;
  gpu::DeviceBuffer memory_;
  std::unique_ptr<TrainingCommunication> communication_;
};

constexpr std::int64_t kCount = 1 << 20;
constexpr std::int64_t kPart = kCount / 64;  ///< fewer than a stream takes before the host stops
constexpr double kLong = 200e3;              // us

class NcclTrainingOrder : public RankTest {
 protected:
  /// Lets NCCL load and set up beforehand what it does the first time.
  void SetUp() override {
    for (int turn = 0; turn < 2; ++turn) {
      for (const int kind : {0, 1, 2}) communication().wait(start(kind));
      communication().wait(communication().all_reduce(world_.memory(), {0, kPart}));
      world_.compute(1.0);
      world_.copy(world_.buffer(), other_);
      fill(world_.buffer(), 0.0);
    }
    session->barrier();
  }

  void TearDown() override {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    session->barrier();
  }

  TrainingCommunication& communication() { return world_.communication(); }

  /// Starts an all-reduce, a reduce-scatter or an all-gather of the whole memory.
  CommunicationTicket start(int kind) {
    const ParameterRange all{0, kCount};
    if (kind == 0) return communication().all_reduce(world_.memory(), all);
    if (kind == 1) return communication().reduce_scatter(world_.memory(), all);
    return communication().all_gather(world_.memory(), all);
  }

  void fill(const gpu::DeviceBuffer& buffer, double value) {
    const std::vector<std::uint8_t> bytes =
        bytes_of(DataType::float32, std::vector<double>(kCount, value));
    gpu::check(cudaMemcpy(buffer.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    gpu::check(cudaDeviceSynchronize());
  }

  /// Expects what the operation makes of memory in which rank r has r + 1 everywhere.
  void expect_result(int kind, const std::vector<double>& found) {
    const int ranks = session->ranks();
    const double sum = ranks * (ranks + 1) / 2.0;
    const std::int64_t part = kCount / ranks;
    for (std::int64_t i = 0; i < kCount; ++i) {
      const auto owner = static_cast<int>(i / part);
      if (kind == 1 && owner != session->rank()) continue;
      ASSERT_EQ(found[static_cast<std::size_t>(i)], kind == 2 ? owner + 1 : sum) << i;
    }
  }

  bool is_last() const { return session->rank() == session->ranks() - 1; }
  double own() const { return session->rank() + 1.0; }

  GpuWorld world_{DataType::float32, kCount};
  gpu::DeviceBuffer other_{world_.buffer().size()};
};

TEST_F(NcclTrainingOrder, TakesWhatTheModelWroteLast) {
  fill(other_, own());
  for (const int kind : {0, 1, 2}) {
    fill(world_.buffer(), -1.0);
    session->barrier();
    world_.compute(kLong);
    world_.copy(other_, world_.buffer());
    communication().wait(start(kind));
    EXPECT_FALSE(world_.stream().done()) << "the host has waited";
    expect_result(kind, world_.read());
  }
}

TEST_F(NcclTrainingOrder, TheModelGoesOnWhereTheOperationHasEnded) {
  for (const int kind : {0, 1, 2}) {
    fill(world_.buffer(), own());
    fill(other_, -1.0);
    session->barrier();
    // Nobody can end before the last one has begun.
    if (is_last()) world_.compute(kLong);
    communication().wait(start(kind));
    world_.copy(world_.buffer(), other_);
    EXPECT_FALSE(world_.stream().done()) << "the host has waited";
    expect_result(kind, world_.read(other_));
  }
}

TEST_F(NcclTrainingOrder, TheModelComputesMeanwhile) {
  fill(world_.buffer(), own());
  session->barrier();
  const auto start_time = std::chrono::steady_clock::now();
  if (is_last()) world_.compute(kLong);
  const CommunicationTicket ticket = start(0);
  if (!is_last()) {
    world_.compute(1e3);
    world_.stream().synchronize();
    const std::chrono::duration<double, std::micro> passed =
        std::chrono::steady_clock::now() - start_time;
    EXPECT_LT(passed.count(), kLong / 2);
  }
  communication().progress();
  communication().wait(ticket);
  expect_result(0, world_.read());
}

/// Returns events to the pool with the wait, before the operation has begun.
TEST_F(NcclTrainingOrder, HoldsThroughManyOperationsAtOnce) {
  fill(other_, own());
  session->barrier();
  world_.compute(kLong);
  world_.copy(other_, world_.buffer());
  for (std::int64_t begin = 0; begin < kCount; begin += 2 * kPart) {
    const ParameterRange first{begin, kPart};
    const ParameterRange second{begin + kPart, kPart};
    const auto earlier = communication().all_reduce(world_.memory(), first);
    const auto later = communication().all_reduce(world_.memory(), second);
    communication().wait(later);
    communication().wait(earlier);
  }
  EXPECT_FALSE(world_.stream().done()) << "the host has waited";
  expect_result(0, world_.read());
}

TEST_F(NcclTrainingOrder, TellsTheStreamOfItsOperations) {
  const auto stream = static_cast<cudaStream_t>(communication().stream());
  ASSERT_NE(stream, nullptr);
  world_.compute(kLong);
  const CommunicationTicket ticket = start(0);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  cudaGetLastError();  // may be remembered like an error
  communication().wait(ticket);
  world_.stream().synchronize();
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
}

TEST(NcclTrainingCommunication, RefusesAModelOnTheCpu) {
  EXPECT_THROW(nccl_backend()->open_training_communication(nullptr), MachineError);
}

}  // namespace

std::unique_ptr<TrainingWorld> make_training_world(DataType type, std::int64_t count) {
  return std::make_unique<GpuWorld>(type, count);
}

}  // namespace linkgain::test

int main(int argc, char** argv) {
  ::testing::AddGlobalTestEnvironment(new linkgain::test::NcclBackendEnd);
  return linkgain::test::run_rank_tests(argc, argv, linkgain::test::prepare_nccl_backend);
}
