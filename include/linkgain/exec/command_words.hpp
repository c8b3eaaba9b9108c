#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/environment.hpp"

/// Command lines: how they are taken apart, filled in and shown.
namespace linkgain {

/// Splits a text into words as a POSIX shell takes it apart, with its quotes and backslashes, but
/// without expanding anything. Throws UsageError, which names `option`, for a quote without end.
std::vector<std::string> split_words(std::string_view text, const std::string& option);

/// What stands in a command for what differs from run to run.
struct Placeholders {
  std::string variant;
  int round = 0;
  std::vector<std::string> arguments{};  ///< for {args}
  std::string axis{};                    ///< "LOAD", whose {LOAD} is `value`; empty: there is none
  std::string value{};
};

/// Replaces `{variant}`, `{round}`, `{args}` and the axis' name, and leaves all other braces alone,
/// as `${round}`, a variable of the shell. A word that is {args} becomes as many words as there
/// are; within a word they stand quoted for a shell.
std::vector<std::string> filled_in(const std::vector<std::string>& words,
                                   const Placeholders& placeholders);
/// Tells whether "{args}", or another one, stands somewhere in them.
inline constexpr std::string_view kArguments = "{args}";
bool has_placeholder(const std::vector<std::string>& words, std::string_view placeholder);
/// Does the same in a text, where {args} stands quoted for a shell.
std::string filled_in(std::string_view text, const Placeholders& placeholders);

/// Says how a command that gives its work to others and ends at once is made to wait for it:
/// sbatch, qsub, bsub, systemd-run, and containers in the background, behind env, nice, timeout and
/// the like, too. Empty for all others, and where it waits.
std::string how_to_wait(const std::vector<std::string>& command);

/// Names the program that a command comes to, behind env, nice and the like, whose changes it makes
/// in `environment`, and behind sh -c 'exec NAME'. Empty where none is, or where it is looked for
/// elsewhere, as by sudo.
std::string program_behind(const std::vector<std::string>& command, Environment& environment);

/// Says which variables the program of a command gets where the command gets `environment`: env
/// sets and unsets some, sudo, ssh, kubectl exec, srun --export and apptainer --cleanenv pass on
/// none or some, and a container of docker, podman or nerdctl has those alone that -e or --env sets
/// or passes on, all of them with --env-file or --env-host.
Environment received(const std::vector<std::string>& command, Environment environment);

/// Tells whether the command is one of docker, podman or nerdctl.
bool starts_container(const std::vector<std::string>& command);

/// Tells whether a container of these has the host's file under the same path, by -v, --volume or
/// --mount of a folder that has it; also where that is not known: for one that runs already, and
/// where the folder is a volume. An image may have it without.
bool may_see(const std::vector<std::string>& command, const std::filesystem::path& file);

/// Tells whether the program runs in a container: in one of these, of enroot, or of apptainer.
bool runs_in_container(const std::vector<std::string>& command);

/// Tells whether compose starts the program, with the variables that its file lists: no -e names
/// some.
bool starts_with_compose(const std::vector<std::string>& command);

}  // namespace linkgain
