#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bench_modes.hpp"
#include "linkgain/base/standard_streams.hpp"
#include "linkgain/base/stopwatch.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/nccl_tests/nccl_tests.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/runtime/engine.hpp"
#include "linkgain/runtime/fault.hpp"

namespace linkgain {
namespace {

constexpr int kFirstNcclWithFloat8 = 22400;

/// Returns whether NCCL reduces float8, as it does from compute capability 9.0 on. Collective.
bool has_float8(Session& session, const Backend& backend) {
  Software software;
  backend.describe(software);
  const std::optional<GpuInfo> gpu = backend.gpu();
  const bool has = gpu && std::stoi(gpu->compute_capability) >= 9 &&
                   nccl_version_code(software.nccl_header.value_or("")) >= kFirstNcclWithFloat8 &&
                   nccl_version_code(software.nccl_library.value_or("")) >= kFirstNcclWithFloat8;
  return session.max(has ? 0.0 : 1.0) < 0.5;
}

/// Times and checks cases by the host's clock. All calls are collective; what they return means
/// something on rank 0 only.
class HostClock {
 public:
  HostClock(Watchdog& watchdog, Backend& backend, const NcclTestsOptions& options)
      : watchdog_(watchdog),
        session_(watchdog.session()),
        backend_(backend),
        options_(options),
        fault_(fault_from_environment()) {}

  /// Runs -w operations, on a stream and out of place.
  void warm_up(Case c) {
    c.launch = LaunchMode::stream;
    Watchdog::Command current(watchdog_, "warming up " + case_name(c));
    const InState state(session_.board(), RankState::in_operation);
    const auto operation = open(c, {slots(c), 0});
    suffer(Fault::Place::warm_up);
    Stopwatch watch;
    operation->run(1);
    expect(current, watch.lap(), options_.warm_ups - 1);
    if (options_.warm_ups > 1) operation->run(options_.warm_ups - 1);
    session_.barrier();
  }

  NcclTestsResult measure(const Case& c, bool checks) {
    Watchdog::Command current(watchdog_, "measuring " + case_name(c));
    const InState state(session_.board(), RankState::in_operation);
    NcclTestsResult result;
    const bool graph = c.launch == LaunchMode::graph;
    auto operation = open(c, {slots(c), graph ? options_.iterations : 0});
    Stopwatch watch;
    operation->warm_up();
    const std::int64_t verified = std::int64_t{options_.checks} * protocol::kVerifiedOperations;
    expect(current, watch.lap(), (timed() + verified) / operation->granularity());
    result.time = time(*operation);
    result.algorithm_bandwidth_gb_per_s = algorithm_bandwidth(c, result.time);
    result.bus_bandwidth_gb_per_s = bus_bandwidth(c, result.time);
    session_.barrier();  // nobody takes buffers away that a peer still works on
    if (!checks || options_.checks == 0) return result;
    if (graph) {
      operation.reset();
      operation = open(c, {1, 1});
      operation->warm_up();
    }
    result.wrong = count_wrong(*operation);
    session_.barrier();
    return result;
  }

  /// Checks so far that found wrong data, each rank's for itself.
  int failed_checks() const { return failed_checks_; }

 private:
  /// Counts the slots that successive operations walk through in a buffer of the largest size.
  std::int64_t slots(const Case& c) const {
    const std::int64_t operations = std::max(options_.iterations, options_.warm_ups);
    return std::clamp<std::int64_t>(options_.largest.value / c.size.value, 1, operations);
  }

  std::int64_t timed() const {
    return std::int64_t{options_.iterations} * std::max(1, options_.graph_launches);
  }

  /// Expects of what `command` does more than once: the first time says how long the `others` take.
  /// Where many are asked for they are no hang, unless -T says so.
  void expect(Watchdog::Command& command, Seconds first, std::int64_t others) const {
    if (options_.timeout) return;
    command.expect(Seconds{first.value * static_cast<double>(others)});
  }

  /// Suffers LINKGAIN_TEST_FAULT; what that counts as a batch is what is timed of a row.
  void suffer(Fault::Place place) const {
    const bool counts = place == Fault::Place::batch || place == Fault::Place::operation;
    obey(fault_, session_.rank(), place, counts ? rows_ : 1);
  }

  std::unique_ptr<Operation> open(const Case& c, const Rotation& rotation) {
    suffer(Fault::Place::open);
    auto operation = make_agreed(session_, [&] { return backend_.open(c, rotation); });
    make_agreed(session_, [&] {
      operation->prepare();
      return true;
    });
    return operation;
  }

