#pragma once

#include <cstdint>
#include <optional>

#include "linkgain/record/record.hpp"
#include "linkgain/runtime/fault.hpp"

namespace linkgain {

/// One open case on this rank: its buffers, and how its operations are launched. Constructing
/// one is local to the rank and may fail there; every call below is collective, prepare() first.
class Operation {
 public:
  virtual ~Operation() = default;

  /// Does what of the set-up all ranks must do together. Throws an Error where this rank could not;
  /// the ranks then agree to give the operation up.
  void prepare() { do_prepare(); }

  /// Closes what this rank has of others' memory, and returns when all have, so that nobody frees
  /// what is still open elsewhere; called after prepare(), on every rank, before the operation
  /// goes. Nothing but destruction may follow.
  void release() { do_release(); }

  /// Runs the operation once, untimed, with the algorithm, protocol and peers that the timed ones
  /// use.
  void warm_up() { do_warm_up(); }

  /// Times `operations` (a multiple of granularity()) back to back; the time of the whole batch on
  /// this rank, absent where the rank takes no part. The caller has all ranks pass a barrier first.
  std::optional<Seconds> time_batch(std::int64_t operations) { return do_time_batch(operations); }

  /// Returns what the last time_batch() took this rank in all; absent where its time is all that it
  /// took. An operation that stands between others is timed with and without it.
  std::optional<Seconds> busy_time() const { return do_busy_time(); }

  /// Runs `operations` (a multiple of granularity()) back to back and returns when this rank's are
  /// done: for the caller's own clock.
  void run(std::int64_t operations) { do_run(operations); }

  /// Refills the buffers with known data that no operation before had, poisons everything else,
  /// runs a burst of operations (one graph) down the same path, the ranks delayed against each
  /// other, and checks every element of this rank's outputs. `spoil` is for tests of the check
  /// itself.
  Verification verify(Spoil spoil) { return do_verify(spoil); }

  /// Returns the batch of what has state: it is always this long, and warm_up() and every batch
  /// leave it as far on as any other job's. Absent: batches are as long as the caller likes.
  std::optional<std::int64_t> fixed_batch() const { return do_fixed_batch(); }

  /// Returns a training's loss of this rank's part of the last step. Waits for it.
  std::optional<double> loss() { return do_loss(); }

  /// Returns operations that can only be launched together: those of one graph, a ping and its
  /// pong, else 1.
  std::int64_t granularity() const { return do_granularity(); }

  /// Returns everything but operations_per_sample.
  Execution execution() const { return do_execution(); }

  /// Returns the plan if the operation itself knows what it does; else the library's log must tell.
  std::optional<TransferPlan> plan() const { return do_plan(); }

 private:
  virtual void do_prepare() {}
  virtual void do_release() {}
  virtual void do_warm_up() = 0;
  virtual std::optional<Seconds> do_time_batch(std::int64_t operations) = 0;
  virtual std::optional<Seconds> do_busy_time() const { return std::nullopt; }
  virtual void do_run(std::int64_t operations) = 0;
  virtual Verification do_verify(Spoil spoil) = 0;
  virtual std::optional<std::int64_t> do_fixed_batch() const { return std::nullopt; }
  virtual std::optional<double> do_loss() { return std::nullopt; }
  virtual std::int64_t do_granularity() const = 0;
  virtual Execution do_execution() const = 0;
  virtual std::optional<TransferPlan> do_plan() const { return std::nullopt; }
};

}  // namespace linkgain
