#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "compare_command.hpp"
#include "fleet_command.hpp"

namespace linkgain {

/// The command `compare` of a command line: its options as text while CLI11 parses.
class CompareCommandLine {
 public:
  /// Adds the command to `program`, which owns it and must outlive this.
  explicit CompareCommandLine(CLI::App& program);
  CompareCommandLine(const CompareCommandLine&) = delete;
  CompareCommandLine& operator=(const CompareCommandLine&) = delete;

  bool parsed() const { return command_->parsed(); }
  /// What was asked for. Throws UsageError for names and values that cannot be meant.
  CompareCommandOptions read() const;

 private:
  CLI::App* command_;
  std::vector<std::string> runs_;
  std::vector<std::string> only_;
  std::string format_ = "table";
  std::string metric_ = "time";
  std::string threshold_ = "2%";
  bool json_ = false;
};

/// The command `fleet` likewise.
class FleetCommandLine {
 public:
  explicit FleetCommandLine(CLI::App& program);
  FleetCommandLine(const FleetCommandLine&) = delete;
  FleetCommandLine& operator=(const FleetCommandLine&) = delete;

  bool parsed() const { return command_->parsed(); }
  FleetCommandOptions read() const;

 private:
  CLI::App* command_;
  std::vector<std::string> records_;
  std::string expected_;
  std::string tolerance_ = "5%";
  std::string format_ = "table";
  bool json_ = false;
};

}  // namespace linkgain
