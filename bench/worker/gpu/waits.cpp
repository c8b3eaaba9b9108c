#include "linkgain/gpu/waits.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>

#include "kernels/timing/stream_gate.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {
namespace {

constexpr double kShareOfTimeout = 0.8;

const char* awaited(kernels::WaitPhase phase) {
  switch (phase) {
    case kernels::WaitPhase::none:
    case kernels::WaitPhase::reporting:
      return "nothing";
    case kernels::WaitPhase::sent:
      return "its signal that data are there";
    case kernels::WaitPhase::finished:
      return "its signal that it is done";
    case kernels::WaitPhase::packet:
      return "its flags in the data";
    case kernels::WaitPhase::message:
      return "its message";
    case kernels::WaitPhase::turn:
      return "its turn";
  }
  return "";
}

}  // namespace

DeviceWaits::DeviceWaits(int rank, Seconds timeout) : rank_(rank) {
  std::memset(memory_.data(), 0, sizeof(kernels::WaitReport));
  bound_.report = static_cast<kernels::WaitReport*>(memory_.data());
  constexpr auto kLongest = static_cast<double>(kernels::kLongestWait);
  bound_.nanoseconds = timeout.value > 0.0 && kShareOfTimeout * timeout.value * 1e9 < kLongest
                           ? static_cast<std::uint64_t>(kShareOfTimeout * timeout.value * 1e9)
                           : kernels::kLongestWait;
}

std::optional<std::string> DeviceWaits::failure() const {
  // The device writes it last.
  const auto phase = std::atomic_ref(bound_.report->phase).load(std::memory_order_acquire);
  if (phase == kernels::WaitPhase::none || phase == kernels::WaitPhase::reporting) {
    return std::nullopt;
  }
  const kernels::WaitReport& report = *bound_.report;
  const std::string whom = phase == kernels::WaitPhase::turn ? "another of its blocks"
                                                             : fmt::format("rank {}", report.peer);
  return fmt::format(
      "a kernel of rank {} waited {:.3g} s for {} in vain: block {} wanted {}, number {}, and saw "
      "{}",
      rank_, static_cast<double>(bound_.nanoseconds) * 1e-9, whom, report.block, awaited(phase),
      report.expected, report.seen);
}

void DeviceWaits::require_none() const {
  if (const auto found = failure()) {
    throw MachineError(*found, "see what ended or delayed that rank: its log, linkgain doctor");
  }
}

StreamGate::StreamGate() : memory_(Bytes{sizeof(std::uint32_t)}) { *unblocked() = 0; }

void StreamGate::block_stream(const Stream& stream) {
  constexpr double kMostMicroseconds = 1000.0;
  ++blocks_;
  check(kernels::block_stream(stream.get(), unblocked(), blocks_, kMostMicroseconds));
}

void StreamGate::unblock() {
  std::atomic_ref<std::uint32_t>(*unblocked()).store(blocks_, std::memory_order_release);
}

}  // namespace linkgain::gpu
