#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {

/// Something that Google Benchmark times from rank 0. Called only between others of its kind, never
/// nested.
class BenchmarkSubject {
 public:
  virtual ~BenchmarkSubject() = default;
  std::string name() const { return do_name(); }
  /// Returns operations that one run_batch() makes.
  std::int64_t batch() { return do_batch(); }
  /// Runs one batch and returns its device time.
  Seconds run_batch() { return do_run_batch(); }
  /// Checks the results after timed batches and says what is wrong with them; nothing if nothing
  /// is.
  std::optional<std::string> verify() { return do_verify(); }
  /// Returns the user counters for a time per operation: name and value.
  std::vector<std::pair<std::string, double>> counters(Seconds per_operation) const {
    return do_counters(per_operation);
  }

 private:
  virtual std::string do_name() const = 0;
  virtual std::int64_t do_batch() = 0;
  virtual Seconds do_run_batch() = 0;
  virtual std::optional<std::string> do_verify() = 0;
  virtual std::vector<std::pair<std::string, double>> do_counters(Seconds per_operation) const = 0;
};

struct BenchmarkRequest {
  /// `--benchmark_*` options as given; filter and list are taken out of them.
  std::vector<std::string> arguments;
  /// Machine and software for the report's head, by key.
  std::vector<std::pair<std::string, std::string>> context;
};

/// Throws UsageError for `--benchmark_*` options of which Google Benchmark would end the process,
/// or not end: repetitions, times and units that are none, and random interleaving of repetitions,
/// for which it needs the same batches each time. Unknown options are its own to refuse.
void require_benchmark_arguments(const std::vector<std::string>& arguments);

/// Runs the subjects as Google Benchmark benchmarks under their own names (`--benchmark_filter` and
/// `--benchmark_list_tests` see those names), with manual time. Rank 0 only: this library's loop
/// adapts its iteration count, which must not differ between ranks. Returns wrong_data where a
/// result was wrong, else machine_cannot where a case was refused. Throws UsageError on unknown
/// options and on an output file that cannot be written.
ExitCode run_benchmarks(std::vector<std::unique_ptr<BenchmarkSubject>> subjects,
                        const BenchmarkRequest& request);

}  // namespace linkgain
