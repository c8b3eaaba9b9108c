#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "bench_modes.hpp"
#include "bench_options.hpp"
#include "linkgain/backends/registry.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/process_entry.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/standard_streams.hpp"
#include "linkgain/nccl_tests/nccl_tests.hpp"
#include "linkgain/runtime/fault.hpp"
#include "linkgain/runtime/ranks.hpp"
#include "linkgain/runtime/watchdog.hpp"

namespace {

using linkgain::print_message;
using linkgain::with_output_in_full;
using linkgain::WorkerOptions;

/// Tells on standard error, once for all ranks where they all threw the same.
int report(const linkgain::Error& error, bool speaks) {
  if (speaks) {
    print_message(stderr, fmt::format("linkgain-bench: {}\n", error.what()));
    if (!error.advice().empty()) {
      print_message(stderr, fmt::format("                {}\n", error.advice()));
    }
  }
  return static_cast<int>(error.exit_code());
}

using linkgain::Fault;

/// Reports the same of ranks in a mode, whose options it names.
int report(const linkgain::Error& error, bool speaks, WorkerOptions::Mode mode) {
  if (mode != WorkerOptions::Mode::nccl_tests) return report(error, speaks);
  return report(linkgain::Error(linkgain::with_nccl_tests_flags(error.what()),
                                linkgain::with_nccl_tests_flags(error.advice()), error.exit_code()),
                speaks);
}

/// Says whose error it is, unless it does.
linkgain::Error of_rank(const linkgain::Session& session, const linkgain::Error& error) {
  const std::string rank = fmt::format("rank {}", session.rank());
  const std::string text = error.what();
  if (text.find(rank) != std::string::npos) return error;
  return {fmt::format("{}: {}", rank, text), error.advice(), error.exit_code()};
}

/// Returns what `work` returns of a session whose start and end take `limit` at most.
template <typename Work>
int in_session(int argc, char** argv, linkgain::Seconds limit, const std::optional<Fault>& fault,
               Work work) {
  std::optional<linkgain::Session> session;
  {
    const linkgain::TimeBound bound("the start of the ranks", limit);
    obey(fault, linkgain::launched_rank().value_or(0), Fault::Place::launch);
    session.emplace(argc, argv);
  }
  const int status = work(*session);
  const linkgain::TimeBound bound("the end of the ranks", limit);
  obey(fault, session->rank(), Fault::Place::end);
  session.reset();
  return status;
}

/// Runs the modes in which ranks work together. What one rank alone runs into ends them all, so
/// that none waits for ever for a rank that is gone.
int run_ranks(linkgain::Session& session, const WorkerOptions& options,
              linkgain::ProtocolChannel* channel) {
  linkgain::Watchdog watchdog(session, options.timeout);
  try {
    if (channel != nullptr) {
      linkgain::serve_mode(watchdog, options, *channel);
      return 0;
    }
    return with_output_in_full([&] {
      if (options.mode == WorkerOptions::Mode::prove) {
        linkgain::prove_mode(watchdog, options);
        return 0;
      }
      return options.mode == WorkerOptions::Mode::nccl_tests
                 ? linkgain::nccl_tests_mode(watchdog, options)
                 : linkgain::benchmark_mode(watchdog, options);
    });
  } catch (const linkgain::UsageError& error) {
    return report(error, session.is_root(), options.mode);
  } catch (const linkgain::AgreedError& error) {
    return report(error, session.is_root(), options.mode);
  } catch (const linkgain::Error& error) {
    session.abort(report(of_rank(session, error), true, options.mode));
  } catch (const std::exception& error) {
    print_message(stderr,
                  fmt::format("linkgain-bench: rank {}: {}\n", session.rank(), error.what()));
    session.abort(static_cast<int>(linkgain::ExitCode::incomplete));
  }
}

/// Refuses a wrong command line, which all ranks have read. A launcher ends its job with the first
/// rank that fails, so none may leave before rank 0 has spoken.
int refuse(int argc, char** argv, const linkgain::UsageError& error) {
  if (!linkgain::launched_rank()) return report(error, true);
  return in_session(argc, argv, WorkerOptions{}.timeout, {}, [&](linkgain::Session& session) {
    const int status = report(error, session.is_root());
    session.barrier();
    return status;
  });
}

/// Removes the folder of this job's shared memory, which `linkgain run` made, where it is empty: a
/// coordinator that was killed removes it no more.
void leave_segments_folder() {
  const char* const folder = std::getenv("OMPI_MCA_btl_vader_backing_directory");
  if (folder != nullptr && std::strstr(folder, "/linkgain-job.") != nullptr) ::rmdir(folder);
}

int print_in_full(const std::string& text) {
  return with_output_in_full([&] {
    fmt::print("{}", text);
    return 0;
  });
}

/// Prints what `ask` finds without a session in `limit` at most: a driver or a library may hang.
template <typename Ask>
int print_found(const char* what, linkgain::Seconds limit, Ask ask) {
  std::optional<linkgain::TimeBound> bound(std::in_place, what, limit);
  const std::string found = ask();
  bound.reset();  // a reader may take its time
  return print_in_full(found + "\n");
}

}  // namespace

int main(int argc, char** argv) {
  linkgain::open_closed_standard_descriptors();
  linkgain::make_file_size_limit_an_error();
  try {
    linkgain::require_stack();
    const WorkerOptions options = linkgain::parse_worker_options(argc, argv);
    const std::optional<Fault> fault = linkgain::fault_from_environment();
    switch (options.mode) {
      case WorkerOptions::Mode::text:
        return print_in_full(options.text);
      case WorkerOptions::Mode::describe:
        return print_found("describing the machine", options.timeout,
                           [] { return linkgain::description_json(); });
      case WorkerOptions::Mode::load:
        return print_found("the copies", {options.load_time.value + options.timeout.value}, [&] {
          linkgain::load_gpu_links(options.load_time);
          return linkgain::to_json_line(linkgain::copy_between_gpus());
        });
      case WorkerOptions::Mode::serve: {
        if (options.ranks_to_start) return linkgain::start_ranks(options, {argv, argv + argc});
        linkgain::ProtocolChannel channel;
        // The coordinator has bounds of its own, and says more.
        const int status = in_session(argc, argv, {}, fault, [&](linkgain::Session& session) {
          return run_ranks(session, options, &channel);
        });
        leave_segments_folder();
        return status;
      }
      case WorkerOptions::Mode::benchmark:
      case WorkerOptions::Mode::prove:
      case WorkerOptions::Mode::nccl_tests:
        if (options.ranks_to_start) return linkgain::start_ranks(options, {argv, argv + argc});
        return in_session(argc, argv, options.timeout, fault, [&](linkgain::Session& session) {
          return run_ranks(session, options, nullptr);
        });
    }
  } catch (const linkgain::UsageError& error) {
    return refuse(argc, argv, error);
  } catch (const linkgain::Error& error) {
    return report(error, true);
  } catch (const std::exception& error) {
    print_message(stderr, fmt::format("linkgain-bench: {}\n", error.what()));
  }
  return static_cast<int>(linkgain::ExitCode::usage);
}
