#pragma once

#include <string>
#include <string_view>

#include "linkgain/base/names.hpp"
#include "linkgain/base/reading.hpp"

namespace linkgain {

/// The rungs of `linkgain doctor --prove` between two GPUs, each a job of two ranks of its own, in
/// the order in which they are climbed.
enum class ProofRung {
  stores,       ///< a kernel's stores arrive in the other GPU's memory, each way
  copy_engine,  ///< so does what a copy engine writes
  loads,        ///< a kernel's loads from the other GPU's memory bring what stands there, each way
  flags,        ///< two resident kernels hand each other data and flags, both ways at once
  kernels,      ///< linkgain's one-shot all-reduce of 1 MiB, replayed by a graph
  all_reduce,   ///< NCCL's all-reduces of 4 B and 16 MiB with P2P
  load,         ///< stores, copies and linkgain's all-reduce at once, for as long as was asked for
  control,      ///< NCCL's without P2P
};

template <>
inline constexpr auto kNames<ProofRung> = names<ProofRung>("step",
                                                           {{ProofRung::stores, "stores"},
                                                            {ProofRung::copy_engine, "copy-engine"},
                                                            {ProofRung::loads, "loads"},
                                                            {ProofRung::flags, "flags"},
                                                            {ProofRung::kernels, "kernels"},
                                                            {ProofRung::all_reduce, "all-reduce"},
                                                            {ProofRung::load, "load"},
                                                            {ProofRung::control, "control"}});

/// The line that a worker prints when both ranks have their GPUs and data are to go from one to the
/// other: what comes before it says nothing of them.
inline constexpr std::string_view kBegunLine = "{\"begun\":true}";

/// What the ranks of a rung saw.
struct Delivery {
  enum class Outcome {
    arrived,      ///< all data, as they were sent
    not_arrived,  ///< something else stood where the data should be
    gave_up,      ///< a kernel waited in vain for the other one's flag
  };
  Outcome outcome = Outcome::not_arrived;
  std::string seen;      ///< in words: how much of it, in which direction
  double seconds = 0.0;  ///< that the slower direction took for 64 MiB; 0 where nothing was timed
  bool operator==(const Delivery&) const = default;
};

template <>
inline constexpr auto kNames<Delivery::Outcome> =
    names<Delivery::Outcome>("outcome", {{Delivery::Outcome::arrived, "arrived"},
                                         {Delivery::Outcome::not_arrived, "not arrived"},
                                         {Delivery::Outcome::gave_up, "gave up"}});

/// Returns the line that `linkgain-bench --prove STEP` prints last, without its end.
std::string to_json_line(const Delivery& delivery);

/// Reads that line. Missing if it is none.
Reading<Delivery> delivery_in(std::string_view line);

}  // namespace linkgain
