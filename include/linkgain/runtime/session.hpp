#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/stopwatch.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/runtime/rank_board.hpp"

namespace linkgain {

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
