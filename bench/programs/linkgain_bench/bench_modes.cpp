#include "bench_modes.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <variant>

#include "linkgain/backends/registry.hpp"
#include "linkgain/base/build_info.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/hardware/delivery.hpp"
#include "linkgain/proof/peer_access.hpp"
#include "linkgain/runtime/fault.hpp"
#include "linkgain/runtime/mpi_library.hpp"
#include "linkgain/runtime/ranks.hpp"
#include "linkgain/telemetry/host.hpp"
#include "linkgain/workloads/collective_sweep.hpp"
#include "linkgain/workloads/training_operation.hpp"

namespace linkgain {
namespace {

constexpr Bytes kUnknownCache{std::int64_t{32} << 20};

/// Tells Google Benchmark's document where it was measured, beside the library's own members:
/// versions, machine, backend, and the variables in force that choose paths.
std::vector<std::pair<std::string, std::string>> benchmark_context(const Machine& machine,
                                                                   BackendKind backend,
                                                                   const Environment& in_force) {
  const Software& software = machine.software;
  std::vector<std::pair<std::string, std::string>> context{
      {"linkgain", fmt::format("{} ({})", software.linkgain, software.build)},
      {"machine", fmt::format("{}, {}", machine.host, describe_ranks(machine))},
      {"mpi", software.mpi},
      {"backend", std::string(name_of(backend))}};
  if (software.nccl_library) context.emplace_back("nccl", *software.nccl_library);
  if (software.driver) context.emplace_back("driver", *software.driver);
  std::string variables;
  for (const auto& [name, value] : in_force) {
    const bool chooses_path = name == "OMPI_MCA_btl" || name == "OMPI_MCA_pml";
    if (name.starts_with("NCCL_") || chooses_path) variables += fmt::format(" {}={}", name, value);
  }
  if (!variables.empty()) context.emplace_back("environment", variables.substr(1));
  return context;
}

/// Answers the first command with the reason and leaves.
void refuse(Session& session, ProtocolChannel& channel, const Error& error) {
  if (!session.is_root() || !channel.read_line()) return;
  channel.write_line(protocol::encode(
      protocol::ErrorReply{error.what(), error.advice(), static_cast<int>(error.exit_code())}));
}

/// Makes the backend's operations, and those that are built on it.
OperationMaker operation_maker(Session& session, const WorkerOptions& options) {
  return [&session, training = options.training](Backend& backend, const Case& c,
                                                 const std::vector<std::string>& products) {
    return is_training(c.operation)
               ? make_training_operation(session, backend, c, training, products)
               : backend.open(c);
  };
}

/// Whoever started this waits no longer than 10 s, until the GPUs are ready and again from there.
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

/// Tells now, not when this rank ends.
void tell(std::string_view line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

}  // namespace

void require_two_ranks(const Session& session, std::string_view option) {
  if (session.ranks() >= 2) return;
  if (const int started = ranks_of_launcher(); started >= 2) {
    throw UsageError(
        fmt::format("the launcher started {} ranks, and each is alone: {} does not know of others",
                    started, mpi_version()),
        fmt::format("start them with the mpirun of that MPI (linkgain doctor --only mpirun), with "
                    "srun --mpi=pmix, or without a launcher: linkgain-bench {} ...",
                    option));
  }
  throw UsageError(
      "a link has two ends: start two ranks or more",
      fmt::format("linkgain bench ..., linkgain-bench {} ... or mpirun -np 2 linkgain-bench ...",
                  option));
}

BoundBackend make_agreed_backend(Watchdog& watchdog, const WorkerOptions& options) {
  Session& session = watchdog.session();
  const Watchdog::Command starting(watchdog, "the start");
  obey(fault_from_environment(), session.rank(), Fault::Place::start);
  const Bytes cache{
      std::min(last_level_cache().value_or(kUnknownCache.value), kLargestCache.value)};
  const bool as_nccl_tests = options.mode == WorkerOptions::Mode::nccl_tests;
  const auto settings =
      as_nccl_tests ? CommunicatorSettings::as_nccl_tests : CommunicatorSettings::usual;
  std::unique_ptr<Backend> backend = make_agreed(session, [&] {
    return make_backend(options.backend, session, {options.gpus, settings, cache, options.timeout});
  });
  return {backend.release(), EndBackend{&watchdog}};
}

void serve_mode(Watchdog& watchdog, const WorkerOptions& options, ProtocolChannel& channel) {
  Session& session = watchdog.session();
  BoundBackend backend;
  try {
    require_two_ranks(session);
    backend = make_agreed_backend(watchdog, options);
  } catch (const Error& error) {
    refuse(session, channel, error);
    return;
  }
  Engine engine(watchdog, *backend, fault_from_environment(), operation_maker(session, options));
  serve(session, engine, channel, fault_from_environment());
}

int benchmark_mode(Watchdog& watchdog, const WorkerOptions& options) {
  Session& session = watchdog.session();
  require_two_ranks(session);
  const std::vector<Case> cases = expand({options.selection}, session.ranks(), options.backend);
  const BoundBackend backend = make_agreed_backend(watchdog, options);
  Engine engine(watchdog, *backend, fault_from_environment(), operation_maker(session, options));
  if (!session.is_root()) {
    engine.follow();
    return 0;
  }
  const auto hello = std::get<protocol::HelloReply>(engine.lead(protocol::Hello{}));
  ExitCode outcome = ExitCode::success;
  try {
    outcome = run_benchmarks(collective_sweep(engine, cases, options.sample_target),
                             {options.benchmark_arguments,
                              benchmark_context(hello.machine, hello.backend, hello.environment)});
  } catch (const UsageError&) {
    engine.lead(protocol::Shutdown{});
    throw;
  }
  engine.lead(protocol::Shutdown{});
  return static_cast<int>(outcome);
}

std::string description_json() {
  protocol::HelloReply reply;
  const BackendKind backend = build_info().has_nccl ? BackendKind::nccl : BackendKind::mpi;
  reply.backend = backend;
  reply.capabilities = protocol::capabilities_of(backend);
  reply.machine = describe_host();
  reply.machine.software.linkgain = build_info().version;
  reply.machine.software.build = build_info().text;
  reply.machine.software.mpi = mpi_version();
  describe_gpus(reply.machine);
  return protocol::encode(protocol::Reply{reply});
}

void prove_mode(Watchdog& watchdog, const WorkerOptions& options) {
  Session& session = watchdog.session();
  if (session.ranks() != 2 || (!options.gpus.empty() && options.gpus.size() != 2)) {
    throw UsageError("--prove is between two ranks, each with a GPU",
                     "mpirun -np 2 linkgain-bench --prove stores --gpus 0,1");
  }
  ::alarm(kMostSeconds);
  const auto begin = [&] {
    session.barrier();
    ::alarm(kMostSeconds + static_cast<unsigned>(options.load_time.value));
    if (session.is_root()) tell(kBegunLine);
  };
  const ProofRung rung = options.rung.value();
  try {
    // NCCL connects GPUs by P2P as it starts: the steps below it have shown that these are ready.
    if (is_all_reduce(rung)) begin();
    const Delivery delivery =
        is_all_reduce(rung) ? prove_all_reduce(watchdog, options)
                            : prove_peer_access(session, {rung, options.gpus, options.load_time},
                                                fault_of(rung), begin);
    if (session.is_root()) tell(to_json_line(delivery));
  } catch (const PeerAccessError& error) {
    tell(to_json_line({Delivery::Outcome::not_arrived, error.what()}));
    throw;
  }
}

}  // namespace linkgain
