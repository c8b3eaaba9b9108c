#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/data_type.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/backend.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/cases/operation.hpp"
#include "linkgain/protocol/protocol.hpp"

/// nccl-tests' command line, as of its version 2.19.6, what it measures for its options, in its
/// order, and its table and JSON, from plain values.
namespace linkgain {

/// One of nccl-tests' programs, and what it does with its operation.
struct NcclTestsProgram {
  std::string_view name;
  OperationKind operation;
  /// Elements are counted for one rank, in whole 16 bytes; the size is theirs times the ranks.
  bool counts_per_rank;
  bool takes_reduction;  ///< -o counts and is named; else "none" is
  bool takes_root;       ///< -r counts and is named; else -1 is
  bool checks_in_place;
};

inline constexpr std::array kNcclTestsPrograms{
    NcclTestsProgram{"all_reduce_perf", OperationKind::all_reduce, false, true, false, true},
    NcclTestsProgram{"sendrecv_perf", OperationKind::send_recv, false, true, false, false},
    NcclTestsProgram{"all_gather_perf", OperationKind::all_gather, true, false, false, true},
    NcclTestsProgram{"reduce_scatter_perf", OperationKind::reduce_scatter, true, true, false, true},
    NcclTestsProgram{"broadcast_perf", OperationKind::broadcast, false, false, true, true},
    NcclTestsProgram{"reduce_perf", OperationKind::reduce, false, true, true, true},
    NcclTestsProgram{"alltoall_perf", OperationKind::alltoall, true, false, false, false},
    NcclTestsProgram{"gather_perf", OperationKind::gather, true, false, true, true},
    NcclTestsProgram{"scatter_perf", OperationKind::scatter, true, false, true, true},
};

/// -a: which rank's time is printed.
enum class NcclTestsTime { of_rank_0, mean, least, most };

/// How long linkgain-bench's ranks wait for each other, beyond ten times what their work is
/// expected to take, where neither --timeout nor -T says.
inline constexpr Seconds kUsualTimeout{300.0};

/// What the flags ask for, with nccl-tests' defaults, but for -T's, which is never.
struct NcclTestsOptions {
  std::vector<NcclTestsProgram> programs{kNcclTestsPrograms.front()};  ///< a table each
  std::string called_as;           ///< one of the programs' names; empty for linkgain-bench itself
  Bytes smallest{32LL << 20};      ///< -b
  Bytes largest{32LL << 20};       ///< -e
  Bytes step{1LL << 20};           ///< -i
  std::int64_t factor = 1;         ///< -f; counts from 2 on, below that the step does
  int gpus = 1;                    ///< -g
  int threads = 1;                 ///< -t; each has `gpus` of its own
  int iterations = 20;             ///< -n
  int warm_ups = 1;                ///< -w
  int checks = 1;                  ///< -c
  int graph_launches = 0;          ///< -G; 0: no graph
  std::optional<Seconds> timeout;  ///< -T, of all that a size takes; 0: none; absent: the usual
  int root = 0;                    ///< -r; -1, or all: every rank in turn
  int registration = 0;            ///< -R: 0 plain, 1 registered, 2 symmetric buffers
  NcclTestsTime time = NcclTestsTime::mean;            ///< -a
  std::optional<DataType> type{DataType::float32};     ///< -d; absent: all
  std::optional<Reduction> reduction{Reduction::sum};  ///< -o; absent: all
  std::string json_file;                               ///< -J; empty: none
  std::vector<std::string> arguments;                  ///< the command line as given
  std::optional<double> least_bandwidth_gb_per_s;      ///< NCCL_TESTS_MIN_BW
};

/// Types and reductions in the order in which `all` takes them.
inline constexpr std::array kNcclTestsTypes{
    DataType::int8,    DataType::uint8,    DataType::int32,      DataType::uint32,
    DataType::int64,   DataType::uint64,   DataType::float16,    DataType::float32,
    DataType::float64, DataType::bfloat16, DataType::float8e4m3, DataType::float8e5m2};
inline constexpr std::array kNcclTestsReductions{Reduction::sum, Reduction::prod,
                                                 Reduction::max, Reduction::min,
                                                 Reduction::avg, Reduction::mulsum};

/// Returns the program that `path`, the worker's own, is a link's name for ("./all_reduce_perf");
/// absent where the name is none of that kind. Throws UsageError for another "..._perf".
std::optional<NcclTestsProgram> nccl_tests_program_called(std::string_view path);

/// Returns whether one of `arguments`, those that linkgain-bench does not know, is a flag of
/// nccl-tests.
bool has_nccl_tests_flag(const std::vector<std::string>& arguments);

/// Throws UsageError, also for what nccl-tests can and linkgain-bench cannot. The options
/// --backend,
/// --gpus and --np may be there and are left to the caller, as are -g and -t above 1.
NcclTestsOptions parse_nccl_tests_options(int argc, const char* const* argv);

std::string nccl_tests_help();

/// Returns a message of what both modes of linkgain-bench share, with the flags of nccl-tests in
/// the place of options that its mode lacks: "--sizes" as "-e".
std::string with_nccl_tests_flags(std::string message);

/// Rows of one type, reduction and root. The definition's size is still open.
struct NcclTestsCurve {
  Case definition;
  std::string reduction;  ///< as the table names it
  int root = -1;
};

/// The machine, as far as `-d all`, `-o all` and `-r -1` depend on it.
struct NcclTestsMachine {
  BackendKind backend = BackendKind::mpi;
  int ranks = 2;
  bool has_float8 = false;
};

/// Throws UsageError where the backend lacks what was asked for.
std::vector<NcclTestsCurve> nccl_tests_curves(const NcclTestsOptions& options,
                                              const NcclTestsProgram& program,
                                              const NcclTestsMachine& machine);

/// Returns whether rows have an in-place half: NCCL takes any call so, MPI forbids what it has no
/// form of.
bool has_nccl_tests_in_place(BackendKind backend, OperationKind operation);

/// Returns what of `all` nccl_tests_curves() leaves out, and of the rows, as a comment says it;
/// none where it is all there.
std::vector<std::string> nccl_tests_left_out(const NcclTestsOptions& options,
                                             const NcclTestsProgram& program,
                                             const NcclTestsMachine& machine);

/// What one row is about: the count column, and the size that linkgain and the size column take.
struct NcclTestsSize {
  std::int64_t elements = 0;
  Bytes size{};
};

/// Returns as much of `size` as is whole elements, a share of 16 bytes for each rank where elements
/// are counted so; may be nothing.
NcclTestsSize nccl_tests_size(const NcclTestsProgram& program, const Case& c, Bytes size);

/// Returns the size after this one on the way to -e, by -f or -i; zero where it was the last.
Bytes next_nccl_tests_size(const NcclTestsOptions& options, Bytes size);

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
