#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/nccl_tests/nccl_tests_options.hpp"
#include "linkgain/protocol/protocol.hpp"

/// nccl-tests' table and JSON, as of its version 2.19.6, from plain values.
namespace linkgain {

/// One half of a row; zeros where it was not measured.
struct NcclTestsResult {
  Seconds time{};
  double algorithm_bandwidth_gb_per_s = 0.0;
  double bus_bandwidth_gb_per_s = 0.0;
  std::optional<std::int64_t> wrong;  ///< elements; absent: not checked
};

struct NcclTestsRow {
  Bytes size{};
  std::int64_t elements = 0;
  std::string type;
  std::string reduction;
  int root = -1;
  NcclTestsResult out_of_place{};
  NcclTestsResult in_place{};
  std::int64_t iterations = 0;  ///< of each half
};

/// All that is told of the measurement of one program.
struct NcclTestsReport {
  std::string program;  ///< as it was called
  NcclTestsOptions options;
  protocol::HelloReply hello;      ///< machine, software and environment
  std::vector<std::string> notes;  ///< what differs from what the options ask for
  std::string start_time;          ///< as nccl_tests_now() gives it
  std::vector<NcclTestsRow> rows;
  int failed_checks = 0;  ///< checks that found wrong data, each rank's for itself
};

/// Returns a host's name as far as its first dot.
std::string nccl_tests_host(const std::string& host);
/// Writes "00000000:00:06.0" as "0000:00:06".
std::string nccl_tests_pci_id(const std::string& id);

/// Averages over all rows, out of place and in place alike, as far as they were measured.
double mean_bus_bandwidth(const NcclTestsReport& report);

/// Returns whether it falls short of NCCL_TESTS_MIN_BW, which nccl-tests lets by with a tenth less.
bool is_below_least_bandwidth(const NcclTestsReport& report);

/// Returns the time that -a asks for of those of all ranks; zero for no ranks.
Seconds nccl_tests_time(NcclTestsTime which, const std::vector<double>& seconds_of_ranks);

/// Writes what stands before the rows, what is one of them, and what follows.
std::string nccl_tests_head(const NcclTestsReport& report);
std::string nccl_tests_line(const NcclTestsRow& row);
std::string nccl_tests_foot(const NcclTestsReport& report);

/// Returns the local time: "2026-11-21 17:07:19".
std::string nccl_tests_now();

/// Writes nccl-tests' JSON, version 3. Of the environment it has the variables that may be
/// recorded, not all.
std::string nccl_tests_json(const NcclTestsReport& report, const std::string& end_time);

/// The file of -J.
class NcclTestsFile {
 public:
  /// Makes a new file; where there is one of this name, a number is put behind it. Throws
  /// UsageError.
  explicit NcclTestsFile(const std::string& path);

  const std::string& name() const { return name_; }
  /// Writes it, once. Throws MachineError where not all could be written.
  void write(const std::string& text);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace linkgain
