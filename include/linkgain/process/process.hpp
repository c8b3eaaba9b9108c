#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "linkgain/base/descriptor.hpp"
#include "linkgain/base/environment.hpp"
#include "linkgain/base/process_entry.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/process/signals.hpp"

namespace linkgain {

/// Bytes of a program's standard output or error.
struct Output {
  bool is_error = false;
  std::string text;
  std::chrono::steady_clock::time_point arrived;  ///< when they were read
};

/// Reads what a program writes, on a thread that does nothing else: the program does not wait while
/// this one works on what came. Where nobody takes what came, at most kMostKept is read; then the
/// program waits, as it does for any reader that is too slow.
class PipeReader {
 public:
  static constexpr std::size_t kMostKept = std::size_t{16} << 20;

  /// Starts to read until nonblocking reading ends; either may be none. Makes the pipes as large as
  /// the system allows.
  PipeReader(Descriptor output, Descriptor error);
  ~PipeReader();
  PipeReader(const PipeReader&) = delete;
  PipeReader& operator=(const PipeReader&) = delete;

  /// Returns what poll() finds readable while something can be taken.
  int descriptor() const noexcept { return came_.get(); }
  /// Takes what came next; nothing if there is nothing now.
  std::optional<Output> take();
  /// Ends the thread: from then on take() reads the pipes itself.
  void stop();

  /// Returns how long a pipe was full at most, so that the program had to wait for this reader.
  Seconds full() const;
  /// Returns the processor time of the thread; 0 before stop().
  Seconds worked() const noexcept { return worked_; }

 private:
  struct Stream {
    Descriptor pipe;
    int capacity = 0;
    std::chrono::steady_clock::time_point emptied;  ///< since when nobody has read it
  };

  void keep_reading();
  bool wait_for_room();
  bool wait_for_output();
  std::optional<Output> read_one(bool is_error);
  void keep(Output output);

  std::array<Stream, 2> streams_;  ///< the output and the error
  Descriptor came_;                ///< an eventfd, as the next
  Descriptor stopping_;
  mutable std::mutex mutex_;  ///< of what follows
  std::condition_variable taken_;
  std::deque<Output> kept_;
  std::size_t bytes_kept_ = 0;
  bool is_stopping_ = false;
  std::chrono::steady_clock::duration full_{};
  Seconds worked_{};
  std::thread thread_;
};

/// A moment on the monotonic clock until which something may be waited for.
class Deadline {
 public:
  /// Ends `allowed` from now; negative counts as zero, more than 30 years as 30 years.
  explicit Deadline(Seconds allowed)
      : end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(
                 std::chrono::duration<double>(std::clamp(allowed.value, 0.0, kLongest)))) {}

  Seconds remaining() const {
    const std::chrono::duration<double> left = end_ - Clock::now();
    return Seconds{std::max(0.0, left.count())};
  }
  bool passed() const { return Clock::now() >= end_; }

  /// Returns the remaining time for poll(), rounded up, at most `longest`.
  int remaining_milliseconds(int longest) const {
    return static_cast<int>(std::min(std::ceil(remaining().value * 1e3), double(longest)));
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kLongest = 1e9;

  Clock::time_point end_;
};

/// Reads a file of /proc; empty if it cannot be read, cut short where its process goes meanwhile.
/// (A stream throws in that case, even one that was not asked to.)
std::string read_process_file(const std::string& path);

/// Lists all processes this one can see.
std::vector<ProcessEntry> list_processes();

/// Returns the value of a variable in the environment that the process started with; empty where it
/// has none, and for zombies and processes of other users.
std::string variable_of(pid_t id, std::string_view name);

/// Returns what each file that the process has open leads to, as "socket:[4711]" or a path; absent
/// where that cannot be seen.
std::optional<std::vector<std::string>> open_files_of(pid_t id);

/// The processes of one job, wherever they moved to: the leader's descendants, orphans of its
/// session, whoever has the job's own variable in its environment, and whoever was once found to be
/// one of them. A process that left its group, session and parent is still found. A zombie has no
/// environment any more: it is found if it stayed in the session or was found while it lived.
class ProcessTree {
 public:
  /// Finds the job by a "NAME=value" that begins with `marker`, which only its environment holds.
  explicit ProcessTree(std::string marker) : marker_(std::move(marker)) {}

