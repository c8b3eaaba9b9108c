#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace linkgain {

/// A rank's number among those of its job, and its place among those of its host; both from 0.
struct RankPlace {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  int local_ranks = 1;
};

/// How the ranks of a job reach each other, beside what is measured. Calls come from one thread and
/// are collective: every rank makes them, in the same order. Where a rank is gone, a call may wait
/// until whoever started the ranks ends this one, too.
class Ranks {
 public:
  /// Bytes of the longest line that next_command() takes.
  static constexpr std::size_t kLongestCommand = 2047;

  /// Leaves once every rank does.
  virtual ~Ranks() = default;

  /// Returns this rank's place; the same at any time, and not collective.
  virtual RankPlace place() const = 0;

  /// Waits until every rank is here; spins, for ranks that are all at work.
  virtual void barrier() = 0;
  /// Returns the largest of all ranks' values; spins.
  virtual double max(double value) = 0;
  /// Sends `bytes` of rank 0's `data` to all.
  virtual void broadcast(void* data, std::size_t bytes) = 0;
  /// Gathers every rank's bytes on rank 0, by rank; elsewhere empty.
  virtual std::vector<std::string> gather(const std::string& own) = 0;

  /// Sends rank 0's line, of at most kLongestCommand bytes, to all. The other ranks sleep
  /// meanwhile, so that a waiting job costs next to no processor time.
  virtual std::string next_command(const std::string& line) = 0;

  /// Ends all ranks of the job at once; not collective.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

/// Joins the ranks that MPI's launcher started: initialises MPI here and finalises it on
/// destruction. A process without a launcher is the only rank, with or without MPI. Throws
/// MachineError where MPI does not start, or where the launcher started several and there is none.
std::unique_ptr<Ranks> join_by_mpi(int& argc, char**& argv);

/// Joins the ranks that start_local_ranks() started: they meet in shared memory and send texts by
/// sockets, both inherited. Absent where this process is no such rank. Throws MachineError where
/// what it inherited is not there.
std::unique_ptr<Ranks> join_locally();

/// Makes this process the only rank.
std::unique_ptr<Ranks> join_alone();

/// Starts `command` as so many ranks on this host, and waits for their end. Rank 0 has this
/// process's standard input, the others have none; what a rank writes to standard error comes line
/// by line, with its number unless it is linkgain-bench's own. A rank that ends with an error, or
/// by a signal, has the others ended; so has a signal that asks this process to end, and its end.
/// Returns 0, the status of the rank that failed first, or 128 and the signal that ended it or this
/// process. Throws MachineError where a rank cannot be started.
int start_local_ranks(int ranks, const std::vector<std::string>& command);

/// Returns how many ranks MPI's launcher says it started, by its variables; 0 without one.
int ranks_of_launcher();

/// Returns how many of them are on this host; all, where the launcher does not say.
int ranks_of_launcher_here();

/// Returns the number that a launcher gave this process, of linkgain's own or of MPI's, before the
/// ranks have joined; absent without one.
std::optional<int> launched_rank();

}  // namespace linkgain
