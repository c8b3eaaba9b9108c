#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "baseline_command.hpp"
#include "check_command.hpp"

namespace linkgain {

/// The command `baseline` of a command line: text while CLI11 parses, BaselineOptions after.
class BaselineCommandLine {
 public:
  /// Adds the command to `program`, which owns it and must outlive this.
  explicit BaselineCommandLine(CLI::App& program);
  BaselineCommandLine(const BaselineCommandLine&) = delete;
  BaselineCommandLine& operator=(const BaselineCommandLine&) = delete;

  bool parsed() const { return command_->parsed(); }
  /// What was asked for. Throws UsageError.
  BaselineOptions read() const;

 private:
  CLI::App* command_;
  std::vector<std::filesystem::path> records_;
  std::filesystem::path output_;
  std::string tolerance_ = "5%";
  bool json_ = false;
};

/// The command `check`, likewise.
class CheckCommandLine {
 public:
  explicit CheckCommandLine(CLI::App& program);
  CheckCommandLine(const CheckCommandLine&) = delete;
  CheckCommandLine& operator=(const CheckCommandLine&) = delete;

  bool parsed() const { return command_->parsed(); }
  CheckOptions read() const;

 private:
  CLI::App* command_;
  std::vector<std::filesystem::path> records_;
  std::filesystem::path baseline_;
  std::string tolerance_;
  std::string format_ = "table";
  std::filesystem::path junit_;
  std::filesystem::path prometheus_;
  bool json_ = false;
};

}  // namespace linkgain
