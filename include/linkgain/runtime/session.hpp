#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/stopwatch.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {

/// What a rank's own thread is at.
enum class RankState : std::uint32_t {
  idle,          ///< waits for rank 0's next command
  at_work,       ///< of its own
  with_ranks,    ///< in a call of MPI's that all ranks make
  in_operation,  ///< in an operation, a set-up or a check that ranks make together
};

/// What the ranks of a host are at, for all of them to see: a page of memory each, which is gone
/// with its process, whatever ends that.
class RankBoard {
 public:
  /// Makes this rank's page; without memory for it a rank is known to itself alone.
  RankBoard();
  ~RankBoard();
  RankBoard(const RankBoard&) = delete;
  RankBoard& operator=(const RankBoard&) = delete;

  /// Returns where other processes of this host find the page; empty if there is none.
  std::string address() const;
  /// Opens the pages of others; `addresses` are those of all ranks, and pages that this process
  /// cannot reach are left out.
  void open_others(const std::vector<std::string>& addresses, int own_rank);

  /// Sets this rank's state and returns what it was.
  RankState set(RankState state) {
    return static_cast<RankState>(own_->state.exchange(static_cast<std::uint32_t>(state)));
  }
  /// Notes that this rank has begun another command.
  void begins_command() { ++own_->commands; }
  /// Says that this rank is alive, ten times a second by a thread of its own: a stopped one says
  /// nothing.
  void beats() { ++own_->beats; }
  /// Returns what beats() has come to on another rank of this host; absent where its page is not
  /// seen.
  std::optional<std::uint32_t> beats_of(int rank) const;
  RankState own() const { return static_cast<RankState>(own_->state.load()); }

  /// Says which ranks keep this one waiting, and what they are at: "rank 1 has not come:
  std::string who_is_missing() const;

 private:
  struct Page {
    std::atomic<std::uint32_t> state;
    std::atomic<std::uint32_t> commands;  ///< begun so far
    std::atomic<std::uint32_t> beats;
  };
  struct Other {
    int rank = 0;
    int pid = 0;
    const Page* page = nullptr;
  };

  /// Says what keeps the rank from where this one is; nothing if nothing does.
  std::optional<std::string> lag_of(const Other& other) const;

  Page spare_{};
  Page* own_ = &spare_;
  std::string name_;
  int file_ = -1;
  std::vector<Other> others_;
};

/// Sets this rank's state for as long as it lives.
class InState {
 public:
  InState(RankBoard& board, RankState state) : board_(board), before_(board.set(state)) {}
  ~InState() { board_.set(before_); }
  InState(const InState&) = delete;
  InState& operator=(const InState&) = delete;

 private:
  RankBoard& board_;
  RankState before_;
};

class Doorbell;

/// MPI for the life of the process: initialised here, finalised on destruction. One thread only.
/// Calls marked collective must be made by every rank in the same order.
class Session {
 public:
  /// Bytes of the longest line that broadcast_command() takes.
  static constexpr std::size_t kLongestCommand = 2047;

  /// Throws MachineError where MPI does not start.
  Session(int& argc, char**& argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool is_root() const { return rank_ == 0; }
  /// Returns this rank's place among the ranks of its host, 0 first.
  int local_rank() const { return local_rank_; }
  bool on_one_host() const { return on_one_host_; }
  /// Returns whether some host has several ranks.
  bool some_share_a_host() const { return some_share_a_host_; }
  /// Returns what MPI's start took.
  Seconds start_time() const { return start_time_; }
  /// Runs since MPI was up.
  Stopwatch since_start() const { return since_start_; }
  /// Returns what the ranks of this host are at; calls below that spin set this rank's state.
  RankBoard& board() { return board_; }
  /// Returns "Open MPI v4.1.6"; needs no session.
  static std::string library_version();

  /// Waits until every rank is here; spins, for ranks that are all at work. Every rank must call
  /// it.
  void barrier();
  /// Returns the largest of all ranks' values; spins. Every rank must call it.
  double max(double value);
  /// Sends `bytes` of rank 0's `data` to all; spins. Every rank must call it.
  void broadcast(void* data, std::size_t bytes);

  /// Sends rank 0's line to all; throws std::length_error there, before anything is sent, where it
  /// is longer than kLongestCommand. The other ranks sleep meanwhile, so that a waiting job costs
  /// next to no processor time: those of rank 0's host until they are rung, others between polls up
  /// to half a millisecond apart. Every rank must call it.
  std::string broadcast_command(const std::string& line);

  /// Gathers every rank's text on rank 0, by rank; elsewhere empty. Every rank must call it.
  std::vector<std::string> gather(const std::string& own);
  /// Gathers every rank's text on every rank. Texts may hold any bytes. Every rank must call it.
  std::vector<std::string> share(const std::string& own);
  /// Gathers `count` doubles of every rank on rank 0, by rank; elsewhere empty. Every rank must
  /// call it.
  std::vector<double> gather(const std::vector<double>& own);

  /// Returns the text of the lowest rank that has one, on every rank; absent when none has. Every
  /// rank must call it.
  std::optional<std::string> first_text(const std::optional<std::string>& own);

  /// Ends all ranks of the job at once.
  [[noreturn]] void abort(int exit_code);

 private:
  int rank_ = 0;
  int ranks_ = 1;
  int local_rank_ = 0;
  bool on_one_host_ = true;
  bool some_share_a_host_ = false;
  RankBoard board_;
  std::unique_ptr<Doorbell> doorbell_;
  std::vector<std::string> addresses_;  ///< of the other ranks' doorbells; rank 0 only
  bool can_be_rung_ = false;
  Stopwatch since_start_;
  Seconds start_time_{};
};

}  // namespace linkgain
