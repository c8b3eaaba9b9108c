#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "linkgain/base/reading.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/process/process.hpp"

namespace linkgain {

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
