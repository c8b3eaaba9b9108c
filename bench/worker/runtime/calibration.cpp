#include <algorithm>
#include <cmath>
#include <optional>

#include "linkgain/base/stopwatch.hpp"
#include "linkgain/runtime/engine.hpp"

namespace linkgain {
namespace {

/// A batch shorter than this share of the target is measured again with more operations.
constexpr double kTrustedShare = 0.25;
/// Growth of the batch between two calibration steps.
constexpr double kMostGrowth = 64.0;

/// Returns seconds that a batch took, what stands around its operations included.
double slowest_time(Session& session, Operation& operation, std::int64_t operations) {
  session.barrier();
  const Seconds own = operation.time_batch(operations).value_or(Seconds{0.0});
  return session.max(operation.busy_time().value_or(own).value);
}

/// Returns as many whole granules as fit the target, at least one.
std::int64_t operations_for(double target, double per_operation, std::int64_t granularity) {
  const double granules = std::round(target / (per_operation * static_cast<double>(granularity)));
  const double most = static_cast<double>(protocol::kMostOperations / granularity);
  return granularity * static_cast<std::int64_t>(std::clamp(granules, 1.0, most));
}

/// Returns seconds per operation from a batch near the target's length. All ranks see the same
/// maximum, so all choose the same batches.
double calibrate(Session& session, Operation& operation, Seconds target) {
  const std::int64_t granularity = operation.granularity();
  std::int64_t operations = granularity;
  for (;;) {
    double time = std::max(slowest_time(session, operation, operations), 1e-9);
    // A rank that was held up once must not decide.
    if (time >= kTrustedShare * target.value) {
      time = std::clamp(slowest_time(session, operation, operations), 1e-9, time);
    }
    const double per_operation = time / static_cast<double>(operations);
    const std::int64_t wanted = operations_for(target.value, per_operation, granularity);
    if (time >= kTrustedShare * target.value || wanted <= operations) return per_operation;
    const double growth = std::min(kMostGrowth, static_cast<double>(wanted / operations));
    operations *= std::max<std::int64_t>(2, static_cast<std::int64_t>(growth));
  }
}

/// Returns seconds of one operation by the clock of the host, the slowest rank's.
double time_once(Session& session, Operation& operation) {
  session.barrier();
  Stopwatch watch;
  operation.run(1);
  return session.max(watch.lap().value);
}

/// Returns what another job of the variant found, if a batch of a quarter of it shows that it is no
/// more than one and a half times what suits the target here, and this no more than that.
std::optional<SampleSize> taken_over(Session& session, Operation& operation,
                                     const protocol::Open& command) {
  const std::int64_t granularity = operation.granularity();
  const std::int64_t known = command.operations.value_or(0);
  if (known < granularity || known % granularity != 0) return std::nullopt;
  const std::int64_t batch = std::max<std::int64_t>(1, known / granularity / 4) * granularity;
  const double per_operation =
      std::max(slowest_time(session, operation, batch), 1e-9) / static_cast<double>(batch);
  const std::int64_t own = operations_for(command.sample_target.value, per_operation, granularity);
  if (2 * own > 3 * known || 2 * known > 3 * own) return std::nullopt;
  return SampleSize{known, Seconds{per_operation}};
}

}  // namespace

SampleSize size_of_sample(Session& session, Operation& operation, const protocol::Open& command) {
  if (const std::optional<std::int64_t> fixed = operation.fixed_batch()) {
    return {*fixed, Seconds{time_once(session, operation)}};
  }
  if (const auto known = taken_over(session, operation, command)) return *known;
  const double per_operation = calibrate(session, operation, command.sample_target);
  return {operations_for(command.sample_target.value, per_operation, operation.granularity()),
          Seconds{per_operation}};
}

}  // namespace linkgain
