#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace CLI {
class App;
}  // namespace CLI

namespace linkgain {

/// Returns whether a value is meant as a file: it has a folder in it, or ends in .toml.
bool is_option_file(std::string_view value);

/// Gives `app`, which was parsed, the options of a TOML file: `sizes = "8:1G:x4"`, `launches = 8`,
/// `kernels = true`, `variant = ["p2p", "ring:NCCL_ALGO=Ring"]`. What the command line has stays.
/// Returns the value of the option `own`, with which the file was named; empty where it has none.
/// Throws UsageError where the file cannot be read, has what is no option of `app`, or `require`
/// throws for an option's name and one of its values: what only the command line may say.
std::string read_option_file(
    CLI::App& app, const std::filesystem::path& file, std::string_view own,
    const std::function<void(std::string_view name, std::string_view value)>& require);

/// Throws UsageError for what a profile's file, which anybody may have written, may not say: which
/// programs and libraries are started or opened, and where files are written. The command line may.
/// `name` is an option without "--", `value` one of its values.
void require_harmless(std::string_view name, std::string_view value);

}  // namespace linkgain
