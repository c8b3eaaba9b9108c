#include "kernels/latency/latency.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "worker/gpu/gpu_fixture.hpp"

namespace linkgain::kernels {
namespace {

using gpu::check;
using gpu::DeviceBuffer;
using gpu::Stream;

std::vector<std::uint8_t> bytes_of(const DeviceBuffer& buffer) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(buffer.size().value));
  check(cudaMemcpy(bytes.data(), buffer.data(), bytes.size(), cudaMemcpyDeviceToHost));
  return bytes;
}

/// One side of an exchange: what it sends, all of one value, its inbox and what it got.
struct Side {
  Side(std::int64_t bytes, int value)
      : message(Bytes{bytes}), received(Bytes{bytes}), inbox(Bytes{inbox_bytes(bytes)}) {
    check(cudaMemset(message.data(), value, static_cast<std::size_t>(bytes)));
    check(cudaMemset(received.data(), 0, static_cast<std::size_t>(bytes)));
    check(cudaMemset(inbox.data(), 0, static_cast<std::size_t>(inbox_bytes(bytes))));
  }
  DeviceBuffer message;
  DeviceBuffer received;
  DeviceBuffer inbox;
  Stream stream;
};

class LatencyKernels : public test::GpuTest {
 protected:
  static void enqueue(const Side& own, const Side& peer, bool starts, int rounds,
                      std::uint32_t before) {
    const PingPong side{own.inbox.data(),    peer.inbox.data(),        own.message.data(),
                        own.received.data(), own.message.size().value, starts};
    check(ping_pong(side, rounds, before, own.stream.get()));
  }
};

TEST_F(LatencyKernels, ExchangeWholeMessagesOverManyRoundsAndLaunches) {
  for (const std::int64_t bytes : {8, 24, 8'192, 65'536}) {
    const Side first(bytes, 0x11);
    const Side second(bytes, 0x22);
    check(cudaDeviceSynchronize());
    for (std::uint32_t launch = 0; launch < 5; ++launch) {
      enqueue(first, second, true, 40, 40 * launch);
      enqueue(second, first, false, 40, 40 * launch);
    }
    first.stream.synchronize();
    second.stream.synchronize();
    const auto size = static_cast<std::size_t>(bytes);
    EXPECT_EQ(bytes_of(first.received), std::vector<std::uint8_t>(size, 0x22));
    EXPECT_EQ(bytes_of(second.received), std::vector<std::uint8_t>(size, 0x11));
  }
}

TEST_F(LatencyKernels, GiveUpWhereTheOtherSideDoesNotAnswer) {
  const gpu::PinnedBuffer memory(Bytes{sizeof(WaitReport)});
  auto* const report = static_cast<WaitReport*>(memory.data());
  *report = {};
  const Side own(8192, 0x11);
  const Side other(8192, 0x22);
  check(cudaDeviceSynchronize());
  PingPong side{own.inbox.data(),
                other.inbox.data(),
                own.message.data(),
                own.received.data(),
                8192,
                true,
                1,
                {report, 200'000'000}};
  const auto start = std::chrono::steady_clock::now();
  check(ping_pong(side, 40, 7, own.stream.get()));
  own.stream.synchronize();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  EXPECT_GT(time.count(), 0.19);
  EXPECT_LT(time.count(), 1.5);
  EXPECT_EQ(report->phase, WaitPhase::message);
  EXPECT_EQ(report->peer, 1);
  EXPECT_EQ(report->expected, 8U);
  EXPECT_EQ(report->seen, 0U);
  EXPECT_EQ(bytes_of(own.received), std::vector<std::uint8_t>(8192, 0));
}

TEST_F(LatencyKernels, FollowAChainFromWhereTheyWere) {
  constexpr std::uint64_t kLines = 101;
  std::vector<std::uint64_t> chain(kLines * 16);
  for (std::uint64_t line = 0; line < kLines; ++line) {
    chain[line * 16] = (line + 7) % kLines * 128;
  }
  const DeviceBuffer memory(Bytes{kLines * 128});
  const DeviceBuffer position(Bytes{8});
  check(cudaMemcpy(memory.data(), chain.data(), chain.size() * 8, cudaMemcpyHostToDevice));
  check(cudaMemset(position.data(), 0, 8));
  const Stream stream;
  for (int launch = 1; launch <= 3; ++launch) {
    check(pointer_chase(memory.data(), static_cast<std::uint64_t*>(position.data()), 1000,
                        stream.get()));
    stream.synchronize();
    std::uint64_t found = 0;
    check(cudaMemcpy(&found, position.data(), 8, cudaMemcpyDeviceToHost));
    EXPECT_EQ(found, static_cast<std::uint64_t>(launch) * 7000 % kLines * 128);
  }
}

TEST_F(LatencyKernels, RefuseWhatTheyCannotDo) {
  const Side side(64, 1);
  PingPong call{
      side.inbox.data(), side.inbox.data(), side.message.data(), side.received.data(), 12, true};
  EXPECT_EQ(ping_pong(call, 1, 0, side.stream.get()), cudaErrorInvalidValue);
  call.bytes = 8;
  EXPECT_EQ(ping_pong(call, 0, 0, side.stream.get()), cudaErrorInvalidValue);
  EXPECT_EQ(pointer_chase(side.inbox.data(), nullptr, 0, side.stream.get()), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace linkgain::kernels
