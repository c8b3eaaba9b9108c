// NCCL's log: transports, tuned calls, and the pattern of its file's name, which is the first line
// here.
#include "fuzz_target.hpp"
#include "linkgain/cases/traffic.hpp"
#include "linkgain/telemetry/nccl_log.hpp"

namespace linkgain {
namespace {

void read(std::string_view text) {
  expand_log_pattern(std::string(fuzz::take_line(text)), "node1.cluster", 4711);
  const TransportLines transports = parse_transport_lines(text);
  const std::vector<TunedCall> calls = parse_tuning_lines(text);
  for (const std::optional<bool> nvlink :
       {std::optional<bool>(), std::optional(false), std::optional(true)}) {
    path_of(transports, nvlink);
    for (const TunedCall& call : calls)
      path_of(transports, nvlink, algorithm_called(call.plan.algorithm));
  }
  for (const TunedCall& call : calls) {
    Case c;
    c.operation = call.operation;
    c.size = call.size;
    const TransferPlan plan = plan_of(c, calls);
    if (plan.algorithm.empty() != plan.protocol.empty() && has_algorithm(c.operation)) {
      throw std::logic_error("half a plan");
    }
  }
  if (transports.kinds.empty() && calls.empty()) throw UsageError("nothing of NCCL's is in it");
}

}  // namespace
}  // namespace linkgain
