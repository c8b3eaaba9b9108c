#include "kernels/peer/exchange.hpp"

#include <gtest/gtest.h>

#include <array>

#include "worker/gpu/gpu_fixture.hpp"

namespace linkgain::kernels {
namespace {

using gpu::check;
using gpu::DeviceBuffer;
using gpu::Stream;

constexpr double kPlentyMicroseconds = 20e6;
constexpr double kSoonMicroseconds = 200e3;

/// Both sides on one device, as kernels that run at once.
class ExchangeKernel : public test::GpuTest {
 protected:
  /// Returns what each saw, if the second one has the fault.
  static std::array<ExchangeReport, 2> exchange_of(std::int64_t words, std::uint32_t rounds,
                                                   ExchangeFault fault, double limit_microseconds) {
    const Bytes inbox{exchange_inbox_bytes(words)};
    const std::array<DeviceBuffer, 2> inboxes{DeviceBuffer(inbox), DeviceBuffer(inbox)};
    for (const DeviceBuffer& each : inboxes) {
      check(cudaMemset(each.data(), 0, static_cast<std::size_t>(inbox.value)));
    }
    const DeviceBuffer memory(Bytes{2 * sizeof(ExchangeReport)});
    auto* const reports = static_cast<ExchangeReport*>(memory.data());
    check(cudaDeviceSynchronize());
    const std::array<Stream, 2> streams;
    for (int rank = 0; rank < 2; ++rank) {
      const ExchangeSide side{inboxes[rank].data(), inboxes[1 - rank].data(), words, rank,
                              rank == 1 ? fault : ExchangeFault::none};
      check(exchange(side, rounds, limit_microseconds, reports + rank, streams[rank].get()));
    }
    for (const Stream& each : streams) each.synchronize();
    std::array<ExchangeReport, 2> seen{};
    check(cudaMemcpy(seen.data(), reports, sizeof seen, cudaMemcpyDeviceToHost));
    return seen;
  }
};

TEST_F(ExchangeKernel, EveryWordOfEveryRoundArrives) {
  constexpr std::uint32_t kRounds = 50;
  for (const std::int64_t words : {1, 1000, 65'536}) {
    for (const ExchangeReport& seen :
         exchange_of(words, kRounds, ExchangeFault::none, kPlentyMicroseconds)) {
      EXPECT_EQ(seen.rounds, kRounds) << words;
      EXPECT_EQ(seen.last_flag, kRounds) << words;
      EXPECT_EQ(seen.wrong, 0U) << words;
    }
  }
}

TEST_F(ExchangeKernel, GivesUpWhereNothingComes) {
  const auto seen = exchange_of(1000, 5, ExchangeFault::drop, kSoonMicroseconds);
  EXPECT_EQ(seen[0].rounds, 0U);
  EXPECT_EQ(seen[0].last_flag, 0U);
  EXPECT_EQ(seen[1].rounds, 1U) << "what the other one sent before it waited";
  EXPECT_EQ(seen[1].last_flag, 1U);
  EXPECT_EQ(seen[0].wrong + seen[1].wrong, 0U);
}

TEST_F(ExchangeKernel, CountsEveryWordOfAnEarlierRound) {
  constexpr std::int64_t kWords = 1000;
  constexpr std::uint32_t kRounds = 6;
  const auto seen = exchange_of(kWords, kRounds, ExchangeFault::stale, kPlentyMicroseconds);
  EXPECT_EQ(seen[0].rounds, kRounds);
  EXPECT_EQ(seen[0].wrong, kWords * (kRounds - 1));
  EXPECT_EQ(seen[1].rounds, kRounds);
  EXPECT_EQ(seen[1].wrong, 0U);
}

TEST_F(ExchangeKernel, RefusesNothingToSend) {
  const DeviceBuffer memory(Bytes{exchange_inbox_bytes(1)});
  const Stream stream;
  const auto attempt = [&](std::int64_t words, std::uint32_t rounds) {
    const ExchangeSide side{memory.data(), memory.data(), words, 0, ExchangeFault::none};
    return exchange(side, rounds, kSoonMicroseconds, nullptr, stream.get());
  };
  EXPECT_EQ(attempt(0, 1), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(1, 0), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace linkgain::kernels
