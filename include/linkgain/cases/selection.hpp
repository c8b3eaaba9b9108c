#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "linkgain/base/names.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/backend.hpp"
#include "linkgain/cases/case.hpp"

namespace linkgain {

/// How the ranks of operations that can go between two of them are joined. Those that always do
/// take ring and both_ways for one pair.
enum class Pattern { ring, one_way, both_ways };

template <>
inline constexpr auto kNames<Pattern> = names<Pattern>("pattern",
                                                       {{Pattern::ring, "ring"},
                                                        {Pattern::one_way, "one-way"},
                                                        {Pattern::both_ways, "both-ways"}});

/// How cases are to be launched. The automatic choice, "auto": by graph below kLaunchBoundBelow,
/// where calls on a stream would measure the CPU, and by stream from there on, as programs mostly
/// do; always by stream on a backend without graphs.
enum class LaunchChoice { automatic, stream, graph };

template <>
inline constexpr auto kNames<LaunchChoice> = names<LaunchChoice>("launch mode",
                                                                 {{LaunchChoice::automatic, "auto"},
                                                                  {LaunchChoice::stream, "stream"},
                                                                  {LaunchChoice::graph, "graph"}});

LaunchMode launch_mode(LaunchChoice choice, BackendKind backend, Bytes size);

/// Parameters of a selection that an option named, where others are usual or a profile's.
struct AskedFor {
  bool types = false;
  bool reductions = false;
  bool in_place = false;
  bool launches = false;
  bool patterns = false;
  bool buffers = false;
  bool kernels = false;
  bool hidden = false;
  std::vector<std::string_view> training;  ///< the options that set TrainingSelection
};

/// A product of parameters: one curve for every combination that makes sense, every size on each
/// but those that the automatic choice of launches gives another one.
struct Selection {
  std::vector<OperationKind> operations{OperationKind::all_reduce};
  std::vector<Bytes> sizes;
  std::vector<DataType> types{DataType::float32};
  std::vector<Reduction> reductions{Reduction::sum};
  std::vector<bool> in_place{false};
  std::vector<LaunchChoice> launches{LaunchChoice::automatic};
  std::vector<Pattern> patterns{Pattern::ring};
  /// The pair of the patterns one_way and both_ways; absent: every pair of ranks. Of operations
  /// that always have one, by the pattern ring: ranks 0 and 1 where absent.
  std::optional<Pair> pair;
  std::vector<int> roots{0};
  /// Rows of so many elements, of the product and the norm between which an operation stands; 0:
  /// between none.
  std::vector<int> hidden{0};
  std::vector<Buffers> buffers{Buffers::plain};
  /// Our own kernels, where has_kernel(): false for the library's operation, true for the kernel.
  std::vector<bool> kernels{false};
  /// Trainings, which have nothing of the above but `operations`. Without models and precisions
  /// those that `backend` usually has.
  TrainingSelection training{};
  /// Cases that their operation cannot have (too many ranks, a size that does not fit) are left out
  /// instead of being refused: of a profile's copies and latencies, for which nobody asked.
  bool where_possible = false;
  AskedFor asked_for{};
};

/// Returns whether its cases stand between a product and a norm, or are these.
bool is_in_decoder(const Selection& selection);

/// Returns the sizes that decoders send, in bfloat16: of rows of each length, kDecoderTokens at
/// once.
std::vector<Bytes> decoder_sizes(const std::vector<int>& hidden);

/// Returns the cases of the selections in order, without repetition. Parameters that an operation
/// lacks do not multiply its cases. Sizes of an operation that splits them over the ranks are
/// rounded down to whole elements for each, as nccl-tests does, and to whole rows where they stand
/// between a product and a norm; those that hold none are left out.
/// Throws UsageError where nothing is left of a curve so, a case is invalid, `backend` lacks it, or
/// a pair, a root or a parameter was asked for that none of the operations has.
std::vector<Case> expand(const std::vector<Selection>& selections, int ranks, BackendKind backend);

}  // namespace linkgain
