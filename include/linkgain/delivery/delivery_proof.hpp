#pragma once

#include <functional>
#include <string>
#include <vector>

#include "linkgain/base/json.hpp"
#include "linkgain/base/names.hpp"
#include "linkgain/hardware/delivery.hpp"

namespace linkgain {

/// Two GPUs whose delivery is looked at: places in Topology::gpus, the lower first.
struct GpuPair {
  int first = 0;
  int second = 0;
  bool operator==(const GpuPair&) const = default;
};

/// What came of one rung between two GPUs.
struct RungResult {
  enum class State {
    passed,
    not_delivered,  ///< data did not arrive, or not as they were sent
    hung,           ///< a kernel gave up waiting, or no data had come when the job's time was up
    failed,         ///< the job could not run or was ended: that shows nothing of the path
    other_path,     ///< NCCL's data were right, but did not take the path that the rung is about
  };
  ProofRung rung = ProofRung::stores;
  State state = State::failed;
  std::string seen;      ///< in words; of an error its text
  double seconds = 0.0;  ///< that 64 MiB took; 0 where nothing was timed
  std::vector<std::string>
      nccl_says{};  ///< lines of NCCL's own diagnosis of P2P: "[OK] verified ..."
  bool operator==(const RungResult&) const = default;
};

template <>
inline constexpr auto kNames<RungResult::State> =
    names<RungResult::State>("state", {{RungResult::State::passed, "passed"},
                                       {RungResult::State::not_delivered, "not delivered"},
                                       {RungResult::State::hung, "hung"},
                                       {RungResult::State::failed, "failed"},
                                       {RungResult::State::other_path, "other path"}});

/// The rungs that were climbed between two GPUs, in order. After one that did not pass only the
/// control is.
struct PairProof {
  GpuPair pair;
  std::vector<RungResult> rungs;

  /// Finds the first rung with P2P that did not pass; null where all did.
  const RungResult* failure() const;
  /// Finds the rung; null where it was not climbed.
  const RungResult* find(ProofRung rung) const;
};

/// What is said of two GPUs.
enum class DeliveryVerdict {
  works,
  not_delivered,  ///< granted, but data do not arrive, or not as they were sent
  staged,         ///< data arrive, but "P2P" goes through the host's memory
  hangs,          ///< whoever waits for data waits for ever
  not_proved,     ///< a step could not run, NCCL was not seen to use it, or fails without it, too
};

template <>
inline constexpr auto kNames<DeliveryVerdict> = names<DeliveryVerdict>(
    "verdict", {{DeliveryVerdict::works, "works"},
                {DeliveryVerdict::not_delivered, "granted but does not deliver"},
                {DeliveryVerdict::staged, "staged"},
                {DeliveryVerdict::hangs, "hangs"},
                {DeliveryVerdict::not_proved, "not proved"}});

/// Says what two GPUs' rungs amount to. `nvlink`: they are joined by it, and never staged.
DeliveryVerdict verdict_of(const PairProof& proof, bool nvlink);

/// Says how many times as long stores took as the copy engine; 0 where it is not known.
double stores_over_copies(const PairProof& proof);

/// Climbs one rung for several pairs at a time, none of which share a GPU: a result for each, in
/// order.
using RungRunner =
    std::function<std::vector<RungResult>(ProofRung rung, const std::vector<GpuPair>& pairs)>;

/// Sorts pairs into groups of which no two share a GPU: for an even number n of GPUs, all of whose
/// pairs are there, n-1 groups (n for an odd one), as a round-robin tournament has it.
std::vector<std::vector<GpuPair>> disjoint_groups(const std::vector<GpuPair>& pairs, int gpus);

/// Climbs all rungs between the pairs of so many GPUs, group after group; that under load only
/// where it is asked for. Throws what `run` throws.
std::vector<PairProof> prove_delivery(const std::vector<GpuPair>& pairs, int gpus, bool under_load,
                                      const RungRunner& run);

/// What was proved, by what decides it on other machines, too.
struct DeliveryReport {
  struct Pair {
    std::vector<std::string> gpus;  ///< "GPU0"
    DeliveryVerdict verdict = DeliveryVerdict::not_proved;
    std::vector<RungResult> steps;  ///< none where the driver refuses P2P, or CUDA sees one alone
  };
  std::string driver;             ///< "580.159.04"; as all of these, empty where it is not known
  std::vector<std::string> gpus;  ///< models, each once
  std::string board;              ///< the machine's, with its maker
  std::string bios;               ///< the board's version
  std::string nccl;
  std::vector<Pair> pairs;  ///< of all GPUs

  /// Tells whether P2P between any two GPUs was found to work, or not to.
  bool proves_any() const;
};

/// Writes the member "delivery" of a diagnosis.
json::Out write_delivery(const DeliveryReport& report);

}  // namespace linkgain
