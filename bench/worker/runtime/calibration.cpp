#include "calibration.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace linkgain {
namespace {

/// A batch shorter than this share of the target is measured again with more operations.
constexpr double kTrustedShare = 0.25;
/// Growth of the batch between two calibration steps.
constexpr double kMostGrowth = 64.0;
constexpr std::int64_t kMostOperations = 1'000'000;

double slowest_time(Session& session, Operation& operation, std::int64_t operations) {
  session.barrier();
  return session.max(operation.time_batch(operations).value_or(Seconds{0.0}).value);
}

}  // namespace

std::int64_t operations_for(double target, double per_operation, std::int64_t granularity) {
  const double granules = std::round(target / (per_operation * static_cast<double>(granularity)));
  const double most = static_cast<double>(kMostOperations / granularity);
  return granularity * static_cast<std::int64_t>(std::clamp(granules, 1.0, most));
}

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

double time_once(Session& session, Operation& operation) {
  session.barrier();
  const auto start = std::chrono::steady_clock::now();
  operation.run(1);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return session.max(time.count());
}

}  // namespace linkgain
