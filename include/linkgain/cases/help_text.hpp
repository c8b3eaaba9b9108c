#pragma once

#include <span>
#include <string>
#include <string_view>

#include "linkgain/base/errors.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace linkgain {

/// The groups that options of a measurement or a prediction are listed in, in this order.
namespace option_group {
inline constexpr const char* kWhat = "What to measure";
inline constexpr const char* kHow = "How to measure";
inline constexpr const char* kDecoder = "Decoder";
inline constexpr const char* kTraining = "Training";
inline constexpr const char* kWhere = "Where it runs";
inline constexpr const char* kOutput = "Output";
}  // namespace option_group

/// What no line of the help exceeds.
inline constexpr int kHelpColumns = 80;

/// Returns the first line of a command's description: what it is for. Other lines say what it does.
std::string summary_of(const CLI::App& command);

/// Returns what `--help` prints of a command: purpose, usage, what it does, arguments, options by
/// group with their defaults, commands below it, footer. A footer's lines stand as they are.
std::string help_text(const CLI::App& app);

/// An exit status, and what it means of one command; empty: what it means of all.
struct ExitStatus {
  ExitStatus(ExitCode of, std::string_view meant = {}) : code(of), meaning(meant) {}
  ExitCode code;
  std::string_view meaning;
};

/// Returns a footer's list of exit statuses with their meanings: those that every command has, and
/// `others`.
std::string exit_status_text(std::span<const ExitStatus> others);

}  // namespace linkgain
