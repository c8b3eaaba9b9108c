#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/process/deadline.hpp"
#include "linkgain/process/descriptor.hpp"
#include "linkgain/process/process_tree.hpp"
#include "linkgain/process/signals.hpp"

namespace linkgain {

/// Set in the environment of every started process, to a value no other one has; all that it starts
/// inherits it and can be recognised by it.
inline constexpr std::string_view kJobMarker = "LINKGAIN_JOB";

struct ProcessRequest {
  std::vector<std::string> arguments;  ///< the program, looked up on PATH, and what it is given
  Environment environment;             ///< all of it, but for kJobMarker
  std::filesystem::path error_file;    ///< its standard error is appended here
};

/// How a process ended: one of the two is set, or neither where the system threw the status away
/// (this program was started with SIGCHLD ignored).
struct ProcessEnd {
  std::optional<int> status;
  std::optional<int> signal_number;
  bool operator==(const ProcessEnd&) const = default;
};

/// "exit status 3", "SIGKILL", "exit status unknown".
std::string describe(const ProcessEnd& end);

/// What came of reading or writing.
enum class Transfer { done, ended, timed_out };

struct ReadResult {
  Transfer outcome = Transfer::ended;
  /// Without its newline. After the end of the stream: what stood there without one.
  std::string line;
};

/// A program with pipes to its standard input and output, and all that it starts in turn. It runs
/// without a shell, in a session (and so a process group) of its own, with default signal handling
/// and none of this program's other descriptors. This program becomes the reaper of orphans
/// (PR_SET_CHILD_SUBREAPER), so that nothing which the job leaves behind gets away. Times are how
/// long to wait at most; where a SignalWatch is given, waiting ends with Interrupted as soon as it
/// has caught a signal. SIGPIPE must be ignored, as it is while a SignalWatch lives. Not for use by
/// several threads at once.
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

  /// Writes the line and a newline. `ended`: the program no longer reads.
  Transfer write_line(std::string_view line, Seconds deadline, const SignalWatch* watch = nullptr);

  /// The next line. `ended`: the stream is closed, or the program is gone and left nothing more.
  /// What was read of a line before the deadline is kept for the next call.
  ReadResult read_line(Seconds deadline, const SignalWatch* watch = nullptr);

  /// Gives the program the end of its standard input.
  void close_input() noexcept { input_.reset(); }

  bool running() { return !try_reap(); }

  /// Waits for the program itself, not for what it started; absent while it runs.
  std::optional<ProcessEnd> wait(Seconds deadline, const SignalWatch* watch = nullptr);

  /// Remembers which processes belong to the job now, so that they are reaped even if they die
  /// before end_tree() looks for them. Reads all of /proc: some milliseconds.
  void remember_tree() { tree_.find(unreaped()); }

  /// Asks the program to end (SIGTERM), and after the grace period, or when it is gone, kills
  /// whatever is left of its tree, stopped or not. Returns who outlived even that for 5 seconds:
  /// processes asleep in a driver.
  std::vector<pid_t> end_tree(Seconds grace);

 private:
  /// Waits until `descriptor` is ready for `events`, at most a while; false when it is not.
  bool wait_ready(const Descriptor& descriptor, short events, const Deadline& deadline,
                  const SignalWatch* watch) const;
  bool try_reap();
  std::optional<pid_t> unreaped() const;
  std::optional<std::string> take_line();
  Transfer read_more();
  std::vector<pid_t> kill_tree();

  std::string marker_;
  ProcessTree tree_;
  Descriptor input_;
  Descriptor output_;
  std::string unread_;
  std::size_t searched_ = 0;  ///< characters of unread_ known to hold no newline
  pid_t id_ = -1;
  std::optional<ProcessEnd> end_;
  bool tree_ended_ = false;
};

}  // namespace linkgain
