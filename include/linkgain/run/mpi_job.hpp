#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/process/process.hpp"
#include "linkgain/process/signals.hpp"
#include "linkgain/run/job.hpp"
#include "linkgain/run/launcher.hpp"

namespace linkgain {

/// What starts the request's command with this process's environment and the variant's on top.
/// Throws MachineError where the launcher is missing.
ProcessRequest process_request(const LaunchRequest& request, const std::filesystem::path& log);

/// The last lines that were appended to `log` since it had `offset` bytes. Empty lines are left
/// out, and so are the banners that mpirun frames in dashes and Slurm's lines on ranks that it
/// ended because another one had, unless there is nothing else.
std::vector<std::string> last_words(const std::filesystem::path& log, std::uintmax_t offset,
                                    std::size_t lines);

/// The job of a variant as processes of this machine. When it does not answer in time or dies, all
/// its processes are ended before JobLost is thrown. Interrupted is thrown while waiting for an
/// answer; the job is then of no further use. Not for use by several threads at once.
class MpiJob : public Job {
 public:
  /// `watch` may be null; else it must outlive the job. Throws as Process does.
  MpiJob(std::string variant, const ProcessRequest& request, const SignalWatch* watch);

 private:
  std::string do_exchange(const std::string& line, Seconds deadline) override;
  void do_finish(Seconds deadline) override;
  [[noreturn]] void lose(const std::string& line, Transfer outcome, Seconds deadline);

  std::string variant_;
  std::filesystem::path log_;
  std::uintmax_t log_start_;
  const SignalWatch* watch_;
  Process process_;
  bool answered_ = false;
};

}  // namespace linkgain
