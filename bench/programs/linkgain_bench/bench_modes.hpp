#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench_options.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/runtime/backend.hpp"
#include "linkgain/runtime/engine.hpp"
#include "linkgain/runtime/session.hpp"
#include "linkgain/runtime/watchdog.hpp"

namespace linkgain {

/// Ends a backend as a command of the watchdog's, so that no library hangs in its end.
struct EndBackend {
  Watchdog* watchdog = nullptr;
  void operator()(Backend* backend) const {
    const Watchdog::Command ending(*watchdog, "the end");
    delete backend;
  }
};
using BoundBackend = std::unique_ptr<Backend, EndBackend>;

/// Thrown by all ranks alike: each can leave by itself and one can speak for all.
class AgreedError : public MachineError {
 public:
  using MachineError::MachineError;
};

/// Returns, collectively, what `make` returns on this rank. Throws AgreedError on every rank where
/// `make` threw an Error on one of them.
template <typename Make>
auto make_agreed(Session& session, Make make) {
  decltype(make()) made{};
  std::optional<std::string> problem;  // text and advice on a line each
  try {
    made = make();
  } catch (const Error& error) {
    problem = fmt::format("{}\n{}", error.what(), error.advice());
  }
  if (const auto first = session.first_text(problem)) {
    const std::size_t line_end = first->find('\n');
    throw AgreedError(first->substr(0, line_end), first->substr(line_end + 1));
  }
  return made;
}

/// Throws UsageError where there is one rank only.
void require_two_ranks(const Session& session, std::string_view option = "--np 2");

/// Makes the backend, collectively: throws AgreedError on every rank where one of them cannot make
/// the backend.
BoundBackend make_agreed_backend(Watchdog& watchdog, const WorkerOptions& options);

/// Serves: rank 0 answers the coordinator through `channel`, that the backend cannot be made
/// included.
void serve_mode(Watchdog& watchdog, const WorkerOptions& options, ProtocolChannel& channel);

/// Runs Google Benchmark's loop on rank 0; returns the exit status. Throws AgreedError where one of
/// the ranks cannot make the backend, UsageError on all ranks or on rank 0 after the others left.
int benchmark_mode(Watchdog& watchdog, const WorkerOptions& options);

/// Measures as nccl-tests does and prints what it prints; collective. All ranks go through the same
/// cases by themselves, for no count depends on what was measured. Returns the exit status. Throws
/// UsageError and AgreedError on all ranks alike.
int nccl_tests_mode(Watchdog& watchdog, const WorkerOptions& options);

/// Proves delivery between two ranks: rank 0 prints what arrived of what they sent each other, as a
/// line of JSON. A rank that still waits after 12 s ends by SIGALRM. Throws what
/// prove_peer_access() throws, UsageError on all ranks where there are not two.
void prove_mode(Watchdog& watchdog, const WorkerOptions& options);

/// Returns versions, GPUs and capabilities of this build and machine as one line of JSON.
std::string description_json();

/// Starts the ranks asked for of this program on this host, with the same `arguments`, its name
/// first, but for how many there are. Those of the mpi backend mpirun starts, which this process
/// becomes; for others it waits and returns what start_local_ranks() does. Throws UsageError in a
/// job of several ranks, and MachineError where there is no mpirun or, of `auto`, no two GPUs.
int start_ranks(const WorkerOptions& options, std::vector<std::string> arguments);

}  // namespace linkgain