  /// Sets the leader's session, once it is started; orphans are told apart by it.
  void set_session(pid_t session) { session_ = session; }

  /// Looks for the members and remembers them. `leader` is absent once it has been reaped (its id
  /// may then belong to somebody else). Zombies count only while they are this process's to reap.
  /// `strays_since` (as ProcessEntry::start) makes members of all children of this process that
  /// started then or later, but for those of its own session, where no job's can be, and for those
  /// that another job's end already told of.
  std::vector<ProcessEntry> find(std::optional<pid_t> leader,
                                 std::optional<std::uint64_t> strays_since = std::nullopt);

  /// Remembers what descends from `ancestor` now by children that began at `since` (as
  /// ProcessEntry::start) or later in a session of their own, as jobs do: find() has it from then
  /// on, wherever it goes. Looks at these processes alone, however many others there are.
  void note_descendants(pid_t ancestor, std::uint64_t since);

 private:
  bool is_member(const ProcessEntry& process, std::optional<pid_t> leader,
                 std::optional<std::uint64_t> strays_since) const;

  std::string marker_;
  pid_t session_ = -1;
  std::map<pid_t, std::uint64_t> known_;  ///< start by id
};

/// The ends of a pipe; both are closed on exec and above the standard descriptors.
struct Pipe {
  Descriptor reading;
  Descriptor writing;
};

/// Throws MachineError where no descriptor is left.
Pipe make_pipe();

/// What a new process gets as its descriptors 0, 1 and 2; it gets no others.
struct StandardDescriptors {
  int input = 0;
  int output = 1;
  int error = 2;
};

/// Starts arguments[0], looked up on PATH, in a new session with default signal handling and no
/// signal blocked. `environment` holds "NAME=value". Throws MachineError with the reason.
pid_t spawn(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
            const StandardDescriptors& descriptors);

/// Set in the environment of every started process, to a value no other one has; all that it starts
/// inherits it and can be recognised by it.
inline constexpr std::string_view kJobMarker = "LINKGAIN_JOB";

/// Returns what that value begins with in all jobs of this program, and in none of others.
const std::string& marker_of_program();

struct ProcessRequest {
  std::vector<std::string> arguments;  ///< the program, looked up on PATH, and what it is given
  Environment environment;             ///< all of it, but for kJobMarker
  /// Its standard error is appended here; empty: a pipe, for read_output().
  std::filesystem::path error_file;
  /// Its standard output is appended here; empty: a pipe.
  std::filesystem::path output_file{};
  bool has_input = true;  ///< a pipe for write_line(); else there is nothing to be read
};

/// How a process ended: one of the two is set, or neither where the system threw the status away
/// (this program was started with SIGCHLD ignored).
struct ProcessEnd {
  std::optional<int> status;
  std::optional<int> signal_number;
  bool operator==(const ProcessEnd&) const = default;
};

/// Returns "exit status 3", "SIGKILL", "exit status unknown".
std::string how_it_ended(const ProcessEnd& end);

/// What came of reading or writing. A line of more than 64 MiB is too long.
enum class Transfer { done, ended, timed_out, too_long };

struct ReadResult {
  Transfer outcome = Transfer::ended;
  /// Without its newline. After the end of the stream: what stood there without one.
  std::string line;
};

/// What a program did next.
enum class Activity { wrote, exited, timed_out };

/// A program with pipes to its standard input and output, and all that it starts in turn. It runs
/// without a shell, in a session (and so a process group) of its own, with default signal handling
/// and none of this program's other descriptors. This program becomes the reaper of orphans
/// (PR_SET_CHILD_SUBREAPER), so that nothing which the job leaves behind gets away. An orphan that
/// nothing ties to a job, a daemon with an empty environment, ends with the last job that lives.
/// Times are how long to wait at most; where a SignalWatch is given, waiting ends with Interrupted
/// as soon as it has caught a signal. SIGPIPE must be ignored, as it is while a SignalWatch lives.
/// Not for use by several threads at once.
class Process {
 public:
  /// Throws MachineError where the program cannot be started, UsageError where the error file
  /// cannot be written.
  explicit Process(const ProcessRequest& request);
  /// Ends what still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const noexcept { return id_; }
  /// Returns the "NAME=value" that only this job's processes have in their environment.
  const std::string& marker() const noexcept { return marker_; }

