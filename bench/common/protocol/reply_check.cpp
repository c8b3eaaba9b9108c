#include <fmt/format.h>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/protocol/protocol.hpp"

namespace linkgain::protocol {
namespace {

/// Seconds: more than a run takes.
constexpr double kLongest = 1e6;
/// A nanosecond, which is the least that a clock tells, of the longest batch.
constexpr double kShortest = 1e-9 / static_cast<double>(kMostOperations);

void require_time(std::string_view what, double seconds, double least = 0.0) {
  if (seconds >= least && seconds <= kLongest) return;
  throw UsageError(fmt::format("{} took {:g} s", what, seconds));
}

void require_within(std::string_view what, std::int64_t value, std::int64_t least,
                    std::int64_t most) {
  if (value >= least && value <= most) return;
  throw UsageError(fmt::format("{} is {}, which is not from {} to {}", what, value, least, most));
}

template <typename Number>
void require_at_least(Number least, std::string_view what, Number value) {
  if (value >= least) return;
  throw UsageError(fmt::format("{} is {}, which is below {}", what, value, least));
}

template <typename Number>
void require_not_negative(std::string_view what, const std::optional<Number>& value) {
  if (value) require_at_least(Number{0}, what, *value);
}

void require_of_each(std::string_view what, std::size_t count, std::optional<int> ranks) {
  if (!ranks || count == static_cast<std::size_t>(*ranks)) return;
  throw UsageError(fmt::format("it has {} of {} instead of {}", what,
                               counted(static_cast<std::int64_t>(count), "rank", "ranks"), *ranks));
}

/// As records take it.
void require_rate(std::string_view what, double gb_per_s) {
  if (gb_per_s >= 1e-3 && gb_per_s <= 1e6) return;
  throw UsageError(fmt::format("{} is {:g} GB/s", what, gb_per_s));
}

void require_rates(const CopyRates& rates) {
  require_rate("the rate to a GPU", rates.to_gpu_gb_per_s);
  require_rate("the rate from a GPU", rates.from_gpu_gb_per_s);
}

void check(const HelloReply& reply, std::optional<int> ranks) {
  require_time("MPI's start", reply.ranks_time.value);
  require_time("taking the GPUs", reply.gpus_time.value);
  require_time("connecting", reply.connecting_time.value);
  require_of_each("places", reply.machine.ranks.size(), ranks);
  for (int i = 0; ranks && i < *ranks; ++i) {
    const int rank = reply.machine.ranks[static_cast<std::size_t>(i)].rank;
    if (rank != i) throw UsageError(fmt::format("it has rank {} in the place of rank {}", rank, i));
  }
}

void check(const OpenReply& reply, std::optional<int>) {
  const Execution& execution = reply.execution;
  const std::int64_t batch = execution.operations_per_sample;
  require_within("operations_per_sample", batch, 1, kMostOperations);
  require_within("discarded_per_sample", execution.discarded_per_sample, 0, kMostOperations);
  require_within("operations_per_graph", execution.operations_per_graph, 0, kMostOperations);
  require_at_least(std::int64_t{1}, "buffer_slots", execution.buffer_slots);
  require_time("an operation", reply.per_operation.value);
  require_time("a batch", reply.per_operation.value * static_cast<double>(batch));
  require_time("asking for the plan", reply.plan_cost.value);
  require_time("buffers", reply.buffers_time.value);
  require_time("clocks", reply.clocks_time.value);
  require_time("first operations", reply.first_operations_time.value);
  require_time("calibrating", reply.calibrating_time.value);
}

void check(const RunReply& reply, std::optional<int> ranks) {
  require_of_each("times", reply.seconds.size(), ranks);
  for (const std::optional<double>& time : reply.seconds) {
    if (time) require_time("an operation", *time, kShortest);
  }
  require_of_each("health", reply.health.size(), ranks);
  for (const Health& health : reply.health) {
    require_not_negative("a temperature", health.temperature_c);
    require_not_negative("power", health.power_w);
    require_not_negative("a clock", health.sm_clock_mhz);
  }
  require_time("reading health", reply.health_seconds);
}

void check(const VerifyReply& reply, std::optional<int>) {
  const Verification& found = reply.verification;
  require_at_least(std::int64_t{1}, "checked", found.checked);
  require_within("wrong", found.wrong, 0, found.checked);
  require_at_least(0.0, "largest_error", found.largest_error);
  require_at_least(0.0, "bound", found.bound);
}

void check(const CountersReply& reply, std::optional<int> ranks) {
  require_of_each("counters", reply.ranks.size(), ranks);
  for (const LinkCounters& counters : reply.ranks) {
    require_not_negative("nvlink_sent", counters.nvlink_sent);
    require_not_negative("nvlink_received", counters.nvlink_received);
    require_not_negative("pcie_sent", counters.pcie_sent);
    require_not_negative("pcie_received", counters.pcie_received);
  }
}

void check(const HostCopyReply& reply, std::optional<int> ranks) {
  require_of_each("copies", reply.ranks.size(), ranks);
  for (const std::optional<HostCopyRates>& rates : reply.ranks) {
    if (!rates) continue;
    require_rates(rates->at_once());
    if (rates->alone) require_rates(*rates->alone);
  }
}

void check(const DoneReply&, std::optional<int>) {}

void check(const ErrorReply&, std::optional<int>) {}

}  // namespace

void require_possible(const Reply& reply, std::optional<int> ranks) {
  std::visit([&](const auto& each) { check(each, ranks); }, reply);
}

}  // namespace linkgain::protocol
