#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/reading.hpp"
#include "linkgain/base/secrets.hpp"
#include "linkgain/base/stopwatch.hpp"
#include "linkgain/base/temporary_folder.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/jobs/launcher.hpp"
#include "linkgain/process/process.hpp"
#include "linkgain/process/signals.hpp"
#include "linkgain/protocol/protocol.hpp"

namespace linkgain {

/// A resident job died, hung past its deadline or broke the protocol. It is of no further use.
class JobLost : public Error {
 public:
  JobLost(const std::string& text, std::string advice)
      : Error(text, std::move(advice), ExitCode::incomplete) {}
};

/// The job answered a command with an error and lives on.
class JobRefused : public Error {
 public:
  using Error::Error;
};

/// How long jobs of which nothing more is wanted have for their end at most.
inline constexpr Seconds kShutdownTime{10.0};

/// One variant's resident job. Commands are answered in order; each has a deadline after which
/// the job is ended with all its processes and JobLost is thrown. Every call may throw JobLost;
/// open also throws JobRefused where the backend cannot run the case.
class Job {
 public:
  virtual ~Job() = default;

  protocol::HelloReply hello(Seconds deadline);
  protocol::OpenReply open(const protocol::Open& command, Seconds deadline);
  protocol::RunReply run(const protocol::Run& command, Seconds deadline);
  Verification verify(int handle, Seconds deadline);
  protocol::CountersReply counters(Seconds deadline);
  std::vector<std::optional<HostCopyRates>> host_copy(Seconds deadline);
  void close(int handle, Seconds deadline);
  /// Asks the job to end and waits until its processes are gone. Throws JobLost where it does not
  /// end within the deadline, or ends with an error; its processes are gone then, too.
  void shut_down(Seconds deadline);
  /// Asks the job to end: these are the two halves of shut_down(), for several jobs that are to end
  /// at once.
  void ask_to_end(Seconds deadline);
  void wait_for_end(Seconds deadline) { do_finish(deadline); }
  /// Ends the job whatever it does, without waiting: its destruction does that. For several jobs
  /// that are given up at once.
  virtual void give_up() noexcept {}

 protected:
  /// Knows how many ranks it has, if that is known; a reply that tells of others loses it.
  explicit Job(std::optional<int> ranks = std::nullopt) : ranks_(ranks) {}

 private:
  /// Names the job in messages: "the job of variant 'p2p'".
  virtual std::string do_name() const { return "the job"; }
  /// Sends one line and returns the reply's, without newlines.
  virtual std::string do_exchange(const std::string& line, Seconds deadline) = 0;
  /// Waits for the processes to be gone; kills what is left at the deadline. Throws JobLost where
  /// they did not go by themselves, or not well.
  virtual void do_finish(Seconds deadline) = 0;

  template <typename ReplyType>
  ReplyType exchange(const protocol::Command& command, Seconds deadline);

  std::optional<int> ranks_;
};

/// Returns what starts the request's command with this process's environment and the variant's on
/// top. Throws MachineError where the launcher is missing.
ProcessRequest process_request(const LaunchRequest& request, const std::filesystem::path& log);

/// Returns the last lines that were appended to `log` since it had `offset` bytes, before others
/// those of linkgain-bench. Empty lines are left out, and so are the banners that mpirun frames in
/// dashes, its traces, and Slurm's lines on ranks that it ended because another one had, unless
/// there is nothing else.
std::vector<std::string> last_words(const std::filesystem::path& log, std::uintmax_t offset,
                                    std::size_t lines);

/// The job of a variant as processes of this machine. When it does not answer in time or dies, all
/// its processes are ended before JobLost is thrown. Interrupted is thrown while waiting for an
/// answer; the job is then of no further use. Lines of standard output that are no replies, as of
/// a launcher with a banner, are passed over, however many there are; so is what stands before a
/// reply on its line. Not for use by several threads at once.
class LaunchedJob : public Job {
 public:
  /// Starts a job. `watch` may be null; else it must outlive the job. `segments`, where there is
  /// one, is the folder of the ranks' shared memory, which goes with the job. `tick` is called each
  /// second while an answer is awaited. `ranks` as of Job. Throws as Process does.
  LaunchedJob(
      std::string variant, const ProcessRequest& request, const SignalWatch* watch,
      std::unique_ptr<TemporaryFolder> segments = nullptr, std::function<void()> tick = [] {},
      std::optional<int> ranks = std::nullopt);
  void give_up() noexcept override;

 private:
  std::string do_name() const override;
  std::string do_exchange(const std::string& line, Seconds deadline) override;
  void do_finish(Seconds deadline) override;
  ReadResult read_reply(const Deadline& deadline);
  [[noreturn]] void lose(const std::string& line, Transfer outcome, Seconds deadline);
  /// Names an mpirun that is known to be unable to start ranks; empty of every other.
  std::string what_is_wrong_with_launcher() const;

  std::string variant_;
  std::string launcher_;  ///< its program
  std::filesystem::path log_;
  std::uintmax_t log_start_;
  const SignalWatch* watch_;
  KnownSecrets secrets_;                       ///< of its environment, for what is said of it
  std::unique_ptr<TemporaryFolder> segments_;  ///< outlives the processes
  std::function<void()> tick_;
  Process process_;
  Stopwatch since_start_;
  Stopwatch since_answer_;  ///< the last one
  bool answered_ = false;
  std::int64_t foreign_lines_ = 0;  ///< on standard output, that were no replies
  std::string first_foreign_;       ///< its begin
};

/// A program started by itself, without mpirun, to be asked something. Its standard error goes to a
/// file that is removed with this. What it starts ends with this.
class ProgramInquiry {
 public:
  /// Starts the inquiry; `program` is its path, or why there is none. Never throws for a program
  /// that is not there: line(), output() and ended_well() then say so.
  ProgramInquiry(const Reading<std::string>& program, std::vector<std::string> arguments,
                 const Environment& environment);
  ~ProgramInquiry();
  ProgramInquiry(const ProgramInquiry&) = delete;
  ProgramInquiry& operator=(const ProgramInquiry&) = delete;

  /// Reads the first line of its output.
  Reading<std::string> line(Seconds deadline, const SignalWatch& watch);
  /// Reads all of its output, which must end within the time.
  Reading<std::string> output(Seconds deadline, const SignalWatch& watch);
  /// Returns whether it has ended well within the time; else why not, empty while it runs.
  Reading<bool> ended_well(Seconds deadline, const SignalWatch& watch);

 private:
  /// Quotes what it wrote to standard error, and how it ended.
  std::string last_words();
  std::string silent_for(Seconds deadline) const;

  std::string name_;
  std::filesystem::path error_file_;
  std::unique_ptr<Process> process_;
  std::string reason_;  ///< why it was not started
};

/// Finds linkgain-bench, or says why there is none.
Reading<std::string> worker_program();

/// Reads the software of a reply to `linkgain-bench --describe`.
Reading<Software> software_in(const Reading<std::string>& line);

}  // namespace linkgain
