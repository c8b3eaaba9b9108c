#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "linkgain/run/run_plan.hpp"

namespace linkgain {

/// The command `run` of a command line: its options as text while CLI11 parses, RunOptions after.
class RunCommandLine {
 public:
  /// Adds the command to `program`, which owns it and must outlive this.
  explicit RunCommandLine(CLI::App& program);
  RunCommandLine(const RunCommandLine&) = delete;
  RunCommandLine& operator=(const RunCommandLine&) = delete;

  bool parsed() const { return command_->parsed(); }
  /// What was asked for, once. Throws UsageError for names and values that cannot be meant.
  RunOptions read(int argc, const char* const* argv);

 private:
  void add_selection_options();
  void add_job_options();
  void add_output_options();
  void require_values() const;
  /// What decides cases; and the rest.
  void read_selection();
  void read_job();

  /// Read into RunOptions once all are there.
  struct Texts {
    std::string backend;
    std::string profile = "default";
    SelectionTexts selection;
    std::string schedule;
    bool no_color = false;
    double budget = 0.0;
    int launches = 0;
    int ranks = 0;
    std::string gpus;
    std::string out;
    std::string hostfile;
  };

  CLI::App* command_;
  Texts texts_;
  RunOptions options_;
};

}  // namespace linkgain
