#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "linkgain/hardware/machine.hpp"

namespace linkgain {

std::string host_name();

/// Host, kernel, processor and processors; software, ranks and links are left empty.
Machine describe_host();

bool is_executable(const std::filesystem::path& path);

/// The executable file of this name on the environment's PATH; on "/bin:/usr/bin" where that is not
/// set. An empty folder of PATH is the one that this process is in.
std::optional<std::filesystem::path> find_program(std::string_view name,
                                                  const Environment& environment);

/// Processors this process may run on.
int usable_processors();

/// Bytes of memory the kernel thinks can be had without swapping; absent where it does not say.
std::optional<std::int64_t> available_memory();

/// Bytes of the largest data cache of processor 0; absent where the kernel does not say.
std::optional<std::int64_t> last_level_cache();

/// Now in UTC: "2026-11-20T16:40:00Z", or with `compact` "20261120T164000Z" for file names.
std::string utc_now(bool compact);

}  // namespace linkgain