  Seconds time(Operation& operation) {
    const std::int64_t operations = timed();
    ++rows_;
    suffer(Fault::Place::batch);
    session_.barrier();
    suffer(Fault::Place::operation);
    const auto start = std::chrono::steady_clock::now();
    operation.run(operations);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    const double own = time.count() / static_cast<double>(operations);
    return nccl_tests_time(options_.time, session_.gather(std::vector<double>{own}));
  }

  /// Counts wrong elements of all ranks; the first check that finds some is the last.
  std::int64_t count_wrong(Operation& operation) {
    suffer(Fault::Place::verify);
    for (int i = 0; i < options_.checks; ++i) {
      session_.barrier();
      const auto own =
          static_cast<double>(operation.verify(spoil_of(fault_, session_.rank())).wrong);
      const std::vector<double> all = session_.gather(std::vector<double>{own});
      if (session_.max(own) == 0.0) continue;
      failed_checks_ +=
          static_cast<int>(std::ranges::count_if(all, [](double wrong) { return wrong > 0.0; }));
      return static_cast<std::int64_t>(std::accumulate(all.begin(), all.end(), 0.0));
    }
    return 0;
  }

  Watchdog& watchdog_;
  Session& session_;
  Backend& backend_;
  const NcclTestsOptions& options_;
  std::optional<Fault> fault_;
  std::int64_t rows_ = 0;  ///< timed so far, in place and out of place
  int failed_checks_ = 0;
};

/// Opens the file of -J on rank 0, where it is asked for. Collective. Throws UsageError on all
/// ranks.
std::unique_ptr<NcclTestsFile> open_file(Session& session, const std::string& path) {
  try {
    auto file = make_agreed(session, [&] {
      const bool wanted = session.is_root() && !path.empty();
      return wanted ? std::make_unique<NcclTestsFile>(path) : nullptr;
    });
    if (file) print_output(fmt::format("# Writing JSON output to {}\n", file->name()));
    return file;
  } catch (const AgreedError& error) {
    throw UsageError(error.what(), error.advice());
  }
}

/// Returns the largest size for which every GPU has memory, by nccl-tests' rule: for two buffers,
/// and for a third with the expected data, beside a reserve. Collective. Throws MachineError on all
/// ranks where a GPU has memory for none.
Bytes largest_size(Session& session, const Backend& backend, const NcclTestsOptions& options) {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  const std::int64_t most = make_agreed(session, [&] {
    const std::optional<GpuInfo> gpu = backend.gpu();
    if (!gpu) return options.largest.value;
    const std::int64_t sixteenths = divide_up(gpu->memory_bytes, 16 * kGiB);
    const std::int64_t reserve = std::min<std::int64_t>(sixteenths, 4) + 1;
    const std::int64_t left = gpu->memory_bytes - reserve * kGiB;
    if (left > 0) return std::min(options.largest.value, left / (options.checks > 0 ? 3 : 2));
    throw MachineError(
        fmt::format("no size fits: {} has {:.1f} GiB of memory, and nccl-tests leaves {} GiB free",
                    gpu->name, static_cast<double>(gpu->memory_bytes) / kGiB, reserve),
        "take GPUs with more memory, or leave nccl-tests' flags out: --only all_reduce --sizes 1M");
  });
  return Bytes{-static_cast<std::int64_t>(session.max(-static_cast<double>(most)))};
}

class Table {
 public:
  /// Makes a table, collectively. `hello` means something on rank 0 only. Throws UsageError on all
  /// ranks where the options ask for what there is not.
  Table(Watchdog& watchdog, Backend& backend, const NcclTestsProgram& program,
        const NcclTestsOptions& options, const protocol::HelloReply& hello)
      : session_(watchdog.session()),
        program_(program),
        backend_(backend.kind()),
        options_(options),
        clock_(watchdog, backend, options_) {
    report_.program = options.called_as.empty() ? program.name : options.called_as;
    report_.options = options;
    report_.hello = hello;
    const NcclTestsMachine machine{backend.kind(), session_.ranks(), has_float8(session_, backend)};
    curves_ = nccl_tests_curves(options_, program, machine);
    report_.notes = nccl_tests_left_out(options_, program, machine);
    const Bytes largest = largest_size(session_, backend, options_);
    if (largest < options_.largest) {
      report_.notes.push_back(
          fmt::format("Reducing maxBytes to {} due to memory limitation", largest.value));
      options_.largest = largest;
      options_.smallest = std::min(options_.smallest, largest);
    }
    leave_out_what_is_empty();
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// Measures, collectively. Prints on rank 0, and returns what was measured there.
  const NcclTestsReport& measure() {
    report_.start_time = nccl_tests_now();
    print(nccl_tests_head(report_));
    for (const NcclTestsCurve& curve : curves_) {
      for (Bytes size = options_.smallest; size <= options_.largest; size.value *= 2) {
        Case c = curve.definition;
        c.size = nccl_tests_size(program_, c, size).size;
        if (c.size.value > 0 && options_.warm_ups > 0) clock_.warm_up(c);
      }
      for (Bytes size = options_.smallest; size.value > 0;
           size = next_nccl_tests_size(options_, size)) {
        measure_row(curve, size);
      }
    }
    report_.failed_checks = clock_.failed_checks();
    print(nccl_tests_foot(report_));
    return report_;
  }

 private:
  void print(const std::string& text) const {
    if (!session_.is_root()) return;
    print_output(text);  // main() tells where it was not written: other ranks wait now
  }

  void leave_out_what_is_empty() {
    const auto is_empty = [&](Bytes size) {
      return std::ranges::any_of(curves_, [&](const NcclTestsCurve& curve) {
        return nccl_tests_size(program_, curve.definition, size).elements == 0;
      });
    };
    Bytes first = options_.smallest;
    while (first.value > 0 && is_empty(first)) first = next_nccl_tests_size(options_, first);
    if (first.value == 0) {
      throw UsageError(fmt::format("no size from -b {} on to -e {} gives every rank something",
                                   options_.smallest.value, options_.largest.value),
                       "give larger ones: nccl-tests rounds down to whole elements, a rank's part "
                       "to 16 B; -f and -i say which lie between them");
    }
    if (first == options_.smallest) return;
    report_.notes.push_back(
        "Leaving out sizes that are nothing, rounded down to whole elements, a rank's part to 16 "
        "B");
  }

  void measure_row(const NcclTestsCurve& curve, Bytes size) {
    Case c = curve.definition;
    const NcclTestsSize exact = nccl_tests_size(program_, c, size);
    if (exact.elements == 0) return;
    c.size = exact.size;
    NcclTestsRow row{exact.size, exact.elements, std::string(nccl_tests_name(c.type)),
                     curve.reduction, curve.root};
    row.out_of_place = clock_.measure(c, true);
    if (has_nccl_tests_in_place(backend_, c.operation)) {
      c.in_place = true;
      row.in_place = clock_.measure(c, program_.checks_in_place);
    }
    row.iterations = options_.iterations;
    print(nccl_tests_line(row));
    report_.rows.push_back(std::move(row));
  }

  Session& session_;
  NcclTestsProgram program_;
  BackendKind backend_;
  NcclTestsOptions options_;  ///< with the sizes that there is memory for
  NcclTestsReport report_;
  HostClock clock_;
  std::vector<NcclTestsCurve> curves_;
};

/// Means something on rank 0 only, as all that is measured does.
ExitCode outcome_of(const NcclTestsReport& report) {
  if (report.failed_checks > 0) return ExitCode::wrong_data;
  return is_below_least_bandwidth(report) ? ExitCode::problem_found : ExitCode::success;
}

}  // namespace

int nccl_tests_mode(Watchdog& watchdog, const WorkerOptions& options) {
  Session& session = watchdog.session();
  require_two_ranks(session, "-g 2");
  const BoundBackend backend = make_agreed_backend(watchdog, options);
  Engine engine(watchdog, *backend, fault_from_environment());
  const protocol::Reply reply = engine.execute(protocol::Hello{});
  const auto* hello = std::get_if<protocol::HelloReply>(&reply);
  std::deque<Table> tables;
  for (const NcclTestsProgram& program : options.nccl_tests.programs) {
    tables.emplace_back(watchdog, *backend, program, options.nccl_tests,
                        hello != nullptr ? *hello : protocol::HelloReply{});
  }
  const auto file = open_file(session, options.nccl_tests.json_file);
  ExitCode outcome = ExitCode::success;
  for (Table& table : tables) {
    const NcclTestsReport& report = table.measure();
    if (file) file->write(nccl_tests_json(report, nccl_tests_now()));
    const ExitCode of_table = outcome_of(report);
    if (of_table != ExitCode::success && outcome != ExitCode::wrong_data) outcome = of_table;
  }
  return session.is_root() ? static_cast<int>(outcome) : 0;
}

}  // namespace linkgain
