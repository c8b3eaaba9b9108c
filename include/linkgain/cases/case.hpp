#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "linkgain/base/data_type.hpp"
#include "linkgain/base/names.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/operation.hpp"
#include "linkgain/cases/program_metric.hpp"
#include "linkgain/gpt2/training_parameters.hpp"

namespace linkgain {

/// The most ranks that a case may have.
inline constexpr int kMostRanks = 1024;

/// The most ranks that our own kernels and copies work across.
inline constexpr int kMostRanksOfKernels = 8;

/// From one address to the next of load_latency, in bytes: what a GPU fetches at once at most.
inline constexpr std::int64_t kLoadLatencyLine = 128;

/// How operations reach the GPU: one call each on a stream, or replayed from a captured graph.
enum class LaunchMode { stream, graph };

template <>
inline constexpr auto kNames<LaunchMode> = names<LaunchMode>("launch mode",
                                                             {{LaunchMode::stream, "stream"},
                                                              {LaunchMode::graph, "graph"}});

/// How long the rows may be between which an operation stands: multiples of the least.
inline constexpr int kLeastHidden = 256;
inline constexpr int kMostHidden = 65536;

/// Rows that decoders work on at once: a token each of 1, 8 and 64 sequences, and prompts.
inline constexpr std::array kDecoderTokens{1, 8, 64, 512, 4096};

/// Operations of fewer bytes take a GPU less time than a CPU to launch one by one on a stream.
inline constexpr Bytes kLaunchBoundBelow{std::int64_t{1} << 20};

/// What the memory of the operations is: allocated plainly, as frameworks do; allocated by NCCL
/// and left at that; allocated by NCCL and registered with the communicator; or a window that all
/// ranks registered together, at the same place in each.
enum class Buffers { plain, allocated, registered, symmetric };

template <>
inline constexpr auto kNames<Buffers> = names<Buffers>("kind of buffers",
                                                       {{Buffers::plain, "plain"},
                                                        {Buffers::allocated, "allocated"},
                                                        {Buffers::registered, "registered"},
                                                        {Buffers::symmetric, "symmetric"}});

/// Two ranks of a point-to-point operation; `from` sends to `to`, and the other way too if `both`.
struct Pair {
  int from = 0;
  int to = 1;
  bool both = false;
  bool operator==(const Pair&) const = default;
};

/// An operation with all its parameters.
struct Case {
  OperationKind operation = OperationKind::all_reduce;
  /// Other than float32 only where has_type(operation).
  DataType type = DataType::float32;
  /// Meaningful only where has_reduction(operation).
  Reduction reduction = Reduction::sum;
  /// nccl-tests' S: one rank's part times the ranks where is_split_over_ranks(operation), else the
  /// buffer of one rank or one message.
  Bytes size{};
  int ranks = 2;
  bool in_place = false;
  LaunchMode launch = LaunchMode::stream;
  /// Absent for send_recv and copies means the ring (every rank sends to the next one). ping_pong
  /// and latency always have one: a message goes from `from` to `to`, the next one back. A copy's
  /// data goes from `from` to `to`, pushed by the one or pulled by the other; so do the words that
  /// load_latency has `to` load.
  std::optional<Pair> pair;
  /// Other than 0 only where has_root(operation).
  int root = 0;
  Buffers buffers = Buffers::plain;
  /// Other than 0 only where has_hidden(operation): a row of one token has so many elements. The
  /// operation then stands between a matrix product and a norm of such rows, as in a decoder, and
  /// what it adds to these two is measured, replayed from a graph.
  int hidden = 0;
  /// Our own CUDA kernel instead of the library's operation, or of the copy engine.
  bool kernel = false;
  /// Where is_training(operation), and only there. The size is then gradient_bytes().
  std::optional<TrainingParameters> training{};
  /// Where is_program(operation), and only there. Nothing else of the case means anything then.
  std::optional<ProgramMetric> metric{};

  bool operator==(const Case&) const = default;

  std::int64_t elements() const { return size.value / size_of(type); }
  /// Returns elements of one rank's part where is_split_over_ranks(operation).
  std::int64_t elements_per_rank() const { return elements() / ranks; }
  /// Returns rows, where the case has hidden.
  std::int64_t tokens() const { return elements() / hidden; }
};

/// Returns the name used in records, reports and as Google Benchmark name:
/// `operation/type/reduction/size/npN` and then, only where not the default, `/inplace`, `/graph`,
/// `/hidden=4096`, `/allocated`, `/registered` or `/symmetric`, `/root=1`, `/kernel`, `/pair=0-1`,
/// `/both`. A field that the operation lacks is left out. gpt2_step/fp32/gpt2/np2 has precision and
/// model instead of type and size, and behind the ranks what trailing_text() says. A program's is
/// exec/METRIC, then /higher where more of it is better and, on an axis, /LOAD=8.
std::string case_name(const Case& c);

/// Returns the name without its size: what cases of one curve share.
std::string curve_name(const Case& c);

/// Reads case_name()'s form back. Throws UsageError that names the field at fault.
Case parse_case_name(std::string_view name);

/// Makes the case of a metric of a user's program.
Case program_case(ProgramMetric metric);

/// Returns whether there is a kernel of our own for such cases, whatever their size: copies;
/// all_reduce, the sum of float32, float16 or bfloat16 in plain buffers over at most 8 ranks.
bool has_kernel(const Case& c);

/// Returns whether it is our own work, on memory or by a kernel of ours, instead of a library's
/// operation.
bool is_own_work(const Case& c);

/// Returns the inner length of the matrix product before an operation that has hidden: a rank's
/// part of a decoder's down-projection, whose weights are hidden × 3.5 hidden (Llama 3's 8B), in
/// whole lines of 16 bytes. The product is tokens × hidden, of bfloat16.
std::int64_t product_inner(const Case& c);

/// Returns whether anything goes from GPU to GPU; else every variant does the same.
bool uses_link(const Case& c);

/// Returns what a size must be a multiple of: one element, times the ranks where the operation
/// splits it; a row where it has hidden; 16 bytes of copies, 8 of latency, a line of 128 of
/// load_latency.
std::int64_t size_granule(const Case& c);

/// Throws UsageError where the parameters contradict each other: a size that is no multiple of
/// size_granule(), a pair or root outside the ranks, in place where the operation has no such form.
void validate(const Case& c);

/// Returns algbw, or busbw, in 1e9 bytes per second for one operation of `c` that took `time`.
double algorithm_bandwidth(const Case& c, Seconds time);
double bus_bandwidth(const Case& c, Seconds time);

/// Whose turn it is.
enum class Schedule {
  paired,      ///< the variants', in each round
  sequential,  ///< one variant's for all cases of a launch, then the next one's
};

template <>
inline constexpr auto kNames<Schedule> = names<Schedule>("schedule",
                                                         {{Schedule::paired, "paired"},
                                                          {Schedule::sequential, "sequential"}});

}  // namespace linkgain
