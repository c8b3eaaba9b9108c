#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace linkgain