  /// Writes the line and a newline. `ended`: the program no longer reads.
  Transfer write_line(std::string_view line, Seconds deadline, const SignalWatch* watch = nullptr);

  /// Reads the next line. `ended`: the stream is closed, or the program is gone and left nothing
  /// more. What was read of a line before the deadline is kept for the next call.
  ReadResult read_line(Seconds deadline, const SignalWatch* watch = nullptr);

  /// Waits for what comes first: something written to standard output or error, as it comes and
  /// not line by line, or the end of the program itself, at which the system wakes this one.
  /// `exited` is told once, and again of what had been reaped before. A thread reads the pipes from
  /// the first call on. Not to be mixed with read_line().
  Activity wait_for_activity(Output& output, Seconds deadline, const SignalWatch* watch = nullptr);

  /// Reads what is left in the pipes of a program that exited, or is not waited for any more;
  /// processes that it left behind may still write then. False where there is nothing.
  bool read_rest(Output& output);

  /// Returns for how long a pipe of the program was full at most: it had to wait for this one then.
  Seconds waited() const { return pipes_ ? pipes_->full() : Seconds{}; }
  /// Returns the processor time that reading its pipes took; known after read_rest().
  Seconds reading() const { return pipes_ ? pipes_->worked() : Seconds{}; }

  /// Gives the program the end of its standard input.
  void close_input() noexcept { input_.reset(); }

  bool running() { return !try_reap(); }

  /// Waits for the program itself, not for what it started; absent while it runs.
  std::optional<ProcessEnd> wait(Seconds deadline, const SignalWatch* watch = nullptr);

  /// Finds the processes that belong to the job now. They are remembered, so that they are reaped
  /// even if they die before end_tree() looks for them. Reads all of /proc: some milliseconds.
  std::vector<ProcessEntry> remember_tree() { return find_tree(); }

  /// Asks the program to end (SIGTERM) and does not wait, so that several can end at once; ends the
  /// wait for input, too.
  void ask_to_end();

  /// Asks as ask_to_end() does, and after the grace period, or when the program is gone, kills
  /// whatever is left of its tree, stopped or not. Returns who outlived even that for 5 seconds:
  /// processes asleep in a driver. The end of another job does not tell of these again.
  std::vector<pid_t> end_tree(Seconds grace);

 private:
  /// Waits until `descriptor` is ready for `events`, at most a while; false when it is not.
  bool wait_ready(const Descriptor& descriptor, short events, const Deadline& deadline,
                  const SignalWatch* watch) const;
  bool try_reap();
  std::optional<pid_t> unreaped() const;
  std::optional<std::string> take_line();
  Transfer read_more();
  PipeReader& pipes();
  std::vector<ProcessEntry> find_tree();
  std::vector<pid_t> kill_tree();

  std::string marker_;
  ProcessTree tree_;
  Descriptor input_;
  Descriptor output_;
  Descriptor error_;                 ///< where standard error is a pipe
  std::optional<PipeReader> pipes_;  ///< who has both, once somebody waits for activity
  Descriptor exited_;  ///< readable once the program has exited (pidfd_open(2)); not of old kernels
  std::string unread_;
  std::size_t searched_ = 0;  ///< characters of unread_ known to hold no newline
  pid_t id_ = -1;
  std::optional<ProcessEnd> end_;
  bool asked_to_end_ = false;
  bool tree_ended_ = false;
};

}  // namespace linkgain
