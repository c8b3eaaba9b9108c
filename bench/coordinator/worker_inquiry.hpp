#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "linkgain/coordinator/process.hpp"
#include "linkgain/core/machine.hpp"
#include "linkgain/core/reading.hpp"

namespace linkgain {

/// linkgain-bench started by itself, without mpirun, to be asked something. Its standard error goes
/// to a file that is removed with this. What it starts ends with this.
class WorkerInquiry {
 public:
  /// Never throws for a worker that is not there: line() and ended_well() then say so.
  WorkerInquiry(std::vector<std::string> arguments, const Environment& environment);
  ~WorkerInquiry();
  WorkerInquiry(const WorkerInquiry&) = delete;
  WorkerInquiry& operator=(const WorkerInquiry&) = delete;

  /// The first line of its output.
  Reading<std::string> line(Seconds deadline, const SignalWatch& watch);
  /// Whether it has ended well within the time; else why not, empty while it runs.
  Reading<bool> ended_well(Seconds deadline, const SignalWatch& watch);

 private:
  /// What it wrote to standard error, and how it ended.
  std::string last_words();

  std::filesystem::path error_file_;
  std::unique_ptr<Process> process_;
  std::string reason_;  ///< why it was not started
};

/// The software of a reply to `linkgain-bench --describe`.
Reading<Software> software_in(const Reading<std::string>& line);

}  // namespace linkgain
