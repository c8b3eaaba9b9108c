#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <variant>

#include "bench_modes.hpp"
#include "linkgain/hardware/delivery.hpp"
#include "linkgain/proof/peer_writes.hpp"
#include "linkgain/runtime/fault.hpp"

namespace linkgain {
namespace {

/// Whoever started this waits no longer than 10 s.
constexpr unsigned kMostSeconds = 12;
constexpr Seconds kShortSample{1e-4};

/// Returns the fault of a test; none where it wants another rung to have it.
std::optional<Fault> fault_of(ProofRung rung) {
  auto fault = fault_from_environment();
  if (!fault || fault->rung.value_or(rung) != rung) return std::nullopt;
  fault->rung.reset();
  return fault;
}

Case all_reduce_of(Bytes size) {
  Case c;
  c.operation = OperationKind::all_reduce;
  c.size = size;
  c.ranks = 2;
  return c;
}

/// Returns what the engine replied; throws MachineError where it could not.
template <typename Expected>
Expected led(Engine& engine, const protocol::Command& command) {
  const protocol::Reply reply = engine.lead(command);
  if (const auto* refusal = std::get_if<protocol::ErrorReply>(&reply)) {
    throw MachineError(refusal->text, refusal->advice);
  }
  return std::get<Expected>(reply);
}

/// Runs on rank 0 one all-reduce and its verification.
Delivery all_reduce_once(Engine& engine, Bytes size) {
  const std::string name = case_name(all_reduce_of(size));
  const auto opened = led<protocol::OpenReply>(engine, protocol::Open{name, kShortSample});
  led<protocol::RunReply>(engine,
                          protocol::Run{opened.handle, opened.execution.operations_per_sample});
  const Verification seen =
      led<protocol::VerifyReply>(engine, protocol::Verify{opened.handle}).verification;
  led<protocol::DoneReply>(engine, protocol::Close{opened.handle});
  if (seen.wrong == 0) return {Delivery::Outcome::arrived, {}};
  return {Delivery::Outcome::not_arrived,
          fmt::format("{} of {} sums of {} are wrong, the first at {}", seen.wrong, seen.checked,
                      readable_bytes(size), seen.first_wrong)};
}

/// Proves an all-reduce by NCCL, or by MPI in CPU memory for tests of the rung itself.
Delivery prove_all_reduce(Watchdog& watchdog, const WorkerOptions& options) {
  Session& session = watchdog.session();
  const BoundBackend backend = make_agreed_backend(watchdog, options);
  Engine engine(watchdog, *backend, fault_of(options.rung.value()));
  if (!session.is_root()) {
    engine.follow();
    return {};
  }
  Delivery delivery;
  for (const Bytes size : {Bytes{4}, Bytes{std::int64_t{16} << 20}}) {
    delivery = all_reduce_once(engine, size);
    if (delivery.outcome != Delivery::Outcome::arrived) break;
  }
  engine.lead(protocol::Shutdown{});
  return delivery;
}

bool is_all_reduce(ProofRung rung) {
  return rung == ProofRung::all_reduce || rung == ProofRung::control;
}

}  // namespace

void prove_mode(Watchdog& watchdog, const WorkerOptions& options) {
  Session& session = watchdog.session();
  if (session.ranks() != 2 || (!options.gpus.empty() && options.gpus.size() != 2)) {
    throw UsageError("--prove is between two ranks, each with a GPU",
                     "mpirun -np 2 linkgain-bench --prove stores --gpus 0,1");
  }
  ::alarm(kMostSeconds);
  const ProofRung rung = options.rung.value();
  const Delivery delivery = is_all_reduce(rung)
                                ? prove_all_reduce(watchdog, options)
                                : prove_peer_writes(session, rung, options.gpus, fault_of(rung));
  if (session.is_root()) fmt::print("{}\n", to_json_line(delivery));
}

}  // namespace linkgain
