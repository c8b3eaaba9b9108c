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
#include "linkgain/runtime/ranks.hpp"

namespace linkgain {

/// What a rank's own thread is at.
enum class RankState : std::uint32_t {
  idle,          ///< waits for rank 0's next command
  at_work,       ///< of its own
  with_ranks,    ///< in a call of Ranks that all make
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

/// The ranks of a job for the life of the process, and what each of them is at: joined here, as
/// linkgain-bench or MPI's launcher started them. One thread only. Calls marked collective must be
/// made by every rank in the same order.
class Session {
 public:
  /// Bytes of the longest line that broadcast_command() takes.
  static constexpr std::size_t kLongestCommand = Ranks::kLongestCommand;

  /// Throws MachineError where the ranks cannot join.
  Session(int& argc, char**& argv);

  int rank() const { return place_.rank; }
  int ranks() const { return place_.ranks; }
  bool is_root() const { return rank() == 0; }
  /// Returns this rank's place among the ranks of its host, 0 first.
  int local_rank() const { return place_.local_rank; }
  bool on_one_host() const { return place_.local_ranks == place_.ranks; }
  /// Returns whether some host has several ranks.
  bool some_share_a_host() const { return some_share_a_host_; }
  /// Returns what the joining took.
  Seconds start_time() const { return start_time_; }
  /// Runs since the ranks have joined.
  Stopwatch since_start() const { return since_start_; }
  /// Returns what the ranks of this host are at; calls below that spin set this rank's state.
  RankBoard& board() { return board_; }

  // Calls of Ranks, during which the board says where this rank is. Collective.
  void barrier();
  double max(double value);
  void broadcast(void* data, std::size_t bytes);
  /// Throws std::length_error on rank 0, before anything is sent, where its line is longer than
  /// kLongestCommand. The other ranks sleep meanwhile, and the board says so.
  std::string broadcast_command(const std::string& line);
  std::vector<std::string> gather(const std::string& own);

  /// Gathers every rank's text on every rank. Texts may hold any bytes. Collective.
  std::vector<std::string> share(const std::string& own);
  /// Gathers every rank's numbers on rank 0, by rank; elsewhere empty. Collective.
  std::vector<double> gather(const std::vector<double>& own);
  /// Returns the text of the lowest rank that has one, on every rank; absent when none has.
  /// Collective.
  std::optional<std::string> first_text(const std::optional<std::string>& own);

  /// Ends all ranks of the job at once.
  [[noreturn]] void abort(int exit_code);

 private:
  RankBoard board_;
  Stopwatch since_start_;
  std::unique_ptr<Ranks> ranks_;
  RankPlace place_;
  bool some_share_a_host_ = false;
  Seconds start_time_{};
};

}  // namespace linkgain
